"""Rules for what clients dispatch on a chat: turns, tool calls, pending messages, directories."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agenthost.host.channels.chat.message_rules import (
    check_content,
    check_message,
    check_suggestion,
)
from agenthost.protocol.chat.parts import tool_calls
from agenthost.protocol.json_edits import without

if TYPE_CHECKING:
    from agenthost.host.channels.rule_context import RuleContext, Rules
    from agenthost.protocol.chat.state import ChatState
    from agenthost.protocol.chat.tool_state import ToolCallRunningState, ToolCallState
    from agenthost.protocol.common import Action

# Parts of a turn that can go on: older versions are told each of them anew under a number of its
# own, and these are reserved in blocks.
MOST_RESUMED = 500_000


def check_session(context: RuleContext) -> str | None:
    """Refuse everything in a session that could not be created."""
    if context.session is not None and context.session.get("lifecycle") == "failed":
        return "the session could not be created"
    return None


def _turn_started(state: ChatState, action: Action, context: RuleContext) -> str | None:
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


def _turn_resumed(state: ChatState, action: Action, context: RuleContext) -> str | None:
    if state.get("activeTurn") is not None:
        return "a turn is already in progress in this chat"
    if context.session is not None and context.session["lifecycle"] != "ready":
        return "the session is not ready"
    if state.get("interactivity", "full") != "full":
        return f"this chat is {state['interactivity']}: its turns are not resumed"
    latest = state["turns"][-1] if state["turns"] else None
    if latest is None or latest["id"] != action["turnId"]:
        return f"turn {action['turnId']} is not the latest of this chat"
    if latest["state"] != "error":
        return "only a turn that failed can be resumed"
    last = latest["responseParts"][-1] if latest["responseParts"] else None
    if last is None or last["kind"] != "error" or last.get("resumable") is not True:
        return "the agent cannot take this turn up again"
    if len(latest["responseParts"]) > MOST_RESUMED:
        return "the turn is too long to be taken up again"
    return None


def _turn_cancelled(state: ChatState, action: Action, context: RuleContext) -> str | None:
    return _wrong_turn(state, action, "there is no turn to cancel")


def _wrong_turn(state: ChatState, action: Action, idle: str) -> str | None:
    active = state.get("activeTurn")
    if active is None:
        return idle
    if active["id"] != action["turnId"]:
        return f"turn {action['turnId']} is not the one that is running"
    return None


def find_call(state: ChatState, action: Action) -> ToolCallState | None:
    """Return the call of the running turn that an action names, if there is one."""
    call = _find_call(state, action)
    return None if isinstance(call, str) else call


def _find_call(state: ChatState, action: Action) -> ToolCallState | str:
    wrong = _wrong_turn(state, action, "no turn is running")
    if wrong is not None:
        return wrong
    for call in tool_calls(state.get("activeTurn")):
        if call["toolCallId"] == action["toolCallId"]:
            return call
    return f"there is no tool call {action['toolCallId']}"


def _confirmed(state: ChatState, action: Action, context: RuleContext) -> str | None:
    """Say why an answer to an approval, a yes or a no, is refused."""
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


def _edits_running(call: ToolCallRunningState, action: Action) -> str | None:
    if action.get("editedToolInput") in (None, call.get("toolInput")):
        return None
    return "the tool call runs already: its input cannot be edited any more"


def _owner_refusal(call: ToolCallState, context: RuleContext) -> str | None:
    contributor = call.get("contributor")
    if contributor is None or contributor["kind"] != "client":
        return "this tool call is run by the host"
    if contributor["clientId"] != context.client_id:
        return "this tool call belongs to another client"
    return None


def _complete(state: ChatState, action: Action, context: RuleContext) -> str | None:
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


def _content_changed(state: ChatState, action: Action, context: RuleContext) -> str | None:
    call = _find_call(state, action)
    if isinstance(call, str):
        return call
    if call["status"] != "running":
        return f"the tool call is not running: it is {call['status']}"
    content = action["content"]
    return _owner_refusal(call, context) or check_content(
        state, call["toolCallId"], content, context
    )


def _result_confirmed(state: ChatState, action: Action, context: RuleContext) -> str | None:
    call = _find_call(state, action)
    if isinstance(call, str):
        return call
    if call["status"] != "pending-result-confirmation":
        return f"the tool call's result does not wait for confirmation: it is {call['status']}"
    return None


def _pending_set(state: ChatState, action: Action, context: RuleContext) -> str | None:
    if not action["id"]:
        return "a message that waits needs an id"
    return check_message(state, action["message"], context)


def _pending_removed(state: ChatState, action: Action, context: RuleContext) -> str | None:
    if action["kind"] == "steering":
        slot = state.get("steeringMessage")
        known = slot is not None and slot["id"] == action["id"]
    else:
        known = any(item["id"] == action["id"] for item in state.get("queuedMessages") or ())
    return None if known else f"there is no {action['kind']} message {action['id']}"


def _draft_changed(state: ChatState, action: Action, context: RuleContext) -> str | None:
    draft = action.get("draft")
    if draft is None:
        return None
    # A draft is not sent yet: what it asks for is checked when it becomes a message.
    return check_message(state, without(draft, "attachments", "model"), context)


def _truncated(state: ChatState, action: Action, context: RuleContext) -> str | None:
    turn = action.get("turnId")
    if turn is not None and all(kept["id"] != turn for kept in state["turns"]):
        return f"there is no completed turn {turn}"
    return None


def _archived(state: ChatState, action: Action, context: RuleContext) -> str | None:
    session = context.session
    if session is not None and session.get("defaultChat") == state["resource"]:
        # It is the session to those who know no other chats.
        return "archive the session: this is its default chat"
    return None


def _directories_refusal(context: RuleContext) -> str | None:
    if context.capabilities.get("multipleWorkingDirectories") is None:
        return "the agent does not support changing working directories"
    return None


def _directory_set(state: ChatState, action: Action, context: RuleContext) -> str | None:
    refusal = _directories_refusal(context)
    if refusal is not None:
        return refusal
    session = context.session
    allowed = session.get("workingDirectories") if session is not None else None
    if action["directory"] not in (allowed or ()):
        return "the directory is not among the session's working directories"
    return None


def _directory_removed(state: ChatState, action: Action, context: RuleContext) -> str | None:
    return _directories_refusal(context)


RULES: Rules[ChatState] = {
    "chat/turnStarted": _turn_started,
    "chat/turnResume": _turn_resumed,
    "chat/turnCancelled": _turn_cancelled,
    "chat/toolCallConfirmed": _confirmed,
    "chat/toolCallComplete": _complete,
    "chat/toolCallContentChanged": _content_changed,
    "chat/toolCallResultConfirmed": _result_confirmed,
    "chat/pendingMessageSet": _pending_set,
    "chat/pendingMessageRemoved": _pending_removed,
    "chat/draftChanged": _draft_changed,
    "chat/truncated": _truncated,
    "chat/isArchivedChanged": _archived,
    "chat/workingDirectorySet": _directory_set,
    "chat/workingDirectoryRemoved": _directory_removed,
}
