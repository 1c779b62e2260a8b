"""Tools of clients here, offered to the far agent as if they were this host's own.

A call of one is shown here as that client's, which runs it as any other; the relay tells the far
host of its result.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from agenthost.agents.turn import Turn
from agenthost.client import Client, Session
from agenthost.protocol.json_edits import same

Json = Mapping[str, Any]


class ToolsOfClients:
    """What clients here offer to one turn, and who runs which call of the far agent."""

    def __init__(
        self, client: Client, turn: Turn, session: Session, refuse: Callable[[str, str], None]
    ) -> None:
        """Look at the clients of a turn; ``refuse`` ends a call, by id and name, that none runs."""
        self._client = client
        self._turn = turn
        self._session = session
        self._refuse = refuse
        # What the far host was last told.
        self._told: list[Json] = []
        # Calls that the far host wants us to run -> the client here that does.
        self._owners: dict[str, str | None] = {}
        self._refused: set[str] = set()

    def offer(self) -> None:
        """Tell the far host what is offered now, if it does not know that or forgot it."""
        tools = list(self._turn.client_tools.values())
        ours = self._client.client_id
        there = self._session.channel.confirmed["activeClients"]
        is_there = any(client["clientId"] == ours for client in there)
        if same(tools, self._told) and (is_there or not tools):
            return
        self._told = tools
        client = {"clientId": ours, "displayName": "agenthost", "tools": tools}
        action = {"type": "session/activeClientSet", "activeClient": client}
        self._client.dispatch(self._session.uri, action)

    def owner_of(self, call: Json) -> str | None:
        """Return the client here that runs a call of the far host; None if that is not our affair.

        Once it is said to be somebody's, it stays so. One that nobody here can run is refused.
        """
        contributor = call.get("contributor") or {}
        if contributor.get("clientId") != self._client.client_id:
            return None
        id: str = call["toolCallId"]
        if id not in self._owners:
            self._owners[id] = self._find_owner(call["toolName"])
        if self._owners[id] is None and call["status"] == "running" and id not in self._refused:
            self._refused.add(id)
            self._refuse(id, call["toolName"])
        return self._owners[id]

    def _find_owner(self, tool: str) -> str | None:
        clients = self._turn.port.session_state["activeClients"]
        owners: list[str] = [
            client["clientId"]
            for client in clients
            if any(offered["name"] == tool for offered in client["tools"])
        ]
        starter = self._turn.port.client
        return starter if starter in owners else next(iter(owners), None)
