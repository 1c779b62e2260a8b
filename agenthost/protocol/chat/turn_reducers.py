"""Reducers of the chat channel for turns: their life, their text, and the transcript they form.

Also holds the chat's own small fields (activity, working directories). Tool calls, input requests
and pending messages have modules of their own. Streaming text never looks at finished turns.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, cast

from agenthost.protocol.chat.active_turn import (
    marked_unread,
    matching_turn,
    refreshed,
    with_part_added,
    with_part_at,
)
from agenthost.protocol.chat.pending_reducers import without_pending
from agenthost.protocol.chat.tool_call_reducers import interrupted_part
from agenthost.protocol.json_edits import (
    carry,
    copied_members,
    index_by,
    same_if_equal,
    updated,
    with_item,
    without,
    without_item,
)
from agenthost.protocol.reducer_registry import reduces
from agenthost.protocol.status import ERROR, IDLE, with_activity

if TYPE_CHECKING:
    from agenthost.protocol.chat.actions import (
        ChatActivityChangedAction,
        ChatDeltaAction,
        ChatErrorAction,
        ChatReasoningAction,
        ChatResponsePartAction,
        ChatTruncatedAction,
        ChatTurnCancelledAction,
        ChatTurnCompleteAction,
        ChatTurnsLoadedAction,
        ChatTurnStartedAction,
        ChatUsageAction,
        ChatWorkingDirectoryRemovedAction,
        ChatWorkingDirectorySetAction,
    )
    from agenthost.protocol.chat.state import ActiveTurn, ChatState, CompletedTurn, ResponsePart


@reduces("chat/turnStarted", client=True)
def turn_started(state: ChatState, action: ChatTurnStartedAction, now: str) -> ChatState:
    """Start a turn, over any that still runs; the pending message it came from is consumed."""
    turn = {
        "id": action["turnId"],
        **carry(action, "startedAt"),
        "message": action["message"],
        "responseParts": [],
    }
    started: ChatState = {**state, "activeTurn": cast("ActiveTurn", turn), "modifiedAt": now}
    begun = without_pending(marked_unread(refreshed(started)), action.get("queuedMessageId"))
    return same_if_equal(state, begun)


@reduces("chat/responsePart")
def response_part(state: ChatState, action: ChatResponsePartAction, now: str) -> ChatState:
    """Append a part to the active turn."""
    turn = matching_turn(state, action["turnId"])
    return state if turn is None else with_part_added(state, turn, action["part"])


@reduces("chat/delta", appends="content")
def delta(state: ChatState, action: ChatDeltaAction, now: str) -> ChatState:
    """Append text to a markdown part of the active turn."""
    return _appended(state, action, "markdown")


@reduces("chat/reasoning", appends="content")
def reasoning(state: ChatState, action: ChatReasoningAction, now: str) -> ChatState:
    """Append text to a reasoning part of the active turn."""
    return _appended(state, action, "reasoning")


def _appended(
    state: ChatState,
    action: ChatDeltaAction | ChatReasoningAction,
    kind: Literal["markdown", "reasoning"],
) -> ChatState:
    turn = matching_turn(state, action["turnId"])
    index = None if turn is None else _addressed(turn["responseParts"], action["partId"])
    if turn is None or index is None or not action["content"]:
        return state
    part = cast("dict[str, Any]", turn["responseParts"][index])
    if part["kind"] != kind:
        return state
    longer = {**part, "content": part["content"] + action["content"]}
    return with_part_at(state, turn, index, cast("ResponsePart", longer))


def _addressed(parts: list[ResponsePart], part_id: str) -> int | None:
    """Find the first part of that id. Ids may repeat, so a search from the end could miss it."""
    for index, part in enumerate(parts):
        # Parts of the kinds that have no id cannot be addressed.
        found = part["toolCall"]["toolCallId"] if part["kind"] == "toolCall" else part.get("id")
        if found == part_id:
            return index
    return None


@reduces("chat/usage")
def usage(state: ChatState, action: ChatUsageAction, now: str) -> ChatState:
    """Record what the active turn has used so far; the last report counts, whole."""
    turn = matching_turn(state, action["turnId"])
    if turn is None:
        return state
    return updated(state, activeTurn={**turn, "usage": action["usage"]})


@reduces("chat/turnComplete")
def turn_complete(state: ChatState, action: ChatTurnCompleteAction, now: str) -> ChatState:
    """End the active turn: it came to its end."""
    return _ended(state, action, {"state": "complete"}, IDLE, now)


@reduces("chat/turnCancelled", client=True)
def turn_cancelled(state: ChatState, action: ChatTurnCancelledAction, now: str) -> ChatState:
    """End the active turn: somebody stopped it."""
    return _ended(state, action, {"state": "cancelled"}, IDLE, now)


@reduces("chat/error")
def error(state: ChatState, action: ChatErrorAction, now: str) -> ChatState:
    """End the active turn: it failed, and the chat shows so until its status is next computed."""
    outcome = {"state": "error", **carry(action, "error")}
    return _ended(state, action, outcome, ERROR, now)


def _ended(
    state: ChatState,
    action: ChatTurnCompleteAction | ChatTurnCancelledAction | ChatErrorAction,
    outcome: dict[str, Any],
    activity: int,
    now: str,
) -> ChatState:
    active = matching_turn(state, action["turnId"])
    if active is None:
        return state
    turn = {
        **carry(active, "id", "startedAt"),
        **_duration(action),
        "message": active["message"],
        "responseParts": [interrupted_part(part) for part in active["responseParts"]],
        **carry(active, "usage"),
        **outcome,
    }
    ended: ChatState = {
        **without(state, "activeTurn"),
        "turns": [*state["turns"], cast("CompletedTurn", turn)],
        "modifiedAt": now,
        "status": with_activity(state["status"], activity),
    }
    return ended


def _duration(action: object) -> dict[str, float]:
    # A peer of an older protocol measures none; then the turn records none. The value comes from
    # the producer's own clock, where a step backwards must not show as negative time.
    return {key: max(0, value or 0) for key, value in carry(action, "duration").items()}


@reduces("chat/truncated", client=True)
def truncated(state: ChatState, action: ChatTruncatedAction, now: str) -> ChatState:
    """Keep the transcript through a turn, or drop it all; the active turn goes either way.

    Only an *absent* ``turnId`` drops everything: a null one names no turn, and changes nothing.
    """
    if "turnId" not in action:
        return same_if_equal(state, refreshed(_cut(without(state, "turnsNextCursor"), 0, now)))
    index = index_by(state["turns"], "id", action["turnId"])
    return state if index is None else same_if_equal(state, refreshed(_cut(state, index + 1, now)))


def _cut(state: ChatState, length: int, now: str) -> ChatState:
    return {
        **without(state, "activeTurn"),
        "turns": state["turns"][:length],
        "modifiedAt": now,
    }


@reduces("chat/turnsLoaded")
def turns_loaded(state: ChatState, action: ChatTurnsLoadedAction, now: str) -> ChatState:
    """Put older turns in front, keeping the loaded copy of any that is there already."""
    loaded = {turn["id"] for turn in state["turns"]}
    older = [turn for turn in action["turns"] if turn["id"] not in loaded]
    longer: ChatState = {**state, "turns": [*older, *state["turns"]]} if older else state
    return copied_members(longer, action, "turnsNextCursor")


@reduces("chat/activityChanged")
def activity_changed(state: ChatState, action: ChatActivityChangedAction, now: str) -> ChatState:
    """Say what the chat is doing; an absent activity clears it."""
    return copied_members(state, action, "activity")


@reduces("chat/workingDirectorySet", client=True, touches=("workingDirectories",))
def working_directory_set(
    state: ChatState, action: ChatWorkingDirectorySetAction, now: str
) -> ChatState:
    """Give the chat a folder; one that inherited all of the session's then has this one only."""
    return with_item(state, "workingDirectories", action["directory"])


@reduces("chat/workingDirectoryRemoved", client=True, touches=("workingDirectories",))
def working_directory_removed(
    state: ChatState, action: ChatWorkingDirectoryRemovedAction, now: str
) -> ChatState:
    """Take a folder from the chat; the emptied set stays, and means none rather than all."""
    return without_item(state, "workingDirectories", action["directory"])
