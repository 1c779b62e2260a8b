"""The consequences of what happens in a chat, as data, and which of them its turns have (pure)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agenthost.host.log.effects import Apply, Consequence
from agenthost.protocol.chat.parts import open_requests

if TYPE_CHECKING:
    from agenthost.host.channels.chat.extra import ChatChannel
    from agenthost.host.channels.session.kind import SessionChannel
    from agenthost.host.log.kind import Applied
    from agenthost.host.trust.principals import Principal, Starter
    from agenthost.protocol.chat.messages import Message
    from agenthost.protocol.chat.state import ChatState
    from agenthost.protocol.chat.tool_state import ToolCallState
    from agenthost.protocol.common import Action, StringOrMarkdown

# What the ids of the host's own questions begin with, whether servers of a folder may start. No
# agent may ask under such an id.
TRUST_QUESTION = "trust-"


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


class TitleFromFirstMessage(Consequence, frozen=True):
    """Name a new chat, and a new session, after the first message."""

    chat: ChatChannel
    session: SessionChannel


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


def turn_consequences(applied: Applied[ChatState], session: SessionChannel) -> list[Consequence]:
    """Return which turn to start or stop, and what to clear, after a chat changed."""
    chat, before, after = applied.channel, applied.before, applied.after
    type = applied.action["type"]
    follows: list[Consequence] = []
    ended = before.get("activeTurn") is not None and after.get("activeTurn") is None
    if type == "chat/turnStarted":
        follows += (TitleFromFirstMessage(chat, session), StartTurn(chat, session, _by(applied)))
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


def _is_queued_in_free_chat(applied: Applied[ChatState]) -> bool:
    """Say whether a client, not the host, queued a message where no turn runs."""
    return (
        applied.action["kind"] == "queued"
        and applied.dispatch is not None
        and applied.after.get("activeTurn") is None
    )


def _by(applied: Applied[ChatState]) -> Starter | None:
    """Return who starts a turn."""
    return applied.dispatch.connection.starter if applied.dispatch else applied.starter


def _closing(applied: Applied[ChatState]) -> list[Consequence]:
    """Close the requests that a turn had open when it failed: nobody waits for their answers."""
    closed = {"type": "chat/inputCompleted", "response": "cancel"}
    return [
        Apply(applied.channel, {**closed, "requestId": request["id"]})
        for request in open_requests(applied.after.get("activeTurn"))
    ]
