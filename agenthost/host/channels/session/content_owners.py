"""Which sessions own the content that turns refer to, and its deletion with the last of them.

Content is made for a session and goes with it. When a chat moves, what only that chat refers to
goes along; what a chat that stays refers to as well, a fork for instance, belongs to both sessions
from then on, until the last of them goes.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

from agenthost.host.channels.chat.extra import ChatChannel, extra_of
from agenthost.host.log.ledger import Ledger
from agenthost.host.log.shared_records import SharedRecords
from agenthost.host.store import DropBlobs, DropRecord, MoveBlobs, PutRecord, Store
from agenthost.protocol.jsonrpc import dumps
from agenthost.protocol.uris import content_uri, terminal_uri

if TYPE_CHECKING:
    from agenthost.host.store import Write

# The record of owners that are several sessions: their names, one per line.
SHARED = "shared_content"
# No session can be named like this: its name has no line breaks.
_BETWEEN = "\n"
# A reference to what is kept as content, wherever it stands in JSON; its name needs no escaping.
_KEPT = b"|".join(re.escape(uri("").encode()) for uri in (content_uri, terminal_uri))
_REFERENCE = re.compile(rb'"((?:%b)[^"\\]*)"' % _KEPT)

Sessions = frozenset[str]


def content_of(chats: Iterable[ChatChannel]) -> set[str]:
    """Return what content chats refer to, in what they show and in what their agents know."""
    found: set[str] = set()
    for chat in chats:
        extra = extra_of(chat)
        known = dumps([extra.context, extra.attached])
        for text in (b"".join(chat.stored_json()), known):
            found.update(uri.decode() for uri in _REFERENCE.findall(text))
    return found


class ContentOwners:
    """Moves content from session to session, and drops what no session needs any more."""

    def __init__(self, store: Store, ledger: Ledger) -> None:
        self._records = SharedRecords(store, ledger, SHARED)
        # The owners that are several sessions.
        self._shared: set[Sessions] = set()

    async def open(self) -> None:
        """Take up what is stored."""
        self._shared = {frozenset(k.split(_BETWEEN)) for k in await self._records.read()}

    def move(
        self, source: str, destination: str, *, moved: Collection[str], staying: Collection[str]
    ) -> None:
        """Let content follow the chats that refer to it; ``staying`` is what others refer to."""
        owners = [frozenset({source}), *(each for each in self._shared if source in each)]
        writes: list[Write] = []
        # In one order always, so that two hosts that do the same store the same.
        for uri in sorted(moved):
            for owner in owners:
                kept = owner if uri in staying else owner - {source}
                new = kept | {destination}
                if new != owner:
                    writes += (*self._known(new), MoveBlobs(_name(owner), _name(new), uri))
        self._records.write(*writes)

    def drop(self, session: str) -> None:
        """Forget what belongs to a session that is gone for good, and to no other."""
        self._records.write(DropBlobs(session))
        for owner in [each for each in self._shared if session in each]:
            left = owner - {session}
            self._shared.discard(owner)
            self._records.write(
                *self._known(left),
                MoveBlobs(_name(owner), _name(left)),
                DropRecord(SHARED, _name(owner)),
            )

    def _known(self, owner: Sessions) -> Iterable[Write]:
        """Remember an owner that is several sessions."""
        if len(owner) == 1 or owner in self._shared:
            return ()
        self._shared.add(owner)
        return (PutRecord(SHARED, _name(owner), b""),)


def sessions_of(owner: str) -> list[str]:
    """Return the sessions that an owner of content stands for."""
    return owner.split(_BETWEEN)


def _name(owner: Sessions) -> str:
    return _BETWEEN.join(sorted(owner))
