"""The state machine of tool calls: every transition, and what each carries over."""

from __future__ import annotations

from typing import Any

import pytest

from tests.protocol.samples import (
    ERROR,
    IDLE,
    IN_PROGRESS,
    INPUT_NEEDED,
    IS_READ,
    THEN,
    changes_nothing,
    chat,
    idle_chat,
    only_call,
    parts_of,
    reduced,
)

MCP = {"kind": "mcp", "customizationId": "server"}
CLIENT = {"kind": "client", "clientId": "laptop"}
ALLOW = {"id": "allow", "label": "Allow", "kind": "approve"}
DENY = {"id": "deny", "label": "Deny", "kind": "deny"}
TEXT = {"type": "text", "text": "partial"}
DONE_TEXT = {"type": "text", "text": "done"}
AUTH = {"reason": "expired", "resource": {"resource": "https://mcp.example.org"}}
OK = {"success": True, "pastTenseMessage": "Ran it"}
FAILED = {"success": False, "pastTenseMessage": "Failed", "error": {"message": "no"}}

BASE = {
    "toolCallId": "c1",
    "toolName": "shell",
    "displayName": "Shell",
    "intention": "look around",
    "contributor": MCP,
    "_meta": {"a": 1},
}
INVOCATION = {"invocationMessage": "Run it", "toolInput": "ls"}
CONFIRMATION = {
    "confirmationTitle": "Run?",
    "riskAssessment": {"kind": "judge", "status": "loading"},
    "edits": {"items": []},
    "editable": True,
}
APPROVAL = {"confirmed": "user-action", "selectedOption": ALLOW}
RESULT = {**OK, "content": [DONE_TEXT], "structuredContent": {"n": None}}

# One call in every state, with every field that the state may have.
CALLS: dict[str, dict[str, Any]] = {
    "streaming": {**BASE, "partialInput": '{"cmd"', "invocationMessage": "Running"},
    "pending-confirmation": {**BASE, **INVOCATION, **CONFIRMATION, "options": [ALLOW, DENY]},
    "running": {**BASE, **INVOCATION, **APPROVAL, "content": [TEXT]},
    "auth-required": {**BASE, **INVOCATION, **APPROVAL, "content": [TEXT], "auth": AUTH},
    "pending-result-confirmation": {**BASE, **INVOCATION, **APPROVAL, **RESULT},
    "completed": {**BASE, **INVOCATION, **APPROVAL, **RESULT},
    "cancelled": {**BASE, **INVOCATION, "reason": "denied", "selectedOption": DENY},
}
BLOCKED = {"pending-confirmation", "pending-result-confirmation", "auth-required"}


def a_call(status: str, *absent: str, **members: Any) -> dict[str, Any]:
    call = {"status": status, **CALLS[status], **members}
    return {key: value for key, value in call.items() if key not in absent}


def chat_with(*calls: dict[str, Any], status: int | None = None) -> Any:
    if status is None:
        blocked = any(call["status"] in BLOCKED for call in calls)
        status = INPUT_NEEDED if blocked else IN_PROGRESS
    return chat(*({"kind": "toolCall", "toolCall": call} for call in calls), status=status)


def an(name: str, **members: Any) -> dict[str, Any]:
    return {"type": f"chat/toolCall{name}", "turnId": "t1", "toolCallId": "c1", **members}


def moved(call: dict[str, Any], action: dict[str, Any]) -> Any:
    return only_call(reduced(chat_with(call), action))


def ready(**members: Any) -> dict[str, Any]:
    return an("Ready", **{"invocationMessage": "Run it now", **members})


