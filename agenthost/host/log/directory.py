"""Which channels exist, and which of them are in memory.

Owns creating, loading, storing and forgetting channels. A channel not in use lives in the store
only: its snapshot and the log since. Does not decide what happens in a channel: ``writer`` does.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeAlias, overload

from agenthost.clock import Clock
from agenthost.host.log.channel import AnyChannel, LiveChannel, OwnerChannel
from agenthost.host.log.effects import Effects
from agenthost.host.log.kind import AnyKind, ChannelKind, Kept, S
from agenthost.host.log.ledger import Ledger
from agenthost.host.log.replay import replay_horizon
from agenthost.host.log.stored_values import stored_value
from agenthost.host.store import (
    DropChannel,
    DropRecord,
    PutRecord,
    SaveSnapshot,
    Store,
    StoreDamaged,
    TrimLog,
    WholeChannel,
)
from agenthost.protocol.uris import ROOT, canonical

if TYPE_CHECKING:
    from agenthost.protocol.root import RootState

# The record that names the session of a chat or annotations channel.
OWNERS = "owners"
# A tail smaller than this is never worth a new snapshot.
SMALLEST_TAIL = 64 * 1024
# How many of the newest numbers stay in the log for clients that were away.
REPLAY_WINDOW = 200_000
# And how much of one channel's log: more than this at once is never replayed.
REPLAY_BYTES = 8 * 1024 * 1024
# The least of a resting channel's log that stays, however small its state is.
LEAST_AT_REST = 4 * 1024
# Seconds after which a channel that nobody uses leaves memory.
IDLE_SECONDS = 60.0


class StaleRead(Exception):
    """What was read of a channel is not the newest, and cannot be made so: it is read again."""


# Makes the channel that a URI names, or says that it is none of its own.
Open: TypeAlias = Callable[[str], Awaitable[AnyChannel | None]]


class Directory:
    """All channels of the host, loaded on demand."""

    def __init__(
        self,
        store: Store,
        ledger: Ledger,
        clock: Clock,
        kinds: Iterable[AnyKind],
        effects: Effects,
    ) -> None:
        self._store = store
        self._ledger = ledger
        self._clock = clock
        self._kinds: dict[str, AnyKind] = {kind.name: kind for kind in kinds}
        self._effects = effects
        # The records that come with a channel, whatever its kind.
        self._buckets = [OWNERS, *(b for kind in self._kinds.values() for b in kind.buckets)]
        self._loaded: dict[str, AnyChannel] = {}
        self._loading: dict[str, asyncio.Task[AnyChannel | None]] = {}
        # Who is asked for a channel that is nowhere, and what they are asked for now.
        self._openers: list[Open] = []
        self._opening: dict[str, asyncio.Task[AnyChannel | None]] = {}
        # Who is told of channels that come into memory from the store, and of those that leave it.
        self._loaders: list[Callable[[AnyChannel], None]] = []
        self._observers: list[Callable[[AnyChannel], None]] = []
        # Who brings what was read up to date.
        self._followers: list[Callable[[AnyChannel, int], None]] = []
        # Session -> channels that were given to it before it was in memory.
        self._orphans: dict[str, list[AnyChannel]] = {}
        # Whether what is stored of other channels than logged ones is not all there is to them, so
        # that those are opened by whoever is asked for what is missing.
        self.reads_logged_only = False
        # How many left memory so far: what was read before one did may not be the newest.
        self._forgotten = 0

    @property
    def root(self) -> LiveChannel[RootState]:
        """The root channel, which is always in memory."""
        return self._loaded[ROOT]

    @property
    def has_root(self) -> bool:
        """Whether the host has come so far that there is a root channel."""
        return ROOT in self._loaded

    @overload
    def get(self, uri: str) -> AnyChannel | None: ...

    @overload
    def get(self, uri: str, kind: ChannelKind[S]) -> LiveChannel[S] | None: ...

    def get(self, uri: str, kind: AnyKind | None = None) -> AnyChannel | None:
        """Return a channel that is in memory, if it is of the kind that is asked for."""
        return _of_kind(self._loaded.get(canonical(uri)), kind)

    def kind(self, name: str) -> AnyKind | None:
        """Return the kind of channels that has a name."""
        return self._kinds.get(name)

    def has(self, channel: AnyChannel) -> bool:
        """Say whether this very channel is still the one under its name."""
        return self._loaded.get(channel.uri) is channel

    @overload
    def loaded(self) -> list[AnyChannel]: ...

    @overload
    def loaded(self, kind: ChannelKind[S]) -> list[LiveChannel[S]]: ...

    def loaded(self, kind: AnyKind | None = None) -> list[Any]:
        """Return the channels that are in memory, or those of one kind; any thread may ask."""
        return [channel for channel in list(self._loaded.values()) if _of_kind(channel, kind)]

    def owner(self, channel: AnyChannel) -> OwnerChannel | None:
        """Return the session that a channel belongs to, which is in memory as long as it is."""
        return self._loaded.get(channel.session) if channel.session is not None else None

    @overload
    async def find(self, uri: str) -> AnyChannel | None: ...

    @overload
    async def find(self, uri: str, kind: ChannelKind[S]) -> LiveChannel[S] | None: ...

    async def find(self, uri: str, kind: AnyKind | None = None) -> AnyChannel | None:
        """Return a channel, loading it (and the session that owns it) when it must be.

        One of another kind than is asked for counts as none.
        """
        uri = canonical(uri)
        channel = await self._registered(uri)
        if channel is None:
            for each in self._kinds.values():
                channel = await each.find_alias(uri, self._registered)
                if channel is not None:
                    break
        if channel is None and self._openers:
            channel = await self._opened(uri)
        return _of_kind(channel, kind)

    def on_missing(self, open: Open) -> None:
        """Ask somebody for channels that are neither in memory nor in the store nor an alias.

        Those who were added first are asked first, and for one URI once at a time. What they
        return they have created here.
        """
        self._openers.append(open)

    def on_loaded(self, tell: Callable[[AnyChannel], None]) -> None:
        """Tell somebody of every channel that was read from the store, before anybody gets it."""
        self._loaders.append(tell)

    def on_read(self, catch_up: Callable[[AnyChannel, int], None]) -> None:
        """Have every channel that was read from the store brought up to date by somebody.

        Told is the number up to which everything was in the store when the read was asked for.
        Whoever does not know what happened since then raises ``StaleRead``.
        """
        self._followers.append(catch_up)

    def is_loading(self, uri: str) -> bool:
        """Say whether a channel is being read from the store, by its canonical name."""
        return uri in self._loading

    def on_forgotten(self, tell: Callable[[AnyChannel], None]) -> None:
        """Tell somebody of every channel that leaves memory, for good or to come back."""
        self._observers.append(tell)

    def ask_nobody(self) -> None:
        """Forget who was to be asked for channels that are nowhere: others open them here."""
        self._openers.clear()

    @property
    def is_reading(self) -> bool:
        """Whether any channel is being read from the store."""
        return bool(self._loading)

    async def _opened(self, uri: str) -> AnyChannel | None:
        task = self._opening.get(uri)
        if task is None:
            task = asyncio.create_task(self._open(uri), name=f"open {uri}")
            self._opening[uri] = task
            task.add_done_callback(lambda _: self._opening.pop(uri, None))
        return await asyncio.shield(task)

    async def _open(self, uri: str) -> AnyChannel | None:
        for open in self._openers:
            channel = await open(uri)
            if channel is not None:
                return channel
        return None

    async def _registered(self, uri: str) -> AnyChannel | None:
        channel = self._loaded.get(uri)
        if channel is None:
            task = self._loading.get(uri)
            if task is None:
                task = asyncio.create_task(self._load(uri), name=f"load {uri}")
                self._loading[uri] = task
                task.add_done_callback(lambda _: self._loading.pop(uri, None))
            channel = await asyncio.shield(task)
        if channel is not None and channel.session in self._orphans:
            # It was moved there a moment ago.
            await self._registered(channel.session)
        if channel is not None:
            channel.last_used = self._clock.monotonic()
        return channel

    def create(
        self, uri: str, kind: ChannelKind[S], state: S, session: str | None = None
    ) -> LiveChannel[S]:
        """Register a new channel with its first state; the caller has made sure that it is new."""
        # A number of its own: who names the channel and saw less than that has never seen it.
        channel = LiveChannel(uri, kind, state, seq=self._ledger.take_seq(), session=session)
        channel.last_used = self._clock.monotonic()
        self._loaded[uri] = channel
        if channel.is_logged:
            self.save(channel)
            if session is not None:
                self._ledger.write(PutRecord(OWNERS, uri, session.encode()))
        self._hold_owner(channel, +1)
        return channel

    def drop(self, channel: AnyChannel) -> None:
        """Forget a channel, in memory and in the store; its subscriptions end."""
        self.let_go(channel)
        if channel.is_logged:
            self._ledger.write(DropChannel(channel.uri), DropRecord(OWNERS, channel.uri))

    def let_go(self, channel: AnyChannel) -> None:
        """Forget a channel in memory alone; its subscriptions end."""
        self._forget(channel)

        def end_subscriptions() -> None:
            for subscription in channel.subscriptions.values():
                subscription.connection.subscriptions.pop(channel, None)
            channel.subscriptions.clear()

        # Behind the last actions, which those who follow it are still owed.
        self._ledger.deliver(end_subscriptions)

    def replace(self, channel: AnyChannel, state: Any, seq: int) -> AnyChannel:
        """Put another channel into the place of one that is in memory, which nobody follows yet."""
        new: AnyChannel = LiveChannel(
            channel.uri, channel.kind, state, seq=seq, session=channel.session
        )
        new.last_used = self._clock.monotonic()
        self._loaded[channel.uri] = new
        return new

    def give(self, channel: AnyChannel, session: OwnerChannel) -> None:
        """Let a channel that is in memory belong to another session from now on."""
        self.move(channel, session.uri)
        if channel.is_logged:
            self._ledger.write(PutRecord(OWNERS, channel.uri, session.uri.encode()))

    def move(self, channel: AnyChannel, session: str) -> None:
        """Note in memory alone that a channel belongs to another session, which may not be there.

        Then it must be looked for; whoever looks for the channel waits for it.
        """
        self._hold_owner(channel, -1)
        channel.session = session
        if session in self._loaded:
            self._hold_owner(channel, +1)
        else:
            self._orphans.setdefault(session, []).append(channel)

    def save(self, channel: AnyChannel, *, at_rest: bool = False) -> None:
        """Store the channel's state, and forget the log that is older than anybody may replay.

        Of a channel that rests, what outweighs its state goes too: who missed as much is better
        off with the state.
        """
        state = b"".join(channel.stored_json())
        channel.untrimmed_bytes += channel.tail_bytes
        channel.stored_bytes, channel.tail_bytes = len(state), 0
        # Going through the log to measure it is worth it once in a while.
        keep_bytes = REPLAY_BYTES if channel.untrimmed_bytes > REPLAY_BYTES // 4 else None
        if at_rest:
            keep_bytes = min(REPLAY_BYTES, max(LEAST_AT_REST, len(state)))
        if keep_bytes is not None:
            channel.untrimmed_bytes = 0
        horizon = replay_horizon(self._ledger.last_seq, self._store.gaps, REPLAY_WINDOW)
        self._ledger.write(
            SaveSnapshot(channel.uri, channel.kind.name, channel.seq, state),
            TrimLog(channel.uri, min(channel.seq, horizon), keep_bytes),
        )

    def save_if_due(self, channel: AnyChannel) -> None:
        """Store a snapshot once the log since the last one outweighs it."""
        if channel.tail_bytes > max(SMALLEST_TAIL, channel.stored_bytes):
            self.save(channel)

    def sweep(self, idle_seconds: float = IDLE_SECONDS) -> None:
        """Send channels that nobody uses back to the store."""
        horizon = self._clock.monotonic() - idle_seconds
        # Chats before their sessions: a loaded chat holds its session.
        for channel in sorted(self._loaded.values(), key=lambda channel: channel.session is None):
            leaves = channel.kind.leaves_memory and not channel.in_use
            if leaves and channel.last_used <= horizon:
                if channel.tail_bytes:
                    self.save(channel, at_rest=True)
                self._forget(channel)

    def save_all(self) -> None:
        """Store every channel that changed since its last snapshot."""
        for channel in self._loaded.values():
            if channel.tail_bytes:
                self.save(channel, at_rest=True)

    async def _load(self, uri: str) -> AnyChannel | None:
        while True:
            try:
                channel = await self._read(uri)
            except StaleRead:
                continue
            if channel is None:
                # Who was moved there need not wait for it.
                self._orphans.pop(uri, None)
            return channel

    async def _read(self, uri: str) -> AnyChannel | None:
        since = self._ledger.last_seq
        # What was evicted a moment ago may still be on its way to the disk.
        if self._ledger.backlog:
            await self._ledger.settle()
        forgotten = self._forgotten
        whole = await self._store.load_whole(uri, self._buckets, OWNERS)
        if whole is None or (self.reads_logged_only and not self._is_logged(whole)):
            return None
        session = _owner_of(whole)
        if session is not None and session not in self._loaded:
            known = session in self._loading or self._forgotten != forgotten
            if not known and whole.owner is not None and _owner_of(whole.owner) is None:
                # Nobody has touched it since it was read.
                self._take_in(session, whole.owner, since)
            elif await self.find(session) is None:
                raise StoreDamaged(f"{uri} belongs to {session}, which is not in the store")
        return self._take_in(uri, whole, since)

    def _take_in(self, uri: str, whole: WholeChannel, since: int) -> AnyChannel:
        channel = self._rebuild(uri, whole)
        channel.last_used = self._clock.monotonic()
        channel.kind.restore(channel, whole)
        for catch_up in self._followers:
            catch_up(channel, since)
        for effect in channel.kind.loaded(channel):
            self._effects.carry_out(effect)
        for tell in self._loaders:
            tell(channel)
        self._loaded[uri] = channel
        self._hold_owner(channel, +1)
        for orphan in self._orphans.pop(uri, ()):
            if self.has(orphan) and orphan.session == uri:
                channel.holds += 1
        return channel

    def _is_logged(self, whole: WholeChannel) -> bool:
        kind = self._kinds.get(whole.stored.kind)
        return kind is None or kind.kept is Kept.LOGGED

    def _rebuild(self, uri: str, whole: WholeChannel) -> AnyChannel:
        stored = whole.stored
        kind = self._kinds.get(stored.kind)
        if kind is None:
            raise StoreDamaged(f"{uri} is a channel of kind {stored.kind}, which is unknown here")
        state = stored_value(stored.state, uri)
        channel = LiveChannel(uri, kind, state, seq=stored.seq, session=_owner_of(whole))
        channel.stored_bytes = len(stored.state)
        # How long the log before the snapshot is, nobody has measured.
        channel.untrimmed_bytes = REPLAY_BYTES
        for entry in stored.tail:
            channel.apply(stored_value(entry.action, uri), entry.now)
            channel.seq = entry.seq
            channel.tail_bytes += len(entry.action)
        return channel

    def _forget(self, channel: AnyChannel) -> None:
        self._forgotten += 1
        if self._loaded.pop(channel.uri, None) is not None:
            self._hold_owner(channel, -1)
            for tell in self._observers:
                tell(channel)

    def _hold_owner(self, channel: AnyChannel, change: int) -> None:
        owner = self.owner(channel)
        if owner is not None:
            owner.holds += change


def _owner_of(whole: WholeChannel) -> str | None:
    owner = whole.records.get(OWNERS)
    return owner.decode() if owner is not None else None


def _of_kind(channel: AnyChannel | None, kind: AnyKind | None) -> AnyChannel | None:
    return channel if channel is not None and (kind is None or channel.kind is kind) else None
