"""Foreign exceptions, one by one or in groups, as failures that can be told to a person."""

from __future__ import annotations

import asyncio

import httpx2
from mcp.shared.exceptions import MCPError
from mcp_types import (
    CONNECTION_CLOSED,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    UNSUPPORTED_PROTOCOL_VERSION,
)
from pydantic import ValidationError

from agenthost.errors import shortened
from agenthost.mcp.types import McpFailed

# Characters of what a server says went wrong.
_LONGEST_TEXT = 1000
_REFUSALS = {METHOD_NOT_FOUND, INVALID_PARAMS, UNSUPPORTED_PROTOCOL_VERSION}


def first_of(error: BaseException) -> BaseException:
    """Return the first exception of a group that says something."""
    while isinstance(error, BaseExceptionGroup):
        cancelled = asyncio.CancelledError
        telling = [one for one in error.exceptions if not isinstance(one, cancelled)]
        error = (telling or list(error.exceptions))[0]
    return error


def is_refusal_to_initialize(error: BaseException) -> bool:
    """Say whether a server wants no `initialize`, as those of later versions of MCP do."""
    error = first_of(error)
    if isinstance(error, MCPError):
        return error.code in _REFUSALS
    # What the package raises for a version that it does not know.
    return isinstance(error, RuntimeError) and "protocol version" in str(error)


def failure(error: BaseException) -> McpFailed:
    """Return what to tell of an exception."""
    error = first_of(error)
    match error:
        case McpFailed():
            return error
        case MCPError():
            return _of_the_server(error)
        case TimeoutError():
            return McpFailed("it took too long", "timeout")
        case ValidationError():
            return McpFailed("it sent a result that is none", "refused")
        case httpx2.HTTPError() | httpx2.StreamError():
            return McpFailed(str(error) or type(error).__name__, "closed")
        case OSError():
            return McpFailed(error.strerror or str(error), "closed")
        case _:
            text = f"{type(error).__name__}: {shortened(str(error))}"
            return McpFailed(text, "refused")


def _of_the_server(error: MCPError) -> McpFailed:
    text = error.message[:_LONGEST_TEXT]
    if error.code == CONNECTION_CLOSED and text == "Connection closed":
        return McpFailed("the connection was closed", "closed")
    # The package's word for a server that forgot us, as one that was restarted does.
    if error.code == INVALID_REQUEST and text == "Session terminated":
        return McpFailed("it does not know this session any more", "closed")
    # Servers use the same code for errors of their own.
    if error.code == CONNECTION_CLOSED and text.startswith("SSE stream "):
        return McpFailed(text, "closed")
    return McpFailed(text, "refused", code=error.code, data=error.data)