APPROVE = an("Confirmed", approved=True, confirmed="user-action")
REFUSE = an("Confirmed", approved=False, reason="denied")
COLUMNS: dict[str, dict[str, Any]] = {
    "Delta": an("Delta", content="x"),
    "Ready": ready(),
    "Ready +confirmed": ready(confirmed="not-needed"),
    "Confirmed yes": APPROVE,
    "Confirmed no": REFUSE,
    "Complete ok": an("Complete", result=OK),
    "Complete fail": an("Complete", result=FAILED),
    "Complete ok +review": an("Complete", result=OK, requiresResultConfirmation=True),
    "Complete fail +review": an("Complete", result=FAILED, requiresResultConfirmation=True),
    "ResultConfirmed yes": an("ResultConfirmed", approved=True),
    "ResultConfirmed no": an("ResultConfirmed", approved=False),
    "ContentChanged": an("ContentChanged", content=[DONE_TEXT]),
    "AuthRequired": an("AuthRequired", auth=AUTH),
    "AuthResolved": an("AuthResolved"),
}
SHORT = {
    "STR": "streaming",
    "PC": "pending-confirmation",
    "RUN": "running",
    "AUTH": "auth-required",
    "PRC": "pending-result-confirmation",
    "DONE": "completed",
    "CANC": "cancelled",
}
# Rows: the state before. Columns as above. A dash: unchanged.
MATRIX = {
    "STR":  "STR PC RUN -   -    -    -    -   -   -    -    -   -    -",
    "PC":   "-   PC RUN RUN CANC DONE DONE PRC PRC -    -    -   -    -",
    "RUN":  "-   PC RUN -   -    DONE DONE PRC PRC -    -    RUN AUTH -",
    "AUTH": "-   -  -   -   -    -    DONE -   DONE -   -    -   -    RUN",
    "PRC":  "-   -  -   -   -    -    -    -   -   DONE CANC -   -    -",
    "DONE": "-   -  -   -   -    -    -    -   -   -    -    -   -    -",
    "CANC": "-   -  -   -   -    -    -    -   -   -    -    -   -    -",
}  # fmt: skip
CELLS = [
    (SHORT[row], column, SHORT.get(cell))
    for row, cells in MATRIX.items()
    for column, cell in zip(COLUMNS, cells.split(), strict=True)
]


@pytest.mark.parametrize(("before", "column", "after"), CELLS)
def test_every_cell_of_the_transition_matrix(before: str, column: str, after: str | None) -> None:
    state = chat_with(a_call(before))
    if after is None:
        assert changes_nothing(state, COLUMNS[column])
        return
    result = reduced(state, COLUMNS[column])
    assert only_call(result)["status"] == after
    assert result["modifiedAt"] == THEN
    assert result["status"] == (INPUT_NEEDED if after in BLOCKED else IN_PROGRESS)


@pytest.mark.parametrize("ending", ["turnComplete", "turnCancelled", "error"])
@pytest.mark.parametrize("status", CALLS)
def test_a_call_that_had_not_finished_when_its_turn_ended_was_skipped(
    status: str, ending: str
) -> None:
    call = a_call(status)
    failed = {"kind": "error", "error": {}}
    action = {"type": f"chat/{ending}", "turnId": "t1", "duration": 1, "part": failed}
    [turn] = reduced(chat_with(call), action)["turns"]
    part, *more = turn["responseParts"]
    assert more == ([failed] if ending == "error" else [])
    if status in ("completed", "cancelled"):
        assert part == {"kind": "toolCall", "toolCall": call}
        return
    known = {"invocationMessage": "Running"} if status == "streaming" else INVOCATION
    skipped = {**BASE, **known, "status": "cancelled", "reason": "skipped"}
    assert part == {"kind": "toolCall", "toolCall": skipped}


@pytest.mark.parametrize("message", [{}, {"invocationMessage": None}])
def test_a_skipped_call_that_had_no_message_yet_gets_an_empty_one(message: Any) -> None:
    call = {**a_call("streaming", "invocationMessage"), **message}
    action = {"type": "chat/turnComplete", "turnId": "t1", "duration": 1}
    [turn] = reduced(chat_with(call), action)["turns"]
    assert turn["responseParts"][0]["toolCall"]["invocationMessage"] == ""


def test_a_started_call_streams_and_repeats_are_not_noticed() -> None:
    start = an("Start", toolName="shell", displayName="Shell", contributor=CLIENT)
    state = reduced(chat_with(status=IN_PROGRESS | IS_READ), start, start)
    call = {
        "toolCallId": "c1",
        "toolName": "shell",
        "displayName": "Shell",
        "contributor": CLIENT,
        "status": "streaming",
    }
    assert parts_of(state) == [{"kind": "toolCall", "toolCall": call}] * 2
    assert state["status"] == IN_PROGRESS | IS_READ


class TestDelta:
    def test_parameters_and_message_stream(self) -> None:
        call = moved(a_call("streaming"), an("Delta", content=":1}", invocationMessage="Better"))
        assert call == a_call("streaming", partialInput='{"cmd":1}', invocationMessage="Better")

    def test_a_message_alone_creates_no_parameters(self) -> None:
        call = moved(a_call("streaming", "partialInput"), an("Delta", invocationMessage="Better"))
        assert call == a_call("streaming", "partialInput", invocationMessage="Better")

    def test_empty_parameters_are_parameters(self) -> None:
        call = moved(a_call("streaming", "partialInput"), an("Delta", content=""))
        assert call == a_call("streaming", partialInput="")


