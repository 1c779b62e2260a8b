"""Chats: making them (new, forked, beside another), ending them, and serving their queue."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from agenthost.agents.api import Agent
from agenthost.agents.turn_port import Interactivity
from agenthost.clock import Clock
from agenthost.errors import AlreadyExists, InvalidParams, NotFound, SessionNotFound
from agenthost.host.channels.annotations_kind import ANNOTATIONS
from agenthost.host.channels.chat.attachments import (
    record,
    references,
    remember_sender,
    write_out_attachments,
)
from agenthost.host.channels.chat.authors import set_authors
from agenthost.host.channels.chat.consequences import (
    CloseCanvases,
    DropSteering,
    KeepAttachments,
    QueueSteering,
    RememberAuthor,
    RenameChat,
    ShowAttached,
    ShowTurn,
    StartNextQueued,
    StopBackgroundWork,
    StopTurn,
    chat_summary,
)
from agenthost.host.channels.chat.extra import CONTEXTS, ChatChannel, extra_of
from agenthost.host.channels.chat.fork import History, copy_content, new_chat_from
from agenthost.host.channels.chat.kind import CHAT
from agenthost.host.channels.chat.message_rules import check_message
from agenthost.host.channels.chat.window import show_turn
from agenthost.host.channels.ruled_kind import rule_context
from agenthost.host.channels.session.consequences import LeaveDirectory, ReadDefaultChat
from agenthost.host.channels.session.kind import SESSION, SessionChannel
from agenthost.host.channels.titles import UNTITLED_CHAT, title_of
from agenthost.host.log.directory import OWNERS, Directory
from agenthost.host.log.effects import Effects
from agenthost.host.log.writer import Writer
from agenthost.host.store import DropRecord, PutRecord, Store
from agenthost.host.trust.principals import NOBODY, Starter
from agenthost.protocol.json_edits import updated, without
from agenthost.protocol.jsonrpc import dumps
from agenthost.protocol.status import IDLE
from agenthost.protocol.uris import (
    annotations_uri,
    chat_uri,
    default_chat_uri,
    is_nameable,
    is_root,
    session_of_default_chat,
    worker_chat_uri,
    worker_of,
)

if TYPE_CHECKING:
    from agenthost.protocol.chat.messages import Message, MessageAttachment
    from agenthost.protocol.chat.state import ChatState, CompletedTurn, ToolChatOrigin
    from agenthost.protocol.common import Action, JsonObject


# Chat -> its session, of those whose queue goes on once another host has them.
HELD_QUEUES = "held-queues"


class ChatRegistry:
    """Makes and ends chats, and moves their queues on."""

    def __init__(
        self, store: Store, writer: Writer, directory: Directory, effects: Effects, clock: Clock
    ) -> None:
        self._store = store
        self._writer = writer
        self._directory = directory
        self._effects = effects
        self._clock = clock
        # Says whether the turns of a session wait, until it has come to this host or left it.
        self.is_held: Callable[[str], bool] = lambda session: False
        effects.on(RememberAuthor, lambda e: self.remember_author(e.chat, e.message_id, e.author))
        effects.on(KeepAttachments, lambda e: self.keep_attachments(e.chat, e.action, e.sender))
        effects.on(DropSteering, lambda e: self.drop_steering(e.chat))
        effects.on(QueueSteering, lambda e: self.queue_steering(e.chat))
        effects.on(RenameChat, lambda e: self.rename(e.chat, e.session, e.title))
        effects.on(ShowTurn, lambda e: show_turn(e.chat, e.turn_id))
        effects.on(ShowAttached, lambda e: self.show_attached(e.message))
        effects.on_later(LeaveDirectory, lambda e: self.leave_directory(e.session, e.directory))
        effects.on(ReadDefaultChat, lambda e: self.read_default(e.session))
        effects.on(StartNextQueued, lambda e: self.start_next_queued(e.chat))

    def add_default(self, session: SessionChannel, history: History) -> ChatChannel:
        """Give a new session its first chat, with the history of a fork if it is one."""
        extra: JsonObject = {"title": history.title} if history.title is not None else {}
        if history.origin is not None:
            extra["origin"] = dict(history.origin)
        uri = self._free_name(session, default_chat_uri(session.uri))
        chat = self._register(session, self._state(uri, extra, history.turns), history)
        action = {"type": "session/defaultChatChanged", "defaultChat": chat.uri}
        self._writer.apply(session, action)
        return chat

    async def with_own_content(self, history: History, session: str) -> History:
        """Give a session that forks another its own copy of what the turns refer to."""
        ledger = self._writer.ledger
        turns = await copy_content(history.turns, session, self._store, ledger)
        context = await copy_content(history.context, session, self._store, ledger)
        return replace(history, turns=turns, context=context)

    async def add_worker(
        self,
        session: SessionChannel,
        origin: ToolChatOrigin,
        title: str,
        interactivity: Interactivity,
    ) -> ChatChannel:
        """Open a chat for a worker that a tool call starts; people may at most look on."""
        extra = {"title": title, "origin": dict(origin), "interactivity": interactivity}
        wanted = worker_chat_uri(session.uri, origin["toolCallId"])
        if wanted is not None and await self._store.record(OWNERS, wanted) is not None:
            # A worker of that name may be in another session by now, and not in memory.
            wanted = None
        if not self._directory.has(session):
            raise SessionNotFound("the session was disposed meanwhile")
        uri = self._free_name(session, wanted)
        return self._register(session, self._state(uri, extra))

    async def create(self, params: JsonObject, agent: Agent | None, starter: Starter) -> None:
        """Carry out ``createChat``."""
        session = await self._directory.find(params["channel"], SESSION)
        if session is None:
            raise SessionNotFound
        uri = params["chat"]
        if not is_nameable(uri):
            raise InvalidParams("no chat can have this URI", path="chat")
        if worker_of(uri) or session_of_default_chat(uri) not in (None, session.uri):
            raise InvalidParams("this URI is kept for a chat that the host makes", path="chat")
        source = await self._source(params, session, agent)
        message = params.get("initialMessage")
        asked = {"message": message} if message is not None else {}
        find = self._directory.find
        facts = await rule_context(find, "", session, agent, asked)
        if is_root(uri) or await self._directory.find(uri) or self._directory.get(uri):
            raise AlreadyExists(f"{uri} is in use")
        if not self._directory.has(session):
            # Raises who has it now, where it has gone elsewhere. A chat without its session could
            # never be loaded again.
            await self._directory.find(session.uri)
            raise SessionNotFound("the session was disposed meanwhile")
        if session.state["lifecycle"] == "failed":
            raise InvalidParams("the session could not be created", path="channel")
        if source is not None and source.session != session.uri:
            raise InvalidParams("the source is no chat of this session", path="source.chat")
        extra, history = new_chat_from(params, session, source)
        # Neither the default chat nor a worker's: those that people make can be moved.
        state = self._state(uri, {**extra, "movable": True}, history.turns)
        if message is not None:
            refusal = check_message(state, message, facts)
            if refusal is not None:
                raise InvalidParams(refusal, path="initialMessage")
        chat = self._register(session, state, history)
        if message is not None:
            self.show_attached(message)
            if self.is_held(session.uri):
                self._queue(chat, message, starter)
            else:
                self.start_turn(chat, message, starter)

    def _queue(self, chat: ChatChannel, message: Message, author: Starter) -> None:
        """Let a message be the next of a chat whose turns wait."""
        id = str(uuid.uuid4())
        queued = {"type": "chat/pendingMessageSet", "kind": "queued", "id": id}
        self._writer.apply(chat, {**queued, "message": dict(message)})
        self.remember_author(chat, id, author)
        self.start_next_queued(chat)

    async def dispose(self, uri: str) -> None:
        """Carry out ``disposeChat``."""
        chat = await self._directory.find(uri, CHAT)
        if chat is None:
            raise NotFound(f"there is no chat {uri}")
        self.remove(chat)

    def remove(self, chat: ChatChannel) -> None:
        """Stop a chat's turn, take it off its session and forget it."""
        self._effects.carry_out(StopTurn(chat))
        self._effects.carry_out(CloseCanvases(chat))
        self._effects.carry_out(StopBackgroundWork(chat))
        session = self._directory.get(chat.session or "", SESSION)
        if session is not None:
            for entry in session.state.get("inputNeeded") or ():
                if entry["chat"] == chat.uri:
                    action = {"type": "session/inputNeededRemoved", "id": entry["id"]}
                    self._writer.apply(session, action)
            self._writer.apply(session, {"type": "session/chatRemoved", "chat": chat.uri})
        self._directory.drop(chat)
        for bucket in CHAT.buckets:
            self._writer.ledger.write(DropRecord(bucket, chat.uri))

    async def leave_directory(self, session: SessionChannel, directory: str) -> None:
        """Take a directory that has left the session away from its chats."""
        for entry in session.state["chats"]:
            if directory in entry.get("workingDirectories", ()):
                chat = await self._directory.find(entry["resource"], CHAT)
                if chat is not None:
                    action = {"type": "chat/workingDirectoryRemoved", "directory": directory}
                    self._writer.apply(chat, action)

    def read_default(self, session: SessionChannel) -> None:
        """Mark the default chat of a session as read; it is in memory."""
        chat = self._directory.get(session.state.get("defaultChat") or "", CHAT)
        if chat is not None:
            self._writer.apply(chat, {"type": "chat/isReadChanged", "isRead": True})

    def start_turn(
        self,
        chat: ChatChannel,
        message: Message,
        starter: Starter,
        queued_id: str | None = None,
    ) -> None:
        """Begin a turn on somebody's behalf."""
        action: Action = {
            "type": "chat/turnStarted",
            "turnId": str(uuid.uuid4()),
            "startedAt": self._clock.now(),
            "message": dict(message),
        }
        if queued_id is not None:
            action["queuedMessageId"] = queued_id
        self._writer.apply(chat, action, starter=starter)

    def remember_author(self, chat: ChatChannel, message_id: str, author: Starter) -> None:
        """Remember who set a pending message: a queued one runs on its author's behalf."""
        authors = {**extra_of(chat).authors, message_id: author}
        self._writer.ledger.write(set_authors(chat, authors))

    def start_next_queued(self, chat: ChatChannel) -> None:
        """Begin the first queued message, if the chat is free and there is one."""
        queue = chat.state.get("queuedMessages")
        if not queue or chat.state.get("activeTurn") is not None:
            return
        if chat.session is not None and self.is_held(chat.session):
            self._writer.ledger.write(PutRecord(HELD_QUEUES, chat.uri, chat.session.encode()))
            return
        first = queue[0]
        removed = {"type": "chat/pendingMessageRemoved", "kind": "queued", "id": first["id"]}
        self._writer.apply(chat, removed)
        authors = extra_of(chat).authors
        author = authors.get(first["id"], NOBODY)
        if authors:
            self._writer.ledger.write(set_authors(chat, authors))
        self.start_turn(chat, first["message"], author, first["id"])

    async def go_on(self, session: str) -> None:
        """Begin what waited in a session until it had come to this host, or could not leave."""
        for uri, of_session in (await self._store.records(HELD_QUEUES)).items():
            if of_session != session.encode():
                continue
            self._writer.ledger.write(DropRecord(HELD_QUEUES, uri))
            chat = await self._directory.find(uri, CHAT)
            if chat is not None:
                self.start_next_queued(chat)

    def drop_steering(self, chat: ChatChannel) -> None:
        """Take the steering message off a chat whose turn is over."""
        id = chat.state["steeringMessage"]["id"]
        action = {"type": "chat/pendingMessageRemoved", "kind": "steering", "id": id}
        self._writer.apply(chat, action)

    def queue_steering(self, chat: ChatChannel) -> None:
        """Make the steering message that no turn has read the first in the queue."""
        id, message = chat.state["steeringMessage"]["id"], chat.state["steeringMessage"]["message"]
        author = extra_of(chat).authors.get(id)
        self.drop_steering(chat)
        if any(waiting["id"] == id for waiting in chat.state.get("queuedMessages") or ()):
            # Nothing forbids one id for both, and the one that waits must not be written over.
            id = str(uuid.uuid4())
        queued = {"type": "chat/pendingMessageSet", "kind": "queued", "id": id, "message": message}
        self._writer.apply(chat, queued)
        if author is not None:
            self.remember_author(chat, id, author)
        self._writer.apply(chat, {"type": "chat/queuedMessagesReordered", "order": [id]})

    def rename(self, chat: ChatChannel, session: SessionChannel, title: str) -> None:
        """Give a chat another title, and its session too where it is the default chat."""
        if title_of(chat, session) != title:
            action = {"type": "session/chatUpdated", "chat": chat.uri, "changes": {"title": title}}
            self._writer.apply(session, action)
        if session.state.get("defaultChat") == chat.uri:
            self._writer.apply(session, {"type": "session/titleChanged", "title": title})

    async def annotate(self, session: SessionChannel, annotation: JsonObject) -> None:
        """Set an annotation of a session; nobody need follow those that it has."""
        notes = await self._directory.find(annotations_uri(session.uri), ANNOTATIONS)
        if notes is not None:
            self._writer.apply(notes, {"type": "annotations/set", "annotation": annotation})

    def keep_attachments(self, chat: ChatChannel, action: Action, sender: str | None) -> None:
        """Keep what an accepted message refers to, for the agent that will read it."""
        if sender is not None:
            remember_sender(chat, action["message"], sender)
        if write_out_attachments(chat, action, self._directory.get):
            self._writer.ledger.write(record(chat))

    def show_attached(self, message: Message | None) -> None:
        """Show the turns that a message names in other chats to those who follow these."""
        for _, uri, end in references(message):
            chat = self._directory.get(uri, CHAT)
            if chat is not None and end is not None:
                show_turn(chat, end)

    def _free_name(self, session: SessionChannel, wanted: str | None) -> str:
        """Return the name that a chat should have, or another where that one is taken."""
        chats = {chat["resource"] for chat in session.state["chats"]}
        taken = wanted is None or wanted in chats or self._directory.get(wanted) is not None
        return wanted if wanted and not taken else chat_uri(session.uri, str(uuid.uuid4()))

    def _state(self, uri: str, extra: JsonObject, turns: Sequence[CompletedTurn] = ()) -> ChatState:
        state: ChatState = {
            "resource": uri,
            "title": UNTITLED_CHAT,
            "status": IDLE,
            "modifiedAt": self._clock.now(),
            "turns": list(turns),
        }
        return updated(state, **extra)

    def restore_from_trash(
        self,
        session: SessionChannel,
        state: ChatState,
        context: Sequence[CompletedTurn],
        attached: Mapping[str, list[MessageAttachment]],
    ) -> None:
        """Register a chat again that its session still lists."""
        # What ran beside it ended when it was thrown away.
        idle = without(state, "backgroundWork")
        chat = self._directory.create(state["resource"], CHAT, idle, session.uri)
        self._keep(chat, context, attached)

    def _keep(
        self,
        chat: ChatChannel,
        context: Sequence[CompletedTurn],
        attached: Mapping[str, list[MessageAttachment]],
    ) -> None:
        """Keep what a chat's agent knows beyond the chat's own turns."""
        extra = extra_of(chat)
        if context:
            extra.context = list(context)
            self._writer.ledger.write(PutRecord(CONTEXTS, chat.uri, dumps(extra.context)))
        if attached:
            extra.attached = dict(attached)
            self._writer.ledger.write(record(chat))

    def _register(
        self, session: SessionChannel, state: ChatState, history: History | None = None
    ) -> ChatChannel:
        chat = self._directory.create(state["resource"], CHAT, state, session.uri)
        if history is not None:
            self._keep(chat, history.context, history.attached)
        self._writer.apply(session, {"type": "session/chatAdded", "summary": chat_summary(state)})
        return chat

    async def _source(
        self, params: JsonObject, session: SessionChannel, agent: Agent | None
    ) -> ChatChannel | None:
        multiple = agent.capabilities.get("multipleChats") if agent is not None else None
        if multiple is None:
            raise InvalidParams("the agent supports one chat per session only", path="chat")
        source = params.get("source")
        if source is None:
            return None
        if not multiple.get("fork" if source["kind"] == "fork" else "sideChat"):
            raise InvalidParams(f"the agent does not support {source['kind']}", path="source.kind")
        if source["chat"] == params["chat"]:
            raise InvalidParams("a chat cannot be its own source", path="source.chat")
        chat = await self._directory.find(source["chat"], CHAT)
        if chat is None or chat.session != session.uri:
            raise InvalidParams("the source is no chat of this session", path="source.chat")
        return chat
