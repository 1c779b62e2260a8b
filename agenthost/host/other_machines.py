"""Methods for clusters: list the other nodes, and move a session to one of them.

Owns the two methods. A host of one machine has nothing of the kind and says so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from agenthost.errors import NotFound
from agenthost.host.clients.methods import handles

if TYPE_CHECKING:
    from agenthost.host.clients.connection import Connection
    from agenthost.protocol.common import JsonObject
    from agenthost.protocol.own_commands import ListNodesResult, MoveSessionResult, NodeStatus


class Machines(Protocol):
    """What a host can say of the machines that it is one of."""

    async def nodes(self) -> list[NodeStatus]:
        """Return the machines that live, this one among them."""
        ...

    async def move(self, session: str, node: str) -> None:
        """Give a session to a machine; raise a wire error with the reason if that cannot be."""
        ...

    def ailment(self) -> str | None:
        """Say in a few words why this machine should get no new clients, if it should not."""
        ...


@handles("agenthost/listNodes")
async def list_nodes(connection: Connection, params: JsonObject) -> ListNodesResult:
    """List the machines of the cluster."""
    return {"items": await _machines(connection).nodes()}


@handles("agenthost/moveSession")
async def move_session(connection: Connection, params: JsonObject) -> MoveSessionResult:
    """Have a session run by another machine."""
    await _machines(connection).move(params["channel"], params["node"])
    return {"node": params["node"]}


def _machines(connection: Connection) -> Machines:
    machines = connection.core.machines
    if machines is None:
        raise NotFound("this host is one machine: it was started without --cluster")
    return machines