class TestReady:
    @pytest.mark.parametrize("confirmed", [{}, {"confirmed": "not-needed"}])
    def test_streamed_parameters_are_never_promoted(self, confirmed: Any) -> None:
        call = moved(a_call("streaming"), ready(**confirmed))
        assert not {"partialInput", "toolInput"} & call.keys()

    def test_a_streamed_call_takes_up_everything_given(self) -> None:
        given = {"toolInput": {"uri": "x:/1"}, **CONFIRMATION, "options": []}
        call = moved(a_call("streaming"), ready(**given))
        status = "pending-confirmation"
        assert call == {**BASE, "invocationMessage": "Run it now", **given, "status": status}

    def test_a_pending_call_keeps_what_is_not_given(self) -> None:
        call = moved(a_call("pending-confirmation"), ready())
        assert call == a_call("pending-confirmation", invocationMessage="Run it now")

    @pytest.mark.parametrize(
        ("field", "value"),
        [
            ("toolInput", ""),
            ("confirmationTitle", ""),
            ("edits", {}),
            ("editable", False),
            ("options", []),
            ("_meta", {}),
            ("intention", ""),
        ],
    )
    def test_empty_values_are_values(self, field: str, value: Any) -> None:
        assert moved(a_call("pending-confirmation"), ready(**{field: value}))[field] == value

    def test_a_running_call_asked_again_keeps_its_input_and_loses_what_it_did(self) -> None:
        call = moved(a_call("running"), ready(confirmationTitle="Again?"))
        status = "pending-confirmation"
        expected = {**BASE, "invocationMessage": "Run it now", "toolInput": "ls", "status": status}
        assert call == {**expected, "confirmationTitle": "Again?"}

    @pytest.mark.parametrize("status", ["pending-confirmation", "running"])
    def test_a_confirmed_call_runs_without_what_was_shown_or_done_before(self, status: str) -> None:
        call = moved(a_call(status), ready(confirmed="setting", options=[ALLOW]))
        expected = {**BASE, "invocationMessage": "Run it now", "toolInput": "ls"}
        assert call == {**expected, "confirmed": "setting", "status": "running"}

    @pytest.mark.parametrize("confirmed", ["", None])
    def test_an_empty_confirmation_is_none(self, confirmed: Any) -> None:
        call = moved(a_call("streaming"), ready(confirmed=confirmed))
        assert call["status"] == "pending-confirmation"
        assert "confirmed" not in call

    @pytest.mark.parametrize("status", ["streaming", "pending-confirmation", "running"])
    def test_a_message_that_is_missing_does_not_wipe_the_one_shown(self, status: str) -> None:
        call = moved(a_call(status), an("Ready"))
        assert call["invocationMessage"] == CALLS[status]["invocationMessage"]

    @pytest.mark.parametrize(
        ("current", "offered", "result"),
        [
            (None, None, None),
            (None, MCP, MCP),
            (None, CLIENT, None),
            (MCP, None, MCP),
            (MCP, {**MCP, "customizationId": "new"}, {**MCP, "customizationId": "new"}),
            (MCP, CLIENT, MCP),
            (CLIENT, None, CLIENT),
            (CLIENT, MCP, CLIENT),
            (CLIENT, {**CLIENT, "label": "x"}, {**CLIENT, "label": "x"}),
            (CLIENT, {**CLIENT, "clientId": "phone"}, CLIENT),
        ],
    )
    def test_a_clients_ownership_is_neither_given_nor_taken_away(
        self, current: Any, offered: Any, result: Any
    ) -> None:
        call = a_call("streaming", "contributor")
        if current is not None:
            call["contributor"] = current
        action = ready() if offered is None else ready(contributor=offered)
        after = moved(call, action)
        assert after.get("contributor") == result
        assert after["status"] == "pending-confirmation"

    def test_an_unchanged_repetition_changes_nothing(self) -> None:
        state = reduced(chat_with(a_call("streaming")), ready(toolInput="ls"))
        assert changes_nothing(state, ready(toolInput="ls"))


