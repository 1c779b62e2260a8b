"""Telling those who are away: each node looks at the feed for the browsers that asked it to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agenthost.host.channels.session.kind import SESSION
from agenthost.host.log.stored_values import stored_value

if TYPE_CHECKING:
    from agenthost.host.core import HostCore
    from agenthost.host.store import PutSession
    from agenthost.protocol.session.state import SessionSummary

# Sessions whose last line is remembered, to see what has become of them.
MOST_KNOWN = 10_000


class FeedPushes:
    """Shows the changes of sessions to what watches them on behalf of those who are away."""

    def __init__(self, core: HostCore) -> None:
        self._core = core
        self._known: dict[str, SessionSummary] = {}

    def changed(self, write: PutSession) -> None:
        """Take note of a session's line; what it was before the first is not known."""
        if not self._core.push_book.subscriptions:
            # Most nodes have nobody to tell.
            self._known.clear()
            return
        uri = write.session
        after: SessionSummary = stored_value(write.summary, uri)
        before = self._known.pop(uri, after)
        self._known[uri] = after
        if len(self._known) > MOST_KNOWN:
            del self._known[next(iter(self._known))]
        if before is after or before["status"] != after["status"] or _chats_differ(before, after):
            self._core.tasks.start(self._look(uri, before, after), "look for those who are away")

    def removed(self, session: str) -> None:
        """Take note that a session is gone."""
        if self._known.pop(session, None) is not None and self._core.catalogue.observer is not None:
            self._core.catalogue.observer.removed(session)

    async def _look(self, uri: str, before: SessionSummary, after: SessionSummary) -> None:
        # What is asked for is in the session itself.
        session = await self._core.directory.find(uri, SESSION)
        if session is not None and self._core.catalogue.observer is not None:
            self._core.catalogue.observer.changed(uri, session.state, before, after)


def _chats_differ(before: SessionSummary, after: SessionSummary) -> bool:
    return before.get("chats") != after.get("chats")
