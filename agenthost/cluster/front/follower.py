"""Following the feed: what the log says moves a front's channels on, and leaves to its clients.

Owns how each write of the realm shows on a front. Channels that are not in memory are passed by:
whoever asks for one later reads it from the local copy, and what came while it was being read is
made up for here.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from agenthost.cluster.commits import RealmWrite, Room, Tell
from agenthost.cluster.front.pushes import FeedPushes
from agenthost.cluster.numbers import MOST_ACTIONS
from agenthost.host.channels.chat.kind import CHAT
from agenthost.host.channels.chat.window import show_turn
from agenthost.host.channels.session.kind import SESSION, extra_of
from agenthost.host.clients.client_records import CLIENTS
from agenthost.host.clients.resent_actions import ResentActions
from agenthost.host.delivery.fanout import encode_broadcast
from agenthost.host.log.channel import AnyChannel, Change
from agenthost.host.log.deliveries import Broadcast, Notice
from agenthost.host.log.directory import OWNERS, StaleRead
from agenthost.host.log.stored_values import stored_value
from agenthost.host.store import (
    Append,
    DropChannel,
    DropRecord,
    DropSession,
    PutRecord,
    PutSession,
    SaveSnapshot,
    StoredChannel,
    WholeChannel,
)
from agenthost.protocol.uris import ROOT
from agenthost.protocol.versions import sequence_numbers_needed
from agenthost.transport import CloseCode

if TYPE_CHECKING:
    from agenthost.cluster.copy.applied import Applied
    from agenthost.cluster.front.ledger import FrontLedger
    from agenthost.cluster.front.news import FeedNews
    from agenthost.host.core import HostCore
    from agenthost.host.log.writer import ClientAction
    from agenthost.protocol.common import Action
    from agenthost.protocol.envelopes import ActionOrigin

log = logging.getLogger(__name__)

# A client's dispatch that waits for its answer, with the action in canonical form, by the client's
# id and its number.
Pending: TypeAlias = Callable[[str, int], "tuple[ClientAction, Action] | None"]

# How much is remembered for channels that are being read, by the bytes of its writes: what takes
# longer than that is read again.
MOST_REMEMBERED_BYTES = 32 * 1024 * 1024
# What a write is taken to hold besides its content.
_OVERHEAD = 256
# What clients are told that must take a snapshot.
RESUME = "what comes next cannot be told in this version: reconnect to resume"
REPLACED = "the host's own channel is another now: reconnect to resume"
ELSEWHERE = "superseded by a newer connection of this client"
_NOTHING_STORED = StoredChannel("", 0, b"", (), 0)
# What the host fills in for clients that do not send it.
_FILLED_IN = ("duration", "startedAt")
# How an action begins to speak of what is attached to its message.
_ATTACHED = b'"attachments":'


class FeedFollower:
    """Moves the loaded channels of a front on, and sends what happens in them to its clients."""

    def __init__(
        self, core: HostCore, ledger: FrontLedger, news: FeedNews, pending: Pending
    ) -> None:
        self._core = core
        self._directory = core.directory
        self._ledger = ledger
        self._news = news
        self._pending = pending
        self._pushes = FeedPushes(core)
        # What came while channels were being read: each write with its number, and the size of it
        # all. Nothing up to the floor is in it.
        self._recent: deque[tuple[int, RealmWrite]] = deque()
        self._recent_bytes = 0
        self._floor = ledger.last_seq
        # Where the room begins that was left for the next write.
        self._room_from: int | None = None
        self._directory.on_read(self._catch_up)

    def take(self, applied: Applied) -> None:
        """Show what one message says; they come in order, each once."""
        self._remember(applied)
        ledger = self._ledger
        ledger.begin_message()
        try:
            for number, write in applied.writes:
                if isinstance(write, Room):
                    self._room_from = self._room_from or number
                    continue
                ledger.begin_write(self._room_from or number)
                self._take_write(number, write)
                ledger.end_write(number)
                self._room_from = None
        finally:
            ledger.end_message(applied.seq)

    def _take_write(self, number: int, write: RealmWrite) -> None:
        try:
            match write:
                case Append():
                    self._append(number, write)
                case Tell():
                    self._tell(write)
                case SaveSnapshot():
                    self._created(number, write)
                case PutRecord(bucket=b, key=client_id) | DropRecord(bucket=b, key=client_id) if (
                    b == CLIENTS
                ):
                    self._client(client_id, write.value if isinstance(write, PutRecord) else None)
                case DropChannel(channel=uri):
                    channel = self._shown(uri)
                    # The one channel that is always there: another is about to take its place.
                    if channel is not None and uri != ROOT:
                        self._directory.let_go(channel)
                case PutRecord() | PutSession() | DropSession():
                    name = write.key if isinstance(write, PutRecord) else write.session
                    channel = self._shown(name)
                    if channel is not None:
                        self._restore(channel, write)
                    if isinstance(write, PutSession):
                        self._pushes.changed(write)
                    elif isinstance(write, DropSession):
                        self._pushes.removed(write.session)
                case _:
                    pass
        except Exception:
            # One channel's trouble must not hold the feed up for all the others.
            log.exception("what the log says could not be shown: %s", type(write).__name__)

    def _shown(self, uri: str) -> AnyChannel | None:
        """Return a channel that is in memory and that the log tells of."""
        channel = self._directory.get(uri)
        return channel if channel is not None and channel.is_logged else None

    def _append(self, number: int, entry: Append) -> None:
        channel = self._shown(entry.channel)
        if channel is None and _ATTACHED in entry.action:
            message = stored_value(entry.action, entry.channel).get("message")
            self._core.chats.show_attached(message)
        if channel is None or number <= channel.seq:
            return
        action: Action = stored_value(entry.action, channel.uri)
        self._show_what_it_names(channel, action)
        change = channel.apply(action, entry.now)
        if change is None:
            # Those are told although they change nothing.
            change = Change((channel.state, channel.state))
        channel.seq = number
        origin = stored_value(entry.origin, channel.uri) if entry.origin is not None else None
        broadcast = Broadcast(channel, number, action, entry.action, change, origin)
        pending = self._pending(origin["clientId"], origin["clientSeq"]) if origin else None
        if pending is not None:
            dispatch, sent = pending
            if not _is_rewritten(action, sent, dispatch.as_sent):
                broadcast.sender = dispatch.connection
            broadcast.as_sent = dispatch.as_sent
        elif origin is not None:
            self._done(origin, channel, action)
        if change.states is not None:
            needed = sequence_numbers_needed(action, *change.states)
            most = MOST_ACTIONS + number - (self._room_from or number)
            if needed > most:
                self._end_older(broadcast, most)
        self._ledger.deliver(broadcast)

    def _done(self, origin: ActionOrigin, channel: AnyChannel, action: Action) -> None:
        """Note for a client of ours what it did elsewhere: it may be about to send that again."""
        connection = self._core.clients.connection(origin["clientId"])
        if connection is not None:
            connection.resent = connection.resent or ResentActions()
            connection.resent.note(channel.uri, origin["clientSeq"], action)

    def _show_what_it_names(self, channel: AnyChannel, action: Action) -> None:
        """Show turns that an action names to those who were not shown them."""
        if channel.kind is CHAT:
            if action["type"] == "chat/truncated" and "turnId" in action:
                show_turn(channel, action["turnId"])
            elif action["type"] == "chat/turnResume":
                # Older versions are told to go back to the turn before, which they must hold.
                for turn in channel.state["turns"][-2:][:1]:
                    show_turn(channel, turn["id"])
            if action.get("message") is not None:
                self._core.chats.show_attached(action["message"])
        elif action["type"] == "session/chatAdded":
            self._show_source(action.get("summary"))

    def _show_source(self, described: Any) -> None:
        """Show the turn that a chat or its summary says to come from."""
        origin = described.get("origin") if isinstance(described, Mapping) else None
        if isinstance(origin, Mapping) and "chat" in origin and "turnId" in origin:
            source = self._directory.get(origin["chat"], CHAT)
            if source is not None:
                show_turn(source, origin["turnId"])

    def _end_older(self, broadcast: Broadcast, most: int) -> None:
        """Let those start from a snapshot for whose version there are not enough numbers."""
        for subscription in broadcast.channel.subscriptions.values():
            connection = subscription.connection
            told = encode_broadcast(broadcast, connection.version, subscription.uri)
            if len(told) > most:
                subscription.from_seq = broadcast.seq
                connection.end(CloseCode.TRY_AGAIN_LATER, RESUME)

    def _tell(self, write: Tell) -> None:
        channel = self._shown(write.channel)
        if channel is None:
            return
        params = stored_value(write.params, write.channel)
        if write.channel == ROOT:
            self._news.told(write.method)
        self._ledger.deliver(Notice(channel, write.method, params))

    def _created(self, number: int, write: SaveSnapshot) -> None:
        channel = self._shown(write.channel)
        if channel is not None and number > channel.seq:
            # It went with what came before, except where it may not be missing.
            state = stored_value(write.state, write.channel)
            self._directory.replace(channel, state, number)
            for subscription in list(channel.subscriptions.values()):
                subscription.connection.end(CloseCode.TRY_AGAIN_LATER, REPLACED)
        elif channel is None and write.kind == CHAT.name and b'"origin":' in write.state:
            self._show_source(stored_value(write.state, write.channel))
        elif channel is None and not self._leaves_memory(write.kind):
            self._core.tasks.start(self._directory.find(write.channel), f"load {write.channel}")

    def _leaves_memory(self, kind: str) -> bool:
        found = self._directory.kind(kind)
        return found is None or found.leaves_memory

    def _client(self, client_id: str, stored: bytes | None) -> None:
        superseded = self._core.clients.heard(client_id, stored)
        if superseded is not None:
            superseded.end(CloseCode.POLICY_VIOLATION, ELSEWHERE)

    def _restore(self, channel: AnyChannel, write: PutRecord | PutSession | DropSession) -> None:
        """Take up what is kept of a channel besides its state."""
        match write:
            case PutRecord(bucket=bucket, value=value) if bucket == OWNERS:
                session = value.decode()
                if channel.session != session:
                    self._directory.move(channel, session)
                    # Its title is there.
                    self._core.tasks.start(self._directory.find(session), f"load {session}")
            case PutRecord(bucket=bucket, value=value):
                if bucket in channel.kind.buckets:
                    whole = WholeChannel(_NOTHING_STORED, None, {bucket: value})
                    channel.kind.restore(channel, whole)
            case PutSession(summary=summary):
                channel.kind.restore(channel, WholeChannel(_NOTHING_STORED, summary, {}))
            case DropSession() if channel.kind is SESSION:
                extra_of(channel).summary = extra_of(channel).facts = None

    # Channels that are being read.

    def _remember(self, applied: Applied) -> None:
        if not self._directory.is_reading:
            self._recent.clear()
            self._recent_bytes = 0
            self._floor = self._ledger.last_seq
            return
        for number, write in applied.writes:
            self._recent.append((number, write))
            self._recent_bytes += _size(write)
        while self._recent_bytes > MOST_REMEMBERED_BYTES:
            self._floor, write = self._recent.popleft()
            self._recent_bytes -= _size(write)

    def _catch_up(self, channel: AnyChannel, since: int) -> None:
        """Bring a channel up to date that was read when everything up to a number was stored."""
        # The copy keeps what is stored; a front has nothing to add.
        channel.tail_bytes = 0
        if since < self._floor:
            raise StaleRead
        uri = channel.uri
        for number, write in self._recent:
            if number <= since:
                continue
            match write:
                case Append(channel=name) if name == uri and number > channel.seq:
                    channel.apply(stored_value(write.action, uri), write.now)
                    channel.seq = number
                case DropChannel(channel=name) if name == uri and number > channel.seq:
                    raise StaleRead
                case PutRecord(bucket=bucket, key=name, value=value) if name == uri:
                    if bucket == OWNERS and channel.session != value.decode():
                        raise StaleRead
                    if bucket != OWNERS:
                        self._restore(channel, write)
                case PutSession(session=name) | DropSession(session=name) if name == uri:
                    self._restore(channel, write)
                case _:
                    pass


def _is_rewritten(logged: Action, sent: Action, as_sent: Action) -> bool:
    """Say whether the owner made something else of an action than what its sender meant."""
    if logged == sent:
        return False
    filled_in = {key for key in _FILLED_IN if key not in as_sent}
    members = (logged.keys() | sent.keys()) - filled_in
    return any(logged.get(key) != sent.get(key) for key in members)


def _size(write: RealmWrite) -> int:
    match write:
        case Append():
            return len(write.action) + _OVERHEAD
        case PutRecord():
            return len(write.value) + _OVERHEAD
        case PutSession():
            return len(write.summary) + _OVERHEAD
        case _:
            # The others are held by nobody here for what they contain.
            return _OVERHEAD
