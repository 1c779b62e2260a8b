"""What clients may do in a chat: every refusal with its reason, and that the rest passes."""

from __future__ import annotations

from typing import Any

import pytest

from agenthost.host.channels.chat.message_rules import check_attachments, check_message
from agenthost.host.channels.rule_context import RuleContext
from agenthost.host.channels.ruled_kind import check

State = Any
Action = dict[str, Any]

ME, OTHER = "me", "somebody-else"
DIRECTORY = "file:///work"
MULTIPLE: State = {"multipleWorkingDirectories": {}}
SESSION: State = {"lifecycle": "ready", "workingDirectories": [DIRECTORY]}
CONTEXT = RuleContext(ME, SESSION)


def message(origin: str = "user", **extra: Any) -> State:
    return {"text": "Hello", "origin": {"kind": origin}, **extra}


def chat(**extra: Any) -> State:
    turn = {"id": "t1", "message": message(), "responseParts": [], "state": "complete"}
    return {"resource": "ahp-chat:/1", "title": "T", "status": 1, "turns": [turn], **extra}


def running(*parts: State, **extra: Any) -> State:
    turn = {"id": "t2", "message": message(), "responseParts": list(parts)}
    return chat(**{**extra, "activeTurn": turn})


def call(status: str, **extra: Any) -> State:
    return {
        "kind": "toolCall",
        "toolCall": {"toolCallId": "k", "toolName": "n", "displayName": "N", "status": status}
        | extra,
    }


def refusal(state: State, action: Action, context: RuleContext = CONTEXT) -> str | None:
    return check(state, action, context)


def on_call(name: str, **extra: Any) -> Action:
    return {"type": f"chat/toolCall{name}", "turnId": "t2", "toolCallId": "k", **extra}


# Any chat action


@pytest.mark.parametrize(
    "action",
    [
        {"type": "chat/turnStarted", "turnId": "t9", "message": message()},
        {"type": "chat/draftChanged"},
        {"type": "chat/truncated"},
        {"type": "chat/queuedMessagesReordered", "order": []},
    ],
)
def test_a_session_that_could_not_be_created_takes_no_chat_action(action: Action) -> None:
    session: State = {"lifecycle": "failed"}
    failed = RuleContext(ME, session)
    assert refusal(chat(), action, failed) == "the session could not be created"
    assert refusal(chat(), action) is None


def test_a_session_that_is_still_being_created_takes_a_turn() -> None:
    action = {"type": "chat/turnStarted", "turnId": "t9", "message": message()}
    session: State = {"lifecycle": "creating"}
    assert refusal(chat(), action, RuleContext(ME, session)) is None


def test_an_action_without_a_rule_of_its_own_passes() -> None:
    assert refusal(chat(), {"type": "chat/queuedMessagesReordered", "order": ["a", "a"]}) is None
    assert check({"title": "T"}, {"type": "session/titleChanged", "title": ""}, CONTEXT) is None


# Turns


def start(**extra: Any) -> Action:
    return {"type": "chat/turnStarted", "turnId": "t9", "message": message(), **extra}


def test_a_user_may_start_a_turn_in_an_idle_chat() -> None:
    assert refusal(chat(), start()) is None
    assert refusal(chat(interactivity="full"), start()) is None


def test_one_turn_at_a_time_runs_in_a_chat() -> None:
    assert refusal(running(), start()) == "a turn is already in progress in this chat"


def test_a_turn_id_is_used_once() -> None:
    assert refusal(chat(), start(turnId="t1")) == "turn id t1 was used before"


def failed_turn(*parts: State, **extra: Any) -> State:
    error = {"kind": "error", "error": {"errorType": "e", "message": "m"}, "resumable": True}
    turn = {"id": "t1", "message": message(), "state": "error"}
    return chat(turns=[{**turn, "responseParts": [*parts, error], **extra}])


RESUME: Action = {"type": "chat/turnResume", "turnId": "t1"}
HELD: State = {"kind": "error", "error": {"errorType": "e", "message": "m"}}


@pytest.mark.parametrize(
    ("state", "reason"),
    [
        (failed_turn(), None),
        (failed_turn(HELD), None),
        (chat(turns=[]), "turn t1 is not the latest of this chat"),
        (failed_turn(id="t2"), "turn t1 is not the latest of this chat"),
        (chat(), "only a turn that failed can be resumed"),
        (failed_turn(state="cancelled"), "only a turn that failed can be resumed"),
        (failed_turn(responseParts=[]), "the agent cannot take this turn up again"),
        (failed_turn(responseParts=[HELD]), "the agent cannot take this turn up again"),
        (
            failed_turn(responseParts=[{**HELD, "resumable": 1}]),
            "the agent cannot take this turn up again",
        ),
        (running(**failed_turn()), "a turn is already in progress in this chat"),
        (
            {**failed_turn(), "interactivity": "read-only"},
            "this chat is read-only: its turns are not resumed",
        ),
        (failed_turn(*[HELD] * 500_000), "the turn is too long to be taken up again"),
    ],
)
def test_the_latest_turn_goes_on_if_its_failure_allows_it(state: State, reason: str | None) -> None:
    assert refusal(state, RESUME) == reason


