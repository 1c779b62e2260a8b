"""What happened to the list of sessions, for clients that were away."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agenthost.host.channels.session.summary import all_fields
from agenthost.host.log.stored_values import stored_value

if TYPE_CHECKING:
    from agenthost.cluster.copy.list_book import ListBook, ListLine
    from agenthost.host.clients.connection import Connection
    from agenthost.host.core import HostCore
    from agenthost.protocol.common import JsonObject
    from agenthost.protocol.session.state import SessionSummary


class FeedNews:
    """Tells clients of the sessions that have changed since they left."""

    def __init__(self, core: HostCore, lists: ListBook) -> None:
        self._core = core
        self._lists = lists

    def knows(self, last_seen: int) -> bool:
        """Say whether all is known that has changed since a number."""
        return self._lists.knows(last_seen)

    def told(self, method: str) -> None:
        """Take note of a notification to those who follow the root channel."""
        match method:
            case "root/sessionAdded":
                self._core.catalogue.count += 1
            case "root/sessionRemoved":
                self._core.catalogue.count -= 1

    async def send_missed(self, connection: Connection, last_seen: int) -> None:
        """Tell a client that was away what changed in the list meanwhile."""
        for uri in self._lists.since(last_seen):
            await self._send(connection, uri, last_seen)

    async def _send(self, connection: Connection, uri: str, last_seen: int) -> None:
        core = self._core
        while True:
            line = self._lists.line(uri)
            if line is None or line.is_gone:
                break
            # What is read must not be older than what this client has heard by now.
            await core.writer.ledger.settle()
            stored = await core.store.session_summary(uri)
            if self._lists.line(uri) is line:
                if stored is not None:
                    self._tell(connection, line, stored_value(stored, uri), last_seen)
                return
        if line is not None:
            self._notify(connection, "root/sessionRemoved", {"session": uri})

    def _tell(
        self, connection: Connection, line: ListLine, summary: SessionSummary, last_seen: int
    ) -> None:
        if line.appeared is not None and line.appeared > last_seen:
            self._notify(connection, "root/sessionAdded", {"summary": summary})
        else:
            params = {"session": summary["resource"], "changes": all_fields(summary)}
            self._notify(connection, "root/sessionSummaryChanged", params)

    def _notify(self, connection: Connection, method: str, params: JsonObject) -> None:
        core = self._core
        core.writer.notify(core.root, method, params, only=frozenset({connection}))
