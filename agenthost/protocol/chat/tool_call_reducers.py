"""Reducers of the chat channel for tool calls: the state machine that each call goes through.

A transition is a function from a call and an action to the call's next state, or to the *same*
object when the action does not apply in the call's state. What a transition does not carry over is
dropped on purpose. Most of the actions recompute the chat's status even when no call took notice of
them; parameter and content streaming never does.

Who may confirm or complete a call is for the host to decide.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import is_
from typing import TYPE_CHECKING, Any, TypeVar, cast

from agenthost.protocol.chat.active_turn import (
    matching_turn,
    refreshed,
    with_part_added,
    with_parts,
)
from agenthost.protocol.json_edits import carry, carry_given, index_by, prefer, same_if_equal
from agenthost.protocol.reducer_registry import reduces

if TYPE_CHECKING:
    from agenthost.protocol.chat.actions import (
        ChatToolCallAuthRequiredAction,
        ChatToolCallAuthResolvedAction,
        ChatToolCallCompleteAction,
        ChatToolCallConfirmedAction,
        ChatToolCallContentChangedAction,
        ChatToolCallDeltaAction,
        ChatToolCallReadyAction,
        ChatToolCallResultConfirmedAction,
        ChatToolCallStartAction,
    )
    from agenthost.protocol.chat.state import ChatState, ResponsePart

# A call in any state; the union of the states' shapes, which transitions take apart and rebuild.
Call = dict[str, Any]
A = TypeVar("A")

# What every state of a call has, besides its status.
_BASE = ("toolCallId", "toolName", "displayName", "intention", "contributor", "_meta")
# What a call has from the moment that it is ready.
_INVOCATION = ("invocationMessage", "toolInput")
# What a person is shown to decide on; it survives a second Ready, not the decision.
_CONFIRMATION = ("confirmationTitle", "riskAssessment", "edits", "editable")
# What of a result outlives its review.
_RESULT = ("success", "pastTenseMessage", "content", "structuredContent", "error")


@reduces("chat/toolCallStart")
def tool_call_start(state: ChatState, action: ChatToolCallStartAction, now: str) -> ChatState:
    """Append a call whose parameters are still being streamed."""
    turn = matching_turn(state, action["turnId"])
    if turn is None:
        return state
    part = {"kind": "toolCall", "toolCall": {**carry(action, *_BASE), "status": "streaming"}}
    return with_part_added(state, turn, cast("ResponsePart", part))


@reduces("chat/toolCallDelta")
def tool_call_delta(state: ChatState, action: ChatToolCallDeltaAction, now: str) -> ChatState:
    """Stream more of a call's parameters, or a better message about it."""
    return _moved(state, action, _streamed)


@reduces("chat/toolCallReady")
def tool_call_ready(state: ChatState, action: ChatToolCallReadyAction, now: str) -> ChatState:
    """Put a call up for confirmation, or run it when it comes confirmed; may be repeated."""
    return refreshed(_moved(state, action, _ready))


@reduces("chat/toolCallConfirmed", client=True, touches=("activeTurn", "status"))
def tool_call_confirmed(
    state: ChatState, action: ChatToolCallConfirmedAction, now: str
) -> ChatState:
    """Let a pending call run, or refuse it."""
    return refreshed(_moved(state, action, _confirmed))


@reduces("chat/toolCallComplete", client=True, touches=("activeTurn", "status"))
def tool_call_complete(state: ChatState, action: ChatToolCallCompleteAction, now: str) -> ChatState:
    """Give a call its result, for review first when the action asks for that."""
    return refreshed(_moved(state, action, _completed))


@reduces("chat/toolCallResultConfirmed", client=True, touches=("activeTurn", "status"))
def tool_call_result_confirmed(
    state: ChatState, action: ChatToolCallResultConfirmedAction, now: str
) -> ChatState:
    """Let a reviewed result through, or withhold it."""
    return refreshed(_moved(state, action, _reviewed))


@reduces("chat/toolCallContentChanged", client=True, touches=("activeTurn",))
def tool_call_content_changed(
    state: ChatState, action: ChatToolCallContentChangedAction, now: str
) -> ChatState:
    """Replace what a running call has produced so far."""
    return _moved(state, action, _produced)


@reduces("chat/toolCallAuthRequired")
def tool_call_auth_required(
    state: ChatState, action: ChatToolCallAuthRequiredAction, now: str
) -> ChatState:
    """Pause a running MCP call until somebody has authenticated."""
    return refreshed(_moved(state, action, _paused))


@reduces("chat/toolCallAuthResolved")
def tool_call_auth_resolved(
    state: ChatState, action: ChatToolCallAuthResolvedAction, now: str
) -> ChatState:
    """Resume a call that waited for authentication."""
    return refreshed(_moved(state, action, _resumed))


def interrupted_part(part: ResponsePart) -> ResponsePart:
    """Return a part as its turn's end leaves it: an unfinished call was skipped."""
    if part["kind"] != "toolCall":
        return part
    call = cast("Call", part["toolCall"])
    if call["status"] in ("completed", "cancelled"):
        return part
    skipped = {
        "status": "cancelled",
        **carry(call, *_BASE),
        **_invocation_so_far(call),
        "reason": "skipped",
    }
    return cast("ResponsePart", {"kind": "toolCall", "toolCall": skipped})


def _invocation_so_far(call: Call) -> Call:
    if call["status"] != "streaming":
        return carry(call, *_INVOCATION)
    return prefer(call, {"invocationMessage": ""}, "invocationMessage")


