"""The list of sessions: each one's summary, kept true, stored, and told to root subscribers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from agenthost.errors import InvalidParams
from agenthost.host.channels.session.list_news import ListNews
from agenthost.host.channels.session.summary import (
    all_fields,
    annotations_summary,
    changed_fields,
    summarize,
)
from agenthost.host.log.channel import LiveChannel
from agenthost.host.log.directory import Directory
from agenthost.host.log.stored_values import stored_value
from agenthost.host.log.writer import Applied, Writer
from agenthost.host.store import BadCursor, DropSession, PutSession, Store, WholeChannel
from agenthost.protocol.jsonrpc import dumps

if TYPE_CHECKING:
    from agenthost.host.clients.connection import Connection

# What a summary holds that the session's state does not.
_OWN_FIELDS = ("createdAt", "changes", "_meta")


class SessionCatalogue:
    """Summaries of the sessions in memory, and pages over all that are stored."""

    def __init__(self, store: Store, writer: Writer, directory: Directory) -> None:
        self._store = store
        self._writer = writer
        self._directory = directory
        # Session URI -> its current summary and what the state does not tell; loaded ones only.
        self._summaries: dict[str, dict[str, Any]] = {}
        self._facts: dict[str, dict[str, Any]] = {}
        self._news = ListNews()
        # Sessions in the catalogue, loaded or not.
        self.count = 0

    async def open(self) -> None:
        """Count what is stored."""
        self.count = await self._store.count_sessions()

    def add(
        self, session: LiveChannel, created_at: str, annotations: Mapping[str, Any] | None = None
    ) -> None:
        """Put a session into the catalogue and announce it."""
        self._facts[session.uri] = {"createdAt": created_at, **_counts(annotations)}
        summary = self._summarize(session)
        self._summaries[session.uri] = summary
        self._put(summary)
        self._writer.notify(self._directory.root, "root/sessionAdded", {"summary": summary})
        self._news.added(session.uri, self._writer.ledger.take_seq())
        self._count(+1)

    def annotations(self, session: LiveChannel) -> dict[str, Any]:
        """Say where a session's annotations are, and how many."""
        return annotations_summary(session.uri, self._facts.get(session.uri, {}))

    def created_at(self, session: LiveChannel) -> str:
        """Return when a session was created."""
        created: str = self._facts[session.uri]["createdAt"]
        return created

    def remove(self, uri: str) -> None:
        """Take a session out of the catalogue, and announce that it is gone."""
        self._writer.notify(self._directory.root, "root/sessionRemoved", {"session": uri})
        self._news.removed(uri, self._writer.ledger.take_seq())
        self._summaries.pop(uri, None)
        self._facts.pop(uri, None)
        self._writer.ledger.write(DropSession(uri))
        self._count(-1)

    def refresh(self, session: LiveChannel) -> None:
        """Bring a session's summary up to date, and tell what changed."""
        before = self._summaries.get(session.uri)
        if before is None:
            return
        after = self._summarize(session)
        changes = changed_fields(before, after)
        if not changes:
            return
        self._summaries[session.uri] = after
        self._put(after)
        params = {"session": session.uri, "changes": changes}
        self._writer.notify(self._directory.root, "root/sessionSummaryChanged", params)
        self._news.changed(session.uri, self._writer.ledger.last_seq)

    async def tell_missed(self, connection: Connection, last_seen: int) -> None:
        """Tell a client that was away what changed in the list meanwhile."""
        missed = [(uri, new) for uri, new in self._news.new_since(last_seen)]
        stored = {uri: await self._store.session_summary(uri) for uri, _ in missed}
        only, root = frozenset({connection}), self._directory.root
        for uri in self._news.gone_since(last_seen):
            self._writer.notify(root, "root/sessionRemoved", {"session": uri}, only=only)
        for uri, is_new in missed:
            summary = self._summaries.get(uri)
            encoded = stored[uri]
            if summary is None and encoded is not None:
                summary = stored_value(encoded, uri)
            if summary is None:
                continue
            if is_new:
                self._writer.notify(root, "root/sessionAdded", {"summary": summary}, only=only)
            else:
                params = {"session": uri, "changes": all_fields(summary)}
                self._writer.notify(root, "root/sessionSummaryChanged", params, only=only)

    def count_annotations(self, applied: Applied, session: LiveChannel) -> None:
        """Follow a change of a session's annotations."""
        facts = self._facts.get(session.uri)
        if facts is not None:
            facts.update(_counts(applied.after))
            self.refresh(session)

    def add_meta(self, session: LiveChannel, meta: dict[str, Any]) -> None:
        """Tell more in a session's line than its state does; whoever changes that refreshes it."""
        facts = self._facts.get(session.uri)
        if facts is not None:
            facts["_meta"] = {**facts.get("_meta", {}), **meta}

    def restore(self, channel: LiveChannel, whole: WholeChannel) -> None:
        """Take up the summary of a session that is being loaded."""
        known = channel.uri in self._summaries
        if channel.kind != "session" or known or whole.summary is None:
            return
        summary = stored_value(whole.summary, channel.uri)
        counts = summary.get("annotations") or {}
        facts = {key: summary[key] for key in _OWN_FIELDS if key in summary}
        facts["annotationCount"] = counts.get("annotationCount", 0)
        facts["entryCount"] = counts.get("entryCount", 0)
        self._facts[channel.uri], self._summaries[channel.uri] = facts, summary

    def release(self, uri: str) -> None:
        """Forget a session's summary in memory, because the session left it."""
        self._summaries.pop(uri, None)
        self._facts.pop(uri, None)

    async def page(self, limit: int, cursor: str | None) -> tuple[list[bytes], str | None]:
        """Return one page of encoded summaries, most recently modified first."""
        if self._writer.ledger.backlog:
            await self._writer.ledger.settle()
        try:
            page = await self._store.page_sessions(limit, cursor)
        except BadCursor as error:
            raise InvalidParams("the cursor is not known here", path="cursor") from error
        return [summary for _, summary in page.items], page.next_cursor

    def _summarize(self, session: LiveChannel) -> dict[str, Any]:
        return summarize(session.uri, session.state, self._facts[session.uri])

    def _put(self, summary: dict[str, Any]) -> None:
        self._writer.ledger.write(
            PutSession(summary["resource"], summary["modifiedAt"], dumps(summary))
        )

    def _count(self, change: int) -> None:
        self.count += change
        action = {"type": "root/activeSessionsChanged", "activeSessions": self.count}
        self._writer.apply(self._directory.root, action)


def _counts(annotations: Mapping[str, Any] | None) -> dict[str, int]:
    noted = annotations["annotations"] if annotations is not None else []
    entries = sum(len(item["entries"]) for item in noted)
    return {"annotationCount": len(noted), "entryCount": entries}
