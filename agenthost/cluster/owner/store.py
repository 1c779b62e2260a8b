"""The owner's store: reads are the copy's, writes are appended to the realm's stream.

What is stored is what came back with the feed, so a unit of write is done when it can be read from
the copy. Channels of sessions that others own cannot be loaded: what is in memory is what this host
decides about. Numbers are this host's own, and nobody else sees them.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Callable, Collection
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, Self

from agenthost.cluster.commits import Own, RealmWrite
from agenthost.cluster.owner.appends import Appending, Appends
from agenthost.cluster.owner.routing import OwnerWrite, Router, local_bucket
from agenthost.cluster.realm.errors import Fenced
from agenthost.cluster.units import MISC, REALM
from agenthost.errors import Conflict
from agenthost.host.channels.registry import KINDS
from agenthost.host.log.kind import Kept
from agenthost.host.store import (
    Append,
    Blob,
    SessionPage,
    Store,
    StoredChannel,
    StoreError,
    StoreMisuse,
    WholeChannel,
)
from agenthost.host.store.sequence import NumberedStore, NumberWrite, Opening, Sequencer
from agenthost.protocol.uris import ROOT

if TYPE_CHECKING:
    from agenthost.cluster.copy import Applied

# Seconds that what is on its way gets when the store is closed: the realm may be out of reach.
CLOSE_SECONDS = 5.0

ELSEWHERE = "is with another node now"
"""How the sentence ends that says so of a channel."""


class OwnedElsewhere(Conflict):
    """Another node decides about a channel; ``data`` names it, where one does."""

    def __init__(self, channel: str, node: str | None) -> None:
        super().__init__(f"{channel} {ELSEWHERE}", {"owner": node})


class OwnershipLost(StoreError):
    """Another node owns what this one wrote to; what it decided since then does not count."""


class Copied(Protocol):
    """What an owner asks of the copy; see ``cluster.copy.LocalCopy``."""

    @property
    def store(self) -> Store:
        """Where the realm can be read."""
        ...

    @property
    def position(self) -> int:
        """The last message that was taken from the feed."""
        ...

    @property
    def is_fresh(self) -> bool:
        """Whether the feed was heard of late."""
        ...

    def on_commit(self, tell: Callable[[Applied], None]) -> Callable[[], None]:
        """Tell somebody of every commit, until what is returned is called."""
        ...

    async def reached(self, position: int) -> None:
        """Wait until a message can be read."""
        ...

    def owner_of(self, unit: str) -> str | None:
        """Return who owns a unit."""
        ...

    def last_of(self, unit: str) -> int:
        """Return where a unit's last message lies."""
        ...

    def is_made(self, unit: str) -> bool:
        """Say whether there is or was what a unit is named after."""
        ...

    def unit_of_channel(self, channel: str) -> str | None:
        """Return the unit of a channel."""
        ...


@dataclass(slots=True)
class _Pending:
    """A unit of write that is on its way."""

    ticket: int
    done: asyncio.Future[None]
    stored: list[asyncio.Future[int]]
    channels: Collection[str] = ()
    gone: Collection[str] = ()


