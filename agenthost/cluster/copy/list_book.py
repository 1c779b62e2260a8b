"""When each session last changed in the list of sessions, for clients that were away.

Notifications are never replayed, so whoever resumes is told what they would have said. Kept with
the copy, for a client may resume at a node that was started again or was away itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import orjson

from agenthost.cluster.commits import Tell
from agenthost.cluster.copy.applied import AppliedCommit
from agenthost.cluster.numbers import number
from agenthost.host.store import DropRecord, PutRecord, Store, Write
from agenthost.protocol.uris import ROOT

# The bucket of records; hosts have none that begin like this.
LIST = "@list"
# Under which the number is kept before which nothing is known; no session is named like this.
KNOWN_SINCE = "@known-since"
# Sessions whose last change is remembered.
MOST_REMEMBERED = 10_000


@dataclass(frozen=True, slots=True)
class ListLine:
    """When a session appeared, if that was heard, and last changed; or when it went."""

    appeared: int | None
    at: int
    is_gone: bool = False


class ListBook:
    """At which number each session last changed in the list, as far as the log was read."""

    def __init__(self) -> None:
        self._known_since = 0
        # Session -> its line, the one that changed longest ago first.
        self._lines: dict[str, ListLine] = {}
        self._changed: set[str] = set()

    async def load(self, store: Store, position: int) -> None:
        """Read what was stored up to a message; of what was copied without it nothing is known."""
        stored = await store.records(LIST)
        since = stored.pop(KNOWN_SINCE, None)
        self._known_since = number(position + 1, 0) if since is None else int(since)
        lines = {session: ListLine(*orjson.loads(value)) for session, value in stored.items()}
        self._lines = dict(sorted(lines.items(), key=lambda each: each[1].at))
        self._changed.clear()

    def take(self, applied: AppliedCommit) -> None:
        """Take note of a commit."""
        for at, write in applied.writes:
            if not isinstance(write, Tell) or write.channel != ROOT:
                continue
            session = _session_in(write)
            if session is None:
                continue
            known = self._lines.get(session)
            if write.method == "root/sessionAdded":
                self._note(session, ListLine(at, at))
            elif write.method == "root/sessionSummaryChanged":
                self._note(session, ListLine(known.appeared if known else None, at))
            elif write.method == "root/sessionRemoved":
                self._note(session, ListLine(None, at, is_gone=True))

    def _note(self, session: str, line: ListLine) -> None:
        self._lines.pop(session, None)
        self._lines[session] = line
        self._changed.add(session)
        if len(self._lines) > MOST_REMEMBERED:
            oldest = next(iter(self._lines))
            self._known_since = max(self._known_since, self._lines.pop(oldest).at)
            self._changed |= {oldest, KNOWN_SINCE}

    def changes(self) -> Iterator[Write]:
        """Yield the writes that store what changed since the last call."""
        changed, self._changed = self._changed, set()
        for session in changed:
            line = self._lines.get(session)
            if session == KNOWN_SINCE:
                yield PutRecord(LIST, KNOWN_SINCE, str(self._known_since).encode())
            elif line is None:
                yield DropRecord(LIST, session)
            else:
                value = orjson.dumps((line.appeared, line.at, line.is_gone))
                yield PutRecord(LIST, session, value)

    def knows(self, last_seen: int) -> bool:
        """Say whether all is known that has changed since a number."""
        return last_seen >= self._known_since

    def line(self, session: str) -> ListLine | None:
        """Return what is known of a session."""
        return self._lines.get(session)

    def since(self, seq: int) -> list[str]:
        """Return the sessions that changed after a number, the one that did so first first."""
        found: list[str] = []
        for session in reversed(self._lines):
            if self._lines[session].at <= seq:
                break
            found.append(session)
        return found[::-1]


def _session_in(tell: Tell) -> str | None:
    """Return the session that a notification is about."""
    params = orjson.loads(tell.params)
    found = params.get("session") or params.get("summary", {}).get("resource")
    return found if isinstance(found, str) else None