def test_a_turn_goes_on_in_a_session_that_is_ready() -> None:
    for lifecycle, reason in (
        ("creating", "the session is not ready"),
        ("failed", "the session could not be created"),
    ):
        session: State = {"lifecycle": lifecycle}
        assert refusal(failed_turn(), RESUME, RuleContext(ME, session)) == reason


def test_the_default_chat_is_archived_as_its_session() -> None:
    session: State = {**SESSION, "defaultChat": "ahp-chat:/1"}
    action = {"type": "chat/isArchivedChanged", "isArchived": True}
    reason = "archive the session: this is its default chat"
    assert refusal(chat(), action, RuleContext(ME, session)) == reason
    other = chat(resource="ahp-chat:/2")
    assert refusal(other, action, RuleContext(ME, session)) is None
    read = {"type": "chat/isReadChanged", "isRead": True}
    assert refusal(chat(), read, RuleContext(ME, session)) is None


@pytest.mark.parametrize("origin", ["agent", "tool", "systemNotification"])
def test_a_client_speaks_for_its_user_only(origin: str) -> None:
    reason = "a client may only send messages of origin user"
    spoken = message(origin)
    for action in (
        start(message=spoken),
        {"type": "chat/pendingMessageSet", "kind": "queued", "id": "m", "message": spoken},
        {"type": "chat/pendingMessageSet", "kind": "steering", "id": "m", "message": spoken},
        {"type": "chat/draftChanged", "draft": spoken},
    ):
        assert refusal(chat(), action) == reason


@pytest.mark.parametrize("interactivity", ["read-only", "hidden"])
def test_a_chat_that_is_not_interactive_takes_no_messages(interactivity: str) -> None:
    state = chat(interactivity=interactivity)
    for action in (
        start(),
        {"type": "chat/pendingMessageSet", "kind": "queued", "id": "m", "message": message()},
        {"type": "chat/draftChanged", "draft": message()},
    ):
        assert refusal(state, action) == f"this chat is {interactivity}: it takes no messages"


def test_clearing_a_draft_is_always_fine() -> None:
    assert refusal(chat(interactivity="read-only"), {"type": "chat/draftChanged"}) is None


def test_a_turn_that_runs_may_be_cancelled() -> None:
    assert refusal(running(), {"type": "chat/turnCancelled", "turnId": "t2"}) is None


def test_cancelling_needs_a_turn_that_runs() -> None:
    action = {"type": "chat/turnCancelled", "turnId": "t1"}
    assert refusal(chat(), action) == "there is no turn to cancel"
    assert refusal(running(), action) == "turn t1 is not the one that is running"


# Attachments


def attached(resource: str = "ahp-chat:/2", **extra: Any) -> State:
    chat_attachment = {"type": "chat", "label": "L", "resource": resource, **extra}
    other = {"type": "simple", "label": "L", "modelRepresentation": "R"}
    return message(attachments=[other, chat_attachment])


def knowing(**chats: State) -> RuleContext:
    return RuleContext(
        ME, SESSION, chats={f"ahp-chat:/{name}": state for name, state in chats.items()}
    )


KNOWN = knowing(**{"2": running()})
EMPTY = knowing(**{"2": {"turns": []}})


def test_an_attached_chat_must_exist() -> None:
    reason = "the attached chat ahp-chat:/2 does not exist"
    assert refusal(chat(), start(message=attached())) == reason
    assert refusal(chat(), start(message=attached()), knowing(**{"2": None})) == reason


def test_an_attached_chat_may_end_at_a_completed_turn_only() -> None:
    assert refusal(chat(), start(message=attached(endTurn="t1")), KNOWN) is None
    for end in ("t2", "unknown"):
        reason = f"the attached chat has no completed turn {end}"
        assert refusal(chat(), start(message=attached(endTurn=end)), KNOWN) == reason


def test_an_attached_chat_without_completed_turns_is_an_empty_transcript() -> None:
    assert refusal(chat(), start(message=attached()), EMPTY) is None


def test_a_queued_message_is_held_to_the_same_attachments() -> None:
    action = {"type": "chat/pendingMessageSet", "kind": "queued", "id": "m"}
    assert refusal(chat(), {**action, "message": attached()}) is not None
    assert refusal(chat(), {**action, "message": attached()}, KNOWN) is None


def test_a_draft_may_attach_what_does_not_exist_yet() -> None:
    assert refusal(chat(), {"type": "chat/draftChanged", "draft": attached()}) is None


