"""The root kind of channel: what is particular to the one root."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from agenthost.host.channels.ruled_kind import RuledKind

if TYPE_CHECKING:
    from agenthost.host.log.channel import LiveChannel
    from agenthost.protocol.root import RootState

RootChannel: TypeAlias = "LiveChannel[RootState]"


class RootKind(RuledKind["RootState"]):
    """The root channel."""

    name = "root"
    leaves_memory = False


ROOT_KIND = RootKind()
