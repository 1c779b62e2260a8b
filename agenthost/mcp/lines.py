"""A JSON message as one line, as host and worker exchange them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import orjson

if TYPE_CHECKING:
    from agenthost.protocol.common import JsonObject


def encoded(message: JsonObject) -> bytes:
    """Return a message as a line.

    Raises:
        TypeError: it holds something that JSON cannot carry.
    """
    return orjson.dumps(message, option=orjson.OPT_NON_STR_KEYS | orjson.OPT_APPEND_NEWLINE)
