"""Reducers of the chat channel for turns: their life, their text, and the transcript they form.

Tool calls, input requests, pending messages and the chat's own small fields have modules of their
own. Streaming text never looks at finished turns.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
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
    without,
)
from agenthost.protocol.reducer_registry import reduces
from agenthost.protocol.status import ERROR, IDLE, with_activity

if TYPE_CHECKING:
    from agenthost.protocol.chat.actions import (
        ChatDeltaAction,
        ChatErrorAction,
        ChatReasoningAction,
        ChatResponsePartAction,
        ChatTruncatedAction,
        ChatTurnCancelledAction,
        ChatTurnCompleteAction,
        ChatTurnResumeAction,
        ChatTurnsLoadedAction,
        ChatTurnStartedAction,
        ChatUsageAction,
    )
    from agenthost.protocol.chat.state import (
        ActiveTurn,
        ChatState,
        CompletedTurn,
        ResponsePart,
        TurnState,
    )

_MILLISECOND = timedelta(milliseconds=1)


@reduces("chat/turnStarted", client=True)
def turn_started(state: ChatState, action: ChatTurnStartedAction, now: str) -> ChatState:
    """Start a turn, over any that still runs; the pending message it came from is consumed.

    The chat was modified when the turn says that it started, not when this is computed.
    """
    turn = {
        "id": action["turnId"],
        **carry(action, "startedAt"),
        "message": action["message"],
        "responseParts": [],
    }
    started: ChatState = {**state, "activeTurn": cast("ActiveTurn", turn)}
    if action.get("startedAt"):
        started["modifiedAt"] = action["startedAt"]
    begun = without_pending(marked_unread(refreshed(started)), action.get("queuedMessageId"))
    return same_if_equal(state, begun)


@reduces("chat/responsePart")
def response_part(state: ChatState, action: ChatResponsePartAction, now: str) -> ChatState:
    """Append a part to the active turn; a failure is no part of its own: it ends the turn."""
    turn = matching_turn(state, action["turnId"])
    if turn is None or action["part"].get("kind") == "error":
        return state
    return with_part_added(state, turn, action["part"])


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
    return _ended(state, action, "complete", IDLE)


@reduces("chat/turnCancelled", client=True)
def turn_cancelled(state: ChatState, action: ChatTurnCancelledAction, now: str) -> ChatState:
    """End the active turn: somebody stopped it."""
    return _ended(state, action, "cancelled", IDLE)


@reduces("chat/error")
def error(state: ChatState, action: ChatErrorAction, now: str) -> ChatState:
    """End the active turn: it failed, and the chat shows so until its status is next computed."""
    return _ended(state, action, "error", ERROR, action["part"])


def _ended(
    state: ChatState,
    action: ChatTurnCompleteAction | ChatTurnCancelledAction | ChatErrorAction,
    outcome: TurnState,
    activity: int,
    *last: ResponsePart,
) -> ChatState:
    active = matching_turn(state, action["turnId"])
    if active is None:
        return state
    turn = {
        **carry(active, "id", "startedAt"),
        **_duration(action),
        "message": active["message"],
        "responseParts": [*map(interrupted_part, active["responseParts"]), *last],
        **carry(active, "usage"),
        "state": outcome,
    }
    ended: ChatState = {
        **without(state, "activeTurn"),
        "turns": [*state["turns"], cast("CompletedTurn", turn)],
        "status": with_activity(state["status"], activity),
    }
    end = _end_of(active.get("startedAt"), turn.get("duration"))
    if end is not None:
        ended["modifiedAt"] = end
    return ended


def _end_of(started_at: str | None, duration: float | None) -> str | None:
    """Return when a turn ended that took so many milliseconds; None if its start cannot be read."""
    try:
        start = datetime.fromisoformat(started_at or "")
        if start.tzinfo is None:
            start = start.replace(tzinfo=UTC)
        end = (start + (duration or 0) * _MILLISECOND).astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    return end.isoformat("T", "milliseconds")[: -len("+00:00")] + "Z"


def _duration(action: object) -> dict[str, float]:
    # A peer of an older protocol measures none; then the turn records none. The value comes from
    # the producer's own clock, where a step backwards must not show as negative time.
    carried = carry(action, "duration")
    return {"duration": max(0, carried["duration"] or 0)} if carried else {}


@reduces("chat/turnResume", client=True)
def turn_resume(state: ChatState, action: ChatTurnResumeAction, now: str) -> ChatState:
    """Take up the last turn again where it failed, if its failure allows that."""
    turn = state["turns"][-1] if state["turns"] else None
    if state.get("activeTurn") is not None or turn is None or turn["id"] != action["turnId"]:
        return state
    if turn["state"] != "error" or not _is_resumable(turn["responseParts"]):
        return state
    resumed = {
        "id": turn["id"],
        # Turns of older protocols did not say; when the chat was last modified is the best guess.
        "startedAt": turn.get("startedAt") or state["modifiedAt"],
        **carry(turn, "message", "responseParts", "usage"),
    }
    reopened: ChatState = {
        **state,
        "turns": state["turns"][:-1],
        "activeTurn": cast("ActiveTurn", resumed),
    }
    return marked_unread(refreshed(reopened))


def _is_resumable(parts: list[ResponsePart]) -> bool:
    last = parts[-1] if parts else None
    return last is not None and last["kind"] == "error" and last.get("resumable") is True


@reduces("chat/truncated", client=True)
def truncated(state: ChatState, action: ChatTruncatedAction, now: str) -> ChatState:
    """Keep the transcript through a turn, or drop it all; the active turn goes either way.

    Only an *absent* ``turnId`` drops everything: a null one names no turn, and changes nothing.
    """
    if "turnId" not in action:
        return same_if_equal(state, refreshed(_cut(without(state, "turnsNextCursor"), 0)))
    index = index_by(state["turns"], "id", action["turnId"])
    return state if index is None else same_if_equal(state, refreshed(_cut(state, index + 1)))


def _cut(state: ChatState, length: int) -> ChatState:
    return {**without(state, "activeTurn"), "turns": state["turns"][:length]}


@reduces("chat/turnsLoaded")
def turns_loaded(state: ChatState, action: ChatTurnsLoadedAction, now: str) -> ChatState:
    """Put older turns in front, keeping the loaded copy of any that is there already."""
    loaded = {turn["id"] for turn in state["turns"]}
    older = [turn for turn in action["turns"] if turn["id"] not in loaded]
    longer: ChatState = {**state, "turns": [*older, *state["turns"]]} if older else state
    return copied_members(longer, action, "turnsNextCursor")
