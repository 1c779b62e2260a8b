"""What happens to the list of sessions, as the feed tells it, for clients that were away."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agenthost.host.channels.session.summary import all_fields
from agenthost.host.log.stored_values import stored_value

if TYPE_CHECKING:
    from agenthost.host.clients.connection import Connection
    from agenthost.host.core import HostCore
    from agenthost.protocol.common import JsonObject
    from agenthost.protocol.session.state import SessionSummary

# Sessions whose last change is remembered.
MOST_REMEMBERED = 10_000


@dataclass(slots=True)
class _Line:
    """When a session appeared, if that was heard, and last changed; or when it went."""

    appeared: int | None
    at: int
    is_gone: bool = False


class FeedNews:
    """At which number each session last changed, since this front has followed the feed."""

    def __init__(self, core: HostCore, known_since: int) -> None:
        self._core = core
        # What happened before this number is not known.
        self._known_since = known_since
        # Session -> its line, the one that changed longest ago first.
        self._lines: dict[str, _Line] = {}

    def knows(self, last_seen: int) -> bool:
        """Say whether all is known that has changed since a number."""
        return last_seen >= self._known_since

    def told(self, method: str, params: JsonObject, seq: int) -> None:
        """Take note of a notification to those who follow the root channel."""
        match method:
            case "root/sessionAdded":
                self._core.catalogue.count += 1
                self._note(params["summary"]["resource"], _Line(seq, seq))
            case "root/sessionSummaryChanged":
                known = self._lines.get(params["session"])
                self._note(params["session"], _Line(known.appeared if known else None, seq))
            case "root/sessionRemoved":
                self._core.catalogue.count -= 1
                self._note(params["session"], _Line(None, seq, is_gone=True))

    async def send_missed(self, connection: Connection, last_seen: int) -> None:
        """Tell a client that was away what changed in the list meanwhile."""
        for uri in list(self._since(last_seen)):
            await self._send(connection, uri, last_seen)

    async def _send(self, connection: Connection, uri: str, last_seen: int) -> None:
        core = self._core
        while True:
            line = self._lines.get(uri)
            if line is None or line.is_gone:
                break
            # What is read must not be older than what this client has heard by now.
            await core.writer.ledger.settle()
            stored = await core.store.session_summary(uri)
            if self._lines.get(uri) is line:
                if stored is not None:
                    self._tell(connection, line, stored_value(stored, uri), last_seen)
                return
        if line is not None:
            self._notify(connection, "root/sessionRemoved", {"session": uri})

    def _tell(
        self, connection: Connection, line: _Line, summary: SessionSummary, last_seen: int
    ) -> None:
        if line.appeared is not None and line.appeared > last_seen:
            self._notify(connection, "root/sessionAdded", {"summary": summary})
        else:
            params = {"session": summary["resource"], "changes": all_fields(summary)}
            self._notify(connection, "root/sessionSummaryChanged", params)

    def _notify(self, connection: Connection, method: str, params: JsonObject) -> None:
        core = self._core
        core.writer.notify(core.root, method, params, only=frozenset({connection}))

    def _since(self, seq: int) -> Iterator[str]:
        yield from (uri for uri, line in self._lines.items() if line.at > seq)

    def _note(self, session: str, line: _Line) -> None:
        self._lines.pop(session, None)
        self._lines[session] = line
        if len(self._lines) > MOST_REMEMBERED:
            oldest = next(iter(self._lines))
            self._known_since = max(self._known_since, self._lines.pop(oldest).at)
