"""The telemetry kind of channel: it has no state, and carries notifications to owners."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias, cast

from agenthost.host.log.channel import LiveChannel
from agenthost.host.log.effects import Consequence
from agenthost.host.log.kind import ChannelKind, Kept, Resumed
from agenthost.tokens import Role

if TYPE_CHECKING:
    from agenthost.host.trust.principals import Principal
    from agenthost.protocol.reducer_registry import Kind

# There is nothing in it.
OtlpState: TypeAlias = Mapping[str, object]
OtlpChannel: TypeAlias = LiveChannel[OtlpState]


class TelemetryFollowed(Consequence, frozen=True):
    """Begin to send what a telemetry channel is for."""

    channel: OtlpChannel


class TelemetryDeserted(Consequence, frozen=True):
    """Send no more to a telemetry channel that nobody follows."""

    channel: OtlpChannel


class OtlpKind(ChannelKind[OtlpState]):
    """Telemetry channels: ``ahp-otlp://logs``, ``traces`` and ``metrics``."""

    # No reducer knows it, for it has no actions.
    name = cast("Kind", "otlp")
    kept = Kept.MEMORY
    resumed = Resumed.MISSING
    has_state = False

    def may_follow(self, channel: OtlpChannel, principal: Principal) -> bool:
        """Let owners alone follow it: it tells of all sessions."""
        return principal.role is Role.OWNER

    def followed(self, channel: OtlpChannel) -> Sequence[Consequence]:
        """Begin to send."""
        return (TelemetryFollowed(channel),)

    def deserted(self, channel: OtlpChannel) -> Sequence[Consequence]:
        """Send no more."""
        return (TelemetryDeserted(channel),)


OTLP = OtlpKind()