def test_other_attachments_are_not_looked_up() -> None:
    spoken = message(attachments=[{"type": "resource", "label": "L", "uri": "file:///gone"}])
    assert check_attachments(spoken, CONTEXT) is None
    assert check_message(chat(), spoken, CONTEXT) is None


# Tool calls: confirmation

APPROVE = on_call("Confirmed", approved=True, confirmed="user-action")
DENY = on_call("Confirmed", approved=False, reason="denied")
OPTIONS = [
    {"id": "yes", "label": "Yes", "kind": "approve"},
    {"id": "no", "label": "No", "kind": "deny"},
]
STATUSES = [
    "streaming",
    "pending-confirmation",
    "running",
    "auth-required",
    "pending-result-confirmation",
    "completed",
    "cancelled",
]


@pytest.mark.parametrize("action", [APPROVE, DENY])
def test_a_call_that_waits_may_be_approved_or_denied_by_anybody(action: Action) -> None:
    owned = call("pending-confirmation", contributor={"kind": "client", "clientId": OTHER})
    assert refusal(running(call("pending-confirmation")), action) is None
    assert refusal(running(owned), action) is None


@pytest.mark.parametrize("status", [s for s in STATUSES if s != "pending-confirmation"])
@pytest.mark.parametrize("action", [APPROVE, DENY])
def test_a_call_that_does_not_wait_cannot_be_confirmed(action: Action, status: str) -> None:
    reason = f"the tool call does not wait for confirmation: it is {status}"
    assert refusal(running(call(status)), action) == reason


@pytest.mark.parametrize("name", ["Confirmed", "Complete", "ContentChanged", "ResultConfirmed"])
def test_a_tool_action_names_a_call_of_the_running_turn(name: str) -> None:
    action = on_call(name, approved=True, result={"success": True}, content=[])
    waiting = running(call("running"))
    assert refusal(chat(), action) == "no turn is running"
    assert refusal(waiting, {**action, "turnId": "t1"}) == "turn t1 is not the one that is running"
    assert refusal(waiting, {**action, "toolCallId": "x"}) == "there is no tool call x"
    part = {"kind": "markdown", "id": "k", "content": ""}
    assert refusal(running(part), action) == "there is no tool call k"


def test_an_option_must_be_one_that_was_offered() -> None:
    offered = running(call("pending-confirmation", options=OPTIONS))
    assert refusal(offered, {**APPROVE, "selectedOptionId": "yes"}) is None
    assert refusal(offered, {**DENY, "selectedOptionId": "no"}) is None
    assert refusal(offered, {**APPROVE, "selectedOptionId": "x"}) == "there is no option x"
    bare = running(call("pending-confirmation"))
    assert refusal(bare, {**APPROVE, "selectedOptionId": "yes"}) == "there is no option yes"


def test_an_option_must_mean_what_the_answer_says() -> None:
    offered = running(call("pending-confirmation", options=OPTIONS))
    assert refusal(offered, {**APPROVE, "selectedOptionId": "no"}) == "option no means to deny"
    assert refusal(offered, {**DENY, "selectedOptionId": "yes"}) == "option yes means to approve"


def test_an_empty_option_id_chooses_none() -> None:
    offered = running(call("pending-confirmation", options=OPTIONS))
    assert refusal(offered, {**APPROVE, "selectedOptionId": ""}) is None


def test_only_editable_input_may_be_edited() -> None:
    edited = {**APPROVE, "editedToolInput": "rm -r"}
    reason = "the input of this tool call may not be edited"
    assert refusal(running(call("pending-confirmation", editable=True)), edited) is None
    assert refusal(running(call("pending-confirmation")), edited) == reason
    assert refusal(running(call("pending-confirmation", editable=False)), edited) == reason
    # An empty text is an edit as well.
    assert refusal(running(call("pending-confirmation")), {**edited, "editedToolInput": ""})


# Tool calls: execution


def owned(status: str, client: str = ME) -> State:
    return running(call(status, contributor={"kind": "client", "clientId": client}))


def complete(success: bool) -> Action:
    return on_call("Complete", result={"success": success, "pastTenseMessage": "Did"})


CONTENT = on_call("ContentChanged", content=[])


@pytest.mark.parametrize("success", [True, False])
@pytest.mark.parametrize("status", ["running", "pending-confirmation"])
def test_the_owner_of_a_call_completes_it(status: str, success: bool) -> None:
    assert refusal(owned(status), complete(success)) is None


@pytest.mark.parametrize("success", [True, False])
def test_nobody_else_completes_a_call(success: bool) -> None:
    reason = "this tool call belongs to another client"
    assert refusal(owned("running", OTHER), complete(success)) == reason