class OwnerStore(NumberedStore):
    """A ``Store`` for the sessions that one node owns."""

    def __init__(
        self,
        copy: Copied,
        appender: Appending,
        node: str,
        *,
        fenced: Callable[[StoreError], None] | None = None,
    ) -> None:
        """Write as ``node``; ``fenced`` is told once when another node owns what this one had."""
        self.copy = copy
        self.node = node
        # The units that this store has claimed and not given up.
        self.owned: set[str] = set()
        self.fenced = fenced
        self._appender = appender
        self._appends = Appends(appender, node, self._append_failed)
        self.router = Router(
            node,
            owned=self.owned,
            unit_of_channel=copy.unit_of_channel,
            owner_of=self._living_owner,
            unlogged_kinds={kind.name for kind in KINDS if kind.kept is not Kept.LOGGED},
        )
        self._sequencer: Sequencer | None = None
        self._is_closed = False
        self._failure: StoreError | None = None
        # Units of write that are on their way, in the order of the calls.
        self._pending: deque[_Pending] = deque()
        self._tickets = 0
        self._acknowledging: asyncio.Task[None] | None = None
        # One claim per unit at a time.
        self._claims: dict[str, asyncio.Task[bool]] = {}

    @property
    def _numbers(self) -> Sequencer:
        if self._sequencer is None or self._is_closed:
            raise StoreMisuse("the store is not open")
        return self._sequencer

    @property
    def _read(self) -> Store:
        if self._sequencer is None or self._is_closed:
            raise StoreMisuse("the store is not open")
        return self.copy.store

    @property
    def pending(self) -> int:
        """How many units were handed to ``write`` and are not durable yet."""
        return len(self._pending)

    @property
    def failure(self) -> StoreError | None:
        """Why the store takes no more writes, if it does not."""
        return self._failure

    async def __aenter__(self) -> Self:
        if self._sequencer is not None:
            raise StoreMisuse("a store is opened once; make another one")

        async def persist(write: NumberWrite) -> None:
            # Nobody outlives this host who has seen its numbers.
            pass

        self._sequencer = Sequencer(Opening(0, 1, ()), persist)
        self._appends.open(MISC, None)
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._failure is None and not self._is_closed:
            with contextlib.suppress(StoreError):
                await self._settle(CLOSE_SECONDS)
        failure, self._is_closed = self._failure, True
        if failure is None:
            self.fail(StoreError("the store is closed"))
        await self._appends.end()
        if failure is not None and exc is None:
            raise StoreError(*failure.args)

    async def _settle(self, seconds: float) -> None:
        """Wait until all is stored, for so long; then give up."""
        try:
            async with asyncio.timeout(seconds):
                await self.write()
        except TimeoutError:
            count = len(self._pending)
            self.fail(StoreError(f"the realm took no more writes; {count} commits are not stored"))

    # Writing.

    def write(self, *writes: OwnerWrite) -> asyncio.Future[None]:
        """Queue the writes; the future ends when all are in the stream and in the copy."""
        # Not a number, but fields that are text.
        self._numbers.admit(writes)  # type: ignore[arg-type]
        if self._failure is not None:
            return self._refused()
        self._tickets += 1
        routed = self.router.route(writes, self._tickets)
        for session in routed.created - self.owned:
            # Whoever is first is the one who made it.
            self._begin(session, self.copy.last_of(session))
            routed.parts[session].insert(0, Own(self.node))
        parts = routed.parts
        if routed.is_whole and len(parts) > 1:
            stored = [self._appends.put_together(parts)]
        else:
            stored = [self._appends.put(unit, writes) for unit, writes in parts.items()]
        return self._follow(stored, self.router.touched(writes), routed.gone)

    def write_to(self, unit: str, *writes: RealmWrite) -> asyncio.Future[None]:
        """Append writes to a unit of this node as they are, in order with all others.

        Without writes it is an empty message. Raises ``StoreMisuse`` where the unit is not ours.
        """
        if self._is_closed or (unit not in self.owned and unit != MISC):
            raise StoreMisuse(f"{self.node} does not own {unit}")
        if self._failure is not None:
            return self._refused()
        self._tickets += 1
        return self._follow([self._appends.put(unit, writes)])

    def _refused(self) -> asyncio.Future[None]:
        assert self._failure is not None
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        done.set_exception(StoreError(*self._failure.args))
        return done

    def _follow(
        self,
        stored: list[asyncio.Future[int]],
        channels: Collection[str] = (),
        gone: Collection[str] = (),
    ) -> asyncio.Future[None]:
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        if not stored and not self._pending:
            self.router.settled(self._tickets, channels)
            done.set_result(None)
            return done
        self._pending.append(_Pending(self._tickets, done, stored, channels, gone))
        if self._acknowledging is None:
            self._acknowledging = asyncio.create_task(self._acknowledge(), name="acknowledge")
        return done

    async def _acknowledge(self) -> None:
        try:
            while self._pending:
                first = self._pending[0]
                for stored in first.stored:
                    await self.copy.reached(await asyncio.shield(stored))
                self._pending.popleft()
                self.router.settled(first.ticket, first.channels)
                for session in first.gone:
                    self._forget(session)
                if not first.done.done():
                    first.done.set_result(None)
        except Exception as error:
            self.fail(StoreError(f"what was written cannot be read back: {error}"))
        finally:
            self._acknowledging = None

    def _append_failed(self, unit: str, error: Exception) -> None:
        if isinstance(error, Fenced):
            self.fail(OwnershipLost(f"another node owns {unit} now"))
        else:
            self.fail(StoreError(f"{unit} cannot be written to: {error}"))

    def fail(self, error: StoreError) -> None:
        """Take and append nothing more; what was not acknowledged may be stored or not."""
        if self._failure is not None:
            return
        self._failure = error
        self._appends.cancel()
        if self._acknowledging is not None and asyncio.current_task() is not self._acknowledging:
            self._acknowledging.cancel()
        pending, self._pending = self._pending, deque()
        for each in pending:
            if not each.done.done():
                each.done.set_exception(StoreError(*error.args))
        if self.fenced is not None and isinstance(error, OwnershipLost):
            self.fenced(error)

    # Owning.

    async def claim(self, unit: str) -> bool:
        """Become the owner of a unit as it is in the copy; False if somebody else was faster."""
        if unit in self.owned:
            return True
        task = self._claims.get(unit)
        if task is None:
            task = asyncio.create_task(self._claim(unit), name=f"claim {unit}")
            self._claims[unit] = task
            task.add_done_callback(lambda _: self._claims.pop(unit, None))
            # Whoever asked may have left.
            task.add_done_callback(lambda each: each.cancelled() or each.exception())
        return await asyncio.shield(task)

    async def _claim(self, unit: str) -> bool:
        # What it was given up with may be on its way yet.
        await self.write()
        id, bodies = self._appends.encode(unit, [Own(self.node)])
        try:
            last = await self._appender.append(unit, bodies, id, self.copy.last_of(unit))
        except Fenced:
            return False
        await self.copy.reached(last)
        if self._failure is not None:
            raise StoreError(*self._failure.args)
        self._begin(unit, last)
        return True

    async def claim_new(self, session: str) -> bool:
        """Become the owner of a session that is about to be made; False if it is somebody's."""
        is_free = session in self.owned or self.copy.unit_of_channel(session) is None
        if not is_free or not await self.claim(session):
            return False
        if not self.copy.is_made(session) and not self.router.is_coming(session):
            self.router.unborn.add(session)
        return True

    def _begin(self, unit: str, last: int) -> None:
        self.owned.add(unit)
        self._appends.open(unit, last)

    def _living_owner(self, unit: str) -> str | None:
        is_there = self.copy.unit_of_channel(unit) is not None
        return self.copy.owner_of(unit) if is_there else None

    async def release(self, unit: str, to: str | None) -> None:
        """Let another node own a unit, or nobody, after all that was written so far.

        From the call on, nothing of the unit can be read or written here.
        """
        if unit not in self.owned:
            return
        done = self.write_to(unit, Own(to))
        self.owned.discard(unit)
        self.router.unborn.discard(unit)
        await done
        if unit not in self.owned:
            self._appends.close(unit)

    async def renew(self, unit: str) -> None:
        """Append an empty message to a unit, be it ours or nobody's at work."""
        if unit in self.owned:
            await self.write_to(unit)
            return
        id, bodies = self._appends.encode(unit, [])
        # Whoever was faster has renewed it.
        with contextlib.suppress(Fenced):
            await self._appender.append(unit, bodies, id, self.copy.last_of(unit))

    def _forget(self, session: str) -> None:
        """Own a session no more that is gone, and was not made again meanwhile."""
        if self._appends.is_idle(session) and self.copy.unit_of_channel(session) is None:
            self.owned.discard(session)
            self._appends.close(session)

    def check(self, channel: str) -> None:
        """Raise OwnedElsewhere where another node says what a channel is like."""
        unit = self.router.unit_of(channel)
        if unit is not None and unit != MISC and unit not in self.owned and channel != ROOT:
            raise OwnedElsewhere(channel, self.copy.owner_of(unit))

    @property
    def leads(self) -> bool:
        """Whether this node owns what belongs to the realm as a whole."""
        return REALM in self.owned

    # Reading.

    async def read_after(
        self, seq: int, channels: Collection[str], limit: int | None = None
    ) -> list[Append]:
        """Return the entries of these channels above ``seq``, ascending, at most ``limit``."""
        return await self._read.read_after(seq, channels, limit)

    async def load_channel(self, channel: str, at_most: int | None = None) -> StoredChannel | None:
        """Return the channel's snapshot and later entries; ``None`` if it has no snapshot.

        Raises:
            OwnedElsewhere: it is another node's.
        """
        read = self._read
        self.check(channel)
        return await read.load_channel(channel, at_most)

    async def load_whole(
        self, channel: str, buckets: Collection[str], owners: str
    ) -> WholeChannel | None:
        """Return a channel with its records in these buckets; ``None`` if it has no snapshot.

        Raises:
            OwnedElsewhere: it is another node's.
        """
        read = self._read
        self.check(channel)
        return await read.load_whole(channel, buckets, owners)

    async def channel_positions(self, channels: Collection[str]) -> dict[str, int]:
        """Return ``trimmed_through`` of those channels that exist."""
        return await self._read.channel_positions(channels)

    async def page_sessions(self, limit: int, cursor: str | None = None) -> SessionPage:
        """Return up to ``limit`` sessions of the realm: largest sort key first, then by session."""
        return await self._read.page_sessions(limit, cursor)

    async def session_summary(self, session: str) -> bytes | None:
        """Return the summary of one session of the realm."""
        return await self._read.session_summary(session)

    async def count_sessions(self) -> int:
        """Return how many sessions the realm has."""
        return await self._read.count_sessions()

    async def blob(self, uri: str) -> Blob | None:
        """Return the content kept under a URI."""
        return await self._read.blob(uri)

    async def record(self, bucket: str, key: str) -> bytes | None:
        """Return the value under one key of a bucket."""
        return await self._read.record(local_bucket(bucket, self.node), key)

    async def records(self, bucket: str) -> dict[str, bytes]:
        """Return all values of a bucket, in order of their keys."""
        return await self._read.records(local_bucket(bucket, self.node))
