"""What a store asks of whoever knows its content, to bring that up to the newest version.

The contract alone: ``upgrade_run`` does the work, ``upgrade_parts`` knows the tables, and the
meaning of what is stored is the ``ContentUpgrade``'s.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, TypeAlias

from msgspec import Struct, field

from agenthost.host.store.content_version import Versions
from agenthost.host.store.contract import Append, StoredChannel


class OldChannel(Struct, frozen=True):
    """A channel in the form of an older version."""

    uri: str
    # The channel that it belongs to.
    owner: str | None
    stored: StoredChannel
    # Those entries of its log that a client brought about, also from before the snapshot.
    sent: Sequence[Append]


class NewChannel(Struct, frozen=True):
    """A channel in the form of the newest version: its state after all of its log."""

    state: bytes
    # Sequence number to action, of those entries that a client brought about and that changed.
    actions: Mapping[int, bytes] = field(default_factory=dict)


ReadState: TypeAlias = Callable[[str], bytes | None]
"""Gives the state of another channel that is brought up already; ``None`` if it has none."""


class ContentUpgrade(Versions, Protocol):
    """Knows what the content of a store means, in all versions that were ever stored."""

    @property
    def first(self) -> str:
        """The version of content from before stores said which they hold."""
        ...

    @property
    def late_kinds(self) -> Sequence[str]:
        """Kinds of channels that come after all others, because they refer to them."""
        ...

    @property
    def buckets(self) -> Sequence[str]:
        """The buckets of records whose values have another form in each version."""
        ...

    @property
    def owners(self) -> str:
        """The bucket that names the channel to which another belongs."""
        ...

    def channel(self, version: str, old: OldChannel, read_state: ReadState) -> NewChannel:
        """Bring a channel up; any exception leaves it as it is."""
        ...

    def record(self, version: str, bucket: str, key: str, value: bytes) -> bytes:
        """Bring the value of a record up; any exception leaves it as it is."""
        ...

    def summary(self, version: str, session: str, summary: bytes, state: bytes | None) -> bytes:
        """Bring a session's line of the list up; ``state`` is that of its channel, already up."""
        ...


class UpgradeProgress(Struct, frozen=True):
    """How far bringing up a store has got."""

    before: str
    after: str
    # How many sessions there are, and how many channels of how many are done.
    sessions: int
    done: int
    channels: int


class UpgradeReport(Struct, frozen=True):
    """What was brought up, and what was not."""

    before: str
    after: str
    sessions: int
    channels: int
    # Rows that could not be read, and rows that could and yet not be brought up.
    damaged: int
    failed: int
    seconds: float
    # Where the copy from before is, if it was kept.
    copy: str | None


OnUpgrade: TypeAlias = Callable[[UpgradeProgress | UpgradeReport], None]
"""Told, in the thread that does the work: that it begins, how far it is, and how it ended."""


def tell_nobody(news: UpgradeProgress | UpgradeReport) -> None:
    """Keep to oneself how an upgrade goes on."""
