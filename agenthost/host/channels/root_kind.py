"""The root kind of channel: what is particular to the one root."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

from agenthost.host.channels.ruled_kind import RuledKind
from agenthost.host.log.effects import Consequence
from agenthost.host.log.kind import Applied

if TYPE_CHECKING:
    from agenthost.host.log.channel import LiveChannel, OwnerChannel
    from agenthost.protocol.common import JsonObject
    from agenthost.protocol.root import RootState

RootChannel: TypeAlias = "LiveChannel[RootState]"


class RootConfigChanged(Consequence, frozen=True):
    """Act on other settings of the host than before."""

    before: JsonObject
    after: JsonObject


class RootKind(RuledKind["RootState"]):
    """The root channel."""

    name = "root"
    leaves_memory = False

    def follow(
        self, applied: Applied[RootState], owner: OwnerChannel | None
    ) -> Sequence[Consequence]:
        """Let the host's settings take effect."""
        if applied.action["type"] != "root/configChanged":
            return ()
        return (RootConfigChanged(_values(applied.before), _values(applied.after)),)


ROOT_KIND = RootKind()


def _values(state: RootState) -> JsonObject:
    config = state.get("config")
    return config["values"] if config else {}
