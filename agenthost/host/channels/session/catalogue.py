"""The list of sessions: each one's summary, kept true, stored, and told to root subscribers."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import TYPE_CHECKING, Protocol

from agenthost.clock import Clock
from agenthost.errors import InvalidParams
from agenthost.host.channels.annotations_kind import CountAnnotations
from agenthost.host.channels.session.consequences import CountChanges, RefreshSummary
from agenthost.host.channels.session.kind import SESSION, SessionChannel, extra_of
from agenthost.host.channels.session.summary import (
    SummaryFacts,
    all_fields,
    changed_fields,
    summarize,
)
from agenthost.host.channels.timestamps import sortable
from agenthost.host.log.directory import Directory
from agenthost.host.log.effects import Effects
from agenthost.host.log.stored_values import stored_value
from agenthost.host.log.writer import Writer
from agenthost.host.store import BadCursor, DropSession, PutSession, Store
from agenthost.protocol.jsonrpc import dumps

if TYPE_CHECKING:
    from agenthost.host.clients.connection import Connection
    from agenthost.protocol.annotations import AnnotationsState
    from agenthost.protocol.common import JsonObject
    from agenthost.protocol.session.state import ProjectInfo, SessionState, SessionSummary

# Changes of the list that are remembered, the latest of them.
MOST_REMEMBERED = 10_000
# Chats up to which every change of one is told at once. Each time all are told, so that a thousand
# workers would be hundreds of megabytes; of more chats people hear once in so many seconds.
FEW_CHATS = 50
PAUSE_SECONDS = 1.0


class SummaryObserver(Protocol):
    """Looks at sessions as they change."""

    def changed(
        self, uri: str, state: SessionState, before: SessionSummary, after: SessionSummary
    ) -> None:
        """Take note of what a session has become; its line may be the same as before."""
        ...

    def removed(self, uri: str) -> None:
        """Take note that a session is gone."""
        ...


class SessionCatalogue:
    """Summaries of the sessions in memory, and pages over all that are stored."""

    def __init__(
        self, store: Store, writer: Writer, directory: Directory, effects: Effects
    ) -> None:
        self._store = store
        self._writer = writer
        self._directory = directory
        self._news = ListNews()
        # Sessions that have changed since the last commit. A session of many chats changes often,
        # and its line tells of them all, so it is told once per commit.
        self._changed: dict[SessionChannel, None] = {}
        # Sessions of many chats, of which these have changed since they were last told.
        self._untold: dict[SessionChannel, None] = {}
        self._has_untold = asyncio.Event()
        # Told of every change of a session, before it is committed.
        self.observer: SummaryObserver | None = None
        # Sessions in the catalogue, loaded or not.
        self.count = 0
        effects.on(RefreshSummary, lambda effect: self.mark(effect.session))
        writer.ledger.before_commit(self._refresh_marked)
        effects.on(CountAnnotations, self._count_annotations)
        effects.on(CountChanges, self._count_changes)

    async def open(self) -> None:
        """Count what is stored."""
        self.count = await self._store.count_sessions()

    def add(
        self,
        session: SessionChannel,
        created_at: str,
        annotations: AnnotationsState | None = None,
        project: ProjectInfo | None = None,
    ) -> None:
        """Put a session into the catalogue and announce it."""
        extra = extra_of(session)
        facts: SummaryFacts = {"createdAt": created_at}
        if project is not None:
            facts["project"] = project
        extra.facts = _counted(facts, annotations)
        extra.summary = summary = summarize(session.uri, session.state, extra.facts)
        self._put(summary)
        self._writer.notify(self._directory.root, "root/sessionAdded", {"summary": summary})
        self._news.added(session.uri, self._writer.ledger.take_seq())
        self._count(+1)

    def created_at(self, session: SessionChannel) -> str:
        """Return when a session was created."""
        facts = extra_of(session).facts
        assert facts is not None
        return str(facts["createdAt"])

    def remove(self, session: SessionChannel) -> None:
        """Take a session out of the catalogue, and announce that it is gone."""
        uri, extra = session.uri, extra_of(session)
        self._writer.notify(self._directory.root, "root/sessionRemoved", {"session": uri})
        self._news.removed(uri, self._writer.ledger.take_seq())
        extra.summary = extra.facts = None
        if self.observer is not None:
            self.observer.removed(uri)
        self._writer.ledger.write(DropSession(uri))
        self._count(-1)

    def mark(self, session: SessionChannel) -> None:
        """Have a session's summary brought up to date with the change that is being committed."""
        self._changed[session] = None

    def _refresh_marked(self) -> None:
        if self._changed:
            changed, self._changed = self._changed, {}
            for session in changed:
                self.refresh(session)

    def refresh(self, session: SessionChannel) -> None:
        """Bring a session's summary up to date, and tell what changed."""
        extra = extra_of(session)
        before = extra.summary
        if before is None or extra.facts is None:
            return
        after = summarize(session.uri, session.state, extra.facts)
        if self.observer is not None:
            self.observer.changed(session.uri, session.state, before, after)
        changes = changed_fields(before, after)
        if not changes:
            return
        extra.summary = after
        self._put(after)
        if "chats" in changes and len(after["chats"]) > FEW_CHATS:
            del changes["chats"]
            self._untold[session] = None
            self._has_untold.set()
        if changes:
            self._tell(session, changes)
            self._news.changed(session.uri, self._writer.ledger.last_seq)

    async def tell_of_chats(self, clock: Clock) -> None:
        """Tell now and then of the chats of sessions that have many, until this is cancelled."""
        while True:
            await self._has_untold.wait()
            await clock.sleep(PAUSE_SECONDS)
            self._has_untold.clear()
            untold, self._untold = self._untold, {}
            for session in untold:
                summary = extra_of(session).summary
                if summary is not None:
                    self._tell(session, {"chats": summary["chats"]})
                    # Who has heard of all that led to it has not heard of this.
                    self._news.changed(session.uri, self._writer.ledger.take_seq())

    def _tell(self, session: SessionChannel, changes: JsonObject) -> None:
        params = {"session": session.uri, "changes": changes}
        self._writer.notify(self._directory.root, "root/sessionSummaryChanged", params)

    async def send_missed(self, connection: Connection, last_seen: int) -> None:
        """Tell a client that was away what changed in the list meanwhile."""
        missed = [(uri, new) for uri, new in self._news.new_since(last_seen)]
        stored = {uri: await self._store.session_summary(uri) for uri, _ in missed}
        only, root = frozenset({connection}), self._directory.root
        for uri in self._news.gone_since(last_seen):
            self._writer.notify(root, "root/sessionRemoved", {"session": uri}, only=only)
        for uri, is_new in missed:
            session = self._directory.get(uri, SESSION)
            summary = extra_of(session).summary if session is not None else None
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

    def _count_annotations(self, effect: CountAnnotations) -> None:
        extra = extra_of(effect.session)
        if extra.facts is not None:
            extra.facts = _counted(extra.facts, effect.annotations)
            self.mark(effect.session)

    def tell_git(self, session: SessionChannel, git: JsonObject | None) -> None:
        """Tell of git in a session's line, or no more."""
        extra = extra_of(session)
        if extra.facts is not None and extra.facts.get("_meta", {}).get("git") != git:
            told = {key: each for key, each in extra.facts.get("_meta", {}).items() if key != "git"}
            extra.facts = {**extra.facts, "_meta": told if git is None else {**told, "git": git}}
            self._tell_beside(session)

    def tell_project(self, session: SessionChannel, project: ProjectInfo) -> None:
        """Tell on which project a session works, to who lists it or comes new."""
        extra = extra_of(session)
        if extra.facts is not None and extra.facts.get("project") != project:
            extra.facts = {**extra.facts, "project": project}
            self._tell_beside(session)

    def _tell_beside(self, session: SessionChannel) -> None:
        """Tell a change that no action leads to."""
        self.refresh(session)
        # Who has heard of all actions has not heard of this.
        self._news.changed(session.uri, self._writer.ledger.take_seq())

    def project(self, session: SessionChannel) -> ProjectInfo | None:
        """Return the project that a session is told to work on."""
        facts = extra_of(session).facts
        return facts.get("project") if facts is not None else None

    def _count_changes(self, effect: CountChanges) -> None:
        extra = extra_of(effect.session)
        if extra.facts is not None:
            extra.facts = {**extra.facts, "changes": effect.changes}
            self.refresh(effect.session)
            # No action leads to it: who has heard of all of them has not heard of this.
            self._news.changed(effect.session.uri, self._writer.ledger.take_seq())

    async def page(self, limit: int, cursor: str | None) -> tuple[list[bytes], str | None]:
        """Return one page of encoded summaries, most recently modified first."""
        if self._writer.ledger.backlog:
            await self._writer.ledger.settle()
        try:
            page = await self._store.page_sessions(limit, cursor)
        except BadCursor as error:
            raise InvalidParams("the cursor is not known here", path="cursor") from error
        return [summary for _, summary in page.items], page.next_cursor

    def _put(self, summary: SessionSummary) -> None:
        self._writer.ledger.write(
            PutSession(summary["resource"], sortable(summary["modifiedAt"]), dumps(summary))
        )

    def _count(self, change: int) -> None:
        self.count += change
        action = {"type": "root/activeSessionsChanged", "activeSessions": self.count}
        self._writer.apply(self._directory.root, action)


