"""The changeset kind of channel: what is particular to changesets."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct, field

from agenthost.host.channels.changeset.catalogue import REVIEWABLE, ChangesetName
from agenthost.host.channels.session.participants import takes_part
from agenthost.host.log.channel import LiveChannel
from agenthost.host.log.effects import Consequence
from agenthost.host.log.kind import ChannelKind, DeclinedAction, Kept, Resumed

if TYPE_CHECKING:
    from agenthost.host.channels.changeset.compute import Found
    from agenthost.host.log.channel import OwnerChannel
    from agenthost.host.log.kind import Applied, Surroundings
    from agenthost.host.trust.principals import Principal
    from agenthost.protocol.changeset import ChangesetState
    from agenthost.protocol.common import Action, ErrorInfo

ChangesetChannel: TypeAlias = "LiveChannel[ChangesetState]"

REVIEW = "changeset/filesReviewChanged"


class ChangesetExtra(Struct):
    """What is known of a changeset besides its state."""

    name: ChangesetName | None = None
    # Whether it is a session's own, and not that of a chat.
    is_sessions: bool = True
    # What it shows; None until it was found out.
    found: Found | None = None
    # Which contents of which files people have reviewed.
    reviewed: dict[str, str] = field(default_factory=dict)
    # Who finds it out now, whether that must be done once more, and who looks again later.
    task: asyncio.Task[None] | None = None
    again: bool = False
    looking: asyncio.Task[None] | None = None
    # Seconds that it took to find it out the last time.
    took: float = 0.0
    # Operations that are being carried out, some for several files, and why others failed.
    running: list[str] = field(default_factory=list)
    failures: dict[str, ErrorInfo] = field(default_factory=dict)

    @property
    def is_over(self) -> bool:
        """Whether it shows what turns did to working trees that have ended since."""
        over = self.name is not None and self.name.is_of_turns
        return over and self.found is not None and not self.found.is_live and bool(self.found.tops)


class CloseChangeset(Consequence, frozen=True):
    """Let go of a changeset that nobody follows."""

    channel: ChangesetChannel


class KeepReviews(Consequence, frozen=True):
    """Keep which files of a changeset were reviewed."""

    channel: ChangesetChannel
    files: tuple[str, ...]
    reviewed: bool


class ChangesetKind(ChannelKind["ChangesetState"]):
    """Changesets, which are found out anew whenever somebody looks."""

    name = "changeset"
    kept = Kept.MEMORY
    resumed = Resumed.SNAPSHOT

    def extra(self) -> ChangesetExtra:
        """Make what a changeset keeps besides its state."""
        return ChangesetExtra()

    def is_reviewable(self, channel: ChangesetChannel) -> bool:
        """Say whether its session offers it for review."""
        extra = changeset_extra(channel)
        return extra.is_sessions and extra.name is not None and extra.name.kind in REVIEWABLE

    async def gather(
        self,
        channel: ChangesetChannel,
        owner: OwnerChannel | None,
        action: Action,
        around: Surroundings,
    ) -> tuple[OwnerChannel | None, Principal]:
        """Return whose session it is and who acts."""
        return owner, around.connection.principal

    def judge(
        self,
        channel: ChangesetChannel,
        action: Action,
        context: tuple[OwnerChannel | None, Principal],
    ) -> DeclinedAction | None:
        """Let those who take part in the session review what can be reviewed."""
        if not self.is_reviewable(channel):
            return DeclinedAction("the files of this changeset cannot be reviewed")
        if not takes_part(*context):
            return DeclinedAction("only those who take part in the session review its changes")
        return None

    def follow(
        self, applied: Applied[ChangesetState], owner: OwnerChannel | None
    ) -> Sequence[Consequence]:
        """Keep what was reviewed."""
        action = applied.action
        if action["type"] != REVIEW:
            return ()
        return (KeepReviews(applied.channel, tuple(action["files"]), action["reviewed"]),)

    def deserted(self, channel: ChangesetChannel) -> Sequence[Consequence]:
        """Let go of a changeset that nobody follows."""
        return (CloseChangeset(channel),)


CHANGESET = ChangesetKind()


def changeset_extra(channel: ChangesetChannel) -> ChangesetExtra:
    """Return what is known of a changeset besides its state."""
    extra = channel.extra
    assert isinstance(extra, ChangesetExtra)
    return extra
