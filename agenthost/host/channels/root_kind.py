"""The root's room: what is particular to the one root channel."""

from __future__ import annotations

from agenthost.host.log.kind import ChannelKind
from agenthost.protocol.root import RootState


class RootKind(ChannelKind[RootState]):
    """The root channel."""

    name = "root"
    leaves_memory = False


ROOT_KIND = RootKind()
