"""Decodes values that the host has stored, with a clear error where one is damaged."""

from __future__ import annotations

from typing import Any

from agenthost.errors import ParseError
from agenthost.host.store import StoreDamaged
from agenthost.protocol.jsonrpc import loads


def stored_value(data: bytes, owner: str) -> Any:
    """Return a value that was stored for somebody.

    Raises:
        StoreDamaged: it cannot be read; it stays as it is.
    """
    try:
        return loads(data)
    except ParseError:
        raise StoreDamaged(f"what is stored of {owner} is damaged and was left as it is") from None
