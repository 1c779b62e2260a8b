"""The MCP servers of sessions: which run, in which state, what turns and clients want of them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from agenthost.agents.api import AgentError
from agenthost.agents.mcp_tools import NO_MCP, TurnMcp
from agenthost.clock import Clock
from agenthost.errors import Conflict, InternalError, InvalidParams, NotFound
from agenthost.host.channels.chat.consequences import TrustAnswered
from agenthost.host.channels.chat.turn_facts import TurnFacts
from agenthost.host.channels.session.consequences import (
    AppFollowerCame,
    CheckMcpRequest,
    McpServerRequested,
)
from agenthost.host.channels.session.kind import SessionChannel
from agenthost.host.channels.session.participants import Participants
from agenthost.host.channels.terminal.server_log import LogTerminal
from agenthost.host.channels.terminal.terminals import HostTerminals
from agenthost.host.customizations.service import DeclaredServer, SessionCustomizations
from agenthost.host.folder_trust import FolderTrust
from agenthost.host.log.channel import AnyChannel
from agenthost.host.log.directory import Directory
from agenthost.host.log.effects import Effects
from agenthost.host.log.writer import Writer
from agenthost.host.mcp import side_channel
from agenthost.host.mcp.server_context import ServerContext, Token
from agenthost.host.mcp.server_questions import CallQuestions
from agenthost.host.mcp.session_server import SessionServer
from agenthost.host.mcp.signing_in import held_tokens, may_sign_in
from agenthost.host.mcp.trust_gate import TrustGate, why_untrusted
from agenthost.host.mcp.turn_servers import TurnServers
from agenthost.host.mcp.turn_starts import is_unattended, tell_untrusted, wait_for_start
from agenthost.host.trust import Limits, Principal
from agenthost.host.trust.credentials import Credentials
from agenthost.mcp.link import McpBridge, McpWorker
from agenthost.mcp.types import McpFailed
from agenthost.protocol.status import IS_ARCHIVED
from agenthost.tasks import Tasks

if TYPE_CHECKING:
    from agenthost.host.clients.connection import Connection
    from agenthost.host.log.receiver import Receiver
    from agenthost.host.root_config import RootConfig
    from agenthost.protocol.common import JsonObject

# The setting without which no server runs.
SWITCH = "mcp.enabled"
# Servers that one session, and all of them, may have running.
MOST_OF_SESSION = 32
MOST_RUNNING = 64
# Seconds after which a server stops that no turn used, in a session that nobody follows or that
# is archived; and between two looks for such.
IDLE = 600.0
IDLE_LOOKS = 60.0


class McpServers:
    """All MCP servers of a host, which one worker process runs."""

    def __init__(
        self,
        *,
        writer: Writer,
        directory: Directory,
        effects: Effects,
        tasks: Tasks,
        clock: Clock,
        limits: Limits,
        customizations: SessionCustomizations,
        trust: FolderTrust,
        credentials: Credentials,
        participants: Participants,
        terminals: HostTerminals,
        config: RootConfig,
        workspace_dir: Path,
        worker: Callable[[], McpWorker] = McpWorker,
    ) -> None:
        """``worker`` is called with the first need of one."""
        self._writer = writer
        self._directory = directory
        self._clock = clock
        self._tasks = tasks
        self._customizations = customizations
        self._credentials = credentials
        self._config = config
        self._make_worker = worker
        self._worker: McpWorker | None = None
        self.gate = TrustGate(trust, writer)
        self._questions = CallQuestions(writer)
        # Session -> id -> server, for those that were ever wanted.
        self._sessions: dict[str, dict[str, SessionServer]] = {}
        # Told of every change in which tools a session's servers offer.
        self.on_tools_changed: Callable[[str], None] = _nobody
        self._around = ServerContext(
            writer=writer,
            clock=clock,
            tasks=tasks,
            worker=self._the_worker,
            publish=self._publish,
            open_log=self._open_log,
            resolved=lambda server: self.gate.resolved(server.session, server.declared),
            tokens=lambda session, resource: held_tokens(credentials, session, resource),
            reject_token=lambda token, resource: credentials.drop(token.principal, resource),
            tools_changed=lambda session: self.on_tools_changed(session.uri),
            mask=credentials.mask,
            elicit=self._questions.elicit,
            sample=self._questions.sample,
        )
        self._looking: asyncio.Task[None] | None = None
        customizations.on_servers_changed = self._servers_changed
        effects.on_later(CheckMcpRequest, self._check)
        effects.on_later(McpServerRequested, self._requested)
        effects.on(TrustAnswered, self.gate.answered)
        effects.on(AppFollowerCame, lambda effect: self._app_follower_came(effect.session))
        trust.on_withdrawn(lambda folder: self._stop_untrusted())
        config.on_change(SWITCH, lambda _: self._stop_untrusted())
        directory.on_forgotten(self._forgotten)

    # Turns.

    async def for_turn(self, turn: TurnFacts) -> TurnMcp:
        """Have the servers of a turn trusted and started, and return what it is given of them."""
        wanted = self._enabled(turn.session)
        if not turn.uses_mcp or not wanted:
            return NO_MCP
        if is_unattended(turn):
            tell_untrusted(self._writer, turn, self.gate.undecided(turn.session, wanted))
        else:
            await self.gate.ask(turn, wanted)
            self._publish_all(turn.session)
        allowed = [
            self._server(turn.session, each)
            for each in self._enabled(turn.session)
            if self.gate.decision(turn.session, each)
        ]
        for server in allowed:
            if server.is_startable and self._count_running() < MOST_RUNNING:
                server.start(blocking=not server.failures)
            server.last_used = self._clock.monotonic()
        await wait_for_start(turn, allowed)
        servers = [self._server(turn.session, each) for each in self._enabled(turn.session)]
        for server in servers:
            server.join(turn)
        return TurnServers(turn, tuple(servers))

    def turn_ended(self, chat: str, turn_id: str) -> None:
        """Let go of a turn that is over."""
        self._questions.turn_ended(chat, turn_id)
        for server in self._all():
            server.leave(chat, turn_id)

    async def open_bridge(
        self,
        name: str,
        tools: Callable[[], Sequence[JsonObject]],
        call: Callable[[str, JsonObject], Awaitable[JsonObject]],
    ) -> McpBridge:
        """Open a local MCP server whose tools the host has; McpFailed if that cannot be."""
        return await self._the_worker().bridge(name, tools, call)

    # Clients.

    async def call_tool(
        self, session: SessionChannel, id: str, tool: str, arguments: JsonObject
    ) -> JsonObject:
        """Call a tool because a person says so, and return its CallToolResult."""
        declared = self._declared(session, id)
        if declared is None:
            raise NotFound(f"there is no MCP server {id}")
        server = self._server(session, declared)
        if not server.is_ready:
            raise InvalidParams(f"{server.name} is not running: start it first", path="id")
        try:
            return await server.request("tools/call", {"name": tool, "arguments": arguments})
        except McpFailed as error:
            raise InternalError(self._credentials.mask(error.text)) from error

    async def _check(self, effect: CheckMcpRequest) -> None:
        """See whether a client may have what it wants of a server; AgentError if not."""
        declared = self._declared(effect.session, effect.id)
        if declared is None:
            raise AgentError("this server cannot be used: see its problem", "mcpServerUnusable")
        if effect.request != "start":
            return
        if not self._config.is_on(SWITCH):
            raise AgentError("MCP servers are switched off on this host", "mcpDisabled")
        if not declared.enabled:
            raise AgentError("this server is switched off: switch it on first", "mcpDisabled")
        decided = self.gate.decision(effect.session, declared)
        if decided is None:
            raise AgentError(why_untrusted(declared), "untrusted")
        if not decided:
            raise AgentError("somebody decided that this server is not to start", "untrusted")
        if self._count_running() >= MOST_RUNNING:
            raise AgentError(f"this host runs {MOST_RUNNING} servers already", "tooManyServers")

    async def _requested(self, effect: McpServerRequested) -> None:
        """Do what a client wants of a server, which it may have."""
        declared = self._declared(effect.session, effect.id)
        if declared is None:
            return
        server = self._server(effect.session, declared)
        match effect.request:
            case "start":
                server.is_left_alone = False
                server.failures.clear()
                server.start()
            case "stop":
                server.is_left_alone = True
                self._tasks.start(server.stop(), f"stop MCP server {server.name}")
            case "background":
                server.background()

    async def trust_servers(
        self,
        session: SessionChannel,
        ids: Sequence[str],
        principal: Principal,
        seen: Sequence[str] | None = None,
    ) -> None:
        """Let servers of a session be started from now on; NotFound if there is no such server.

        ``seen`` are the digests of what somebody was shown: nothing else is trusted.
        """
        found = [self._declared(session, id) for id in ids]
        known = [each for each in found if each is not None]
        if len(known) < len(ids):
            missing = ", ".join(id for id, each in zip(ids, found, strict=True) if each is None)
            raise NotFound(f"there is no MCP server {missing}")
        for each in known:
            if seen is not None and each.declaration.digest not in seen:
                raise Conflict(f"{each.declaration.name} is declared otherwise by now: look again")
        await self.gate.trust(session, known, principal)
        self._publish_all(session)

    async def open_log(self, session: SessionChannel, id: str) -> str:
        """Return the terminal that shows a server's log; NotFound if there is no such server."""
        declared = self._declared(session, id)
        if declared is None:
            raise NotFound(f"there is no MCP server {id}")
        opened = self._server(session, declared).opened_log()
        if opened is None:
            raise NotFound("this session has no chat that a log could belong to")
        return opened.uri

    async def side_channel(
        self, connection: Connection, channel: str, method: str, params: JsonObject
    ) -> JsonObject:
        """Answer what a client asks a server itself, over its ``mcp:`` channel."""
        mask = self._credentials.mask
        return await side_channel.answer(self._all(), connection, channel, method, params, mask)

    def _app_follower_came(self, session: SessionChannel) -> None:
        """Give the servers of a session side channels, now that somebody can show their apps."""
        # Behind the snapshot that the follower begins with.
        asyncio.get_running_loop().call_soon(self._publish_all, session)

    def knows(self, resource: str) -> bool:
        """Say whether a server has asked for a token for a resource."""
        return any(server.resource == resource for server in self._all())

    def token_arrived(self, connection: Receiver, resource: str, token: str) -> None:
        """Give a token to whatever waits for one in the sessions of who brought it."""
        for server in self._all():
            if server.resource == resource and may_sign_in(connection, server.session):
                server.take_token(Token(connection.principal.name, token))

    def token_gone(self, principal: str, resource: str) -> None:
        """Use a token no longer that somebody takes back."""
        for server in self._all():
            if server.resource == resource:
                server.lose_token(principal)

    # Sessions.

    def session_ends(self, session: str, keep: bool) -> None:
        """Stop the servers of a session that is gone."""
        self._questions.session_ends(session)
        self.gate.session_ends(session)
        for server in self._sessions.pop(session, {}).values():
            self._tasks.start(server.close(), f"end MCP server {server.name}")

    def _forgotten(self, channel: AnyChannel) -> None:
        """Stop the servers of a session that has left memory."""
        if channel.uri in self._sessions:
            self.session_ends(channel.uri, keep=True)

    def _servers_changed(self, session: SessionChannel) -> None:
        """Stop what is no longer declared, is declared otherwise, or is switched off."""
        servers = self._sessions.setdefault(session.uri, {})
        declared = {each.id: each for each in self._customizations.servers(session)}
        for id, server in list(servers.items()):
            now = declared.get(id)
            if now is None:
                del servers[id]
                self._tasks.start(server.close(), f"end MCP server {server.name}")
                continue
            server.redeclared(now)
        for each in declared.values():
            self._publish(self._server(session, each))

    def _stop_untrusted(self) -> None:
        """Stop what may not run any more: nobody's word counts for it, or none is to run."""
        is_on = self._config.is_on(SWITCH)
        for server in self._all():
            may_run = is_on and self.gate.decision(server.session, server.declared)
            if server.fare.kind != "stopped" and not may_run:
                self._tasks.start(server.stop(), f"stop MCP server {server.name}")
            self._publish(server)

    async def close(self) -> None:
        """Stop all servers and the worker; no process of any of them is left."""
        if self._looking is not None:
            self._looking.cancel()
        if self._worker is not None:
            await self._worker.close()

    async def _look_for_idle(self) -> None:
        """Stop the servers that nobody uses, again and again."""
        while True:
            await self._clock.sleep(IDLE_LOOKS)
            long_ago = self._clock.monotonic() - IDLE
            for server in list(self._all()):
                is_wanted = bool(server.session.subscriptions) and not _is_archived(server)
                is_idle = server.idle.is_set() and server.last_used <= long_ago
                if server.is_running and is_idle and not is_wanted:
                    self._tasks.start(server.stop(), f"stop idle MCP server {server.name}")

    # What is there.

    def _declared(self, session: SessionChannel, id: str) -> DeclaredServer | None:
        return next((each for each in self._customizations.servers(session) if each.id == id), None)

    def _enabled(self, session: SessionChannel) -> list[DeclaredServer]:
        if not self._config.is_on(SWITCH):
            return []
        declared = self._customizations.servers(session)
        return [each for each in declared if each.enabled][:MOST_OF_SESSION]

    def _server(self, session: SessionChannel, declared: DeclaredServer) -> SessionServer:
        servers = self._sessions.setdefault(session.uri, {})
        server = servers.get(declared.id)
        if server is None:
            server = servers[declared.id] = SessionServer(session, declared, self._around)
        return server

    def _all(self) -> Iterator[SessionServer]:
        for servers in list(self._sessions.values()):
            yield from list(servers.values())

    def _count_running(self) -> int:
        return sum(server.is_running for server in self._all())

    def _the_worker(self) -> McpWorker:
        if self._worker is None:
            self._worker = self._make_worker()
            self._looking = self._tasks.start(self._look_for_idle(), "idle MCP servers")
        return self._worker

    def _publish_all(self, session: SessionChannel) -> None:
        for server in list(self._sessions.get(session.uri, {}).values()):
            self._publish(server)

    def _publish(self, server: SessionServer) -> None:
        log = server.log.uri if server.log is not None else None
        state = server.fare.to_wire(server.declared.declaration)
        channel = side_channel.side_channel_of(server)
        meta = self.gate.told(server.session, server.declared)
        apps = side_channel.apps_of(server) if channel is not None else None
        publish = self._customizations.set_server_state
        publish(server.session, server.id, state, channel, log, meta, apps)

    def _open_log(self, server: SessionServer) -> LogTerminal | None:
        state = server.session.state
        chats = [chat["resource"] for chat in state["chats"]]
        chat = state.get("defaultChat") or next(iter(chats), None)
        if chat is None or not self._directory.has(server.session):
            return None
        title = f"{server.name} log"
        return LogTerminal(self._writer, self._directory, title, server.session.uri, chat)


def _is_archived(server: SessionServer) -> bool:
    return bool(server.session.settled["status"] & IS_ARCHIVED)


def _nobody(session: str) -> None:
    """Tell nobody."""
