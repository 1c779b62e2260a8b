"""The interface by which a host that only shows sessions passes requests on to their owner.

A host that owns its sessions has nobody of the kind. One that only shows them, as each node of a
cluster does, judges form and version itself and passes everything else on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from agenthost.host.clients.connection import Connection
    from agenthost.host.core import HostCore
    from agenthost.host.log.channel import AnyChannel
    from agenthost.host.log.writer import ClientAction
    from agenthost.protocol.common import Action, JsonObject

# How a refusal ends whose only reason is that somebody else decides by now; nothing was done.
OWNED_ELSEWHERE = "is with another node now"
# Tells who shows a channel for others, which no log tells of, that it is gone where it was.
CHANNEL_GONE = "agenthost/channelGone"


class RemoteOwner(Protocol):
    """Where that is decided which this host does not decide itself."""

    def attach(self, core: HostCore) -> None:
        """Take up work for a host, whose parts are made and not opened yet."""
        ...

    async def close(self) -> None:
        """End everything that is under way."""
        ...

    def takes(self, method: str) -> bool:
        """Say whether a method is carried out by the owner."""
        ...

    async def request(self, connection: Connection, method: str, params: JsonObject) -> object:
        """Have a client's request carried out; params and result are canonical."""
        ...

    async def side_channel(
        self, connection: Connection, uri: str, method: str, params: JsonObject
    ) -> object:
        """Have a client's request to an MCP server carried out."""
        ...

    async def dispatch(self, dispatch: ClientAction, channel: AnyChannel, action: Action) -> None:
        """Have a client's action judged and applied; ``action`` is it in canonical form.

        Waits where the client has too much under way already, and not for the decision.
        """
        ...

    def followed(self, connection: Connection, channel: AnyChannel) -> None:
        """Take note that a client follows a channel."""
        ...

    def unfollowed(self, connection: Connection, channel: AnyChannel) -> None:
        """Take note that a client does not follow a channel any more."""
        ...

    def withdrawn(self, connection: Connection, channel: AnyChannel) -> None:
        """Take note that a client came back without a channel that it may have followed."""
        ...

    def left(self, connection: Connection) -> None:
        """Take note that a connection is over."""
        ...
