"""Lines of bounded length, out of a stream of bytes."""

from __future__ import annotations

from collections.abc import Iterator

from agenthost.errors import RemoteProtocolError

CHUNK = 64 * 1024
"""Bytes that are read at once: what a Linux pipe holds."""


class LineTooLong(RemoteProtocolError):
    """A line is longer than it may be."""


class LineSplitter:
    """Bytes in, whole lines out, however the bytes are cut."""

    def __init__(self, max_size: int) -> None:
        self._max_size = max_size
        # The beginning of a line whose end has not come.
        self._rest = bytearray()

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Yield the lines that ``data`` completes, without their ends; blank ones are left out.

        Raises:
            LineTooLong: the line after those yielded is longer than the limit.
        """
        *ended, rest = data.split(b"\n")
        for end in ended:
            self._extend(end)
            line = bytes(self._rest).strip()
            self._rest.clear()
            if line:
                yield line
        self._extend(rest)

    def _extend(self, data: bytes) -> None:
        if len(self._rest) + len(data) > self._max_size:
            raise LineTooLong
        self._rest += data

    def last(self) -> bytes:
        """Return what stands after the last line end: a line whose writer left off its end."""
        return bytes(self._rest).strip()
