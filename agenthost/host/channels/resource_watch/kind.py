"""The resource watch kind of channel: for who made it, while somebody follows it, never stored."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct

from agenthost.host.log.channel import LiveChannel
from agenthost.host.log.effects import Consequence
from agenthost.host.log.kind import ChannelKind, Kept, Resumed
from agenthost.host.trust import Principal, Role

if TYPE_CHECKING:
    from agenthost.protocol.resource_watch import ResourceWatchState

WatchChannel: TypeAlias = "LiveChannel[ResourceWatchState]"


class WatchExtra(Struct):
    """What is known of a watch besides its state."""

    # Who asked for it; None until that is said.
    maker: Principal | None = None


class ReleaseWatch(Consequence, frozen=True):
    """Watch no longer: nobody follows it."""

    channel: WatchChannel


class ResourceWatchKind(ChannelKind["ResourceWatchState"]):
    """What changes in a file or folder; it tells changes and has no other state than its own."""

    name = "resourceWatch"
    kept = Kept.MEMORY
    # What happened while somebody was away is lost: they look again, and make a new one.
    resumed = Resumed.MISSING
    events = frozenset({"resourceWatch/changed"})
    # It ends with those who follow it, and otherwise after a time of its own.
    leaves_memory = False

    def extra(self) -> WatchExtra:
        """Make what a watch keeps besides its state."""
        return WatchExtra()

    def may_follow(self, channel: WatchChannel, principal: Principal) -> bool:
        """Let those follow it who may see the files: its maker and owners."""
        extra = channel.extra
        assert isinstance(extra, WatchExtra)
        if principal.role is Role.OWNER:
            return True
        return extra.maker is not None and principal.name == extra.maker.name

    def deserted(self, channel: WatchChannel) -> Sequence[Consequence]:
        """End the watch with the last who follows it."""
        return (ReleaseWatch(channel),)


RESOURCE_WATCH = ResourceWatchKind()
