"""Drafts: sessions that were created and hold nothing yet, collected when nobody looks at them.

Editors create a session for every new chat that a person opens, and another when the first message
is sent. Owns which sessions are drafts, also across a restart, and for how long nobody has followed
them. Does not remove them: ``sessions`` does.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from agenthost.clock import Clock
from agenthost.host.channels.titles import UNTITLED_SESSION
from agenthost.host.log.directory import Directory
from agenthost.host.log.ledger import Ledger
from agenthost.host.store import DropRecord, PutRecord, Store
from agenthost.protocol.uris import annotations_uri

if TYPE_CHECKING:
    from agenthost.protocol.annotations import AnnotationsState
    from agenthost.protocol.chat.state import ChatState
    from agenthost.protocol.session.state import SessionState

# Seconds after its last subscriber has gone before a draft is collected.
DRAFT_SECONDS = 30.0
# The record of drafts: session URI -> the client that created it.
DRAFTS = "drafts"


def holds_nothing(
    session: SessionState, chats: Iterable[ChatState], annotations: AnnotationsState | None
) -> bool:
    """Say whether nobody would miss a session: no turn, title, draft text or annotation."""
    if session["title"] != UNTITLED_SESSION:
        return False
    if annotations is not None and annotations["annotations"]:
        return False
    return len(session["chats"]) <= 1 and not any(map(_holds_something, chats))


def _holds_something(chat: ChatState) -> bool:
    draft = chat.get("draft")
    words = draft is not None and (draft["text"].strip() or draft.get("attachments"))
    pending = chat.get("queuedMessages") or chat.get("steeringMessage")
    return bool(chat["turns"] or chat.get("activeTurn") or words or pending)


class Drafts:
    """The sessions that may turn out to be drafts."""

    def __init__(self, store: Store, ledger: Ledger, directory: Directory, clock: Clock) -> None:
        self._store = store
        self._ledger = ledger
        self._directory = directory
        self._clock = clock
        # Session URI -> the client that created it.
        self._creators: dict[str, str] = {}
        # Session URI -> since when nobody follows it, by the host's monotonic clock.
        self._unwatched: dict[str, float] = {}

    async def open(self) -> None:
        """Take up what is stored."""
        for uri, creator in (await self._store.records(DRAFTS)).items():
            self._creators[uri] = creator.decode()

    async def take_up(self, session: str) -> None:
        """Take up what is stored of one session, which was another host's before."""
        creator = await self._store.record(DRAFTS, session)
        if creator is not None:
            self._creators[session] = creator.decode()

    def leave(self, session: str) -> None:
        """Let go of a session that another host looks after from now on."""
        self._creators.pop(session, None)
        self._unwatched.pop(session, None)

    def add(self, session: str, creator: str) -> None:
        """Count a new session as a draft until it holds something."""
        self._creators[session] = creator
        self._ledger.write(PutRecord(DRAFTS, session, creator.encode()))

    def forget(self, session: str) -> None:
        """Count a session as a draft no more: it is used, or gone."""
        self._unwatched.pop(session, None)
        if self._creators.pop(session, None) is not None:
            self._ledger.write(DropRecord(DRAFTS, session))

    def creator(self, session: str) -> str | None:
        """Return the client that created a draft."""
        return self._creators.get(session)

    def abandoned(self, seconds: float) -> list[str]:
        """Return the drafts that nobody has followed for so long."""
        now = self._clock.monotonic()
        for uri in self._creators:
            if self._is_watched(uri):
                self._unwatched.pop(uri, None)
            else:
                self._unwatched.setdefault(uri, now)
        return [uri for uri, since in self._unwatched.items() if now - since >= seconds]

    def _is_watched(self, uri: str) -> bool:
        session = self._directory.get(uri)
        if session is None:
            return False
        channels = [annotations_uri(uri), *(chat["resource"] for chat in session.state["chats"])]
        followed = (self._directory.get(channel) for channel in channels)
        return bool(session.subscriptions) or any(c and c.subscriptions for c in followed)