class TestConfirmed:
    def test_an_approved_call_runs_and_forgets_what_was_shown(self) -> None:
        call = moved(a_call("pending-confirmation"), {**APPROVE, "selectedOptionId": "allow"})
        assert call == {**BASE, **INVOCATION, **APPROVAL, "status": "running"}

    def test_a_refused_call_records_why(self) -> None:
        why = {"reason": "skipped", "reasonMessage": "not now", "userSuggestion": {"text": "do"}}
        action = {**REFUSE, **why, "selectedOptionId": "deny"}
        call = moved(a_call("pending-confirmation"), action)
        expected = {**BASE, **INVOCATION, **why, "selectedOption": DENY, "status": "cancelled"}
        assert call == expected

    @pytest.mark.parametrize("option", ["unknown", "", None])
    @pytest.mark.parametrize("action", [APPROVE, REFUSE], ids=["approved", "refused"])
    def test_an_option_that_is_not_offered_is_not_recorded(self, action: Any, option: Any) -> None:
        offered = [{**ALLOW, "id": ""}, ALLOW]
        call = a_call("pending-confirmation", options=offered)
        assert "selectedOption" not in moved(call, {**action, "selectedOptionId": option})

    def test_an_option_of_a_call_that_offers_none_is_not_recorded(self) -> None:
        call = a_call("pending-confirmation", "options")
        assert "selectedOption" not in moved(call, {**APPROVE, "selectedOptionId": "allow"})

    def test_the_options_kind_is_not_checked_against_the_decision(self) -> None:
        call = moved(a_call("pending-confirmation"), {**APPROVE, "selectedOptionId": "deny"})
        assert (call["status"], call["selectedOption"]) == ("running", DENY)

    @pytest.mark.parametrize("edit", ["rm", ""])
    def test_an_edit_replaces_inline_input(self, edit: str) -> None:
        call = a_call("pending-confirmation", editable=False)
        assert moved(call, {**APPROVE, "editedToolInput": edit})["toolInput"] == edit

    def test_an_edit_of_referenced_input_leaves_the_reference(self) -> None:
        call = a_call("pending-confirmation", toolInput={"uri": "x:/1"})
        assert moved(call, {**APPROVE, "editedToolInput": "rm"})["toolInput"] == {"uri": "x:/1"}

    def test_an_edit_of_input_that_is_not_there_is_ignored(self) -> None:
        call = a_call("pending-confirmation", "toolInput")
        assert "toolInput" not in moved(call, {**APPROVE, "editedToolInput": "rm"})

    def test_a_refusal_edits_nothing(self) -> None:
        call = moved(a_call("pending-confirmation"), {**REFUSE, "editedToolInput": "rm"})
        assert call["toolInput"] == "ls"


class TestComplete:
    def test_a_running_calls_content_goes_unless_the_result_repeats_it(self) -> None:
        call = moved(a_call("running"), an("Complete", result=OK))
        assert call == {**BASE, **INVOCATION, **APPROVAL, **OK, "status": "completed"}

    @pytest.mark.parametrize("content", [[DONE_TEXT], []])
    def test_every_member_of_the_result_is_taken_up(self, content: Any) -> None:
        result = {**OK, "content": content, "structuredContent": {}, "new": 1}
        call = moved(a_call("running"), an("Complete", result=result))
        assert call == {**BASE, **INVOCATION, **APPROVAL, **result, "status": "completed"}

    @pytest.mark.parametrize(
        ("review", "status"), [(False, "completed"), (True, "pending-result-confirmation")]
    )
    def test_a_call_completed_before_it_was_confirmed_needed_no_confirmation(
        self, review: bool, status: str
    ) -> None:
        action = an("Complete", result=FAILED, requiresResultConfirmation=review)
        call = moved(a_call("pending-confirmation", selectedOption=ALLOW), action)
        expected = {**BASE, **INVOCATION, "confirmed": "not-needed", **FAILED}
        assert call == {**expected, "status": status}

    @pytest.mark.parametrize("review", [False, True])
    def test_failing_a_call_that_waits_for_authentication_keeps_its_content(
        self, review: bool
    ) -> None:
        action = an("Complete", result=FAILED, requiresResultConfirmation=review)
        call = moved(a_call("auth-required"), action)
        expected = {**BASE, **INVOCATION, **APPROVAL, "content": [TEXT], **FAILED}
        assert call == {**expected, "status": "completed"}

    def test_a_result_with_content_wins_over_what_came_before_authentication(self) -> None:
        result = {**FAILED, "content": []}
        assert moved(a_call("auth-required"), an("Complete", result=result))["content"] == []


class TestResultConfirmed:
    def test_an_approved_result_keeps_exactly_what_a_result_has(self) -> None:
        before = a_call("pending-result-confirmation", error={"message": "e"}, new=1)
        call = moved(before, an("ResultConfirmed", approved=True))
        assert call == a_call("completed", error={"message": "e"})

    def test_a_withheld_result_is_gone_with_its_confirmation(self) -> None:
        call = moved(a_call("pending-result-confirmation"), an("ResultConfirmed", approved=False))
        cancelled = {"status": "cancelled", "reason": "result-denied", "selectedOption": ALLOW}
        assert call == {**BASE, **INVOCATION, **cancelled}


