"""Text that grows by very many very small pieces."""

from __future__ import annotations

# A short piece costs several times its length as an object of its own; joined by so many, that
# hardly matters any more, and each piece is still copied only twice.
PIECES_JOINED = 1024


class GrowingText:
    """Appending costs the same however long the text is, and memory stays near its length."""

    __slots__ = ("_blocks", "_pieces")

    def __init__(self) -> None:
        # Joined pieces, and those that came after.
        self._blocks: list[str] = []
        self._pieces: list[str] = []

    def append(self, piece: str) -> None:
        """Add a piece at the end."""
        self._pieces.append(piece)
        if len(self._pieces) == PIECES_JOINED:
            self._blocks.append("".join(self._pieces))
            self._pieces.clear()

    def __bool__(self) -> bool:
        return bool(self._pieces or self._blocks)

    def __str__(self) -> str:
        return "".join((*self._blocks, *self._pieces))
