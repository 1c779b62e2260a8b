"""One JSON message per line, of bounded length, as host and worker exchange them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import orjson

from agenthost.errors import RemoteProtocolError

if TYPE_CHECKING:
    from agenthost.protocol.common import JsonObject

CHUNK = 64 * 1024
"""Bytes that are read at once: what a Linux pipe holds."""


class McpLineTooLong(RemoteProtocolError):
    """A line exceeds what one message may take."""


class MessageLines:
    """Bytes in, whole lines out, however the bytes are cut."""

    def __init__(self, longest: int) -> None:
        self._longest = longest
        # The beginning of a line whose end has not come.
        self._rest = bytearray()

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Yield the lines that ``data`` completes, without their ends; blank ones are left out.

        Raises:
            McpLineTooLong: the line after those yielded is longer than the limit.
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
        if len(self._rest) + len(data) > self._longest:
            raise McpLineTooLong
        self._rest += data


def encoded(message: JsonObject) -> bytes:
    """Return a message as a line.

    Raises:
        TypeError: it holds something that JSON cannot carry.
    """
    return orjson.dumps(message, option=orjson.OPT_NON_STR_KEYS | orjson.OPT_APPEND_NEWLINE)
