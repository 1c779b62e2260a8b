"""A chat, as people use it: send, follow, approve, answer, queue, steer, cut.

Every method dispatches an action, which shows in ``state`` at once; what it returns can be awaited
to learn what the host made of it. What an action looks like is in ``actions``, and how a turn
becomes events in ``events``.
"""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from agenthost.client import actions
from agenthost.client.errors import TurnFailed, Uncertain, Unsupported
from agenthost.client.events import ChatEvent, TurnEnded, chat_events
from agenthost.client.handle import Handle
from agenthost.client.resuming import find_turn, resumable_turn, was_resumed
from agenthost.errors import MethodNotFound
from agenthost.protocol.chat.active_turn import find_request, find_tool_call
from agenthost.protocol.json_edits import without

if TYPE_CHECKING:
    from agenthost.client.changes import ChangesCatalogue
    from agenthost.client.state.channel import Channel
    from agenthost.client.state.client_core import ClientCore
    from agenthost.client.state.dispatches import Dispatch
    from agenthost.protocol.chat.commands import CompletionItem
    from agenthost.protocol.chat.input_state import ChatInputRequest
    from agenthost.protocol.chat.messages import PendingMessageKind
    from agenthost.protocol.chat.state import ActiveTurn, ChatState
    from agenthost.protocol.chat.tool_state import ToolCallState

Json = Mapping[str, Any]


class MessageOptions(TypedDict, total=False):
    """Optional fields of a message besides its text."""

    attachments: Sequence[Json]
    # The id of a model, or a selection with its settings.
    model: str | Json | None
    # The custom agent to hand the message to: its name in the session, or its URI.
    agent: str | None


