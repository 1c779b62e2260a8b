"""Bridges by which an agent's program reaches the tools of MCP servers and of clients.

A program that starts MCP servers by itself is given one small program per server instead, which
carries its messages here: so every server runs once, where its state, its log and who trusts it are
known. A bridge belongs to a chat and outlives its turns; what is called over it is done in the turn
that runs then, by the turn's own agent.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

from msgspec import Struct, field

from agenthost.agents.api import AgentError, agent_message
from agenthost.agents.mcp_tools import CLIENT_BRIDGE, BridgeAddress, TurnMcp
from agenthost.agents.tool_names import plain_names
from agenthost.host.turns.turn_hooks import McpOfTurns
from agenthost.mcp.types import McpFailed

if TYPE_CHECKING:
    from agenthost.host.channels.session.kind import SessionChannel
    from agenthost.host.turns.running_turn import RunningTurn
    from agenthost.mcp.link import McpBridge
    from agenthost.protocol.common import JsonMapping, JsonObject

log = logging.getLogger(__name__)

# Finds the turn that runs in a chat, and awaits a function on the loop of a session's agent.
FindTurn = Callable[[str], "RunningTurn | None"]
CallAgent = Callable[
    ["SessionChannel", Callable[[], Awaitable["JsonMapping"]]], Awaitable["JsonMapping"]
]

# Chats whose bridges are kept open between turns.
MOST_CHATS: Final = 64
_NO_TURN: Final = "nothing is being answered in this chat now, so no tool can be used"
_NO_SCHEMA: Final[JsonMapping] = {"type": "object", "properties": {}}


class _ChatTools(Struct):
    """What the program in one chat reaches: as its newest turn was given it."""

    session: SessionChannel
    mcp: TurnMcp
    # The id of a server, or CLIENT_BRIDGE -> its bridge and how the program is told to reach it.
    bridges: dict[str, tuple[McpBridge, BridgeAddress]] = field(default_factory=dict)
    # The tools of clients as they were told last.
    told: Sequence[JsonObject] = ()

    def tools(self, key: str) -> list[JsonObject]:
        """Return the tools behind one bridge as they are now."""
        return list(self._clients() if key == CLIENT_BRIDGE else self._servers(key))

    def _servers(self, id: str) -> Iterator[JsonObject]:
        for tool in self.mcp.tools:
            if tool.server == id:
                hints = {"readOnlyHint": tool.read_only, "destructiveHint": tool.destructive}
                yield {
                    "name": tool.tool,
                    "title": tool.title,
                    "description": tool.description,
                    "inputSchema": dict(tool.input_schema),
                    "annotations": hints,
                }

    def _clients(self) -> Iterator[JsonObject]:
        seen: set[str] = set()
        for client in self.session.settled["activeClients"]:
            for tool in client["tools"]:
                if tool["name"] not in seen:
                    seen.add(tool["name"])
                    yield _described(tool)


class McpBridges:
    """All bridges of a host; on its loop."""

    def __init__(self, mcp: McpOfTurns, find_turn: FindTurn, call_agent: CallAgent) -> None:
        self._mcp = mcp
        self._find_turn = find_turn
        self._call_agent = call_agent
        # Chat URI -> what is open for it.
        self._chats: dict[str, _ChatTools] = {}
        self._closing: set[asyncio.Task[None]] = set()
        mcp.on_tools_changed = self._tools_changed

    async def open(self, running: RunningTurn) -> Sequence[BridgeAddress]:
        """Return a bridge for each server of a turn, and one for the tools of clients, if any.

        Raises:
            AgentError: they cannot be opened here.
        """
        chat = self._chats.pop(running.channel.uri, None)
        if chat is None:
            chat = _ChatTools(running.session, running.mcp)
        # The one that was used last stands last.
        self._chats[running.channel.uri] = chat
        chat.session, chat.mcp = running.session, running.mcp
        self._make_room()
        servers = {server.id: server.name for server in running.mcp.servers}
        offered = chat.tools(CLIENT_BRIDGE)
        wanted = {**servers, CLIENT_BRIDGE: CLIENT_BRIDGE} if offered else servers
        taken = [address.name for _, address in chat.bridges.values()]
        missing = {key: name for key, name in wanted.items() if key not in chat.bridges}
        names = plain_names(list(missing.values()), taken)
        for key, name in zip(missing, names, strict=True):
            await self._open(running.channel.uri, chat, key, name)
        if CLIENT_BRIDGE in chat.bridges and offered != chat.told:
            chat.bridges[CLIENT_BRIDGE][0].changed()
        chat.told = offered
        return [chat.bridges[key][1] for key in wanted]

    def session_ended(self, session: str) -> None:
        """Close what is open in a session that its agent has let go of."""
        gone = [uri for uri, chat in self._chats.items() if chat.session.uri == session]
        for uri in gone:
            self._close(uri)

    def _make_room(self) -> None:
        """Close what chats had open that have not been used for long; they can have it again."""
        idle = [uri for uri in self._chats if self._find_turn(uri) is None]
        for uri in idle[: max(0, len(self._chats) - MOST_CHATS)]:
            self._close(uri)

    def _close(self, uri: str) -> None:
        for bridge, _ in self._chats.pop(uri).bridges.values():
            task = asyncio.create_task(bridge.close(), name=f"close bridge {bridge.name}")
            self._closing.add(task)
            task.add_done_callback(self._closing.discard)

    async def _open(self, uri: str, chat: _ChatTools, key: str, name: str) -> None:
        call = partial(self._call, uri, chat, key)
        try:
            bridge = await self._mcp.open_bridge(name, partial(chat.tools, key), call)
        except McpFailed as error:
            raise AgentError(f"MCP servers cannot be reached: {error}", "noMcpBridge") from None
        chat.bridges[key] = bridge, BridgeAddress(key, name, bridge.command, bridge.env)

    async def _call(
        self, uri: str, chat: _ChatTools, key: str, tool: str, arguments: JsonObject
    ) -> JsonObject:
        """Do what the program called, in the turn that runs now."""
        running = self._find_turn(uri)
        run = running.bridged if running is not None and not running.over else None
        if run is None:
            return _failed(_NO_TURN)
        try:
            work = partial(run, key, tool, arguments)
            return dict(await self._call_agent(chat.session, work))
        except Exception as error:
            told = agent_message(error)
            if told is None:
                log.exception("a tool that was called over a bridge failed")
            return _failed(str(told or "the tool failed; the host's log says more"))

    def _tools_changed(self, session: str) -> None:
        for chat in self._chats.values():
            if chat.session.uri == session:
                for bridge, _ in chat.bridges.values():
                    bridge.changed()


def _described(tool: JsonMapping) -> JsonObject:
    """Return a client's tool as MCP describes tools."""
    shown = {key: tool[key] for key in ("name", "title", "description") if key in tool}
    return {**shown, "inputSchema": dict(tool.get("inputSchema") or _NO_SCHEMA)}


def _failed(text: str) -> JsonObject:
    return {"content": [{"type": "text", "text": text}], "isError": True}
