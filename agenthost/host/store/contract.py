"""What the host asks of a store: the writes, the answers, the errors and the ``Store`` protocol.

A store keeps bytes that are encoded already, under sequence numbers that the host hands out. It
owns order, atomicity, durability and the promise that no sequence number is handed out twice. It
does not know the protocol: what an action means, when to take a snapshot, what to trim and whom to
tell are the host's business. Nothing here speaks of tables or files, so that a distributed store
can stand behind the same names.

The errors::

    AgentHostError
    ├── StoreError              the store cannot do its work
    │   ├── StoreBusy           another host owns this store
    │   ├── StoreDamaged        what is stored cannot be read
    │   └── StoreMisuse         the caller broke the contract; nothing was written
    └── BadCursor               not a cursor that this kind of store gave out
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping
from types import TracebackType
from typing import Protocol, Self, TypeAlias

from msgspec import Struct

from agenthost.errors import AgentHostError


class StoreError(AgentHostError):
    """The store cannot do its work; what was not acknowledged may be lost."""


class StoreBusy(StoreError):
    """Another host owns this store."""


class StoreDamaged(StoreError):
    """What is stored cannot be read; it was left as it is."""


class StoreMisuse(StoreError):
    """The caller broke the store's contract; nothing was written."""


class BadCursor(AgentHostError):
    """The cursor is not one that this kind of store gave out."""


# Not frozen, unlike the others: every action has one, which would take three times as long to make.
class Append(Struct):
    """One log entry; ``seq`` is above every earlier one and within the reservation."""

    seq: int
    channel: str
    # The time that the reducer was given, so that replay gives the same state.
    now: str
    action: bytes
    origin: bytes | None = None


class SaveSnapshot(Struct, frozen=True):
    """The channel's state after all of its entries up to and including ``seq``.

    It replaces the channel's snapshot, unless that one is newer. The one before it is kept as
    well, for ``Store.load_channel``.
    """

    channel: str
    kind: str
    seq: int
    state: bytes


class DropChannel(Struct, frozen=True):
    """Forget the snapshot and the log of one channel."""

    channel: str


class TrimLog(Struct, frozen=True):
    """Forget the channel's entries up to and including ``through``.

    With ``keep_bytes``, also those before the newest ones whose actions are that long together.
    Entries that the channel's snapshot does not cover are kept, whatever is said here. The
    snapshot before it goes with the entries that lead on from it.
    """

    channel: str
    through: int
    keep_bytes: int | None = None


class PutSession(Struct, frozen=True):
    """Add a session to the catalogue, or replace it there."""

    session: str
    # The catalogue is paged by this, largest first: the session's ``modifiedAt``.
    sort_key: str
    summary: bytes


class DropSession(Struct, frozen=True):
    """Remove a session from the catalogue; its channels and blobs are dropped on their own."""

    session: str


class PutBlob(Struct, frozen=True):
    """Keep content under a URI, or replace it; ``owner`` is what it is dropped with."""

    uri: str
    owner: str
    content_type: str | None
    data: bytes


class DropBlobs(Struct, frozen=True):
    """Forget all blobs of one owner."""

    owner: str


class MoveBlobs(Struct, frozen=True):
    """Give the blobs of one owner to another one; those of anybody else stay as they are."""

    owner: str
    new_owner: str
    # Only this one, where it is not all of them.
    uri: str | None = None


class PutRecord(Struct, frozen=True):
    """Keep a small value under a key of a bucket, or replace it."""

    bucket: str
    key: str
    value: bytes


class DropRecord(Struct, frozen=True):
    """Forget one key of a bucket."""

    bucket: str
    key: str


Write: TypeAlias = (
    Append
    | SaveSnapshot
    | DropChannel
    | TrimLog
    | PutSession
    | DropSession
    | PutBlob
    | DropBlobs
    | MoveBlobs
    | PutRecord
    | DropRecord
)


class StoredChannel(Struct, frozen=True):
    """A channel as it was stored: its snapshot, and what happened since."""

    kind: str
    # ``state`` holds every entry of the channel up to and including ``seq``; ``tail`` the later.
    seq: int
    state: bytes
    tail: tuple[Append, ...]
    # See ``Store.channel_positions``.
    trimmed_through: int


class WholeChannel(Struct, frozen=True):
    """A channel with all that is kept under its name, as it was at one moment."""

    stored: StoredChannel
    # Its line in the catalogue, where it is a session there.
    summary: bytes | None
    # Bucket to value; of the buckets that were asked for.
    records: Mapping[str, bytes]
    # The channel that it belongs to, if it can be read; without one of its own.
    owner: WholeChannel | None = None


class SessionPage(Struct, frozen=True):
    """One page of the list of sessions; without ``next_cursor`` it is the last."""

    items: list[tuple[str, bytes]]
    next_cursor: str | None


class Blob(Struct, frozen=True):
    """Stored content."""

    owner: str
    content_type: str | None
    data: bytes