def _moved(state: ChatState, action: A, transition: Callable[[Call, A], Call]) -> ChatState:
    """Apply a transition to every call of the action's id in the active turn."""
    target = cast("dict[str, Any]", action)
    turn = matching_turn(state, target["turnId"])
    if turn is None:
        return state
    parts = list(turn["responseParts"])
    for index, part in enumerate(turn["responseParts"]):
        if part["kind"] == "toolCall" and part["toolCall"]["toolCallId"] == target["toolCallId"]:
            moved = {**part, "toolCall": transition(cast("Call", part["toolCall"]), action)}
            parts[index] = same_if_equal(part, cast("ResponsePart", moved))
    if all(map(is_, parts, turn["responseParts"])):
        return state
    return with_parts(state, turn, parts)


def _streamed(call: Call, action: ChatToolCallDeltaAction) -> Call:
    if call["status"] != "streaming":
        return call
    more = action.get("content")
    partial = {} if more is None else {"partialInput": (call.get("partialInput") or "") + more}
    message = prefer(action, call, "invocationMessage")
    return {**call, **carry(action, "_meta"), **partial, **message}


def _ready(call: Call, action: ChatToolCallReadyAction) -> Call:
    if call["status"] not in ("streaming", "running", "pending-confirmation"):
        return call
    # Streamed parameters may be cut or unparsed: they are never promoted to input.
    known = {} if call["status"] == "streaming" else call
    ready = {
        **_base(call, action),
        **prefer(action, call, "intention"),
        **_contributor(call, action),
        **prefer(action, call, "invocationMessage"),
        **prefer(action, known, "toolInput"),
    }
    # An empty reason counts as none given.
    if action.get("confirmed"):
        return {"status": "running", **ready, **carry(action, "confirmed")}
    shown = call if call["status"] == "pending-confirmation" else {}
    options = carry_given(prefer(action, shown, "options"), "options")
    confirmation = prefer(action, shown, *_CONFIRMATION)
    return {"status": "pending-confirmation", **ready, **confirmation, **options}


def _contributor(call: Call, action: ChatToolCallReadyAction) -> Call:
    """Refine who contributes a call; a client's ownership is neither given nor taken away late."""
    offered, current = action.get("contributor"), call.get("contributor")
    if offered is None:
        return {}
    if current is not None and current["kind"] == "client":
        accepted = offered["kind"] == "client" and offered["clientId"] == current["clientId"]
    else:
        accepted = offered["kind"] != "client"
    return {"contributor": offered} if accepted else {}


def _confirmed(call: Call, action: ChatToolCallConfirmedAction) -> Call:
    if call["status"] != "pending-confirmation":
        return call
    kept = {**_base(call, action), **carry(call, *_INVOCATION)}
    chosen = _selected_option(call, action)
    if action["approved"]:
        approval = {**_edited_input(call, action), **carry(action, "confirmed")}
        return {"status": "running", **kept, **approval, **chosen}
    refusal = carry(action, "reason", "reasonMessage", "userSuggestion")
    return {"status": "cancelled", **kept, **refusal, **chosen}


def _selected_option(call: Call, action: ChatToolCallConfirmedAction) -> Call:
    options, chosen = call.get("options"), action.get("selectedOptionId")
    # An empty id counts as none given, and an unknown one chooses nothing.
    index = index_by(options, "id", chosen) if chosen else None
    return {} if options is None or index is None else {"selectedOption": options[index]}


def _edited_input(call: Call, action: object) -> Call:
    """Take an edit of inline input; referenced input is rewritten where it lies, by the host."""
    edit = carry(action, "editedToolInput")
    if not edit or not isinstance(call.get("toolInput"), str):
        return {}
    return {"toolInput": edit["editedToolInput"]}


def _completed(call: Call, action: ChatToolCallCompleteAction) -> Call:
    if call["status"] not in ("running", "pending-confirmation", "auth-required"):
        return call
    paused = call["status"] == "auth-required"
    # A call that waits for authentication cannot have succeeded; failing it is how it is cancelled.
    if paused and action["result"]["success"]:
        return call
    review = action.get("requiresResultConfirmation") and not paused
    return {
        "status": "pending-result-confirmation" if review else "completed",
        **_base(call, action),
        **carry(call, *_INVOCATION),
        **_approval(call),
        **(carry_given(call, "content") if paused else {}),
        **action["result"],
    }


def _approval(call: Call) -> Call:
    if call["status"] == "pending-confirmation":
        return {"confirmed": "not-needed"}
    return {**carry(call, "confirmed"), **carry_given(call, "selectedOption")}


def _reviewed(call: Call, action: ChatToolCallResultConfirmedAction) -> Call:
    if call["status"] != "pending-result-confirmation":
        return call
    kept = {**_base(call, action), **carry(call, *_INVOCATION)}
    if action["approved"]:
        return {"status": "completed", **kept, **_approval(call), **carry(call, *_RESULT)}
    chosen = carry_given(call, "selectedOption")
    return {"status": "cancelled", **kept, "reason": "result-denied", **chosen}


def _produced(call: Call, action: ChatToolCallContentChangedAction) -> Call:
    if call["status"] != "running":
        return call
    return {**call, **carry(action, "_meta", "content")}


def _paused(call: Call, action: ChatToolCallAuthRequiredAction) -> Call:
    contributor = call.get("contributor")
    if call["status"] != "running" or contributor is None or contributor["kind"] != "mcp":
        return call
    return {"status": "auth-required", **_execution(call, action), **carry(action, "auth")}


def _resumed(call: Call, action: ChatToolCallAuthResolvedAction) -> Call:
    if call["status"] != "auth-required":
        return call
    return {"status": "running", **_execution(call, action)}


def _execution(call: Call, action: object) -> Call:
    return {
        **_base(call, action),
        **carry(call, *_INVOCATION, "confirmed"),
        **carry_given(call, "selectedOption", "content"),
    }


def _base(call: Call, action: object) -> Call:
    return {**carry(call, *_BASE), **prefer(action, call, "_meta")}