class Chat(Handle["ChatState"]):
    """One chat that the client follows."""

    @property
    def active_turn(self) -> ActiveTurn | None:
        """The turn under way, if there is one."""
        return self.state.get("activeTurn")

    @property
    def can_be_read(self) -> bool:
        """Whether the host keeps for each chat, and not only for the session, if it is read."""
        return self._core.can_say("chat/isReadChanged")

    # Talking.

    def send(self, text: str, **options: Unpack[MessageOptions]) -> TurnStream:
        """Start a turn; iterate over what this returns to follow it to its end."""
        turn_id = str(uuid.uuid4())
        message = self._message(text, options)
        before = self.channel.confirmed
        started = self._dispatch(actions.turn_started(turn_id, message, self._core.clock.now()))
        self.channel.turn_seen = (turn_id, self._core.clock.monotonic())
        return TurnStream(self.channel, turn_id, before, started)

    def resume(self) -> TurnStream:
        """Go on with the last turn, which failed; iterate over what this returns to follow it.

        The turn keeps its message and what it had done; the events tell only what is new.

        Raises:
            LookupError: there is no turn that can be resumed.
            Unsupported: the host's version has no such thing.
        """
        if not self._core.can_say("chat/turnResume"):
            raise Unsupported(f"protocol {self._core.version} cannot resume a turn")
        failed = resumable_turn(self.state)
        before = self.channel.confirmed
        resumed = self._dispatch(actions.turn_resumed(failed["id"]))
        self._core.note_resumed(self.channel, failed)
        return TurnStream(
            self.channel, failed["id"], before, resumed, lambda chat: was_resumed(failed, chat)
        )

    async def ask(self, text: str, **options: Unpack[MessageOptions]) -> str:
        """Start a turn, wait for its end, and return the answer's markdown.

        Whatever the agent asks on the way has to be answered elsewhere.
        """
        return await self.send(text, **options).text()

    def follow(self) -> TurnStream | None:
        """Return the turn under way, from its beginning, to follow it to its end."""
        active = self.channel.confirmed.get("activeTurn")
        if active is None:
            return None
        return TurnStream(self.channel, active["id"], before_turn(self.channel.confirmed))

    async def events(self) -> AsyncIterator[ChatEvent]:
        """Yield what happens in this chat from now on, whoever's turn it is, until it is gone."""
        feed = ChatFeed(self.channel, self.channel.confirmed)
        while True:
            for event in await feed.wait():
                yield event

    def queue(self, text: str, **options: Unpack[MessageOptions]) -> Dispatch:
        """Queue a message, to be sent when the turns before it are over."""
        return self._pend("queued", text, options)

    def steer(self, text: str, **options: Unpack[MessageOptions]) -> Dispatch:
        """Say something to the turn under way; the last one counts until the agent takes it."""
        return self._pend("steering", text, options)

    def unqueue(self, id: str) -> Dispatch:
        """Take a message off the queue; ids are in ``state["queuedMessages"]``."""
        return self._dispatch({"type": "chat/pendingMessageRemoved", "kind": "queued", "id": id})

    def unsteer(self) -> Dispatch | None:
        """Take back the steering message, if it still waits."""
        waiting = self.state.get("steeringMessage")
        if waiting is None:
            return None
        target = {"kind": "steering", "id": waiting["id"]}
        return self._dispatch({"type": "chat/pendingMessageRemoved", **target})

    def reorder(self, ids: Sequence[str]) -> Dispatch:
        """Put queued messages in this order; those not named follow behind."""
        return self._dispatch({"type": "chat/queuedMessagesReordered", "order": list(ids)})

    def draft(self, text: str | None, **options: Unpack[MessageOptions]) -> Dispatch:
        """Keep what somebody is about to send, for all who open the chat; None clears it."""
        action: dict[str, Any] = {"type": "chat/draftChanged"}
        if text is not None:
            action["draft"] = self._message(text, options)
        return self._dispatch(action)

    # Deciding.

    def cancel(self) -> Dispatch | None:
        """Stop the turn under way, if there is one."""
        active = self.active_turn
        if active is None:
            return None
        return self._dispatch(actions.turn_cancelled(active["id"], self._elapsed(active["id"])))

    def truncate(self, turn_id: str | None = None) -> Dispatch:
        """Keep the chat up to and including a turn, and drop the rest; None drops everything."""
        action = {"type": "chat/truncated"}
        return self._dispatch(action if turn_id is None else {**action, "turnId": turn_id})

    def approve(
        self, call: str | Json, *, option: str | None = None, edited_input: str | None = None
    ) -> Dispatch:
        """Let a tool call go ahead, or accept its result: whichever waits.

        ``call`` is the call or its id, ``option`` the id of one of the options it offers.
        """
        turn_id, found = self._call(call)
        return self._dispatch(
            actions.approval(turn_id, found, option=option, edited_input=edited_input)
        )

    def deny(
        self,
        call: str | Json,
        *,
        reason: str | None = None,
        suggestion: str | None = None,
        option: str | None = None,
        skip: bool = False,
    ) -> Dispatch:
        """Refuse a tool call or its result; ``suggestion`` tells the agent what to do instead."""
        turn_id, found = self._call(call)
        return self._dispatch(
            actions.denial(
                turn_id, found, option=option, reason=reason, suggestion=suggestion, skip=skip
            )
        )

    def answer(self, request: str | Json, answers: Any) -> Dispatch:
        """Answer an agent's questions; see ``actions.answers_to`` for what an answer may be.

        Raises:
            LookupError: there is no such open request.
            ValueError: an answer does not fit its question.
        """
        found = self._request(request)
        given = actions.answers_to(found, answers)
        return self._dispatch(actions.input_completed(found["id"], "accept", given))

    def decline(self, request: str | Json) -> Dispatch:
        """Tell the agent that its questions will not be answered."""
        return self._dispatch(actions.input_completed(self._request(request)["id"], "decline"))

    def dismiss(self, request: str | Json) -> Dispatch:
        """Close an agent's questions without saying anything about them."""
        return self._dispatch(actions.input_completed(self._request(request)["id"], "cancel"))

    def draft_answer(self, request: str | Json, question: str, value: Any) -> Dispatch:
        """Show all clients what is about to be answered; None takes it back."""
        found = self._request(request)
        action: dict[str, Any] = {
            "type": "chat/inputAnswerChanged",
            "requestId": found["id"],
            "questionId": question,
        }
        if value is not None:
            given = actions.answers_to(found, {question: value})[question]
            action["answer"] = {**given, "state": "draft"}
        return self._dispatch(action)

    # Looking back.

    async def load_earlier(self) -> bool:
        """Load the next older turns into the state; False when there are none left."""
        return await self.channel.load_earlier(self._core.request_raw)

    async def load_all(self) -> None:
        """Load every older turn into the state; nothing to do where all are there."""
        while await self.load_earlier():
            pass

    async def completions(self, text: str, offset: int | None = None) -> list[CompletionItem]:
        """Ask what could be inserted; ``offset`` counts characters and defaults to the end."""
        return await completions(self._core, self.uri, text, offset)

    @property
    def changes(self) -> ChangesCatalogue:
        """What was changed by this chat's turns; older hosts list that of sessions only."""
        from agenthost.client.changes import ChangesCatalogue

        return ChangesCatalogue(self._core, self.channel, self.channel.owner)

    # The chat itself.

    def mark_read(self, read: bool = True) -> Dispatch:
        """Mark the chat as read, or as unread; that of the session is its own.

        Raises:
            Unsupported: the host's version knows that of sessions only.
        """
        return self._dispatch({"type": "chat/isReadChanged", "isRead": read})

    def archive(self, archived: bool = True) -> Dispatch:
        """Put the chat among the archived ones, or take it back; a default chat has its session's.

        Raises:
            Unsupported: the host's version knows that of sessions only.
        """
        return self._dispatch({"type": "chat/isArchivedChanged", "isArchived": archived})

    async def move(self, *, session: str | None = None, after: str | None = None) -> str:
        """Move the chat, with those that work for it; return the session that it is in then.

        ``session`` is the URI of the one to go to, by default its own; ``after`` that of the chat
        to stand behind. In its own session, a chat that stands behind none comes first.

        Raises:
            Unsupported: the host cannot move chats.
            PermissionDenied: this chat cannot be moved; ``state["movable"]`` says so before.
            TurnInProgress: it works, or one that belongs to it.
        """
        target = session or self.channel.owner
        if target is None:
            raise ValueError("name the session; nothing says which one this chat is in")
        destination = {"kind": "session", "session": target}
        # Moving it there once more changes nothing.
        return await self._move(
            destination if after is None else {**destination, "after": after}, repeat=True
        )

    async def move_to_new_session(self) -> str:
        """Make the chat the default chat of a new session, whose URI this returns.

        Raises:
            ConnectionLost: the answer was lost; look where the chat is before trying again.
            Unsupported, PermissionDenied, TurnInProgress: as ``move`` does.
        """
        return await self._move({"kind": "newSession"}, repeat=False)

    async def _move(self, destination: Json, *, repeat: bool) -> str:
        session = await move_chat(self._core, self.uri, destination, repeat=repeat)
        self.channel.owner = session
        return session

    async def dispose(self) -> None:
        """Remove the chat from its session."""
        await self._core.request("disposeChat", {"channel": self.uri})

    def _pend(self, kind: PendingMessageKind, text: str, options: MessageOptions) -> Dispatch:
        message = self._message(text, options)
        return self._dispatch(actions.pending_message(kind, str(uuid.uuid4()), message))

    def _message(self, text: str, options: MessageOptions) -> Json:
        agent = options.get("agent")
        if agent is not None:
            from agenthost.client.customizations import agent_uri

            options = {**options, "agent": agent_uri(self._core, self.channel.owner, agent)}
        return actions.user_message(text, **options)

    def _elapsed(self, turn_id: str) -> int:
        """Return the milliseconds since a turn was first seen to run, by our own clock."""
        seen = self.channel.turn_seen
        if seen is None or seen[0] != turn_id:
            return 0
        return round((self._core.clock.monotonic() - seen[1]) * 1000)

    def _call(self, call: str | Json) -> tuple[str, ToolCallState]:
        call_id = call if isinstance(call, str) else call["toolCallId"]
        active = self.active_turn
        found = find_tool_call(self.state, call_id)
        if active is None or found is None:
            raise LookupError(f"there is no tool call {call_id} in the turn under way")
        return active["id"], found

    def _request(self, request: str | Json) -> ChatInputRequest:
        request_id = request if isinstance(request, str) else request["id"]
        found = find_request(self.state, request_id, answered=False)
        if found is None:
            raise LookupError(f"there is no open request {request_id}")
        return found["request"]