class Store(Protocol):
    """A durable, ordered store with one owner; ``async with`` opens it, then flushes and closes it.

    Writes take effect in the order of the calls. A read sees every write that was durable when the
    read was asked for. All methods belong to the event loop that opened the store.

    *Sequence numbers.* The host numbers its actions with them, and not every number reaches the
    log. Before it uses a number it reserves it, in blocks, so that no crash can make it come back.
    A host that ends cleanly calls ``seal``, and the next one goes on right after. Otherwise the
    next open starts above the reservation, and what lies between is a gap.
    """

    @property
    def last_seq(self) -> int:
        """The last number known to have been used, when the store was opened."""
        ...

    @property
    def first_seq(self) -> int:
        """The first number to use; everything ever reserved lies below it."""
        ...

    @property
    def gaps(self) -> tuple[tuple[int, int], ...]:
        """Ranges ``(last, first)`` whose inner numbers may have been used and then lost.

        A client that saw a number strictly inside one cannot be replayed to. Ascending; known
        since the store was opened.
        """
        ...

    @property
    def reserved(self) -> int:
        """The last number that may be used now."""
        ...

    @property
    def pending(self) -> int:
        """How many units were handed to ``write`` and are not durable yet.

        The store takes whatever it is given; whoever produces without end watches this.
        """
        ...

    @property
    def failure(self) -> StoreError | None:
        """Why the store takes no more writes, if it does not."""
        ...

    async def __aenter__(self) -> Self:
        """Open the store.

        Raises:
            StoreBusy: another host owns it.
            StoreDamaged: it cannot be read.
            StoreError: it cannot be opened for another reason.
        """
        ...

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Make everything durable, then close.

        Raises:
            StoreError: the store has failed, and no other exception is on its way.
        """
        ...

    def write(self, *writes: Write) -> asyncio.Future[None]:
        """Queue the writes as one atomic unit; the future ends when a killed host keeps them.

        Without writes it is a barrier: the future ends when everything before it is durable. The
        future raises ``StoreError`` if the unit could not be stored, and from then on so does
        every later one: the store never goes on after a loss. Cancelling it takes nothing back.

        Raises:
            StoreMisuse: an entry is out of order or not reserved, a text cannot be stored, or the
                store is not open.
        """
        ...

    async def reserve(self, through: int) -> None:
        """Reserve the numbers up to and including ``through``, durable against power loss."""
        ...

    async def seal(self, last_used: int) -> None:
        """Give back what is reserved above ``last_used``, so that the next open has no gap.

        Durable against power loss, with everything written before. Numbers above ``last_used``
        need a new reservation.

        Raises:
            StoreMisuse: ``last_used`` is not between the last entry and the reservation.
        """
        ...

    async def read_after(
        self, seq: int, channels: Collection[str], limit: int | None = None
    ) -> list[Append]:
        """Return the entries of these channels above ``seq``, ascending, at most ``limit``."""
        ...

    async def load_channel(self, channel: str, at_most: int | None = None) -> StoredChannel | None:
        """Return the channel's snapshot and later entries; ``None`` if it has no snapshot.

        With ``at_most`` it is the newest snapshot that holds no later entry, of those that are
        kept: the last one and the one before.
        """
        ...

    async def load_whole(
        self, channel: str, buckets: Collection[str], owners: str
    ) -> WholeChannel | None:
        """Return a channel with its records in these buckets; ``None`` if it has no snapshot.

        ``owners`` is the one of the buckets that names the channel to which another belongs. It
        comes along, so that whoever needs both waits once.
        """
        ...

    async def channel_positions(self, channels: Collection[str]) -> dict[str, int]:
        """Return ``trimmed_through`` of those channels that exist.

        The log holds every entry of the channel above that number. It starts where the channel
        does (a dropped channel that comes back does not continue its former self), and
        ``TrimLog`` moves it up. A client that saw less needs a snapshot.
        """
        ...

    async def page_sessions(self, limit: int, cursor: str | None = None) -> SessionPage:
        """Return up to ``limit`` sessions: largest sort key first, then by session.

        A cursor stands for a place in that order. Sessions added, moved or dropped elsewhere
        neither shift it nor end it.

        Raises:
            BadCursor: the cursor is not one that ``page_sessions`` gave out.
            StoreMisuse: ``limit`` is below one.
        """
        ...

    async def session_summary(self, session: str) -> bytes | None:
        """Return the summary of one session of the catalogue."""
        ...

    async def count_sessions(self) -> int:
        """Return how many sessions the catalogue holds."""
        ...

    async def blob(self, uri: str) -> Blob | None:
        """Return the content kept under a URI."""
        ...

    async def record(self, bucket: str, key: str) -> bytes | None:
        """Return the value under one key of a bucket."""
        ...

    async def records(self, bucket: str) -> dict[str, bytes]:
        """Return all values of a bucket, in order of their keys."""
        ...
