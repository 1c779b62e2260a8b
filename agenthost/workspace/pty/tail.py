"""The end of a long text, kept in bounded memory."""

from __future__ import annotations

from collections import deque


class TextTail:
    """The last characters of what was added."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._pieces: deque[str] = deque()
        self._size = 0
        self.truncated = False

    def add(self, text: str) -> None:
        """Add to the end; what is too far from it is forgotten."""
        self._pieces.append(text)
        self._size += len(text)
        self.truncated |= self._size > self._most
        while self._size - len(self._pieces[0]) >= self._most:
            self._size -= len(self._pieces.popleft())
        # Many small pieces would cost more than their text.
        if len(self._pieces) > 1024:
            self._pieces = deque((self.text(),))
            self._size = len(self._pieces[0])

    def text(self) -> str:
        """Return what is kept."""
        return "".join(self._pieces)[-self._most :]
