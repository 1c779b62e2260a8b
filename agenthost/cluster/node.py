"""One machine of a realm: its parts, put together, started in order and stopped in reverse.

Realm, copy, beats, owner, front. Nothing listens before the realm is open and the copy has all of
it. An owner host that was fenced is replaced by a new one. A node that was away for longer than the
log goes back makes all of its parts anew, from a base; everything else ends the node.
"""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar
from urllib.parse import urlsplit

from agenthost.agents.demo import Demo
from agenthost.clock import SystemClock
from agenthost.cluster.copy import LocalCopy
from agenthost.cluster.front.forwarding import Forwarding
from agenthost.cluster.front.host import FrontHost
from agenthost.cluster.links import LinkServer
from agenthost.cluster.machines import RealmMachines
from agenthost.cluster.nodes import Claims, Keeper, NodeInfo, Nodes, RootKeeper
from agenthost.cluster.nodes.free_appends import FreeAppends
from agenthost.cluster.nodes.node_name import check_node_name, own_name
from agenthost.cluster.nodes.shared_pushes import SharedPushes
from agenthost.cluster.nodes.shared_tokens import SharedTokens
from agenthost.cluster.owner.host import OwnerHost
from agenthost.cluster.owner.store import OwnerStore
from agenthost.cluster.realm import (
    Appender,
    FellBehind,
    RealmAddress,
    RealmLink,
    RealmUnreachable,
)
from agenthost.cluster.units import REALM
from agenthost.errors import AgentHostError
from agenthost.host.startup import server_info
from agenthost.tasks import Tasks
from agenthost.version import __version__

if TYPE_CHECKING:
    from agenthost.agents.api import Agent
    from agenthost.host.trust import Principal
    from agenthost.protocol.root import AgentInfo
    from agenthost.transport import Transport

log = logging.getLogger(__name__)

T = TypeVar("T")

# The copy, below the data directory.
COPY_FOLDER = "realm"
# Seconds before an owner host is made anew, so that one that cannot live does not keep us busy.
_RENEWAL_PAUSE = 0.2
# Seconds between looks at who leads, before clients may come.
_START_PAUSE = 0.02
# Seconds between looks at what the log's upkeep needs.
_UPKEEP_SECONDS = 60.0
# What only those need who serve clients.
_FRONT_ONLY = ("token_book", "push_file", "push_connector", "wire_log")


