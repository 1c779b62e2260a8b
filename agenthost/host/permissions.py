"""What people allowed once and for the whole session, and tokens they brought for agents.

Permissions are stored with the session; tokens live in memory only and appear in no log.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agenthost.host.channel import Channel
from agenthost.host.ledger import Ledger
from agenthost.host.store import DropRecord, PutRecord, Store
from agenthost.protocol.jsonrpc import dumps, loads

__all__ = ["Credentials", "Permissions"]

# The record of the tools that are allowed in a session.
PERMISSIONS = "permissions"


class Permissions:
    """Tools that run without asking, per session."""

    def __init__(self, store: Store, ledger: Ledger) -> None:
        self._store = store
        self._ledger = ledger
        self._allowed: dict[str, set[str]] = {}

    def is_allowed(self, session: str, tool: str) -> bool:
        """Say whether a tool is allowed in a session."""
        return tool in self._allowed.get(session, ())

    def allow(self, session: str, tool: str) -> None:
        """Allow a tool from now on, also after a restart."""
        tools = self._allowed.setdefault(session, set())
        tools.add(tool)
        self._ledger.write(PutRecord(PERMISSIONS, session, dumps(sorted(tools))))

    def forget(self, session: str) -> None:
        """Forget what was allowed in a session that is gone."""
        if self._allowed.pop(session, None) is not None:
            self._ledger.write(DropRecord(PERMISSIONS, session))

    async def restore(self, channel: Channel) -> None:
        """Take up what is allowed in a session that is being loaded."""
        if channel.kind == "session":
            stored = await self._store.record(PERMISSIONS, channel.uri)
            if stored is not None:
                self._allowed[channel.uri] = set(loads(stored))


class Credentials:
    """The newest token of each principal for each protected resource; never stored or shown."""

    def __init__(self) -> None:
        self._tokens: dict[tuple[str, str], str] = {}

    def __repr__(self) -> str:
        return f"Credentials({len(self._tokens)})"

    def put(self, principal: str, resource: str, token: str) -> None:
        """Keep a token that a client of this principal brought."""
        self._tokens[principal, resource] = token

    def drop(self, principal: str, resource: str) -> None:
        """Forget a token that no longer works."""
        self._tokens.pop((principal, resource), None)

    def get(self, principal: str, resource: str) -> str | None:
        """Return the principal's token for a resource, if it brought one."""
        return self._tokens.get((principal, resource))

    def missing(
        self, principal: str, resources: Sequence[Mapping[str, Any]]
    ) -> list[Mapping[str, Any]]:
        """Return those required resources for which the principal has brought no token."""
        return [
            item
            for item in resources
            if item.get("required", True) and self.get(principal, item["resource"]) is None
        ]