class TestAuthentication:
    @pytest.mark.parametrize("content", [[TEXT], []])
    def test_a_pause_keeps_everything_and_resuming_only_forgets_the_challenge(
        self, content: Any
    ) -> None:
        running = a_call("running", content=content)
        paused = moved(running, an("AuthRequired", auth=AUTH))
        assert paused == {**running, "status": "auth-required", "auth": AUTH}
        assert moved(paused, an("AuthResolved")) == running

    @pytest.mark.parametrize("contributor", [{}, {"contributor": None}, {"contributor": CLIENT}])
    def test_only_a_call_of_an_mcp_server_can_need_it(self, contributor: Any) -> None:
        call = {**a_call("running", "contributor"), **contributor}
        assert changes_nothing(chat_with(call), an("AuthRequired", auth=AUTH))


MOVES = [(before, column) for before, column, after in CELLS if after is not None]


@pytest.mark.parametrize(("before", "column"), MOVES)
@pytest.mark.parametrize("meta", [{"b": 2}, {}])
def test_every_transition_takes_up_new_metadata(before: str, column: str, meta: Any) -> None:
    assert moved(a_call(before), {**COLUMNS[column], "_meta": meta})["_meta"] == meta


@pytest.mark.parametrize(("before", "column"), MOVES)
def test_every_transition_keeps_who_and_what_the_call_is(before: str, column: str) -> None:
    call = moved(a_call(before), COLUMNS[column])
    assert {key: call[key] for key in BASE} == BASE


@pytest.mark.parametrize("column", COLUMNS)
def test_every_call_of_that_id_moves_and_no_other(column: str) -> None:
    before = next(before for before, name in MOVES if name == column)
    call, other = a_call(before), a_call(before, toolCallId="c2")
    state = reduced(chat_with(call, other, call), COLUMNS[column])
    first, second, third = (part["toolCall"] for part in parts_of(state))
    assert first == third == moved(call, COLUMNS[column])
    assert second == other


ALWAYS = [name for name in COLUMNS if name not in ("Delta", "ContentChanged")]


@pytest.mark.parametrize("column", ALWAYS)
@pytest.mark.parametrize(
    ("state", "activity"),
    [(idle_chat(status=ERROR | IS_READ), IDLE), (chat(status=ERROR | IS_READ), IN_PROGRESS)],
    ids=["idle", "no such call"],
)
def test_six_actions_recompute_the_status_even_when_no_call_took_notice(
    state: Any, activity: int, column: str
) -> None:
    after = reduced(state, COLUMNS[column])
    assert after == {**state, "status": activity | IS_READ}


@pytest.mark.parametrize("column", ["Delta", "ContentChanged"])
def test_streaming_never_recomputes_the_status(column: str) -> None:
    for call in (a_call("streaming"), a_call("running")):
        state = chat_with(call, status=ERROR)
        assert reduced(state, COLUMNS[column])["status"] == ERROR


@pytest.mark.parametrize("action", [*COLUMNS.values(), an("Start", toolName="x", displayName="X")])
@pytest.mark.parametrize("status", CALLS)
def test_an_action_for_another_turn_changes_nothing(status: str, action: dict[str, Any]) -> None:
    assert changes_nothing(chat_with(a_call(status)), {**action, "turnId": "elsewhere"})
    assert changes_nothing(idle_chat(), action)


@pytest.mark.parametrize("column", list(COLUMNS))
def test_an_action_for_an_unknown_call_changes_nothing(column: str) -> None:
    state = chat_with(a_call("running"))
    assert changes_nothing(state, {**COLUMNS[column], "toolCallId": "unknown"})


def test_content_that_is_there_already_changes_nothing() -> None:
    assert changes_nothing(chat_with(a_call("running")), an("ContentChanged", content=[TEXT]))


def test_a_delta_that_brings_nothing_changes_nothing() -> None:
    assert changes_nothing(chat_with(a_call("streaming")), an("Delta"))
    assert changes_nothing(chat_with(a_call("streaming")), an("Delta", content=""))


def test_new_content_leaves_the_rest_of_a_running_call() -> None:
    call = moved(a_call("running"), an("ContentChanged", content=[]))
    assert call == a_call("running", content=[])