def _counted(facts: SummaryFacts, annotations: AnnotationsState | None) -> SummaryFacts:
    noted = annotations["annotations"] if annotations is not None else []
    entries = sum(len(item["entries"]) for item in noted)
    return {**facts, "annotationCount": len(noted), "entryCount": entries}


class ListNews:
    """When sessions appeared in the list, changed there, and went.

    Notifications are never replayed, and editors that resume do not ask for the list again, so a
    row would go on saying that something runs. Knows at which number each session last changed
    since this host started; a client of an earlier one has heard everything before that.
    """

    def __init__(self) -> None:
        # Session URI -> the number at which it appeared, if that was here, and last changed.
        self._changed: dict[str, tuple[int | None, int]] = {}
        self._removed: dict[str, int] = {}

    def added(self, session: str, seq: int) -> None:
        """Note that a session appeared."""
        self._removed.pop(session, None)
        self._note(session, seq, seq)

    def changed(self, session: str, seq: int) -> None:
        """Note that a session's line changed."""
        appeared, _ = self._changed.pop(session, (None, 0))
        self._note(session, appeared, seq)

    def removed(self, session: str, seq: int) -> None:
        """Note that a session went."""
        self._changed.pop(session, None)
        self._removed[session] = seq
        if len(self._removed) > MOST_REMEMBERED:
            del self._removed[next(iter(self._removed))]

    def gone_since(self, seq: int) -> Iterator[str]:
        """Yield the sessions that went after a number."""
        yield from (uri for uri, at in self._removed.items() if at > seq)

    def new_since(self, seq: int) -> Iterator[tuple[str, bool]]:
        """Yield the sessions that changed after a number, and whether they are new since then."""
        for uri, (appeared, at) in self._changed.items():
            if at > seq:
                yield uri, appeared is not None and appeared > seq

    def _note(self, session: str, appeared: int | None, seq: int) -> None:
        self._changed[session] = (appeared, seq)
        if len(self._changed) > MOST_REMEMBERED:
            del self._changed[next(iter(self._changed))]
