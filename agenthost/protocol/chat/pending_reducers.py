"""Reducers of the chat channel for what is not sent yet: steering, queue, draft.

When a pending message is due is the host's decision; a turn that came from one removes it here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agenthost.protocol.json_edits import copied_members, index_by, updated, upsert_by, without
from agenthost.protocol.reducer_registry import reduces

if TYPE_CHECKING:
    from agenthost.protocol.chat.actions import (
        ChatDraftChangedAction,
        ChatPendingMessageRemovedAction,
        ChatPendingMessageSetAction,
        ChatQueuedMessagesReorderedAction,
    )
    from agenthost.protocol.chat.messages import PendingMessage
    from agenthost.protocol.chat.state import ChatState


@reduces("chat/pendingMessageSet", client=True, touches=("steeringMessage", "queuedMessages"))
def pending_message_set(
    state: ChatState, action: ChatPendingMessageSetAction, now: str
) -> ChatState:
    """Fill the one steering slot, or queue a message, in place when its id is queued already."""
    entry: PendingMessage = {"id": action["id"], "message": action["message"]}
    if action["kind"] == "steering":
        return updated(state, steeringMessage=entry)
    queue = upsert_by(state.get("queuedMessages"), "id", entry)
    return updated(state, queuedMessages=queue)


@reduces("chat/pendingMessageRemoved", client=True, touches=("steeringMessage", "queuedMessages"))
def pending_message_removed(
    state: ChatState, action: ChatPendingMessageRemovedAction, now: str
) -> ChatState:
    """Remove a pending message of that kind and id."""
    if action["kind"] == "steering":
        return _without_steering(state, action["id"])
    if index_by(state.get("queuedMessages"), "id", action["id"]) is None:
        return state
    return _without_queued(state, action["id"])


@reduces("chat/queuedMessagesReordered", client=True, touches=("queuedMessages",))
def queued_messages_reordered(
    state: ChatState, action: ChatQueuedMessagesReorderedAction, now: str
) -> ChatState:
    """Move the listed messages to the front in that order; the others follow in theirs."""
    queue = state.get("queuedMessages")
    if queue is None:
        return state
    by_id = {message["id"]: message for message in queue}
    listed = dict.fromkeys(message_id for message_id in action["order"] if message_id in by_id)
    rest = [message for message in queue if message["id"] not in listed]
    reordered = [*(by_id[message_id] for message_id in listed), *rest]
    return updated(state, queuedMessages=reordered)


@reduces("chat/draftChanged", client=True, touches=("draft",))
def draft_changed(state: ChatState, action: ChatDraftChangedAction, now: str) -> ChatState:
    """Share what is being typed; an absent draft clears it."""
    return copied_members(state, action, "draft")


def without_pending(state: ChatState, message_id: str | None) -> ChatState:
    """Return the chat without the pending message that started a turn, if any."""
    # An empty id counts as none given.
    if not message_id:
        return state
    return _without_queued(_without_steering(state, message_id), message_id)


def _without_steering(state: ChatState, message_id: str) -> ChatState:
    slot = state.get("steeringMessage")
    if slot is None or slot["id"] != message_id:
        return state
    return without(state, "steeringMessage")


def _without_queued(state: ChatState, message_id: str) -> ChatState:
    queue = state.get("queuedMessages")
    if queue is None:
        return state
    kept = [message for message in queue if message["id"] != message_id]
    return {**state, "queuedMessages": kept} if kept else without(state, "queuedMessages")
