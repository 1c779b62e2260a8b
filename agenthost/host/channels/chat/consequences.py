"""What follows from what happens in a chat, as data (pure).

Its turns start and stop, and its session is kept in step: a chat's summary fields are repeated in
the session's catalogue, and everything that blocks a turn is mirrored in ``inputNeeded``, so that
a client watching only the session can act. Nothing is carried out here.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, cast

from agenthost.host.channels.chat.auto_approvals import approvals_by_mode
from agenthost.host.channels.chat.extra import ChatChannel, extra_of
from agenthost.host.channels.session.consequences import RefreshGit, TakePart
from agenthost.host.channels.session.kind import SessionChannel
from agenthost.host.channels.session.kind import extra_of as session_extra
from agenthost.host.channels.titles import (
    UNTITLED_CHAT,
    UNTITLED_SESSION,
    clipped,
    title_from,
    title_of,
)
from agenthost.host.log.effects import Apply, Consequence
from agenthost.protocol.chat.parts import open_requests, tool_calls
from agenthost.protocol.json_edits import carry, without
from agenthost.protocol.markdown import markdown_of
from agenthost.protocol.session.input_needed import input_needed_in
from agenthost.protocol.status import IS_READ

if TYPE_CHECKING:
    from agenthost.host.log.kind import Applied
    from agenthost.host.trust.principals import Principal, Starter
    from agenthost.protocol.chat.messages import Message
    from agenthost.protocol.chat.state import ChatState, ChatSummary
    from agenthost.protocol.chat.tool_state import ToolCallState
    from agenthost.protocol.common import Action, StringOrMarkdown
    from agenthost.protocol.session.state import SessionState

# What the ids of the host's own questions begin with, whether servers of a folder may start. No
# agent may ask under such an id.
TRUST_QUESTION = "trust-"
# What a chat's own actions can change of its catalogue entry; title, origin and interactivity
# are only ever set by the host, in the catalogue itself.
_LIVE_FIELDS = ("status", "activity", "modifiedAt", "workingDirectories", "movable")
_SUMMARY_FIELDS = ("resource", "title", *_LIVE_FIELDS, "origin", "interactivity", "changes")

# Actions after which something may have started or stopped to block the turn.
_MAY_BLOCK = frozenset(
    {
        "chat/turnStarted",
        "chat/turnResume",
        "chat/turnComplete",
        "chat/turnCancelled",
        "chat/error",
        "chat/truncated",
        "chat/toolCallReady",
        "chat/toolCallConfirmed",
        "chat/toolCallComplete",
        "chat/toolCallResultConfirmed",
        "chat/toolCallContentChanged",
        "chat/toolCallAuthRequired",
        "chat/toolCallAuthResolved",
        "chat/inputRequested",
        "chat/inputAnswerChanged",
        "chat/inputCompleted",
        "chat/responsePart",
    }
)
# Characters of a tool's own words that fit into a line of a list.
LONGEST_ACTIVITY = 120
# Actions that bring a message, which may attach something.
_HAS_MESSAGE = frozenset({"chat/turnStarted", "chat/pendingMessageSet"})
# Actions by which somebody comes to take part in the session.
_TAKES_PART = _HAS_MESSAGE | {"chat/turnResume"}
_MARKS_UNREAD = frozenset({"chat/turnStarted", "chat/turnResume", "chat/inputRequested"})


class RememberAuthor(Consequence, frozen=True):
    """Remember who set a pending message."""

    chat: ChatChannel
    message_id: str
    author: Starter


class KeepAttachments(Consequence, frozen=True):
    """Keep what an accepted message refers to, for the agent that will read it."""

    chat: ChatChannel
    action: Action
    # The client that sent it, if one did.
    sender: str | None = None


class StartTurn(Consequence, frozen=True):
    """Run the agent for the turn that has just become active."""

    chat: ChatChannel
    session: SessionChannel
    starter: Starter | None
    # Milliseconds that it took until it failed, where it is a turn that goes on.
    resumed_after: int | None = None


class StopTurn(Consequence, frozen=True):
    """Stop the work on a turn that the chat has given up already."""

    chat: ChatChannel


class CancelTurn(Consequence, frozen=True):
    """Cancel a chat's turn on the host's own initiative."""

    chat: ChatChannel


class CloseCanvases(Consequence, frozen=True):
    """Take away the canvases of a chat that is about to go."""

    chat: ChatChannel


class StopBackgroundWork(Consequence, frozen=True):
    """Stop what runs beside the turns of a chat that is about to go."""

    chat: ChatChannel


class DropSteering(Consequence, frozen=True):
    """Take the steering message off a chat whose turn is over."""

    chat: ChatChannel


class QueueSteering(Consequence, frozen=True):
    """Make the steering message that no turn has read the first in the queue."""

    chat: ChatChannel


class StartNextQueued(Consequence, frozen=True):
    """Begin the first queued message, if the chat is free and there is one."""

    chat: ChatChannel


class ChatChanged(Consequence, frozen=True):
    """Wake those who wait for a change of the chat."""

    chat: ChatChannel


class ShowTurn(Consequence, frozen=True):
    """Show a turn to every subscriber that was not shown it, before something names it."""

    chat: ChatChannel
    turn_id: str


class ShowAttached(Consequence, frozen=True):
    """Show the turns that a message names in other chats to those who follow these."""

    message: Message


class RenameChat(Consequence, frozen=True):
    """Give a chat another title, and its session too where it is the default chat."""

    chat: ChatChannel
    session: SessionChannel
    title: str


class FailCall(Consequence, frozen=True):
    """End a tool call of the running turn that its client does not finish."""

    chat: ChatChannel
    call: ToolCallState
    message: StringOrMarkdown
    code: str


class TrustAnswered(Consequence, frozen=True):
    """Take note that somebody answered the host's question whether servers may start."""

    chat: ChatChannel
    session: SessionChannel
    request_id: str
    principal: Principal
    # The questions that were answered by this; of others there may be drafts of other people.
    answered: frozenset[str]