async def move_chat(core: ClientCore, chat: str, destination: Json, *, repeat: bool) -> str:
    """Ask the host to move a chat, again if ``repeat`` and the answer is lost; return where to."""
    params = {"channel": chat, "destination": destination}
    try:
        result = await core.request("moveChat", params, repeat=repeat)
    except MethodNotFound as error:
        raise Unsupported("this host cannot move chats") from error
    session: str = result["session"]
    return session


async def completions(
    core: ClientCore, chat: str, text: str, offset: int | None
) -> list[CompletionItem]:
    """Ask what could be inserted into a message to a chat, which need not be followed."""
    before = text if offset is None else text[:offset]
    # The protocol counts in UTF-16 code units.
    units = len(before.encode("utf-16-le", "surrogatepass")) // 2
    params = {"channel": chat, "kind": "userMessage", "text": text, "offset": units}
    try:
        result = await core.request("completions", params)
    except MethodNotFound as error:
        raise Unsupported("this host has no completions") from error
    items: list[CompletionItem] = result["items"]
    return items


class ChatFeed:
    """The events of a chat since one of its states, as the host has confirmed them."""

    def __init__(self, channel: Channel[ChatState], since: Json) -> None:
        self._channel = channel
        # The state up to which everything was told.
        self._told = since

    def new(self) -> Iterator[ChatEvent]:
        """Return what has happened since the last call."""
        before, self._told = self._told, self._channel.confirmed
        return chat_events(before, self._told)

    async def wait(self) -> Iterator[ChatEvent]:
        """Wait until something may have happened, and return it.

        Raises:
            ChannelGone: the chat ceased to exist.
        """
        await self._channel.until(lambda confirmed: confirmed is not self._told)
        return self.new()

    async def __aiter__(self) -> AsyncIterator[ChatEvent]:
        """Yield events as they happen, until the chat is gone (``ChannelGone``)."""
        while True:
            for event in await self.wait():
                yield event


