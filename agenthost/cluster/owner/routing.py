"""Which unit of the realm each write of a host belongs to, and which writes do not travel at all.

A host's writes do not name their session: channels are found in the copy, or in what was written a
moment ago and has not come back yet. Knows who owns what, appends nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass, field

from msgspec import Struct
from msgspec.structs import replace

from agenthost.cluster.commits import RealmWrite, Room, Tell
from agenthost.cluster.units import MISC, REALM
from agenthost.host.channels.automation.book import ACTIVE_RUNS, AUTOMATIONS_BUCKET
from agenthost.host.channels.changeset.checkpoint_book import LEFT_BEHIND as LEFT_CHECKPOINTS
from agenthost.host.channels.session.content_owners import sessions_of
from agenthost.host.channels.session.records import LEFT_BEHIND as LEFT_WORKTREES
from agenthost.host.clients.client_records import CLIENTS
from agenthost.host.log.directory import OWNERS
from agenthost.host.store import (
    Append,
    DropBlobs,
    DropChannel,
    DropRecord,
    DropSession,
    MoveBlobs,
    PutBlob,
    PutRecord,
    PutSession,
    SaveSnapshot,
    TrimLog,
    Write,
)
from agenthost.protocol.uris import ROOT

log = logging.getLogger(__name__)

# What is kept of files of one machine: another one can do nothing about them.
_OF_ONE_MACHINE = frozenset({LEFT_CHECKPOINTS, LEFT_WORKTREES})
_OF_THE_REALM = frozenset({AUTOMATIONS_BUCKET, ACTIVE_RUNS})
_CONFIG_CHANGED = b'"root/configChanged"'


class TellIn(Struct, frozen=True):
    """A notification that travels with the writes of one unit."""

    unit: str
    tell: Tell


class RoomIn(Struct, frozen=True):
    """Numbers for what is written to a channel next."""

    channel: str


OwnerWrite = Write | TellIn | RoomIn


@dataclass(slots=True)
class Routed:
    """What a unit of write becomes: its parts, each for one unit of the realm."""

    parts: dict[str, list[RealmWrite]] = field(default_factory=dict)
    # Whether it would be wrong to store one part and not the other.
    is_whole: bool = False
    # Sessions that are created with it.
    created: set[str] = field(default_factory=set)
    # Sessions that go with it.
    gone: set[str] = field(default_factory=set)
    # Channels that go with it, and the units that they were in.
    dropped: dict[str, str | None] = field(default_factory=dict)

    def add(self, unit: str, write: RealmWrite) -> None:
        """Add a write to a part."""
        self.parts.setdefault(unit, []).append(write)


def local_bucket(bucket: str, node: str) -> str:
    """Return the name under which a node keeps a bucket."""
    return f"{bucket}@{node}" if bucket in _OF_ONE_MACHINE else bucket


class Router:
    """Shares a host's writes out among the units of the realm."""

    def __init__(
        self,
        node: str,
        *,
        owned: Container[str],
        unit_of_channel: Callable[[str], str | None],
        owner_of: Callable[[str], str | None],
        unlogged_kinds: Container[str],
    ) -> None:
        self._node = node
        self._owned = owned
        self._unit_of_channel = unit_of_channel
        self._owner_of = owner_of
        # Those of whose channels only snapshots are kept, so that every one counts.
        self._unlogged_kinds = unlogged_kinds
        # Channel -> its unit as it will be, None for none; and since which unit of write.
        self._coming: dict[str, tuple[str | None, int]] = {}
        # Sessions that are ours and not made yet: the copy knows their units.
        self.unborn: set[str] = set()
        # Asked for the session of a new channel that no record gives to one.
        self.home_of_new: Callable[[str], str | None] = lambda channel: None
        # Told when this node's own root has changed, of which the realm's is made.
        self.on_root: Callable[[], None] = lambda: None

    def unit_of(self, channel: str) -> str | None:
        """Return the unit of a channel that there is, or will be once all is stored."""
        if channel in self.unborn:
            return None
        coming = self._coming.get(channel)
        return coming[0] if coming is not None else self._unit_of_channel(channel)

    def is_coming(self, channel: str) -> bool:
        """Say whether the copy is about to hear of a channel, or of its end."""
        return channel in self._coming

    def settled(self, ticket: int, channels: Iterable[str]) -> None:
        """Forget what the copy knows by now."""
        for channel in channels:
            if self._coming.get(channel, (None, -1))[1] == ticket:
                del self._coming[channel]

    def touched(self, writes: Sequence[OwnerWrite]) -> set[str]:
        """Return the channels whose units a unit of write may change."""
        found: set[str] = set()
        for write in writes:
            if isinstance(write, SaveSnapshot | DropChannel):
                found.add(write.channel)
            elif isinstance(write, PutRecord) and write.bucket == OWNERS:
                found.add(write.key)
        return found

    def route(self, writes: Sequence[OwnerWrite], ticket: int) -> Routed:
        """Share writes out; what is not this node's to say any more is left out."""
        routed = Routed()
        # The record comes behind the snapshot, and both belong to the session.
        given = {
            write.key: write.value.decode()
            for write in writes
            if isinstance(write, PutRecord) and write.bucket == OWNERS
        }
        for channel, session in given.items():
            before = self.unit_of(channel)
            routed.is_whole |= before is not None and before != session
        for write in writes:
            if not isinstance(write, SaveSnapshot) or write.kind != "session":
                continue
            if self.unit_of(write.channel) is None:
                routed.created.add(write.channel)
                self.unborn.discard(write.channel)
                self._coming[write.channel] = (None, ticket)
        for write in writes:
            self._route(write, given, routed, ticket)
        return routed

    def _route(self, write: OwnerWrite, given: dict[str, str], routed: Routed, ticket: int) -> None:
        match write:
            case TrimLog():
                # Every copy trims its own log.
                pass
            case TellIn():
                self._mine(write.unit, write.tell, routed)
            case Append() | SaveSnapshot() | DropChannel() if write.channel == ROOT:
                # Each node has a root of its own, in memory; the realm's is kept by the leader.
                is_config = isinstance(write, Append) and _CONFIG_CHANGED in write.action
                if not is_config:
                    self.on_root()
                elif REALM in self._owned:
                    routed.add(REALM, write)
            case Append() | RoomIn():
                unit = given.get(write.channel) or self.unit_of(write.channel)
                self._mine(unit, write if isinstance(write, Append) else Room(), routed)
            case SaveSnapshot():
                self._snapshot(write, given, routed, ticket)
            case DropChannel():
                unit = self.unit_of(write.channel)
                self._mine(unit, write, routed)
                self._coming[write.channel] = (None, ticket)
                routed.dropped[write.channel] = unit
            case PutSession():
                self._mine(write.session, write, routed)
            case DropSession():
                self._mine(write.session, write, routed)
                routed.gone.add(write.session)
            case PutBlob() | DropBlobs():
                self._anybodys(sessions_of(write.owner), write, routed)
            case MoveBlobs():
                concerned = (*sessions_of(write.owner), *sessions_of(write.new_owner))
                self._anybodys(concerned, write, routed)
                routed.is_whole = True
            case PutRecord() | DropRecord():
                self._record(write, given, routed, ticket)

    def _snapshot(
        self, write: SaveSnapshot, given: dict[str, str], routed: Routed, ticket: int
    ) -> None:
        unit = self.unit_of(write.channel)
        if unit is None:
            unit = given.get(write.channel)
            if unit is None:
                unit = write.channel if write.kind == "session" else None
            unit = unit or self.home_of_new(write.channel) or REALM
            self._coming[write.channel] = (unit, ticket)
        elif write.kind not in self._unlogged_kinds:
            # The first one is the channel's creation; later ones every copy makes for itself.
            return
        self._mine(unit, write, routed)

    def _record(
        self, write: PutRecord | DropRecord, given: dict[str, str], routed: Routed, ticket: int
    ) -> None:
        if write.bucket == CLIENTS:
            # Those whom an owner knows are fronts' links, and come anew.
            return
        if write.bucket == OWNERS:
            unit = given.get(write.key) or self.unit_of(write.key) or routed.dropped.get(write.key)
            if isinstance(write, PutRecord):
                self._coming[write.key] = (unit, ticket)
            self._mine(unit, write, routed)
        elif write.bucket in _OF_THE_REALM:
            self._mine(REALM, write, routed)
        elif write.bucket in _OF_ONE_MACHINE:
            bucket = local_bucket(write.bucket, self._node)
            routed.add(MISC, replace(write, bucket=bucket))
        else:
            unit = given.get(write.key) or self.unit_of(write.key) or routed.dropped.get(write.key)
            self._anybodys((unit or write.key,), write, routed)

    def _mine(self, unit: str | None, write: RealmWrite, routed: Routed) -> None:
        """Add what only the owner of a unit may write."""
        if unit is None:
            unit = MISC
        if unit == MISC or unit in self._owned or unit in routed.created:
            routed.add(unit, write)
        else:
            log.warning("%s comes too late: %s is not ours", type(write).__name__, ascii(unit))

    def _anybodys(self, units: Sequence[str], write: RealmWrite, routed: Routed) -> None:
        """Add what belongs to one of these if we own it, and needs no owner where nobody does."""
        for unit in units:
            if unit in self._owned or unit in routed.created:
                routed.add(unit, write)
                return
        if any(self._owner_of(unit) is not None for unit in units):
            # Also where that is said to be this node: it has given it up a moment ago.
            log.warning("%s comes too late: another node owns it", type(write).__name__)
            return
        routed.add(MISC, write)
