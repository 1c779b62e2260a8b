"""Rules for what clients dispatch on a chat: turns, tool calls, pending messages, directories."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from agenthost.host.channels.chat.message_rules import (
    check_content,
    check_message,
    check_suggestion,
)
from agenthost.host.channels.rule_context import RuleContext

State = Mapping[str, Any]
Action = Mapping[str, Any]


def check_session(context: RuleContext) -> str | None:
    """Refuse everything in a session that could not be created."""
    if context.session is not None and context.session.get("lifecycle") == "creationFailed":
        return "the session could not be created"
    return None


def _turn_started(state: State, action: Action, context: RuleContext) -> str | None:
    if state.get("activeTurn") is not None:
        return "a turn is already in progress in this chat"
    if not action["turnId"]:
        return "a turn needs an id"
    if any(turn["id"] == action["turnId"] for turn in state["turns"]):
        return f"turn id {action['turnId']} was used before"
    if action.get("queuedMessageId"):
        # It would take a message off the queue that may be somebody else's.
        return "only the host starts queued messages"
    return check_message(state, action["message"], context)


def _turn_cancelled(state: State, action: Action, context: RuleContext) -> str | None:
    return _wrong_turn(state, action, "there is no turn to cancel")


def _wrong_turn(state: State, action: Action, idle: str) -> str | None:
    active = state.get("activeTurn")
    if active is None:
        return idle
    if active["id"] != action["turnId"]:
        return f"turn {action['turnId']} is not the one that is running"
    return None


def _calls(state: State, call_id: str) -> Iterator[Mapping[str, Any]]:
    for part in state["activeTurn"]["responseParts"]:
        if part.get("kind") == "toolCall" and part["toolCall"]["toolCallId"] == call_id:
            yield part["toolCall"]


def find_call(state: State, action: Action) -> Mapping[str, Any] | None:
    """Return the call of the running turn that an action names, if there is one."""
    call = _find_call(state, action)
    return None if isinstance(call, str) else call


def _find_call(state: State, action: Action) -> Mapping[str, Any] | str:
    wrong = _wrong_turn(state, action, "no turn is running")
    if wrong is not None:
        return wrong
    call = next(_calls(state, action["toolCallId"]), None)
    return call if call is not None else f"there is no tool call {action['toolCallId']}"


def _confirmed(state: State, action: Action, context: RuleContext) -> str | None:
    call = _find_call(state, action)
    if isinstance(call, str):
        return call
    if call["status"] == "running" and _owner_refusal(call, context) is None:
        # A client may say of its own call that it goes ahead, or that it does not run it.
        return _edits_running(call, action)
    if call["status"] != "pending-confirmation":
        return f"the tool call does not wait for confirmation: it is {call['status']}"
    option_id = action.get("selectedOptionId")
    if option_id:
        options = call.get("options") or ()
        option = next((option for option in options if option["id"] == option_id), None)
        if option is None:
            return f"there is no option {option_id}"
        if option["kind"] != ("approve" if action["approved"] else "deny"):
            return f"option {option_id} means to {option['kind']}"
    if "editedToolInput" in action and not call.get("editable"):
        return "the input of this tool call may not be edited"
    suggestion = action.get("userSuggestion")
    return check_suggestion(suggestion, context) if suggestion is not None else None


def _edits_running(call: Mapping[str, Any], action: Action) -> str | None:
    if action.get("editedToolInput") in (None, call.get("toolInput")):
        return None
    return "the tool call runs already: its input cannot be edited any more"


def _owner_refusal(call: Mapping[str, Any], context: RuleContext) -> str | None:
    contributor = call.get("contributor") or {}
    if contributor.get("kind") != "client":
        return "this tool call is run by the host"
    if contributor.get("clientId") != context.client_id:
        return "this tool call belongs to another client"
    return None


def _complete(state: State, action: Action, context: RuleContext) -> str | None:
    call = _find_call(state, action)
    if isinstance(call, str):
        return call
    refusal: str | None = None
    if call["status"] == "auth-required":
        if action["result"]["success"]:
            return "a call that waits for authentication cannot succeed"
    elif call["status"] not in ("running", "pending-confirmation"):
        return f"the tool call cannot be completed: it is {call['status']}"
    else:
        refusal = _owner_refusal(call, context)
    content = action["result"].get("content", ())
    return refusal or check_content(state, call["toolCallId"], content, context)


def _content_changed(state: State, action: Action, context: RuleContext) -> str | None:
    call = _find_call(state, action)
    if isinstance(call, str):
        return call
    if call["status"] != "running":
        return f"the tool call is not running: it is {call['status']}"
    content = action["content"]
    return _owner_refusal(call, context) or check_content(
        state, call["toolCallId"], content, context
    )


def _result_confirmed(state: State, action: Action, context: RuleContext) -> str | None:
    call = _find_call(state, action)
    if isinstance(call, str):
        return call
    if call["status"] != "pending-result-confirmation":
        return f"the tool call's result does not wait for confirmation: it is {call['status']}"
    return None


def _pending_set(state: State, action: Action, context: RuleContext) -> str | None:
    if not action["id"]:
        return "a message that waits needs an id"
    return check_message(state, action["message"], context)


def _pending_removed(state: State, action: Action, context: RuleContext) -> str | None:
    if action["kind"] == "steering":
        slot = state.get("steeringMessage")
        known = slot is not None and slot["id"] == action["id"]
    else:
        known = any(item["id"] == action["id"] for item in state.get("queuedMessages") or ())
    return None if known else f"there is no {action['kind']} message {action['id']}"


def _draft_changed(state: State, action: Action, context: RuleContext) -> str | None:
    draft = action.get("draft")
    if draft is None:
        return None
    # A draft is not sent yet: what it asks for is checked when it becomes a message.
    words = {key: value for key, value in draft.items() if key not in ("attachments", "model")}
    return check_message(state, words, context)


def _truncated(state: State, action: Action, context: RuleContext) -> str | None:
    turn = action.get("turnId")
    if turn is not None and all(kept["id"] != turn for kept in state["turns"]):
        return f"there is no completed turn {turn}"
    return None


def _directories_refusal(context: RuleContext) -> str | None:
    if context.capabilities.get("multipleWorkingDirectories") is None:
        return "the agent does not support changing working directories"
    return None


def _directory_set(state: State, action: Action, context: RuleContext) -> str | None:
    refusal = _directories_refusal(context)
    if refusal is not None:
        return refusal
    allowed = (context.session or {}).get("workingDirectories") or ()
    if action["directory"] not in allowed:
        return "the directory is not among the session's working directories"
    return None


def _directory_removed(state: State, action: Action, context: RuleContext) -> str | None:
    return _directories_refusal(context)


RULES: dict[str, Callable[[State, Action, RuleContext], str | None]] = {
    "chat/turnStarted": _turn_started,
    "chat/turnCancelled": _turn_cancelled,
    "chat/toolCallConfirmed": _confirmed,
    "chat/toolCallComplete": _complete,
    "chat/toolCallContentChanged": _content_changed,
    "chat/toolCallResultConfirmed": _result_confirmed,
    "chat/pendingMessageSet": _pending_set,
    "chat/pendingMessageRemoved": _pending_removed,
    "chat/draftChanged": _draft_changed,
    "chat/truncated": _truncated,
    "chat/workingDirectorySet": _directory_set,
    "chat/workingDirectoryRemoved": _directory_removed,
}
