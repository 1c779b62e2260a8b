"""What happens to the list of sessions, as the feed tells it, for clients that were away."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from agenthost.cluster.commits import Tell
from agenthost.cluster.numbers import MOST_WRITES, number
from agenthost.host.channels.session.summary import all_fields
from agenthost.host.log.stored_values import stored_value
from agenthost.protocol.uris import ROOT

if TYPE_CHECKING:
    from agenthost.cluster.copy.applied import Applied
    from agenthost.host.clients.connection import Connection
    from agenthost.host.core import HostCore
    from agenthost.protocol.common import JsonObject
    from agenthost.protocol.session.state import SessionSummary

# Sessions whose last change is remembered.
MOST_REMEMBERED = 10_000
# Sessions that are told of as they are where it is not known whether they have changed.
MOST_RETOLD = 200


@dataclass(slots=True)
class _Line:
    """When a session appeared, if that was heard, and last changed; or when it went."""

    appeared: int | None
    at: int
    is_gone: bool = False


class EarlyNews:
    """What happens to the list of sessions before a node has a front, while it catches up.

    Made when the copy is open, before anything is awaited.
    """

    def __init__(self, copy: HeardCopy) -> None:
        # Nothing up to this number is told here.
        self.since = number(copy.position, MOST_WRITES - 1)
        self.told: deque[tuple[int, Tell]] = deque(maxlen=MOST_REMEMBERED)
        self.end = copy.on_commit(self._hear)

    def _hear(self, applied: Applied) -> None:
        for seq, write in applied.writes:
            if isinstance(write, Tell) and write.channel == ROOT:
                if len(self.told) == MOST_REMEMBERED:
                    self.since = self.told[0][0]
                self.told.append((seq, write))


class HeardCopy(Protocol):
    """What must be known of the local copy to hear what it reads."""

    @property
    def position(self) -> int:
        """The last message that was taken from the feed."""
        ...

    def on_commit(self, tell: Callable[[Any], None]) -> Callable[[], None]:
        """Tell somebody of every commit; what is returned ends that."""
        ...


class FeedNews:
    """At which number each session last changed, since this node has followed the feed.

    Who saw less than that is told of the newest sessions as they are; which have gone before then,
    the list itself says, which those are to ask for who come back.
    """

    def __init__(self, core: HostCore, known_since: int, early: EarlyNews | None = None) -> None:
        self._core = core
        # What happened before this number is not known.
        self._known_since = known_since if early is None else early.since
        # Session -> its line, the one that changed longest ago first.
        self._lines: dict[str, _Line] = {}
        if early is not None:
            early.end()
            for seq, write in early.told:
                self.told(write.method, stored_value(write.params, ROOT), seq)

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
        told = list(self._since(last_seen))
        if last_seen < self._known_since:
            page = await self._core.store.page_sessions(MOST_RETOLD)
            told += [uri for uri, _ in page.items if uri not in self._lines]
        for uri in told:
            await self._send(connection, uri, last_seen)

    async def _send(self, connection: Connection, uri: str, last_seen: int) -> None:
        core = self._core
        while True:
            line = self._lines.get(uri)
            if line is not None and line.is_gone:
                break
            # What is read must not be older than what this client has heard by now.
            await core.writer.ledger.settle()
            stored = await core.store.session_summary(uri)
            if self._lines.get(uri) is line:
                if stored is not None:
                    self._tell(connection, line, stored_value(stored, uri), last_seen)
                return
        self._notify(connection, "root/sessionRemoved", {"session": uri})

    def _tell(
        self, connection: Connection, line: _Line | None, summary: SessionSummary, last_seen: int
    ) -> None:
        if line is not None and line.appeared is not None and line.appeared > last_seen:
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
