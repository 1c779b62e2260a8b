"""The host: starts its parts, listens, and stops them in order.

It holds no behaviour of its own. Embed it in a few lines::

    async with Host(agents=[Greeter()]) as host:
        url = await host.listen(port=0)
        await host.serve_forever()
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
import ssl
import threading
import time
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from types import TracebackType
from typing import Self

from agenthost.agents.api import Agent
from agenthost.agents.demo import Demo
from agenthost.clock import Clock, SystemClock
from agenthost.errors import AgentHostError
from agenthost.host import method_handlers as handlers
from agenthost.host.channels.content_upgrade import StoredModel
from agenthost.host.channels.registry import KINDS
from agenthost.host.channels.root import announce_agents, open_root, take_up_settings
from agenthost.host.channels.root_rules import check_flags
from agenthost.host.channels.session.active_clients import ACTIVE_GRACE
from agenthost.host.channels.session.drafts import DRAFT_SECONDS
from agenthost.host.channels.session.lifecycle import Disposal
from agenthost.host.channels.token_expiry import TokenExpiry
from agenthost.host.clients.connection import Connection
from agenthost.host.clients.wire_log import WireLog
from agenthost.host.core import HostCore
from agenthost.host.housekeeping import collect_drafts, empty_trash, sweep
from agenthost.host.http.admission import admit
from agenthost.host.http.pages import Pages
from agenthost.host.log.kind import AnyKind
from agenthost.host.push.sender import Connector
from agenthost.host.startup import own_folder, prepare_for_clients
from agenthost.host.store import MemoryStore, SqliteStore, Store, StoreError
from agenthost.host.transports import ServerWebSocket, WebSocketServer
from agenthost.host.trust import (
    LOCAL_OWNER,
    Gate,
    Limits,
    Policy,
    Principal,
    PrincipalLargeMessages,
    PrincipalRates,
    RolePolicy,
    ShellPolicy,
    check_bind,
)
from agenthost.host.turns.runner import PROMPT_TIMEOUT
from agenthost.host.turns.silence import SILENCE_LIMIT
from agenthost.host.wiring import HostSettings, wire
from agenthost.tokens import TokenBook
from agenthost.transport import CloseCode, Transport

log = logging.getLogger(__name__)

# Seconds that somebody may stay whose token was revoked or has expired.
TOKEN_CHECK_INTERVAL = 10.0

# Agents that a host offers at once: other hosts offer theirs here.
MOST_AGENTS = 64

# What clients are told at the end.
STOPPING = "the host is shutting down"
# Seconds that clients which no server looks after get to take the last messages.
FAREWELL_SECONDS = 1.0


def _everybody(name: str) -> bool:
    return True


def _decided(
    disposal: Disposal, prompt_timeout: float | None, draft_seconds: float | None
) -> dict[str, object]:
    """Return the settings that were given otherwise than they are by default."""
    decided: dict[str, object] = {}
    if disposal != "trash":
        decided["dispose"] = disposal
    if prompt_timeout != PROMPT_TIMEOUT:
        decided["promptTimeout"] = prompt_timeout or 0
    if draft_seconds != DRAFT_SECONDS:
        decided["draftSeconds"] = draft_seconds or 0
    return decided


class BadSetting(AgentHostError):
    """A setting of the host is decided in a way that it cannot have."""


assert handlers.MODULES, "importing the handlers registers them"


class Host:
    """One process that owns the truth of all its sessions."""

    def __init__(
        self,
        agents: Sequence[Agent] | None = None,
        *,
        store: Store | None = None,
        limits: Limits | None = None,
        policy: Policy | None = None,
        clock: Clock | None = None,
        default_directory: str | Path = ".",
        roots: Sequence[str | Path] | None = None,
        wire_log: str | Path | None = None,
        disposal: Disposal = "trash",
        active_grace: float = ACTIVE_GRACE,
        prompt_timeout: float | None = PROMPT_TIMEOUT,
        draft_seconds: float | None = DRAFT_SECONDS,
        silence_limit: float | None = SILENCE_LIMIT,
        is_admitted: Callable[[str], bool] = _everybody,
        kinds: Sequence[AnyKind] = KINDS,
        workspace_dir: str | Path | None = None,
        shells: ShellPolicy | None = None,
        kept_away: Sequence[str | Path] = (),
        token_book: TokenBook | None = None,
        push_file: str | Path | None = None,
        push_connector: Connector | None = None,
        user_folders: Sequence[str | Path] = (),
        flags: Mapping[str, object] | None = None,
        dev: bool = False,
    ) -> None:
        """Describe a host; ``async with`` starts it.

        Args:
            agents: what sessions can be created with; the first is the default. Without any, the
                offline demo agent.
            store: where everything is kept; without one, in memory until the host ends.
            limits: how much one client may ask.
            policy: who may do what; by default the roles owner, operator and viewer.
            clock: where times come from.
            default_directory: where clients start to browse, and where a session works that names
                no directory.
            roots: the folders that operators may work in; without any, the default directory.
            wire_log: a file that receives every message, without tokens.
            disposal: what becomes of a disposed session that holds anything. This,
                ``prompt_timeout`` and ``draft_seconds`` are settings that owners change while the
                host runs, unless something else than their default is given here.
            active_grace: seconds that an active client may be away before it stops counting.
            prompt_timeout: seconds after which a question that nobody answers is given up.
            draft_seconds: seconds after which a session that holds nothing and that nobody
                follows is removed; None keeps it.
            silence_limit: seconds after which a turn ends in which nothing is written, asked or
                running; None waits for ever.
            is_admitted: whether somebody of a name may still come in, asked before an automation
                runs on their behalf.
            kinds: the kinds of channels that there are.
            workspace_dir: where the host keeps what it needs to know of the files it works on;
                without one, in a temporary folder until it ends.
            kept_away: files and folders that no client may reach, wherever they lie.
            token_book: the named tokens, which owners then manage from their clients too.
            push_file: where to keep who wants notifications; without one there are none.
            push_connector: how push services are reached; by default on public addresses only.
            shells: which ways to a shell there are besides agents.
            user_folders: where the user's own instructions, skills and servers lie, which hold
                for every session; without any there are none.
            flags: settings of the host that nobody may change while it runs, by their key.
            dev: whether tracebacks of agents are shown in their chats, to everybody who reads
                them; for those who write agents, on their own machine.
        """
        decided = {**_decided(disposal, prompt_timeout, draft_seconds), **(flags or {})}
        broken = check_flags(decided)
        if broken is not None:
            raise BadSetting(broken)
        # The one that everybody looks at: agents may come and go.
        self._agents = {agent.provider: agent for agent in (agents or [Demo()])}
        self._settings = HostSettings(
            agents=self._agents,
            limits=limits or Limits(),
            policy=policy or RolePolicy(),
            clock=clock or SystemClock(),
            directory_uri=Path(default_directory).resolve().as_uri(),
            roots=tuple(str(Path(root).resolve()) for root in roots or [default_directory]),
            active_grace=active_grace,
            silence_limit=silence_limit,
            is_admitted=is_admitted,
            kinds=tuple(kinds),
            shells=shells or ShellPolicy(),
            kept_away=tuple(Path(path).absolute() for path in kept_away),
            token_book=token_book,
            push_file=Path(push_file).absolute() if push_file is not None else None,
            push_connector=push_connector,
            user_folders=tuple(Path(folder).absolute() for folder in user_folders),
            flags=decided,
            dev=dev,
        )
        self._store = store or MemoryStore()
        self._wire_log_path = Path(wire_log) if wire_log is not None else None
        self._workspace_dir = Path(workspace_dir).absolute() if workspace_dir else None
        self._stack = AsyncExitStack()
        self._core: HostCore | None = None
        # Each live connection and the gate that let it in, if one did.
        self._connections: dict[Connection, Gate | None] = {}
        # Those that people come in by.
        self._gates: list[Gate] = []
        self._numbers = itertools.count(1)
        # Set when the host cannot go on, with the reason.
        self._failed: asyncio.Future[None] | None = None

    @property
    def core(self) -> HostCore:
        """The running host's parts."""
        if self._core is None:
            raise RuntimeError("the host is not running: use `async with`")
        return self._core

    @property
    def connections(self) -> frozenset[Connection]:
        """The connections that are open now."""
        return frozenset(self._connections)

    async def __aenter__(self) -> Self:
        self._failed = asyncio.get_running_loop().create_future()
        if isinstance(self._store, SqliteStore):
            self._store.upgrade_with(StoredModel())
        async with AsyncExitStack() as stack:
            store = await stack.enter_async_context(self._store)
            wire_log = None
            if self._wire_log_path is not None:
                wire_log = stack.enter_context(WireLog(self._wire_log_path, self._settings.clock))
            workspace_dir = stack.enter_context(own_folder(self._workspace_dir))
            self._core = core = self._make_core(store, wire_log, workspace_dir)
            stack.push_async_callback(self._stop)
            await self._open(core)
            self._start_work(core)
            self._stack = stack.pop_all()
        return self

    def _make_core(self, store: Store, wire_log: WireLog | None, workspace_dir: Path) -> HostCore:
        """Make the parts of the host."""
        return wire(
            self._settings,
            store,
            wire_log,
            workspace_dir,
            connections=lambda: len(self._connections),
            counts=self._counts,
            on_failure=self._fail,
        )

    async def _open(self, core: HostCore) -> None:
        """Take up what is stored, before anybody is served."""
        await core.writer.ledger.open()
        await core.catalogue.open()
        await core.clients.open()
        core.push_book.open()
        await core.drafts.open()
        await core.content_owners.open()
        await core.changesets.open()
        await core.folder_trust.open()
        await core.customizations.open()
        await open_root(core)
        take_up_settings(core)
        await core.turns.end_interrupted(core.store, core.directory)
        await core.automations.open()
        await core.telemetry.open()
        self._listen_to_agents(core, list(self._agents.values()))

    def _start_work(self, core: HostCore) -> None:
        """Start what the host does by itself."""
        core.tasks.start(core.automations.run(), "automations")
        core.tasks.start(core.catalogue.tell_of_chats(core.clock), "tell of chats")
        core.tasks.start(sweep(core), "sweep")
        core.tasks.start(collect_drafts(core), "collect drafts")
        core.tasks.start(self._check_tokens(), "check tokens")
        core.tasks.start(TokenExpiry(core).watch(), "tell of expired tokens")
        core.tasks.start(empty_trash(core), "empty trash")
        core.tasks.start(core.repository_watches.run(), "watch repositories")
        core.tasks.start(core.worktrees.clear_left_behind(), "clear worktrees away")
        core.tasks.start(core.terminals.leave_clients(), "leave terminals of absent clients")

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self._say_goodbye()
        await self._stack.aclose()

    async def listen(
        self,
        host: str = "127.0.0.1",
        port: int = 8765,
        *,
        gate: Gate | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> str:
        """Accept WebSocket connections and plain requests; return the WebSocket URL.

        Without a ``gate`` there are no tokens, which only a loopback address allows. With ``tls``
        the URL is a ``wss`` one; ``transports.tls`` makes it of files that may be renewed.
        """
        check_bind(host, has_token=gate is not None)
        door = gate or Gate(None)
        self._gates.append(door)
        self.core.push_watch.open()
        limits = self._settings.limits
        rates = PrincipalRates(limits, asyncio.get_running_loop().time())
        server = WebSocketServer(
            host,
            port,
            gate=lambda request: admit(door, request),
            serve=lambda transport, principal: self._serve_websocket(transport, principal, door),
            pages=Pages(self.core, door),
            max_message_size=limits.max_small_frame_bytes,
            max_connections=limits.max_connections,
            max_undecided=limits.max_undecided,
            seats=limits.has_seat,
            rates=rates.of,
            large=PrincipalLargeMessages(limits).of,
            tls=tls,
        )
        await self._stack.enter_async_context(server)
        door.serve_at(host, server.port)
        # Beside the loop, and nobody waits for it: a client that is faster builds what it needs.
        # Not before the caller has told where to connect to.
        preparing = threading.Thread(target=prepare_for_clients, name="prepare for clients")
        asyncio.get_running_loop().call_soon(preparing.start)
        shown = f"[{host}]" if ":" in host else host
        return f"{'ws' if tls is None else 'wss'}://{shown}:{server.port}"

    async def serve(
        self,
        transport: Transport,
        principal: Principal = LOCAL_OWNER,
        *,
        gate: Gate | None = None,
        on_established: Callable[[], None] | None = None,
        hears_logs_elsewhere: bool = False,
    ) -> None:
        """Serve one client over any transport until it leaves, or its token no longer counts.

        Without a ``gate`` nobody asks again whether the principal may stay. ``on_established`` is
        called when the client has been taken up. ``hears_logs_elsewhere`` is for those who read
        logged channels from the log itself: they are sent nothing of them.
        """
        name = f"c{next(self._numbers)}"
        connection = Connection(
            self.core,
            transport,
            principal,
            name,
            on_established,
            hears_logs_elsewhere=hears_logs_elsewhere,
        )
        log.info("%s connected from %s as %s", connection.name, transport.peer, principal.name)
        self._connections[connection] = gate
        try:
            await connection.run()
        finally:
            del self._connections[connection]
            log.info("%s left", connection.name)

    async def _serve_websocket(
        self, transport: ServerWebSocket, principal: Principal, gate: Gate
    ) -> None:
        size = self._settings.limits.frame_bytes(principal)
        await self.serve(
            transport, principal, gate=gate, on_established=lambda: transport.accept_up_to(size)
        )

    async def serve_forever(self) -> None:
        """Run until cancelled, or until the host cannot go on (then raise why)."""
        assert self._failed is not None
        await asyncio.shield(self._failed)

    def hurry(self) -> None:
        """Stop without waiting for agents any longer; what they did so far is kept all the same."""
        if self._core is not None:
            self._core.loops.hurry()

    async def add_agent(self, agent: Agent) -> None:
        """Offer one more agent from now on; one whose name is taken, or one too many, is not."""
        taken = agent.provider in self._agents
        if taken or len(self._agents) >= MOST_AGENTS:
            why = "the name is taken" if taken else f"there are {MOST_AGENTS} already"
            log.error("the agent %s is not offered: %s", agent.provider, why)
            return
        self._agents[agent.provider] = agent
        if self._core is not None:
            self._listen_to_agents(self._core, [agent])
            await announce_agents(self._core)

    async def remove_agent(self, provider: str) -> None:
        """Offer an agent no longer, and close it: its turns end, its sessions stay."""
        agent = self._agents.pop(provider, None)
        if agent is None:
            return
        agent.on_changed = agent.on_offered = agent.on_withdrawn = None
        if self._core is not None:
            self._core.turns.end_agent(agent)
            await announce_agents(self._core)
            await self._core.loops.release(agent)

    def _listen_to_agents(self, core: HostCore, agents: Iterable[Agent]) -> None:
        """Let agents say, from their own threads, that clients must be told of them again."""
        loop = asyncio.get_running_loop()

        def announce() -> None:
            if self._core is core:
                core.tasks.start(announce_agents(core), "announce agents")

        def changed() -> None:
            # The host may have ended.
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(announce)

        def offered(agent: Agent) -> None:
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(begin, lambda: self.add_agent(agent))

        def withdrawn(provider: str) -> None:
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(begin, lambda: self.remove_agent(provider))

        def begin(work: Callable[[], Coroutine[None, None, None]]) -> None:
            if self._core is core:
                core.tasks.start(work(), "agents come and go")

        for agent in agents:
            agent.on_changed = changed
            agent.on_offered, agent.on_withdrawn = offered, withdrawn
            core.tasks.start(core.loops.call(agent, agent.offered), f"offer {agent.provider}")

    async def _check_tokens(self) -> None:
        while True:
            await asyncio.sleep(TOKEN_CHECK_INTERVAL)
            await self.check_tokens()

    async def check_tokens(self) -> None:
        """Send those away whose token does not count any more; done by itself every few seconds."""
        now = time.time()
        for connection, gate in list(self._connections.items()):
            if gate is not None and not gate.still_valid(connection.principal, now):
                connection.end(CloseCode.POLICY_VIOLATION, "the token was revoked or has expired")
        if self._gates and all(gate.is_certain for gate in self._gates):
            await self.core.push_book.prune(lambda each: self._counts(each.principal))

    def _counts(self, principal: Principal) -> bool:
        """Say whether somebody let in earlier would be let in now with the same token."""
        now = time.time()
        return any(gate.still_valid(principal, now) for gate in self._gates)

    def _fail(self, error: StoreError) -> None:
        log.critical("the store failed, so the host stops: %s", error)
        for connection in list(self._connections):
            connection.end(CloseCode.INTERNAL_ERROR, "the host's storage failed")
        if self._failed is not None and not self._failed.done():
            self._failed.set_exception(error)

    async def _say_goodbye(self) -> None:
        """End every turn while its clients can still be told, then tell them that this is it."""
        await self._end_work()
        for connection in list(self._connections):
            connection.end(CloseCode.GOING_AWAY, STOPPING)

    async def _end_work(self) -> None:
        """End what agents do and what runs, and begin nothing more."""
        core = self.core
        core.automations.close()
        core.canvases.shut_down()
        await core.turns.close(STOPPING)
        await core.mcp.close()
        await core.terminals.close()
        # A store that failed has told everybody already.
        with contextlib.suppress(StoreError):
            await core.writer.ledger.settle()

    async def _stop(self) -> None:
        core = self.core
        # Servers have seen their connections off; these came by other ways.
        farewells = {
            connection.end(CloseCode.GOING_AWAY, STOPPING) for connection in self._connections
        }
        if farewells:
            await asyncio.wait(farewells, timeout=FAREWELL_SECONDS)
        await core.customizations.close()
        core.watches.close()
        await core.file_searches.close()
        core.active_clients.close()
        core.turns.starts.close()
        await core.tasks.close()
        await core.loops.close()
        await core.telemetry.close()
        core.files.close()
        if core.writer.ledger.failure is None:
            core.directory.save_all()
            await core.writer.ledger.close()
        if self._failed is not None and self._failed.done():
            # Whoever awaited the failure has seen it; nobody has to.
            self._failed.exception()
        self._core = None
