"""What every message of a server passes before the official client sees it, whatever carries it.

The client starts a task for each message and waits for none of them, so what is left unanswered
is counted here.
"""

from __future__ import annotations

import asyncio
import contextvars
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

import anyio
from mcp.client._transport import ReadStream, WriteStream
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCError, JSONRPCNotification, JSONRPCRequest, JSONRPCResponse, Tool
from pydantic import ValidationError

from agenthost.mcp.limits import MOST_OPEN_REQUESTS, NOTICE_RATE
from agenthost.mcp.worker.byte_bucket import ByteBucket


class MessageGate:
    """Counts what a server asks, and says when it is too much."""

    def __init__(self) -> None:
        self._open: set[str | int] = set()
        # Why this server is given up, once it is.
        self.reason: str | None = None
        self.broken = asyncio.Event()
        # How many tools of the last list were described wrongly.
        self.left_out = 0
        # Set when nothing more comes.
        self.ended = asyncio.Event()
        self._bucket = ByteBucket(NOTICE_RATE, asyncio.get_running_loop().time)

    def give_up(self, reason: str) -> None:
        """Say that this server is not listened to any more, and why."""
        if self.reason is None:
            self.reason = reason
        self.broken.set()

    async def slow_down(self, size: int) -> None:
        """Wait until so many bytes that nobody asked for may pass."""
        if (seconds := self._bucket.take(size)) > 0:
            await asyncio.sleep(seconds)

    def received(self, item: SessionMessage | Exception) -> bool:
        """Look at what came, and say whether it may pass."""
        message = item.message if isinstance(item, SessionMessage) else None
        if isinstance(message, JSONRPCRequest):
            return self._asked(message.id)
        if isinstance(message, JSONRPCNotification) and message.method == "notifications/cancelled":
            number = (message.params or {}).get("requestId")
            if isinstance(number, str | int):
                self._open.discard(number)
        if isinstance(message, JSONRPCResponse):
            self._look_at_tools(message.result)
        return True

    def _look_at_tools(self, result: dict[str, Any]) -> None:
        """Leave out tools that are described wrongly: the client would refuse all for one."""
        tools = result.get("tools")
        if isinstance(tools, list):
            usable = [tool for tool in map(_usable, tools) if tool is not None]
            self.left_out = len(tools) - len(usable)
            result["tools"] = usable

    def _asked(self, number: str | int) -> bool:
        if number in self._open:
            self.give_up("it uses the id of a request twice")
        elif len(self._open) >= MOST_OPEN_REQUESTS:
            self.give_up("it asks more than it takes answers for")
        self._open.add(number)
        return self.reason is None

    def sent(self, item: SessionMessage) -> None:
        """Take note of an answer to one of the server's requests."""
        if isinstance(item.message, JSONRPCResponse | JSONRPCError):
            self._open.discard(item.message.id if item.message.id is not None else "")


def _usable(tool: object) -> dict[str, Any] | None:
    """Return a tool as the client can take it, or None.

    Without the schema that it would check results with: that holds regular expressions of the
    server's choice, which would run in this process.
    """
    if not isinstance(tool, dict):
        return None
    tool.pop("outputSchema", None)
    schema = tool.get("inputSchema")
    if isinstance(schema, dict):
        # Left out by many who write a server by hand; nothing else is allowed.
        schema.setdefault("type", "object")
    try:
        Tool.model_validate(tool, by_name=False)
    except ValidationError:
        return None
    return tool if tool["inputSchema"]["type"] == "object" else None


_Inner = TypeVar("_Inner", ReadStream[SessionMessage | Exception], WriteStream[SessionMessage])


class _Gated(Generic[_Inner]):
    """A stream to or from a server behind its gate; it ends with the one that it wraps."""

    def __init__(self, inner: _Inner, gate: MessageGate) -> None:
        self._inner: _Inner = inner
        self._gate = gate

    async def aclose(self) -> None:
        """Close the stream."""
        await self._inner.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()


class GatedReads(_Gated[ReadStream[SessionMessage | Exception]]):
    """A stream of messages from a server, each of which passes the gate."""

    @property
    def last_context(self) -> contextvars.Context | None:
        """The context of whoever carried the last message, by which it is tied to its call."""
        return getattr(self._inner, "last_context", None)

    async def receive(self) -> SessionMessage | Exception:
        """Return the next message.

        Raises:
            anyio.EndOfStream: there is none, or the server is given up.
        """
        try:
            item = await self._inner.receive()
        except (anyio.EndOfStream, anyio.ClosedResourceError):
            self._gate.ended.set()
            raise
        if not self._gate.received(item):
            raise anyio.EndOfStream
        return item

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None


class GatedWrites(_Gated[WriteStream[SessionMessage]]):
    """A stream of messages to a server, whose answers the gate takes note of."""

    async def send(self, item: SessionMessage, /) -> None:
        """Send a message, and count it once it is on its way."""
        await self._inner.send(item)
        self._gate.sent(item)
