"""The owner host: runs the agents of one node, and decides for the sessions that the node owns.

Plain host code on an ``OwnerStore``. Its clients are fronts' links, which read logged channels from
the log. It opens with nothing of its own: units are claimed one by one, and their interrupted turns
end then. When another node owns what it wrote to, its store fails, and it with it.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from agenthost.cluster.owner.ledger import OwnerLedger
from agenthost.cluster.owner.store import CLOSE_SECONDS, OwnedElsewhere, OwnerStore
from agenthost.cluster.units import REALM
from agenthost.errors import SessionAlreadyExists
from agenthost.host.channels.automation.book import ACTIVE_RUNS
from agenthost.host.channels.automation.runs import session_of_run
from agenthost.host.channels.root import open_root, take_up_settings
from agenthost.host.channels.session.consequences import ReleaseWorkspace
from agenthost.host.channels.session.content_owners import SHARED as SHARED_CONTENT
from agenthost.host.channels.session.kind import SESSION, extra_of
from agenthost.host.channels.token_expiry import TokenExpiry
from agenthost.host.clients.forwarded_actions import OWNED_ELSEWHERE
from agenthost.host.customizations.enablement import SHARED as SHARED_DECISIONS
from agenthost.host.folder_trust import TRUST
from agenthost.host.host import Host
from agenthost.host.housekeeping import collect_drafts, empty_trash, sweep
from agenthost.host.log.stored_values import stored_value
from agenthost.host.remote_owner import CHANNEL_GONE
from agenthost.host.store import Append, DropRecord, PutRecord, Store, StoreError
from agenthost.host.wiring import wire
from agenthost.protocol.uris import ROOT

if TYPE_CHECKING:
    from agenthost.cluster.copy import Applied
    from agenthost.host.clients.wire_log import WireLog
    from agenthost.host.core import HostCore
    from agenthost.host.log.channel import AnyChannel

log = logging.getLogger(__name__)

# Seconds between looks whether the feed is heard again, while nothing may start.
FRESH_INTERVAL = 0.2
# Units that are renewed at the same time, so that other appends are not held up.
RENEWED_AT_ONCE = 8
# What several owners write and each keeps in memory.
_SHARED = frozenset({TRUST, SHARED_CONTENT, SHARED_DECISIONS})


class OwnerHost(Host):
    """A host that owns some of the realm's sessions."""

    def __init__(self, store: OwnerStore, **host_settings: Any) -> None:
        """Own sessions as the store's node; for ``host_settings`` see `Host`."""
        super().__init__(store=store, **host_settings)
        self._owner_store = store
        # One claim or handover of a unit at a time, or the making of one.
        self._locks: dict[str, asyncio.Lock] = {}
        # Units that are becoming this host's, until what was interrupted in them has ended.
        self._coming: set[str] = set()
        # Units that go to others once their turns are over.
        self._going: set[str] = set()
        # Whether everything is about to go.
        self._is_leaving = False
        # What runs as long as this node leads.
        self._leading: list[asyncio.Task[Any]] = []
        self._shared_changed = asyncio.Event()
        # Ends what the copy tells this host; the copy outlives it.
        self._stop_hearing: Callable[[], None] | None = None

    @property
    def node(self) -> str:
        """The node that this is the owner of."""
        return self._owner_store.node

    @property
    def owned(self) -> frozenset[str]:
        """The units that this host owns and has taken up."""
        return frozenset(self._owner_store.owned - self._coming)

    def is_busy(self, unit: str) -> bool:
        """Say whether a turn of a unit runs here."""
        return self.core.turns.runs_in(unit)

    @property
    def leads(self) -> bool:
        """Whether this host owns what belongs to the realm as a whole."""
        return self._owner_store.leads

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            # Whoever waits for the host has heard of a store that failed.
            with self._not_too_late(), contextlib.suppress(StoreError):
                await super().__aexit__(exc_type, exc, traceback)
        finally:
            if self._stop_hearing is not None:
                self._stop_hearing()

    @contextlib.contextmanager
    def _not_too_late(self) -> Iterator[None]:
        """Wait no longer for a realm without which nothing that is written is ever stored."""
        late = StoreError("the realm could not be reached while the host was stopping")
        loop = asyncio.get_running_loop()
        alarm = loop.call_later(2 * CLOSE_SECONDS, self._owner_store.fail, late)
        try:
            yield
        finally:
            alarm.cancel()

    def _make_core(self, store: Store, wire_log: WireLog | None, workspace_dir: Path) -> HostCore:
        core = wire(
            self._settings,
            store,
            wire_log,
            workspace_dir,
            connections=lambda: len(self._connections),
            counts=self._counts,
            on_failure=self._fail,
            make_ledger=OwnerLedger,
        )
        core.turns.may_act = self._may_act
        core.sessions.claimed = self._claim_new
        core.chats.is_held = self._holds_queues
        core.changesets.book.machine = self.node
        core.directory.on_read(self._expect_owned)
        core.directory.on_loaded(self._watch_agent)
        core.directory.on_forgotten(lambda channel: self._tell_gone(core, channel))
        self._owner_store.router.home_of_new = core.canvases.tell_homes()
        return core

    async def _open(self, core: HostCore) -> None:
        await core.writer.ledger.open()
        await core.catalogue.open()
        await core.content_owners.open()
        await core.changesets.open()
        await core.folder_trust.open()
        await core.customizations.open()
        await open_root(core)
        take_up_settings(core)
        await core.telemetry.open()
        self._listen_to_agents(core, list(self._agents.values()))
        self._stop_hearing = self._owner_store.copy.on_commit(lambda each: self._heard(core, each))

    def _start_work(self, core: HostCore) -> None:
        core.tasks.start(core.catalogue.tell_of_chats(core.clock), "tell of chats")
        core.tasks.start(sweep(core), "sweep")
        core.tasks.start(collect_drafts(core), "collect drafts")
        core.tasks.start(self._check_tokens(), "check tokens")
        core.tasks.start(TokenExpiry(core).watch(), "tell of expired tokens")
        core.tasks.start(core.repository_watches.run(), "watch repositories")
        core.tasks.start(core.worktrees.clear_left_behind(), "clear worktrees away")
        core.tasks.start(core.terminals.leave_clients(), "leave terminals of absent clients")
        core.tasks.start(self._follow_shared(core), "follow what owners share")

    # Owning.

    async def own(self, unit: str) -> bool:
        """Own a unit from now on, whoever did before; False if somebody else was faster.

        Turns that were interrupted in it end with an error. None begins before they have: whoever
        sends one is told to try again.
        """
        async with self._alone(unit):
            if unit in self.owned:
                return True
            if self._is_leaving:
                return False
            # Stays there if anything fails, so that whoever asks next does it all.
            self._coming.add(unit)
            is_ours = await self._owner_store.claim(unit)
            if is_ours and unit != REALM:
                core = self.core
                # Whoever still counted what the last turn here changed may have read it since.
                core.changesets.book.leave(unit)
                await core.drafts.take_up(unit)
                await core.turns.end_interrupted(core.store, core.directory, unit)
                # Whoever is told who owns it finds them ended.
                await core.writer.ledger.settle()
            self._coming.discard(unit)
            if is_ours and unit != REALM:
                await self.core.chats.go_on(unit)
            return is_ours

    async def leave(self) -> None:
        """Take on nothing more, and begin no turn: what is sent or queued waits for who is next.

        Turns that run go on. When this returns, nothing is becoming this host's any more.
        """
        self._is_leaving = True
        self.core.automations.close()
        for unit in list(self._coming):
            async with self._alone(unit):
                pass
        for session in self.core.directory.loaded(SESSION):
            # Those that were made here were not looked at yet.
            self._watch_agent(session)

    async def give_up(
        self, unit: str, to: str | None, *, wait: float, reason: str | None = None
    ) -> None:
        """Let another node own a unit, or nobody, once its turns are over.

        After ``wait`` seconds they end with ``reason`` as their error. None begins meanwhile: what
        is queued or sent waits for the next owner.
        """
        async with self._alone(unit):
            if unit not in self._owner_store.owned:
                return
            core = self.core
            self._going.add(unit)
            session = core.directory.get(unit, SESSION)
            if session is not None:
                # One that was made here was not looked at yet.
                self._watch_agent(session)
            try:
                if unit == REALM:
                    await self._stop_leading(core)
                else:
                    why = reason or "the session goes to another machine; send the message again"
                    await core.turns.rest(unit, wait, why)
                    core.effects.carry_out(ReleaseWorkspace(unit, keep=True))
                    core.drafts.leave(unit)
                while core.writer.ledger.backlog:
                    await core.writer.ledger.settle()
                # Nothing is awaited from here on until nothing of it can be written any more.
                for channel in self._channels_of(core, unit):
                    core.directory.let_go(channel)
                await self._owner_store.release(unit, to)
            finally:
                self._going.discard(unit)
                if unit in self._owner_store.owned:
                    core.tasks.start(core.chats.go_on(unit), f"go on with {unit}")

    async def rest(self) -> None:
        """End all turns and terminals, and begin nothing more, while clients can still be told."""
        with self._not_too_late():
            await self._end_work()

    async def renew(self, units: Iterable[str]) -> None:
        """Append an empty message to each of these, which nobody else owns: its log ends later."""
        gate = asyncio.Semaphore(RENEWED_AT_ONCE)

        async def renew(unit: str) -> None:
            async with gate, self._alone(unit):
                await self._owner_store.renew(unit)

        await asyncio.gather(*map(renew, units))

    async def lead(self) -> None:
        """Do what one node does for all, now that this host owns ``REALM``."""
        async with self._alone(REALM):
            if self._leading or not self.leads:
                return
            core = self.core
            await self._own_runs(core)
            await core.automations.open()
            self._leading = [
                core.tasks.start(core.automations.run(), "automations"),
                core.tasks.start(empty_trash(core), "empty trash"),
            ]

    async def _own_runs(self, core: HostCore) -> None:
        """Own the sessions of runs that are not over, where nobody else does: they go on here."""
        copy = self._owner_store.copy
        for run in await core.store.records(ACTIVE_RUNS):
            session = session_of_run(run)
            is_made = copy.unit_of_channel(session) is not None
            if is_made and copy.owner_of(session) in (None, self.node):
                await self.own(session)

    async def _stop_leading(self, core: HostCore) -> None:
        core.automations.close()
        leading, self._leading = self._leading, []
        for task in leading:
            task.cancel()
        if leading:
            await asyncio.wait(leading)

    @contextlib.asynccontextmanager
    async def _alone(self, unit: str) -> AsyncIterator[None]:
        lock = self._locks.setdefault(unit, asyncio.Lock())
        try:
            async with lock:
                yield
        finally:
            # Others may have come to wait for it.
            if not lock.locked() and self._locks.get(unit) is lock:
                del self._locks[unit]

    @contextlib.asynccontextmanager
    async def _claim_new(self, session: str) -> AsyncIterator[None]:
        """Own a session that the block makes; nobody gives it up before that is done."""
        async with self._alone(session):
            if self._is_leaving:
                raise OwnedElsewhere(session, None)
            self._coming.add(session)
            try:
                if not await self._owner_store.claim_new(session):
                    raise SessionAlreadyExists(f"{session} is in use")
                yield
            finally:
                self._coming.discard(session)

    def _channels_of(self, core: HostCore, unit: str) -> list[AnyChannel]:
        """Return the channels of a unit that are in memory, those that hold others last."""
        found = [
            channel
            for channel in core.directory.loaded()
            if channel.uri != ROOT and unit in (channel.uri, channel.session, self._unit(channel))
        ]
        return sorted(found, key=lambda channel: channel.session is None)

    def _unit(self, channel: AnyChannel) -> str | None:
        return self._owner_store.router.unit_of(channel.uri)

    # What may happen here.

    async def _may_act(self) -> None:
        """Wait until what began a turn or a tool is in the log, and is sure to be heard of here."""
        await self.core.writer.ledger.settle()
        # Nobody tells when silence is over; it is rare, and short.
        while not self._owner_store.copy.is_fresh:  # noqa: ASYNC110
            await asyncio.sleep(FRESH_INTERVAL)

    def _is_held(self, session: str) -> bool:
        """Say whether turns of a session wait until it has come, or has gone elsewhere."""
        return self._is_leaving or session in self._going or session in self._coming

    def _holds_queues(self, session: str) -> bool:
        """Say whether what is queued in a session waits for another time or another owner."""
        channel = self.core.directory.get(session, SESSION)
        is_able = channel is None or channel.state["provider"] in self._agents
        return not is_able or self._is_held(session)

    def _expect_owned(self, channel: AnyChannel, since: int) -> None:
        """Refuse what was given up while it was being read."""
        self._owner_store.check(channel.uri)

    def _watch_agent(self, channel: AnyChannel) -> None:
        """Have new turns refused where a session's agent does not live on this node."""
        if channel.kind is SESSION:
            extra_of(channel).why_no_turns = lambda: self._why_no_turns(channel)

    def _tell_gone(self, core: HostCore, channel: AnyChannel) -> None:
        """Tell the fronts that show a channel which is in no log that it is gone."""
        if not channel.is_logged:
            core.writer.notify(channel, CHANNEL_GONE, {"channel": channel.uri})

    def _why_no_turns(self, session: AnyChannel) -> str | None:
        if self._is_held(session.uri):
            # Whoever passed it on sends it again, to whoever is the owner then.
            return f"{session.uri} {OWNED_ELSEWHERE}"
        provider = session.state["provider"]
        if provider in self._agents:
            return None
        return (
            f"no machine with the agent {provider} is up: the session can be read here, "
            "and takes messages again once there is one"
        )

    # What others did.

    def _heard(self, core: HostCore, applied: Applied) -> None:
        if self._core is not core:
            return
        for _, write in applied.writes:
            match write:
                case Append() if write.channel == ROOT and applied.node != self.node:
                    action = stored_value(write.action, ROOT)
                    if action["type"] == "root/configChanged":
                        core.writer.apply(core.root, action)
                case PutRecord() | DropRecord() if write.bucket in _SHARED:
                    self._shared_changed.set()

    async def _follow_shared(self, core: HostCore) -> None:
        """Take up what owners have decided for more than one session."""
        while True:
            await self._shared_changed.wait()
            self._shared_changed.clear()
            await self._owner_store.copy.reached(self._owner_store.copy.position)
            await core.folder_trust.open()
            await core.content_owners.open()
            await core.customizations.open()