def consequences(applied: Applied[ChatState], session: SessionChannel) -> list[Consequence]:
    """Return what keeps session, catalogue and turns in step with a chat, in its order."""
    chat, action, before, after = applied.channel, applied.action, applied.before, applied.after
    author = _by(applied)
    follows: list[Consequence] = []
    if action["type"] == "chat/pendingMessageSet" and applied.dispatch is not None:
        follows.append(RememberAuthor(chat, action["id"], applied.dispatch.connection.starter))
    if author is not None and action["type"] in _TAKES_PART and not _takes_part(session, author):
        follows.append(TakePart(session, author.principal))
    if action["type"] in _HAS_MESSAGE and (
        action["message"].get("attachments") or extra_of(chat).attached
    ):
        follows.append(KeepAttachments(chat, action, author.client_id if author else None))
    follows += [Apply(session, each) for each in session_actions(action, after, session.state)]
    follows += turn_consequences(applied, session)
    if action["type"] == "chat/inputCompleted" and applied.dispatch is not None:
        id, principal = action["requestId"], applied.dispatch.connection.principal
        if id.startswith(TRUST_QUESTION):
            # Before whoever waits for the answer goes on.
            answered = frozenset(action.get("answers") or ())
            follows.append(TrustAnswered(chat, session, id, principal, answered))
    follows.append(ChatChanged(chat))
    if action["type"] == "chat/toolCallReady":
        # The mode may have changed while the call was under way.
        follows += [Apply(chat, answer) for answer in approvals_by_mode(after, session.state)]
    if "activeTurn" in before and "activeTurn" not in after:
        follows.append(RefreshGit(session))
    return follows


def turn_consequences(applied: Applied[ChatState], session: SessionChannel) -> list[Consequence]:
    """Return which turn to start or stop, and what to clear, after a chat changed."""
    chat, before, after = applied.channel, applied.before, applied.after
    type = applied.action["type"]
    follows: list[Consequence] = []
    ended = before.get("activeTurn") is not None and after.get("activeTurn") is None
    if type == "chat/turnStarted":
        follows += [Apply(session, each) for each in _title_actions(chat, after, session)]
        follows.append(StartTurn(chat, session, _by(applied)))
    elif type == "chat/turnResume":
        follows += _closing(applied)
        # Milliseconds that it took until it failed.
        former = round(before["turns"][-1].get("duration") or 0)
        follows.append(StartTurn(chat, session, _by(applied), former))
    elif ended and type in ("chat/turnCancelled", "chat/truncated"):
        follows.append(StopTurn(chat))
    if ended and "activity" in after:
        # An agent that was stopped can clear nothing any more, and one that failed may not have.
        follows.append(Apply(chat, {"type": "chat/activityChanged"}))
    if ended and "steeringMessage" in after:
        unread = type in ("chat/turnComplete", "chat/error")
        follows.append(QueueSteering(chat) if unread else DropSteering(chat))
    if type == "chat/turnComplete" or (
        type == "chat/pendingMessageSet" and _is_queued_in_free_chat(applied)
    ):
        # After a cancel or an error the queue is held until somebody acts.
        follows.append(StartNextQueued(chat))
    return follows