class ClusterNode:
    """A node of a realm; ``async with`` starts it."""

    def __init__(
        self,
        address: RealmAddress,
        data_dir: Path,
        node: str | None = None,
        labels: Mapping[str, str] | None = None,
        *,
        agents: Sequence[Agent] | None = None,
        **host_settings: Any,
    ) -> None:
        """Describe a node.

        Args:
            address: the servers, and which realm.
            data_dir: where it keeps its copy of the realm, and its name.
            node: its name in the realm; without one, the machine's and a few letters.
            labels: what people shall know of it.
            agents: what sessions can be created with here.
            host_settings: as those of every `Host`.
        """
        self._address = address
        self._data_dir = data_dir
        self._given_name = None if node is None else check_node_name(node)
        self._labels = dict(labels or {})
        self._agents = {agent.provider: agent for agent in agents or [Demo()]}
        self._settings = host_settings
        self.name = ""
        # The owner host at work; None while one is being made.
        self.owner: OwnerHost | None = None
        self._owner_store: OwnerStore | None = None
        # Set once there is one, and has taken up what this node owned before it was started.
        self._has_begun = asyncio.Event()
        # The agents that the owner host had, while another one is being made.
        self._offered: list[AgentInfo] = []
        self._started = time.time()
        self._process = secrets.token_hex(4)
        self._incarnation = ""
        self._url = ""
        # How often the owner host had to be made anew.
        self._renewals = 0
        self._tasks = Tasks()
        self._stack = AsyncExitStack()
        # Ends with the reason when its parts cannot go on.
        self._failed: asyncio.Future[None]
        # Ends with the reason when the node cannot go on, not with parts that are made anew.
        self._over: asyncio.Future[None]
        self._living: asyncio.Task[None]
        self._is_leaving = False
        # Where clients come in, as `listen` was told.
        self._doors: list[tuple[str, int, dict[str, Any]]] = []
        self._front: FrontHost | None = None
        self._keeper: Keeper | None = None
        roots = host_settings.get("roots") or [host_settings.get("default_directory", ".")]
        self._roots = [str(Path(root).resolve()) for root in roots]
        self._hurried = asyncio.Event()

    @property
    def front(self) -> FrontHost:
        """The host that serves the clients of this node."""
        if self._front is None:
            raise RuntimeError("the node is not running: use `async with`")
        return self._front

    async def __aenter__(self) -> Self:
        self._over = _failure()
        self.name = self._given_name or own_name(self._data_dir)
        await self._begin()
        self._living = asyncio.create_task(self._live(), name="live")
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        # Where the cancellation is lost on its way, this is looked at instead.
        self._is_leaving = True
        self._living.cancel()
        await asyncio.wait([self._living])
        if self.owner is not None and not self._failed.done():
            await self.owner.rest()
        await self._stack.aclose()

    # A life, and another one.

    async def _live(self) -> None:
        """Make everything anew whenever this node fell behind the log."""
        try:
            while not self._is_leaving:
                try:
                    await asyncio.shield(self._failed)
                except FellBehind as error:
                    if self._keeper is not None and self._keeper.is_draining:
                        raise
                    log.warning("this node begins anew, from a base: %s", error)
                await self._end()
                await self._begin_patiently()
                for host, port, options in self._doors:
                    await self.front.listen(host, port, **options)
        except Exception as error:
            self._over.set_exception(error)

    async def _begin_patiently(self) -> None:
        """Begin, as soon as the realm's servers answer."""
        while not self._is_leaving:
            try:
                await self._begin()
                return
            except RealmUnreachable as error:
                log.warning("this node waits: %s", error)
                await asyncio.sleep(_RENEWAL_PAUSE)

    async def _begin(self) -> None:
        """Start all parts, again if the log was cut meanwhile."""
        while True:
            try:
                await self._start()
                return
            except FellBehind as error:
                log.info("the log was cut while this node began: %s", error)

    async def _end(self) -> None:
        """Stop all parts."""
        stack, self._stack = self._stack, AsyncExitStack()
        await stack.aclose()
        self._front = self._keeper = None

    async def _start(self) -> None:
        self._failed = _failure()
        self._has_begun = asyncio.Event()
        async with AsyncExitStack() as stack:
            enter = stack.enter_async_context
            self._link = await enter(RealmLink(self._address, self.name))
            info = await self._link.open_realm()
            self._copy = await enter(LocalCopy(self._data_dir / COPY_FOLDER, self._link, info))
            await self._copy.caught_up()
            self._appender = Appender(self._link)
            self._free = FreeAppends(self._appender, self._copy, self.name)
            self._pushes = self._share_pushes()
            self._nodes = await enter(Nodes(self._link, self._info))
            await self._nodes.look_around()
            self._claims = Claims(self._link, self._nodes, self._copy, self.name)
            stack.push_async_callback(self._claims.close)
            stack.push_async_callback(self._tasks.close)
            self._keeper = keeper = Keeper(
                self._link,
                self._nodes,
                self._copy,
                self._claims,
                self.name,
                owner=lambda: self.owner,
                incarnation=lambda: self._incarnation,
                followed=self._followed,
            )
            self._root = RootKeeper(
                self._copy,
                self._nodes,
                SystemClock(),
                build=server_info(),
                flags=self._settings.get("flags") or {},
            )
            self._tasks.start(self._fail_with(self._copy.failed()), "watch the copy")
            self._tasks.start(self._keep_owner(keeper), "keep an owner host")
            await enter(keeper)
            self._tasks.start(self._keep_root(keeper), "keep the root channel")
            self._tasks.start(self._keep_up(), "upkeep of the log")
            self._tasks.start(self._free.run(), "append for the front")
            tokens = await self._share_tokens()
            # Clients come once sessions can be placed here, and no turn is shown that nobody runs.
            await self._unless_failed(self._has_begun.wait())
            await self._unless_failed(self._root_kept())
            self._front = await self._unless_failed(enter(self._make_front()))
            self._tasks.start(self._fail_with(self._front.serve_forever()), "watch the front")
            self._watch_front(self._front)
            if tokens is not None:
                tokens.on_changed = self._front.check_tokens
                self._front.core.access.on_edited = tokens.exchange
            self._stack = stack.pop_all()

    async def _unless_failed(self, work: Coroutine[Any, Any, T]) -> T:
        """Wait for something, or until the parts cannot go on (then raise why)."""
        working = asyncio.ensure_future(work)
        try:
            either: set[asyncio.Future[Any]] = {working, self._failed}
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
            if self._failed.done():
                self._failed.result()
            return await working
        finally:
            working.cancel()
            await asyncio.wait([working])

    # As a host's.

    async def listen(self, host: str = "127.0.0.1", port: int = 8765, **options: Any) -> str:
        """Accept clients; see `Host.listen`."""
        self._url = await self.front.listen(host, port, **options)
        self._doors.append((host, urlsplit(self._url).port or port, options))
        return self._url

    async def serve(self, transport: Transport) -> None:
        """Serve one client over any transport; see `Host.serve`."""
        await self.front.serve(transport)

    async def serve_forever(self) -> None:
        """Run until cancelled, or until the node cannot go on (then raise why)."""
        await asyncio.shield(self._over)

    def hurry(self) -> None:
        """Leave without waiting any longer."""
        self._hurried.set()
        if self.owner is not None:
            self.owner.hurry()

    async def drain(self, wait: float) -> None:
        """Give what this node owns to others; turns get so many seconds to end by themselves."""
        if self._failed.done() or self._keeper is None:
            return
        draining = asyncio.create_task(self._keeper.drain(wait), name="drain")
        hurried = asyncio.create_task(self._hurried.wait(), name="wait for hurry")
        await asyncio.wait({draining, hurried}, return_when=asyncio.FIRST_COMPLETED)
        for task in (draining, hurried):
            task.cancel()
        for result in await asyncio.gather(draining, hurried, return_exceptions=True):
            if isinstance(result, Exception):
                log.error("not all could be handed over: %s", result)

    async def add_agent(self, agent: Agent) -> None:
        """Offer one more agent on this node from now on; see `Host.add_agent`."""
        self._agents.setdefault(agent.provider, agent)
        if self.owner is not None:
            await self.owner.add_agent(agent)

    async def remove_agent(self, provider: str) -> None:
        """Offer an agent on this node no longer; see `Host.remove_agent`."""
        self._agents.pop(provider, None)
        if self.owner is not None:
            await self.owner.remove_agent(provider)

    # The owner.

    async def _keep_owner(self, keeper: Keeper) -> None:
        """Run an owner host, and another one whenever it could not go on."""
        while True:
            try:
                await self._run_owner(keeper)
            except AgentHostError as error:
                log.warning("the owner host of this node is made anew: %s", error)
            except Exception as error:
                log.exception("the owner host failed")
                self._fail(error)
                return
            self._renewals += 1
            await asyncio.sleep(_RENEWAL_PAUSE)

    async def _run_owner(self, keeper: Keeper) -> None:
        settings = {key: value for key, value in self._settings.items() if key not in _FRONT_ONLY}
        self._owner_store = store = OwnerStore(self._copy, self._appender, self.name)
        store.router.on_root = self._nodes.tell_now
        async with OwnerHost(store, agents=list(self._agents.values()), **settings) as host:

            async def serve(transport: Transport, principal: Principal, purpose: str) -> None:
                await host.serve(transport, principal, hears_logs_elsewhere=True)

            async with LinkServer(self._link, self.name, serve, lambda: self._copy.position):
                self._incarnation = secrets.token_hex(4)
                self.owner = host
                self._nodes.tell_now()
                keeper.owner_renewed().add_done_callback(lambda _: self._has_begun.set())
                try:
                    await host.serve_forever()
                finally:
                    # Before it lets go of anything: from now on it owns nothing.
                    self._offered = host.core.root.state["agents"]
                    self.owner = None
                    self._incarnation = ""

    async def _keep_root(self, keeper: Keeper) -> None:
        """Keep the realm's root channel for as long as this node leads."""
        while True:
            owner, store = self.owner, self._owner_store
            if owner is None or store is None or not keeper.leads or REALM not in owner.owned:
                await asyncio.sleep(_RENEWAL_PAUSE)
                continue

            async def until_led_no_more(host: OwnerHost = owner) -> None:
                while self.owner is host and REALM in host.owned:  # noqa: ASYNC110
                    await asyncio.sleep(_RENEWAL_PAUSE)

            keeping = asyncio.create_task(
                self._lead(partial(store.write_to, REALM)), name="keep what is the realm's"
            )
            leading = asyncio.create_task(until_led_no_more(), name="lead")
            try:
                await asyncio.wait({keeping, leading}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                keeping.cancel()
                leading.cancel()
                results = await asyncio.gather(keeping, leading, return_exceptions=True)
            if isinstance(results[0], Exception):
                log.warning("the root channel waits: %s", results[0])
                await asyncio.sleep(_RENEWAL_PAUSE)

    async def _lead(self, write: Callable[..., asyncio.Future[None]]) -> None:
        if self._pushes is not None:
            # Beside it: the realm is worth more than what is pushed.
            self._tasks.start(self._pushes.make_key(write), "make the key for pushes")
        await self._root.keep(write)

    async def _root_kept(self) -> None:
        """Wait until whoever leads keeps the root channel; if that is us, with our settings."""
        # Nobody tells who leads, and it is settled within a second.
        while not self._root.is_kept:
            leader = self._copy.owner_of(REALM)
            if leader is not None and leader != self.name and leader in self._nodes.living:
                return
            await asyncio.sleep(_START_PAUSE)

    # The front.

    def _make_front(self) -> FrontHost:
        forwarding = Forwarding(self._copy, self._link, self._nodes, self.name, claims=self._claims)
        # Of files only owners know anything; what the front calls its own stays empty.
        settings = {**self._settings, "workspace_dir": self._data_dir / COPY_FOLDER / "front"}
        return FrontHost(
            self._copy,
            forwarding,
            node=self.name,
            append=self._free.later,
            pending=forwarding.pending.logged,
            push_book=self._pushes,
            **settings,
        )

    def _watch_front(self, front: FrontHost) -> None:
        """Have the front tell people, and those who watch machines, of the realm."""
        core, copy = front.core, self._copy
        # Everybody watches, so that whoever leads next knows what was told.
        core.push_watch.sends, core.push_watch.is_seen = self._leads, self._nodes.is_seen
        core.machines = RealmMachines(
            self._nodes, copy, self._claims, self.name, lambda: self._ailment() or None
        )
        gauge = core.metrics.gauge
        gauge("agenthost_cluster_position", "Last message read", lambda: copy.position)
        gauge("agenthost_cluster_feed_fresh", "Feed heard of late", lambda: int(copy.is_fresh))
        gauge("agenthost_cluster_owned_units", "Units owned", lambda: len(self._owned()))
        gauge("agenthost_cluster_nodes", "Nodes that live", lambda: len(self._nodes.living))
        gauge("agenthost_cluster_leads", "Leading", lambda: int(self._leads()))
        gauge(
            "agenthost_cluster_refused_appends_total",
            "Commits that the servers refused because another node had taken over",
            lambda: self._appender.fenced,
        )
        gauge(
            "agenthost_cluster_owner_renewals_total",
            "Owner hosts made anew",
            lambda: self._renewals,
        )
        gauge(
            "agenthost_cluster_takeovers_total",
            "Units claimed",
            lambda: 0 if self._keeper is None else self._keeper.takeovers,
        )

    def _share_pushes(self) -> SharedPushes | None:
        former = self._settings.get("push_file")
        if former is None:
            return None
        pushes = SharedPushes(self._copy, former, self._free.now)
        self._tasks.start(pushes.keep(), "share who is pushed to")
        return pushes

    async def _share_tokens(self) -> SharedTokens | None:
        """Have the realm's named tokens in this node's book before anybody is let in by it."""
        if self._settings.get("token_book") is None:
            return None
        tokens = SharedTokens(self._copy, self._data_dir, self._free.now)
        await tokens.try_exchange()
        self._tasks.start(tokens.keep(), "share tokens")
        return tokens

    # What is said of this node.

    def _info(self) -> NodeInfo:
        """Return what this node tells the others."""
        owner = self.owner
        root = None if owner is None else owner.core.root.state
        return NodeInfo(
            id=self.name,
            name=self.name,
            labels=self._labels,
            url=self._url,
            version=__version__,
            started=self._started,
            process=self._process,
            incarnation=self._incarnation,
            draining=self._keeper is not None and self._keeper.is_draining,
            sessions=sum(not unit.startswith("@") for unit in self._owned()),
            turns=0 if owner is None else owner.core.turns.running,
            clients=len(self._front.connections) if self._front is not None else 0,
            load=round(os.getloadavg()[0] / (os.cpu_count() or 1), 2),
            agents=self._offered if root is None else root["agents"],
            roots=self._roots,
            terminals=[] if root is None else root.get("terminals", []),
            position=self._copy.position,
            ailment=self._ailment(),
            seen=[] if self._front is None else self._front.seen_names,
        )

    def _ailment(self) -> str:
        if self._keeper is not None and self._keeper.is_draining:
            return "draining"
        if not self._copy.is_fresh:
            return "no news from the realm"
        if self._failed.done():
            return "failed"
        return self._appender.no_room or ""

    def _leads(self) -> bool:
        return self._keeper is not None and self._keeper.leads

    def _owned(self) -> frozenset[str]:
        return frozenset() if self.owner is None else self.owner.owned

    def _followed(self) -> list[str]:
        """Return the units that clients of this node look at."""
        if self._front is None:
            return []
        channels = self._front.core.directory.loaded()
        units = (self._copy.unit_of_channel(each.uri) for each in channels if each.subscriptions)
        return [unit for unit in units if unit is not None]

    # Watching.

    async def _fail_with(self, part: Coroutine[Any, Any, None]) -> None:
        try:
            await part
        except AgentHostError as error:
            self._fail(error)

    async def _keep_up(self) -> None:
        """Keep the log from growing for ever."""
        while True:
            await asyncio.sleep(_UPKEEP_SECONDS)
            try:
                if self.owner is not None:
                    await self.owner.renew(self._stale())
                if self._leads() and await self._copy.base_is_due():
                    await self._copy.make_base()
            except (AgentHostError, TimeoutError) as error:
                log.warning("the log's upkeep waits: %s", error)

    def _stale(self) -> list[str]:
        """Return the units that this node is to renew: its own, and the leader those of nobody."""
        leads, living = self._leads(), self._nodes.living
        return [
            unit
            for unit, owner in self._copy.stale_units().items()
            if owner == self.name or (leads and owner not in living)
        ]

    def _fail(self, error: BaseException) -> None:
        # What fails because the copy did may be heard of first.
        reason = self._copy.failure or error
        if not isinstance(reason, FellBehind):
            log.critical("this node cannot go on: %s", reason)
        if not self._failed.done():
            self._failed.set_exception(reason)


def _failure() -> asyncio.Future[None]:
    """Return what ends with a failure, which whoever awaits it sees; nobody has to."""
    failed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    failed.add_done_callback(lambda done: done.cancelled() or done.exception())
    return failed
