"""The trash: disposed sessions, kept whole for a while so that an owner can take them back.

Owns how a session is packed and for how long it stays. What refers to content keeps it: blobs stay
in the store until the session is purged. Does not dispose or restore: ``sessions`` does.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, NotRequired, TypedDict

from agenthost.clock import Clock
from agenthost.host.channels.annotations_kind import AnnotationsChannel
from agenthost.host.channels.chat.extra import ChatChannel, extra_of
from agenthost.host.channels.session.kind import SessionChannel
from agenthost.host.channels.session.kind import extra_of as extra_of_session
from agenthost.host.channels.session.participants import named
from agenthost.host.channels.session.shown_customizations import entries_of_former_servers
from agenthost.host.log.ledger import Ledger
from agenthost.host.log.stored_values import stored_value
from agenthost.host.store import DropRecord, PutRecord, Store
from agenthost.protocol.jsonrpc import dumps

if TYPE_CHECKING:
    from agenthost.protocol.annotations import AnnotationsState
    from agenthost.protocol.chat.messages import MessageAttachment
    from agenthost.protocol.chat.state import ChatState, CompletedTurn
    from agenthost.protocol.commands import TrashEntry
    from agenthost.protocol.session.state import SessionState

# Days after which a disposed session is gone for good.
KEPT_DAYS = 30
# What is in the trash, in few words: session URI -> title, provider, when.
TRASH = "trash"
# The sessions themselves, which are read when one is taken back.
TRASHED = "trashed"


class TrashedChat(TypedDict):
    """A chat in the trash, with what its agent knows beyond its turns."""

    state: ChatState
    context: list[CompletedTurn]
    attached: dict[str, list[MessageAttachment]]


class TrashedSession(TypedDict):
    """A session in the trash, whole."""

    createdAt: str
    state: SessionState
    annotations: AnnotationsState
    chats: list[TrashedChat]
    # Not in what earlier hosts put here.
    participants: NotRequired[list[str]]
    decided: NotRequired[dict[str, bool]]


class Trash:
    """Sessions that were disposed of and can be taken back."""

    def __init__(self, store: Store, ledger: Ledger, clock: Clock) -> None:
        self._store = store
        self._ledger = ledger
        self._clock = clock

    def put(
        self,
        session: SessionChannel,
        chats: Sequence[ChatChannel],
        annotations: AnnotationsChannel | None,
        created_at: str,
    ) -> None:
        """Keep a session, as it is, with its chats and annotations."""
        entry = {
            "session": session.uri,
            "title": session.state["title"],
            "provider": session.state["provider"],
            "disposedAt": self._clock.now(),
        }
        noted = annotations.state if annotations is not None else {"annotations": []}
        packed = b'{"createdAt":%b,"participants":%b,"decided":%b,"state":%b,' % (
            dumps(created_at),
            dumps(named(session)),
            dumps(extra_of_session(session).decided),
            dumps(_at_rest(session.state)),
        )
        packed += b'"annotations":%b,"chats":[%b]}' % (
            dumps(noted),
            b",".join(_packed(chat) for chat in chats),
        )
        self._ledger.write(
            PutRecord(TRASH, session.uri, dumps(entry)), PutRecord(TRASHED, session.uri, packed)
        )

    async def entries(self) -> list[TrashEntry]:
        """Return what is in the trash, the newest first, each with the time at which it goes."""
        await self._ledger.settle()
        stored = await self._store.records(TRASH)
        found: list[TrashEntry] = [stored_value(entry, uri) for uri, entry in stored.items()]
        found.sort(key=lambda entry: entry["disposedAt"], reverse=True)
        return [{**entry, "expiresAt": _expiry(entry["disposedAt"])} for entry in found]

    async def find(self, session: str) -> TrashedSession | None:
        """Return a session from the trash, unpacked; None when it is not there."""
        await self._ledger.settle()
        packed = await self._store.record(TRASHED, session)
        found: TrashedSession | None = stored_value(packed, session) if packed else None
        return found

    def drop(self, session: str) -> None:
        """Take a session out of the trash."""
        self._ledger.write(DropRecord(TRASH, session), DropRecord(TRASHED, session))

    async def expired(self) -> list[str]:
        """Return the sessions whose time is over."""
        now = self._clock.now()
        return [entry["session"] for entry in await self.entries() if entry["expiresAt"] <= now]


def _at_rest(state: SessionState) -> SessionState:
    """Return a session as it is when it comes back: nobody is there, and nothing runs."""
    stopped = {entry["id"]: entry for entry in entries_of_former_servers(state)}
    rest: SessionState = {**state, "activeClients": []}
    if stopped:
        shown = state.get("customizations") or []
        rest["customizations"] = [stopped.get(entry["id"], entry) for entry in shown]
    return rest


def _packed(chat: ChatChannel) -> bytes:
    extra = extra_of(chat)
    more = dumps({"context": extra.context, "attached": extra.attached})
    return b'{"state":%b,%b' % (b"".join(chat.stored_json()), more[1:])


def _expiry(disposed_at: str) -> str:
    moment = datetime.fromisoformat(disposed_at) + timedelta(days=KEPT_DAYS)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
