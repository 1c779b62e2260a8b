"""What a node's front says of the realm's machines, and has them do."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from agenthost.cluster.units import REALM
from agenthost.errors import AgentHostError, Conflict, InternalError, NotFound

if TYPE_CHECKING:
    from agenthost.cluster.copy import LocalCopy
    from agenthost.cluster.nodes import Claims, NodeInfo, Nodes
    from agenthost.protocol.own_commands import NodeStatus

# Seconds that running turns get to end when somebody moves their session.
_MOVE_WAIT = 3.0
# Seconds for all of a move.
_MOVE_SECONDS = 30.0


class RealmMachines:
    """The machines of a realm, for `agenthost.host.other_machines`."""

    def __init__(
        self,
        nodes: Nodes,
        copy: LocalCopy,
        claims: Claims,
        own_node: str,
        ailment: Callable[[], str | None],
    ) -> None:
        self._nodes = nodes
        self._copy = copy
        self._claims = claims
        self._own_node = own_node
        self._ailment = ailment

    def ailment(self) -> str | None:
        """Say in a few words why this machine should get no new clients, if it should not."""
        return self._ailment()

    async def nodes(self) -> list[NodeStatus]:
        """Return the machines that live, by name."""
        leader = self._copy.owner_of(REALM)
        living = sorted(self._nodes.living.values(), key=lambda info: info.id)
        return [self._shown(info, leader) for info in living]

    async def move(self, session: str, node: str) -> None:
        """Give a session to a machine.

        Raises:
            NotFound: there is no such machine, or no such session.
            Conflict: that machine cannot have it.
        """
        info = self._nodes.living.get(node)
        if info is None:
            there = ", ".join(sorted(self._nodes.living))
            raise NotFound(f"there is no node {node[:60]!r}; there are {there}")
        if await self._copy.store.session_summary(session) is None:
            raise NotFound(f"there is no session {session[:100]}")
        if info.draining:
            raise Conflict(f"{node} is about to leave")
        try:
            owner = await self._claims.owner(session)
        except (AgentHostError, TimeoutError) as error:
            raise InternalError(str(error)) from error
        if owner == node:
            return
        answer = await self._claims.ask(
            owner, session, "move", timeout=_MOVE_SECONDS, to=node, wait=_MOVE_WAIT
        )
        self._claims.forget(session)
        if answer.get("owner") != node:
            raise Conflict(str(answer.get("error") or f"{owner} did not give it away"))
        # Whoever looks next, here, is to find it there.
        with contextlib.suppress(AgentHostError, TimeoutError):
            await self._claims.owner(session)

    def _shown(self, info: NodeInfo, leader: str | None) -> NodeStatus:
        status: NodeStatus = {
            "node": info.id,
            "version": info.version,
            "labels": info.labels,
            "startedAt": datetime.fromtimestamp(info.started, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "here": info.id == self._own_node,
            "leads": info.id == leader,
            "draining": info.draining,
            "agents": [agent["provider"] for agent in info.agents],
            "sessions": info.sessions,
            "turns": info.turns,
            "clients": info.clients,
            "load": round(info.load * 100),
            "position": info.position,
        }
        if info.url:
            status["url"] = info.url
        if info.ailment:
            status["ailment"] = info.ailment
        return status
