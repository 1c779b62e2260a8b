"""The list of sessions: each one's summary, kept true, stored, and told to root subscribers."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from agenthost.errors import InvalidParams
from agenthost.host.channels.session.list_news import ListNews
from agenthost.host.channels.session.summary import (
    SummaryFacts,
    all_fields,
    annotations_summary,
    changed_fields,
    summarize,
)
from agenthost.host.log.channel import Channel
from agenthost.host.log.directory import Directory
from agenthost.host.log.stored_values import stored_value
from agenthost.host.log.writer import Applied, Writer
from agenthost.host.store import BadCursor, DropSession, PutSession, Store, WholeChannel
from agenthost.protocol.json_edits import carry
from agenthost.protocol.jsonrpc import dumps

if TYPE_CHECKING:
    from agenthost.host.clients.connection import Connection
    from agenthost.protocol.annotations import AnnotationsState, AnnotationsSummary
    from agenthost.protocol.common import JsonObject
    from agenthost.protocol.session.state import SessionSummary

# What a summary holds that the session's state does not.
_OWN_FIELDS = ("createdAt", "changes", "_meta")


class Catalogue:
    """Summaries of the sessions in memory, and pages over all that are stored."""

    def __init__(self, store: Store, writer: Writer, directory: Directory) -> None:
        self._store = store
        self._writer = writer
        self._directory = directory
        # Session URI -> its current summary and what the state does not tell; loaded ones only.
        self._summaries: dict[str, SessionSummary] = {}
        self._facts: dict[str, SummaryFacts] = {}
        self._news = ListNews()
        # Sessions in the catalogue, loaded or not.
        self.count = 0

    async def open(self) -> None:
        """Count what is stored."""
        self.count = await self._store.count_sessions()

    def add(
        self, session: Channel, created_at: str, annotations: AnnotationsState | None = None
    ) -> None:
        """Put a session into the catalogue and announce it."""
        facts: SummaryFacts = {"createdAt": created_at}
        _set_counts(facts, annotations)
        self._facts[session.uri] = facts
        summary = self._summarize(session)
        self._summaries[session.uri] = summary
        self._put(summary)
        self._writer.notify(self._directory.root, "root/sessionAdded", {"summary": summary})
        self._news.added(session.uri, self._writer.ledger.take_seq())
        self._count(+1)

    def annotations(self, session: Channel) -> AnnotationsSummary:
        """Say where a session's annotations are, and how many."""
        return annotations_summary(session.uri, self._facts.get(session.uri))

    def created_at(self, session: Channel) -> str:
        """Return when a session was created."""
        return self._facts[session.uri]["createdAt"]

    def remove(self, uri: str) -> None:
        """Take a session out of the catalogue, and announce that it is gone."""
        self._writer.notify(self._directory.root, "root/sessionRemoved", {"session": uri})
        self._news.removed(uri, self._writer.ledger.take_seq())
        self._summaries.pop(uri, None)
        self._facts.pop(uri, None)
        self._writer.ledger.write(DropSession(uri))
        self._count(-1)

    def refresh(self, session: Channel) -> None:
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

    def count_annotations(self, applied: Applied, session: Channel) -> None:
        """Follow a change of a session's annotations."""
        facts = self._facts.get(session.uri)
        if facts is not None:
            _set_counts(facts, applied.after)
            self.refresh(session)

    def add_meta(self, session: Channel, meta: JsonObject) -> None:
        """Tell more in a session's line than its state does; whoever changes that refreshes it."""
        facts = self._facts.get(session.uri)
        if facts is not None:
            facts["_meta"] = {**facts.get("_meta", {}), **meta}

    def restore(self, channel: Channel, whole: WholeChannel) -> None:
        """Take up the summary of a session that is being loaded."""
        known = channel.uri in self._summaries
        if channel.kind != "session" or known or whole.summary is None:
            return
        summary: SessionSummary = stored_value(whole.summary, channel.uri)
        facts = cast("SummaryFacts", carry(summary, *_OWN_FIELDS))
        counts = summary.get("annotations")
        facts["annotationCount"] = counts.get("annotationCount", 0) if counts else 0
        facts["entryCount"] = counts.get("entryCount", 0) if counts else 0
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

    def _summarize(self, session: Channel) -> SessionSummary:
        return summarize(session.uri, session.state, self._facts[session.uri])

    def _put(self, summary: SessionSummary) -> None:
        self._writer.ledger.write(
            PutSession(summary["resource"], summary["modifiedAt"], dumps(summary))
        )

    def _count(self, change: int) -> None:
        self.count += change
        action = {"type": "root/activeSessionsChanged", "activeSessions": self.count}
        self._writer.apply(self._directory.root, action)


def _set_counts(facts: SummaryFacts, annotations: AnnotationsState | None) -> None:
    noted = annotations["annotations"] if annotations is not None else []
    facts["annotationCount"] = len(noted)
    facts["entryCount"] = sum(len(item["entries"]) for item in noted)
