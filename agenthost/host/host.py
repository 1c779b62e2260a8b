"""The host: wires the parts together, starts them, listens, and stops them in order.

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
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from agenthost.agents.api import Agent
from agenthost.agents.demo import Demo
from agenthost.clock import Clock, SystemClock
from agenthost.host import method_handlers as handlers
from agenthost.host.channels.automation.catalogue import AutomationCatalogue
from agenthost.host.channels.automation.runs import AutomationRuns
from agenthost.host.channels.automation.templates import Templates
from agenthost.host.channels.canvas.canvases import Canvases
from agenthost.host.channels.changeset.changesets import Changesets
from agenthost.host.channels.changeset.checkpoint_book import CheckpointBook
from agenthost.host.channels.changeset.turn_changes import TurnChanges
from agenthost.host.channels.changeset.workplaces import Workplaces
from agenthost.host.channels.chat.completions import FileSearches
from agenthost.host.channels.chat.lifecycle import ChatRegistry
from agenthost.host.channels.content_upgrade import StoredModel
from agenthost.host.channels.registry import KINDS
from agenthost.host.channels.resource_watch.watches import ResourceWatches
from agenthost.host.channels.root import announce_agents, open_root
from agenthost.host.channels.session.active_clients import ACTIVE_GRACE, ActiveClients
from agenthost.host.channels.session.catalogue import SessionCatalogue
from agenthost.host.channels.session.content_owners import ContentOwners
from agenthost.host.channels.session.directories import Directories
from agenthost.host.channels.session.drafts import DRAFT_SECONDS, Drafts
from agenthost.host.channels.session.git_metadata import GitMetadata
from agenthost.host.channels.session.lifecycle import Disposal, SessionRegistry
from agenthost.host.channels.session.participants import Participants
from agenthost.host.channels.session.permissions import Permissions
from agenthost.host.channels.session.place_records import PlaceRecords
from agenthost.host.channels.session.places import Places
from agenthost.host.channels.session.repository_watches import RepositoryWatches
from agenthost.host.channels.session.resume_states import ResumeStates
from agenthost.host.channels.session.trash import Trash
from agenthost.host.channels.session.workspace_release import WorkspaceReleases
from agenthost.host.channels.session.worktrees import SessionWorktrees
from agenthost.host.channels.terminal.terminals import HostTerminals
from agenthost.host.channels.token_expiry import TokenExpiry
from agenthost.host.clients.client_records import Clients
from agenthost.host.clients.connection import Connection
from agenthost.host.clients.pacing import Pacing
from agenthost.host.clients.wire_log import WireLog
from agenthost.host.core import HostCore
from agenthost.host.delivery.budget import Budget
from agenthost.host.delivery.fanout import Fanout
from agenthost.host.files.client_resources import ClientResources
from agenthost.host.files.commands import ResourceFiles
from agenthost.host.files.reach import Reach
from agenthost.host.host_metrics import host_metrics
from agenthost.host.housekeeping import collect_drafts, empty_trash, sweep
from agenthost.host.http.admission import admit
from agenthost.host.http.pages import Pages
from agenthost.host.log.directory import Directory
from agenthost.host.log.effects import Effects
from agenthost.host.log.kind import AnyKind
from agenthost.host.log.ledger import Ledger
from agenthost.host.log.writer import Writer
from agenthost.host.startup import own_folder, prepare_for_clients, server_info
from agenthost.host.store import MemoryStore, SqliteStore, Store, StoreError
from agenthost.host.transports import ServerWebSocket, WebSocketServer
from agenthost.host.trust import (
    LOCAL_OWNER,
    Gate,
    Limits,
    Policy,
    PolicyContext,
    Principal,
    PrincipalRates,
    RolePolicy,
    ShellPolicy,
    check_bind,
)
from agenthost.host.trust.credentials import Credentials
from agenthost.host.turns.agent_loops import AgentLoops
from agenthost.host.turns.agent_starts import AgentStarts
from agenthost.host.turns.runner import PROMPT_TIMEOUT, SILENCE_LIMIT, TurnRunner
from agenthost.tasks import Tasks
from agenthost.transport import CloseCode, Transport
from agenthost.workspace.git.program import GitProgram

if TYPE_CHECKING:
    pass

log = logging.getLogger(__name__)

# Seconds that somebody may stay whose token was revoked or has expired.
TOKEN_CHECK_INTERVAL = 10.0

# What clients are told at the end.
STOPPING = "the host is shutting down"
# Seconds that clients which no server looks after get to take the last messages.
FAREWELL_SECONDS = 1.0


def _everybody(name: str) -> bool:
    return True


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
            disposal: what becomes of a disposed session that holds anything.
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
            shells: which ways to a shell there are besides agents.
        """
        self._agents = {agent.provider: agent for agent in (agents or [Demo()])}
        self._store = store or MemoryStore()
        self._limits = limits or Limits()
        self._policy = policy or RolePolicy()
        self._clock = clock or SystemClock()
        self._directory_uri = Path(default_directory).resolve().as_uri()
        self._roots = tuple(str(Path(root).resolve()) for root in roots or [default_directory])
        self._wire_log_path = Path(wire_log) if wire_log is not None else None
        self._disposal: Disposal = disposal
        self._active_grace = active_grace
        self._prompt_timeout = prompt_timeout
        self._draft_seconds = draft_seconds
        self._silence_limit = silence_limit
        self._is_admitted = is_admitted
        self._kinds = tuple(kinds)
        self._workspace_dir = Path(workspace_dir).absolute() if workspace_dir else None
        self._shells = shells or ShellPolicy()
        self._kept_away = tuple(Path(path).absolute() for path in kept_away)
        self._stack = AsyncExitStack()
        self._core: HostCore | None = None
        # Each live connection and the gate that let it in, if one did.
        self._connections: dict[Connection, Gate | None] = {}
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
                wire_log = stack.enter_context(WireLog(self._wire_log_path, self._clock))
            workspace_dir = stack.enter_context(own_folder(self._workspace_dir))
            self._core = core = self._wire(store, wire_log, workspace_dir)
            stack.push_async_callback(self._stop)
            await core.writer.ledger.open()
            await core.catalogue.open()
            await core.clients.open()
            await core.drafts.open()
            await core.content_owners.open()
            await core.changesets.open()
            await open_root(core)
            await core.turns.end_interrupted(store, core.directory)
            await core.automations.open()
            self._listen_to_agents(core)
            core.tasks.start(core.automations.run(), "automations")
            core.tasks.start(core.catalogue.tell_of_chats(core.clock), "tell of chats")
            core.tasks.start(sweep(core), "sweep")
            if self._draft_seconds is not None:
                core.tasks.start(collect_drafts(core, self._draft_seconds), "collect drafts")
            core.tasks.start(self._check_tokens(), "check tokens")
            core.tasks.start(TokenExpiry(core).watch(), "tell of expired tokens")
            core.tasks.start(empty_trash(core), "empty trash")
            core.tasks.start(core.repository_watches.run(), "watch repositories")
            core.tasks.start(core.worktrees.clear_left_behind(), "clear worktrees away")
            core.tasks.start(core.terminals.leave_clients(), "leave terminals of absent clients")
            self._stack = stack.pop_all()
        return self

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
    ) -> str:
        """Accept WebSocket connections and plain requests; return the WebSocket URL.

        Without a ``gate`` there are no tokens, which only a loopback address allows.
        """
        check_bind(host, has_token=gate is not None)
        door = gate or Gate(None)
        limits = self._limits
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
        )
        await self._stack.enter_async_context(server)
        door.serve_at(host, server.port)
        # Beside the loop, and nobody waits for it: a client that is faster builds what it needs.
        # Not before the caller has told where to connect to.
        preparing = threading.Thread(target=prepare_for_clients, name="prepare for clients")
        asyncio.get_running_loop().call_soon(preparing.start)
        shown = f"[{host}]" if ":" in host else host
        return f"ws://{shown}:{server.port}"

    async def serve(
        self,
        transport: Transport,
        principal: Principal = LOCAL_OWNER,
        *,
        gate: Gate | None = None,
        on_established: Callable[[], None] | None = None,
    ) -> None:
        """Serve one client over any transport until it leaves, or its token no longer counts.

        Without a ``gate`` nobody asks again whether the principal may stay. ``on_established`` is
        called when the client has been taken up.
        """
        name = f"c{next(self._numbers)}"
        connection = Connection(self.core, transport, principal, name, on_established)
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
        size = self._limits.frame_bytes(principal)
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

    def _wire(self, store: Store, wire_log: WireLog | None, workspace_dir: Path) -> HostCore:
        fanout = Fanout()
        ledger = Ledger(store, release=fanout.release, on_failure=self._fail)
        clock, tasks = self._clock, Tasks()
        effects = Effects()
        directory = Directory(store, ledger, clock, self._kinds, effects)
        writer = Writer(ledger, directory, effects, clock)
        catalogue = SessionCatalogue(store, writer, directory, effects)
        permissions, credentials = Permissions(ledger), Credentials(clock)
        resume_states = ResumeStates(ledger)
        participants = Participants(ledger, directory, effects)
        git_program = GitProgram()
        places = Places(tasks, self._roots, [workspace_dir, *self._kept_away])
        place_records = PlaceRecords(store, ledger, effects)
        git = GitMetadata(
            writer, directory, catalogue, effects, tasks, git_program, places, place_records
        )
        trash = Trash(store, ledger, clock)
        drafts = Drafts(store, ledger, directory, clock)
        content_owners = ContentOwners(store, ledger)
        loops = AgentLoops(self._agents, ledger)
        chats = ChatRegistry(store, writer, directory, effects, clock)
        canvases = Canvases(writer, directory, effects)
        clients = Clients(store, ledger)
        releases = WorkspaceReleases(effects)
        terminals = HostTerminals(
            store=store,
            writer=writer,
            directory=directory,
            effects=effects,
            tasks=tasks,
            limits=self._limits,
            is_here=clients.is_here,
        )
        releases.on_release(terminals.end_session)
        client_resources = ClientResources(clients, participants, directory, self._limits)
        turns = TurnRunner(
            writer,
            chats,
            effects,
            clock,
            self._agents,
            loops,
            starts=AgentStarts(tasks, loops),
            permissions=permissions,
            resume_states=resume_states,
            credentials=credentials,
            canvases=canvases,
            read_published=client_resources.read_bytes,
            terminals=terminals,
            shells=self._shells,
            prompt_timeout=self._prompt_timeout,
            silence_limit=self._silence_limit,
        )
        worktrees = SessionWorktrees(
            writer, directory, catalogue, effects, tasks, git_program, places, place_records
        )
        turns.hooks.add_preparation(worktrees)
        active = ActiveClients(clients, writer, directory, effects, self._active_grace)
        Directories(writer, directory, effects, self._agents, loops, credentials.mask)
        sessions = SessionRegistry(
            writer=writer,
            directory=directory,
            catalogue=catalogue,
            chats=chats,
            effects=effects,
            permissions=permissions,
            participants=participants,
            resume_states=resume_states,
            credentials=credentials,
            drafts=drafts,
            git=git,
            places=places,
            place_records=place_records,
            trash=trash,
            content_owners=content_owners,
            clock=clock,
            agents=self._agents,
            loops=loops,
            default_directory=self._directory_uri,
            disposal=self._disposal,
        )
        book = CheckpointBook(store, ledger, git_program, workspace_dir / "checkpoints")
        workplaces = Workplaces(places, place_records)
        changesets = Changesets(
            writer, directory, effects, tasks, clock, book, workplaces, self._limits
        )
        turns.hooks.add_witness(TurnChanges(writer, directory, effects, tasks, changesets))
        releases.on_release(changesets.end_session)
        context = PolicyContext(host_roots=self._roots)
        templates = Templates(directory, sessions, loops, self._policy, context, self._is_admitted)
        runs = AutomationRuns(
            writer=writer,
            directory=directory,
            effects=effects,
            clock=clock,
            tasks=tasks,
            sessions=sessions,
            turns=turns,
            templates=templates,
        )
        automations = AutomationCatalogue(
            store=store,
            writer=writer,
            directory=directory,
            effects=effects,
            clock=clock,
            templates=templates,
            runs=runs,
        )
        reach = Reach(participants, self._roots, [workspace_dir, *self._kept_away])
        watches = ResourceWatches(
            writer, directory, effects, self._limits, lambda who: reach.folders(who).paths
        )
        releases.on_release(watches.session_goes)
        # Last: nothing runs or watches in there any more.
        releases.on_release(worktrees.release)
        return HostCore(
            store=store,
            writer=writer,
            directory=directory,
            effects=effects,
            catalogue=catalogue,
            chats=chats,
            sessions=sessions,
            turns=turns,
            automations=automations,
            canvases=canvases,
            changesets=changesets,
            drafts=drafts,
            trash=trash,
            content_owners=content_owners,
            clients=clients,
            active_clients=active,
            permissions=permissions,
            participants=participants,
            credentials=credentials,
            tasks=tasks,
            clock=clock,
            agents=self._agents,
            loops=loops,
            limits=self._limits,
            budget=Budget(self._limits.max_waiting_bytes),
            pacing=Pacing(),
            large_frames=asyncio.Lock(),
            policy=self._policy,
            kind_methods={name: h for kind in self._kinds for name, h in kind.methods.items()},
            metrics=host_metrics(
                lambda: len(self._connections), ledger, fanout, turns, catalogue, runs
            ),
            wire_log=wire_log,
            server_info=server_info(),
            default_directory=self._directory_uri,
            roots=self._roots,
            workspace_dir=workspace_dir,
            shells=self._shells,
            places=places,
            worktrees=worktrees,
            repository_watches=RepositoryWatches(directory, git, lambda: watches.watcher),
            releases=releases,
            terminals=terminals,
            files=ResourceFiles(reach, self._limits),
            client_resources=client_resources,
            file_searches=FileSearches(),
            watches=watches,
        )

    def _listen_to_agents(self, core: HostCore) -> None:
        """Let agents say, from their own threads, that clients must be told of them again."""
        loop = asyncio.get_running_loop()

        def announce() -> None:
            if self._core is core:
                core.tasks.start(announce_agents(core), "announce agents")

        def changed() -> None:
            # The host may have ended.
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(announce)

        for agent in self._agents.values():
            agent.on_changed = changed

    async def _check_tokens(self) -> None:
        while True:
            await asyncio.sleep(TOKEN_CHECK_INTERVAL)
            now = time.time()
            for connection, gate in list(self._connections.items()):
                if gate is not None and not gate.still_valid(connection.principal, now):
                    connection.end(
                        CloseCode.POLICY_VIOLATION, "the token was revoked or has expired"
                    )

    def _fail(self, error: StoreError) -> None:
        log.critical("the store failed, so the host stops: %s", error)
        for connection in list(self._connections):
            connection.end(CloseCode.INTERNAL_ERROR, "the host's storage failed")
        if self._failed is not None and not self._failed.done():
            self._failed.set_exception(error)

    async def _say_goodbye(self) -> None:
        """End every turn while its clients can still be told, then tell them that this is it."""
        core = self.core
        core.automations.close()
        core.canvases.shut_down()
        await core.turns.close(STOPPING)
        await core.terminals.close()
        # A store that failed has told everybody already.
        with contextlib.suppress(StoreError):
            await core.writer.ledger.settle()
        for connection in list(self._connections):
            connection.end(CloseCode.GOING_AWAY, STOPPING)

    async def _stop(self) -> None:
        core = self.core
        # Servers have seen their connections off; these came by other ways.
        farewells = {
            connection.end(CloseCode.GOING_AWAY, STOPPING) for connection in self._connections
        }
        if farewells:
            await asyncio.wait(farewells, timeout=FAREWELL_SECONDS)
        core.watches.close()
        await core.file_searches.close()
        core.active_clients.close()
        core.turns.starts.close()
        await core.tasks.close()
        await core.loops.close()
        core.files.close()
        if core.writer.ledger.failure is None:
            core.directory.save_all()
            await core.writer.ledger.close()
        if self._failed is not None and self._failed.done():
            # Whoever awaited the failure has seen it; nobody has to.
            self._failed.exception()
        self._core = None