@pytest.mark.parametrize(
    "contributor", [{}, {"contributor": {"kind": "mcp", "customizationId": "m"}}]
)
def test_a_call_of_the_host_is_not_a_clients_to_complete(contributor: State) -> None:
    state = running(call("running", **contributor))
    assert refusal(state, complete(True)) == "this tool call is run by the host"
    assert refusal(state, CONTENT) == "this tool call is run by the host"


@pytest.mark.parametrize(
    "status", ["streaming", "pending-result-confirmation", "completed", "cancelled"]
)
def test_a_call_that_is_not_under_way_cannot_be_completed(status: str) -> None:
    reason = f"the tool call cannot be completed: it is {status}"
    assert refusal(owned(status), complete(True)) == reason


def test_a_call_that_waits_for_a_token_may_be_given_up_by_anybody_and_succeeds_for_nobody() -> None:
    mcp = {"contributor": {"kind": "mcp", "customizationId": "m"}}
    waiting = running(call("auth-required", **mcp))
    assert refusal(waiting, complete(False)) is None
    reason = "a call that waits for authentication cannot succeed"
    assert refusal(waiting, complete(True)) == reason


def test_the_owner_of_a_running_call_shows_its_content() -> None:
    assert refusal(owned("running"), CONTENT) is None
    assert refusal(owned("running", OTHER), CONTENT) == "this tool call belongs to another client"


@pytest.mark.parametrize("status", [s for s in STATUSES if s != "running"])
def test_only_a_running_call_shows_content(status: str) -> None:
    assert refusal(owned(status), CONTENT) == f"the tool call is not running: it is {status}"


@pytest.mark.parametrize("approved", [True, False])
def test_a_result_that_waits_may_be_approved_or_refused(approved: bool) -> None:
    action = on_call("ResultConfirmed", approved=approved)
    assert refusal(running(call("pending-result-confirmation")), action) is None


@pytest.mark.parametrize("status", [s for s in STATUSES if s != "pending-result-confirmation"])
def test_a_result_that_does_not_wait_cannot_be_confirmed(status: str) -> None:
    reason = f"the tool call's result does not wait for confirmation: it is {status}"
    assert refusal(running(call(status)), on_call("ResultConfirmed", approved=True)) == reason


# Pending messages, truncation


@pytest.mark.parametrize("kind", ["queued", "steering"])
def test_a_message_may_be_left_pending_while_a_turn_runs_and_while_none_does(kind: str) -> None:
    action = {"type": "chat/pendingMessageSet", "kind": kind, "id": "m", "message": message()}
    assert refusal(running(), action) is None
    assert refusal(chat(), action) is None


def test_only_a_pending_message_of_that_id_and_kind_can_be_removed() -> None:
    pending = {"id": "m", "message": message()}
    states = {"queued": chat(queuedMessages=[pending]), "steering": chat(steeringMessage=pending)}
    for kind, state in states.items():
        for asked in states:
            action = {"type": "chat/pendingMessageRemoved", "kind": asked, "id": "m"}
            expected = None if asked == kind else f"there is no {asked} message m"
            assert refusal(state, action) == expected
        other = {"type": "chat/pendingMessageRemoved", "kind": kind, "id": "x"}
        assert refusal(state, other) == f"there is no {kind} message x"


def test_a_chat_is_truncated_at_a_completed_turn_or_altogether() -> None:
    assert refusal(running(), {"type": "chat/truncated"}) is None
    assert refusal(running(), {"type": "chat/truncated", "turnId": "t1"}) is None
    for turn in ("t2", "unknown"):
        reason = f"there is no completed turn {turn}"
        assert refusal(running(), {"type": "chat/truncated", "turnId": turn}) == reason


# Working directories


def directory(name: str, uri: str = DIRECTORY) -> Action:
    return {"type": f"chat/workingDirectory{name}", "directory": uri}


@pytest.mark.parametrize("name", ["Set", "Removed"])
def test_changing_directories_takes_an_agent_that_supports_it(name: str) -> None:
    reason = "the agent does not support changing working directories"
    assert refusal(chat(), directory(name)) == reason
    assert refusal(chat(), directory(name), RuleContext(ME, SESSION, MULTIPLE)) is None


def test_a_chat_works_in_directories_of_its_session_only() -> None:
    reason = "the directory is not among the session's working directories"
    outside = directory("Set", "file:///elsewhere")
    assert refusal(chat(), outside, RuleContext(ME, SESSION, MULTIPLE)) == reason
    empty: State = {}
    assert refusal(chat(), directory("Set"), RuleContext(ME, empty, MULTIPLE)) == reason
    assert refusal(chat(), directory("Set"), RuleContext(ME, None, MULTIPLE)) == reason
    # Taking it away is harmless wherever it is.
    assert refusal(chat(), directory("Removed", "x:/y"), RuleContext(ME, SESSION, MULTIPLE)) is None