def _title_actions(
    chat: ChatChannel, after: ChatState, session: SessionChannel
) -> Iterator[Action]:
    """Name a new chat, and a new session, after the first message."""
    title = title_from(after["activeTurn"]["message"]["text"])
    if title and session.state["title"] == UNTITLED_SESSION:
        yield {"type": "session/titleChanged", "title": title}
    if title and title_of(chat, session) == UNTITLED_CHAT:
        yield {"type": "session/chatUpdated", "chat": chat.uri, "changes": {"title": title}}


def _is_queued_in_free_chat(applied: Applied[ChatState]) -> bool:
    """Say whether a client, not the host, queued a message where no turn runs."""
    return (
        applied.action["kind"] == "queued"
        and applied.dispatch is not None
        and applied.after.get("activeTurn") is None
    )


def _takes_part(session: SessionChannel, author: Starter) -> bool:
    return author.principal in session_extra(session).participants


def _by(applied: Applied[ChatState]) -> Starter | None:
    """Return on whose behalf it was done."""
    return applied.dispatch.connection.starter if applied.dispatch else applied.starter


def _closing(applied: Applied[ChatState]) -> list[Consequence]:
    """Close the requests that a turn had open when it failed: nobody waits for their answers."""
    closed = {"type": "chat/inputCompleted", "response": "cancel"}
    return [
        Apply(applied.channel, {**closed, "requestId": request["id"]})
        for request in open_requests(applied.after.get("activeTurn"))
    ]


def chat_summary(chat: ChatState) -> ChatSummary:
    """Return the catalogue entry of a chat."""
    return cast("ChatSummary", carry(chat, *_SUMMARY_FIELDS))


def shown_activity(chat: ChatState) -> str | None:
    """Say what a chat is doing: in its agent's words, else by the tool that is running."""
    active = chat.get("activeTurn")
    if chat.get("activity") or active is None:
        return chat.get("activity") or None
    for call in reversed([*tool_calls(active)]):
        if call["status"] == "running":
            return clipped(markdown_of(call["invocationMessage"]), LONGEST_ACTIVITY)
    return None


def session_actions(action: Action, chat: ChatState, session: SessionState) -> list[Action]:
    """Plan the session's actions after ``action`` made a chat what it is now."""
    actions = [*_catalogue_actions(action, chat, session)]
    if action["type"] in _MAY_BLOCK:
        actions.extend(_input_needed_actions(chat, session))
    if action["type"] in _MARKS_UNREAD and session["status"] & IS_READ:
        actions.append({"type": "session/isReadChanged", "isRead": False})
    return actions


def _catalogue_actions(action: Action, chat: ChatState, session: SessionState) -> Iterator[Action]:
    uri = chat["resource"]
    entry = next((entry for entry in session["chats"] if entry["resource"] == uri), None)
    if entry is None:
        return
    live = carry(chat, *_LIVE_FIELDS)
    live.pop("activity", None)
    # Looking for the running tool takes as long as the turn has parts.
    looks = action["type"] in _MAY_BLOCK or action["type"] == "chat/activityChanged"
    activity = shown_activity(chat) if looks else entry.get("activity")
    if activity:
        live["activity"] = activity
    if any(key in entry and key not in live for key in _LIVE_FIELDS):
        # A partial update cannot clear a field; the whole entry can.
        fixed = without(entry, *_LIVE_FIELDS)
        yield {"type": "session/chatAdded", "summary": {**fixed, **live}}
        return
    changes = {key: value for key, value in live.items() if value != entry.get(key)}
    if changes:
        yield {"type": "session/chatUpdated", "chat": uri, "changes": changes}


def _input_needed_actions(chat: ChatState, session: SessionState) -> Iterator[Action]:
    uri = chat["resource"]
    wanted = {entry["id"]: entry for entry in input_needed_in(uri, chat)}
    present = {
        entry["id"]: entry for entry in session.get("inputNeeded") or () if entry["chat"] == uri
    }
    for id in present:
        if id not in wanted:
            yield {"type": "session/inputNeededRemoved", "id": id}
    for id, entry in wanted.items():
        if present.get(id) != entry:
            yield {"type": "session/inputNeededSet", "request": entry}