def before_turn(state: ChatState) -> Json:
    """Return a chat's state without the running turn, for a feed that tells it from its start."""
    return without(state, "activeTurn")


class TurnStream:
    """One turn as it happens: iterate over its events; the last one is ``TurnEnded``."""

    def __init__(
        self,
        channel: Channel[ChatState],
        turn_id: str,
        before: Any,
        started: Dispatch | None = None,
        has_started: Callable[[ChatState], bool] | None = None,
    ) -> None:
        self.turn_id = turn_id
        # The action that started or resumed the turn, where this client did.
        self.started = started
        # Says whether a chat shows that the action took effect; None: if the turn is there.
        self._has_started = has_started
        self._channel = channel
        self._before = before

    async def __aiter__(self) -> AsyncIterator[ChatEvent]:
        """Yield the turn's events.

        Raises:
            Rejected: the host did not let the turn start.
            NotSent, Uncertain: it is not known to have started.
            ChannelGone: the chat ceased to exist.
        """
        await self.accepted()
        feed = ChatFeed(self._channel, self._before)
        while True:
            for event in await feed.wait():
                if event.turn_id == self.turn_id:
                    yield event
                    if isinstance(event, TurnEnded):
                        return

    async def text(self) -> str:
        """Follow the turn to its end and return the markdown of its answer.

        Raises:
            TurnFailed: it ended otherwise than with an answer.
        """
        async for event in self:
            if isinstance(event, TurnEnded):
                if event.state != "complete" or event.turn is None:
                    raise TurnFailed(event.state, event.turn)
                return _markdown(event.turn["responseParts"])
        raise AssertionError("a turn's last event is its end")

    async def accepted(self) -> None:
        """Wait until the turn has started; at once, where it was followed from the outside.

        Raises:
            Rejected, NotSent, Uncertain: as iterating does.
        """
        if self.started is None:
            return
        try:
            await self.started
        except Uncertain:
            # Its answer is lost, but the turn has an id that nobody else has: if it is there, it
            # did start.
            chat = self._channel.confirmed
            has_started = self._has_started
            if not (has_started(chat) if has_started else find_turn(chat, self.turn_id)):
                raise


def _markdown(parts: Sequence[Any]) -> str:
    texts: list[str] = []
    for part in parts:
        match part:
            case {"kind": "markdown", "content": str(content)}:
                texts.append(content)
    return "".join(texts)
