"""Which turn to start or stop, and what to clear, after a chat changed (pure)."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agenthost.protocol.chat.state import ChatState
    from agenthost.protocol.common import Action


class Followup(Enum):
    """One thing to do for a chat."""

    # The active turn is new, or active again: run its agent.
    START_TURN = "start turn"
    # The turn that was active is gone: stop its agent.
    STOP_TURN = "stop turn"
    # The chat says what its turn was doing, and the turn is over.
    CLEAR_ACTIVITY = "clear activity"
    # The turn was stopped before it read the message that was to steer it: that is void.
    DROP_STEERING = "drop steering"
    # The turn ended before it read the message that was to steer it: that is next in the queue.
    QUEUE_STEERING = "queue steering"
    # The chat is free: begin the first queued message, if there is one.
    NEXT_IN_QUEUE = "next in queue"


def chat_followups(
    action: Action, before: ChatState, after: ChatState, *, by_client: bool = True
) -> list[Followup]:
    """Plan what follows from an action that changed a chat."""
    followups: list[Followup] = []
    ended = before.get("activeTurn") is not None and after.get("activeTurn") is None
    if action["type"] in ("chat/turnStarted", "chat/turnResume"):
        followups.append(Followup.START_TURN)
    elif ended and action["type"] in ("chat/turnCancelled", "chat/truncated"):
        followups.append(Followup.STOP_TURN)
    if ended and "activity" in after:
        # An agent that was stopped can clear nothing any more, and one that failed may not have.
        followups.append(Followup.CLEAR_ACTIVITY)
    if ended and "steeringMessage" in after:
        read_by_nobody = action["type"] in ("chat/turnComplete", "chat/error")
        followups.append(Followup.QUEUE_STEERING if read_by_nobody else Followup.DROP_STEERING)
    queued = action["type"] == "chat/pendingMessageSet" and action["kind"] == "queued" and by_client
    if action["type"] == "chat/turnComplete" or (queued and after.get("activeTurn") is None):
        # After a cancel or an error the queue is held until somebody acts.
        followups.append(Followup.NEXT_IN_QUEUE)
    return followups
