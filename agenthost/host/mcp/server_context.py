"""What one MCP server of a session uses of the host: its calls and its tokens."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterable
from typing import TYPE_CHECKING

from msgspec import Struct

from agenthost.clock import Clock
from agenthost.host.channels.chat.turn_facts import TurnFacts
from agenthost.host.channels.session.kind import SessionChannel
from agenthost.host.customizations.service import DeclaredServer
from agenthost.host.log.writer import Writer
from agenthost.mcp.link import McpWorker
from agenthost.mcp.types import McpFailed, ServerDeclaration
from agenthost.protocol.chat.active_turn import find_tool_call
from agenthost.tasks import Tasks
from agenthost.workspace import file_path

if TYPE_CHECKING:
    from agenthost.host.channels.terminal.server_log import LogTerminal
    from agenthost.host.mcp.session_server import SessionServer
    from agenthost.protocol.common import JsonObject
    from agenthost.protocol.session.customizations import McpAuthRequirement


class RunningMcpCall(Struct):
    """A call of a tool, while it runs for a turn."""

    turn: TurnFacts
    id: str
    # Whether it is shown as one that waits for a token.
    waits: bool = False

    def show_waiting(self, writer: Writer, auth: McpAuthRequirement) -> None:
        """Show that it waits for somebody to sign in."""
        found = find_tool_call(self.turn.chat.state, self.id)
        if found is not None and found["status"] == "running":
            self.waits = self._apply(writer, "chat/toolCallAuthRequired", auth=auth)

    def show_going_on(self, writer: Writer) -> None:
        """Show that it has the token that it waited for."""
        if self.waits:
            self.waits = False
            self._apply(writer, "chat/toolCallAuthResolved")

    def _apply(self, writer: Writer, type: str, **more: object) -> bool:
        action = {"type": type, "turnId": self.turn.turn_id, "toolCallId": self.id, **more}
        return writer.apply(self.turn.chat, action)


class Token(Struct, frozen=True):
    """A token that somebody brought."""

    principal: str
    value: str


class ServerContext(Struct, frozen=True):
    """What a server of a session needs of the host."""

    writer: Writer
    clock: Clock
    tasks: Tasks
    worker: Callable[[], McpWorker]
    # Publishes how a server fares.
    publish: Callable[[SessionServer], None]
    open_log: Callable[[SessionServer], LogTerminal | None]
    # The declaration as it is to be started; McpFailed if it may not be, or lacks something.
    resolved: Callable[[SessionServer], ServerDeclaration]
    # The tokens that those who take part in a session have brought for a resource.
    tokens: Callable[[SessionChannel, str], Iterable[Token]]
    reject_token: Callable[[Token, str], None]
    tools_changed: Callable[[SessionChannel], None]
    mask: Callable[[str], str]
    # Ask a person, and a model, for a call.
    elicit: Callable[[SessionServer, RunningMcpCall, JsonObject], Awaitable[JsonObject]]
    sample: Callable[[SessionServer, RunningMcpCall, JsonObject], Awaitable[JsonObject]]


async def where_it_runs(
    session: SessionChannel, declared: DeclaredServer
) -> tuple[str | None, tuple[str, ...]]:
    """Return the folder that a server's command runs in, and the URIs of those that it is told.

    Raises:
        McpFailed: the folder that was decided on is another one by now.
    """
    roots = tuple(session.settled.get("workingDirectories") or ())
    if declared.folder is None:
        first = next((path for path in map(file_path, roots) if path), None)
        return (None if first is None else str(first)), roots
    # A link put in its place would let something else run than somebody has trusted.
    if await asyncio.to_thread(os.path.realpath, declared.folder) != declared.folder:
        raise McpFailed(f"{declared.folder} leads to another folder by now", "refused")
    return declared.folder, roots
