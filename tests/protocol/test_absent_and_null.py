"""What an optional field of an action means when it is absent, null, and present.

Absent is not null. Some actions clear by omission, some fall back, some overwrite with exactly what
they carry; in the published fixtures null stands for absent, so those cannot tell the difference.
"""

from __future__ import annotations

import typing
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import pytest
from typing_extensions import is_typeddict

from agenthost.protocol import annotations as annotations_channel
from agenthost.protocol import canvas, changeset, resource_watch, root, terminal
from agenthost.protocol.automation import actions as automation_actions
from agenthost.protocol.automation import run_actions
from agenthost.protocol.chat import actions as chat_actions
from agenthost.protocol.json_edits import same
from agenthost.protocol.reducer_registry import reducers
from agenthost.protocol.session import actions as session_actions
from tests.protocol.chat.test_tool_call_reducers import (
    ALLOW,
    AUTH,
    CLIENT,
    DENY,
    FAILED,
    MCP,
    OK,
    a_call,
    an,
    chat_with,
    ready,
)
from tests.protocol.samples import (
    MESSAGE,
    NOW,
    THEN,
    changes_nothing,
    chat,
    finished_turn,
    idle_chat,
    reduced,
    session,
)


class _Absent:
    def __repr__(self) -> str:
        return "ABSENT"


class _Unchanged:
    def __repr__(self) -> str:
        return "UNCHANGED"


# The member is not there; the very same object comes back.
ABSENT, UNCHANGED = _Absent(), _Unchanged()

CALL = ("activeTurn", "responseParts", 0, "toolCall")
ANSWERS = ("activeTurn", "responseParts", 0, "request", "answers")


@dataclass(frozen=True)
class Case:
    """One optional field: where its effect shows, and what shows there in each of three cases."""

    state: Any
    action: dict[str, Any]
    field: str
    value: Any
    shows: tuple[str | int, ...]
    absent: Any
    null: Any
    present: Any

    @property
    def name(self) -> tuple[str, str]:
        return self.action["type"], self.field


def session_case(name: str, field: str, old: Any, new: Any, *, null: Any = None) -> Case:
    """Return a field that the state shows as the action has it."""
    action = {"type": f"session/{name}"}
    return Case(session(**{field: old}), action, field, new, (field,), ABSENT, null, new)


def chat_case(
    name: str, field: str, old: Any, new: Any, *, null: Any = None, **members: Any
) -> Case:
    """Return a field that the state shows as the action has it."""
    action = {"type": f"chat/{name}", **members}
    return Case(idle_chat(**{field: old}), action, field, new, (field,), ABSENT, null, new)


def call_case(
    status: str, action: dict[str, Any], field: str, value: Any, shows: str, *outcomes: Any
) -> Case:
    """Return a field whose effect shows in the tool call that the action moves."""
    absent, null, present = outcomes
    state = chat_with(a_call(status))
    return Case(state, action, field, value, (*CALL, shows), absent, null, present)


def kept(status: str, field: str, new: Any, action: dict[str, Any] | None = None) -> Case:
    """Return a field that keeps the call's value unless the action brings one."""
    old = a_call(status)[field]
    return call_case(status, action or ready(), field, new, field, old, old, new)


def meta(status: str, action: dict[str, Any], null: Any) -> Case:
    """Return the metadata of an action that a call takes up."""
    return call_case(status, action, "_meta", {"b": 2}, "_meta", {"a": 1}, null, {"b": 2})


def ignored(state: Any, action: dict[str, Any], *shows: str | int) -> Case:
    """Return the metadata of an action of which the state keeps none."""
    return Case(state, action, "_meta", {"b": 2}, (*shows, "_meta"), ABSENT, ABSENT, ABSENT)


def config_case(kind: str, state: Any) -> Case:
    config = {"schema": {}, "values": {"a": 1}}
    merged, replaced = {"a": 1, "b": 2}, {"b": 2}
    action = {"type": f"{kind}/configChanged", "config": {"b": 2}}
    before = {**state, "config": config}
    return Case(before, action, "replace", True, ("config", "values"), merged, merged, replaced)


SERVER = {"id": "m", "type": "mcpServer", "state": {"kind": "ready"}, "channel": "mcp://1"}
TEXT = {"kind": "markdown", "id": "m1", "content": ""}
THOUGHT = {"kind": "reasoning", "id": "r1", "content": ""}
QUEUED = [{"id": "q", "message": MESSAGE}]
ASKED = {"kind": "inputRequest", "request": {"id": "q1", "answers": {"a": {"state": "draft"}}}}
DRAFT = {"a": {"state": "draft"}}
YES = {"state": "submitted", "value": {"kind": "boolean", "value": True}}
TURN = finished_turn("t0")
START = {"type": "chat/turnStarted", "turnId": "t2", "startedAt": NOW, "message": MESSAGE}
TOOL = {"toolName": "shell", "displayName": "Shell"}
APPROVE = an("Confirmed", approved=True, confirmed="setting")
REFUSE = an("Confirmed", approved=False, reason="denied")
PC, STR, RUN = "pending-confirmation", "streaming", "running"
PRC, AUTHR = "pending-result-confirmation", "auth-required"

SESSION = [
    session_case("defaultChatChanged", "defaultChat", "ahp-chat:/1", "ahp-chat:/2"),
    session_case("activityChanged", "activity", "old", "new"),
    session_case("activityChanged", "activity", "old", ""),
    session_case("changesetsChanged", "changesets", [{"uri": "x"}], [], null=ABSENT),
    session_case("metaChanged", "_meta", {"a": 1}, {}),
    config_case("session", session()),
    Case(
        session(customizations=[SERVER]),
        {"type": "session/mcpServerStateChanged", "id": "m", "state": {"kind": "ready"}},
        "channel",
        "mcp://2",
        ("customizations", 0, "channel"),
        ABSENT,
        None,
        "mcp://2",
    ),
]

CHAT = [
    Case(
        idle_chat(queuedMessages=QUEUED), START, "queuedMessageId", "q", ("queuedMessages",),
        QUEUED, QUEUED, ABSENT,
    ),
    ignored(idle_chat(), START, "activeTurn"),
    ignored(
        chat(TEXT),
        {"type": "chat/delta", "turnId": "t1", "partId": "m1", "content": "x"},
        "activeTurn", "responseParts", 0,
    ),
    ignored(
        chat(THOUGHT),
        {"type": "chat/reasoning", "turnId": "t1", "partId": "r1", "content": "x"},
        "activeTurn", "responseParts", 0,
    ),
    ignored(
        chat(),
        {"type": "chat/responsePart", "turnId": "t1", "part": TEXT},
        "activeTurn", "responseParts", 0,
    ),
    ignored(chat(), {"type": "chat/usage", "turnId": "t1", "usage": {}}, "activeTurn", "usage"),
    ignored(chat(), {"type": "chat/turnComplete", "turnId": "t1", "duration": 1}, "turns", 0),
    ignored(chat(), {"type": "chat/turnCancelled", "turnId": "t1", "duration": 1}, "turns", 0),
    ignored(
        chat(), {"type": "chat/error", "turnId": "t1", "duration": 1, "part": {}}, "turns", 0
    ),
    chat_case("activityChanged", "activity", "old", "new"),
    chat_case("draftChanged", "draft", MESSAGE, {**MESSAGE, "text": ""}),
    chat_case("changesetsChanged", "changesets", [{"uri": "x"}], [], null=ABSENT),
    chat_case("canvasesChanged", "canvases", [{"resource": "x"}], [], null=ABSENT),
    chat_case("turnsLoaded", "turnsNextCursor", "old", "new", turns=[TURN]),
    Case(
        chat(turns=[TURN, finished_turn("t1")]), {"type": "chat/truncated"}, "turnId", "t0",
        ("turns",), [], UNCHANGED, [TURN],
    ),
    Case(
        chat(ASKED), {"type": "chat/inputAnswerChanged", "requestId": "q1", "questionId": "a"},
        "answer", YES, ANSWERS, ABSENT, {"a": None}, {"a": YES},
    ),
    Case(
        chat(ASKED), {"type": "chat/inputCompleted", "requestId": "q1", "response": "accept"},
        "answers", {"a": YES}, ANSWERS, DRAFT, DRAFT, {"a": YES},
    ),
]  # fmt: skip

TOOL_CALLS = [
    *(
        Case(
            chat(), an("Start", **TOOL), field, value, (*CALL, field), ABSENT, None, value
        )
        for field, value in [("intention", ""), ("contributor", CLIENT), ("_meta", {})]
    ),
    call_case(STR, an("Delta"), "content", "!", "partialInput", '{"cmd"', '{"cmd"', '{"cmd"!'),
    kept(STR, "invocationMessage", "", an("Delta")),
    meta(STR, an("Delta"), null=None),
    meta(RUN, an("ContentChanged", content=[]), null=None),
    *(kept(PC, field, value) for field, value in [
        ("toolInput", ""),
        ("confirmationTitle", ""),
        ("riskAssessment", {"kind": "judge", "status": "complete"}),
        ("edits", {}),
        ("editable", False),
        ("options", []),
        ("intention", ""),
        ("contributor", {**MCP, "customizationId": "other"}),
    ]),
    *(call_case(STR, ready(), field, value, field, ABSENT, ABSENT, value) for field, value in [
        ("toolInput", ""),
        ("confirmationTitle", ""),
        ("riskAssessment", {"kind": "judge", "status": "complete"}),
        ("edits", {}),
        ("editable", False),
        ("options", []),
    ]),
    kept(RUN, "toolInput", ""),
    call_case(RUN, ready(), "confirmed", "setting", "status", PC, PC, RUN),
    meta(PC, ready(), null={"a": 1}),
    call_case(PC, APPROVE, "editedToolInput", "", "toolInput", "ls", None, ""),
    call_case(
        PC, APPROVE, "selectedOptionId", "allow", "selectedOption", ABSENT, ABSENT, ALLOW
    ),
    call_case(PC, REFUSE, "selectedOptionId", "deny", "selectedOption", ABSENT, ABSENT, DENY),
    call_case(PC, REFUSE, "reasonMessage", "", "reasonMessage", ABSENT, None, ""),
    call_case(PC, REFUSE, "userSuggestion", MESSAGE, "userSuggestion", ABSENT, None, MESSAGE),
    meta(PC, APPROVE, null={"a": 1}),
    meta(PC, REFUSE, null={"a": 1}),
    call_case(
        RUN, an("Complete", result=OK), "requiresResultConfirmation", True, "status",
        "completed", "completed", PRC,
    ),
    meta(RUN, an("Complete", result=FAILED), null={"a": 1}),
    meta(PRC, an("ResultConfirmed", approved=True), null={"a": 1}),
    meta(PRC, an("ResultConfirmed", approved=False), null={"a": 1}),
    meta(RUN, an("AuthRequired", auth=AUTH), null={"a": 1}),
    meta(AUTHR, an("AuthResolved"), null={"a": 1}),
]  # fmt: skip

TERMINAL = {
    "title": "sh", "content": [], "claim": {"kind": "client", "clientId": "c"},
    "lifecycle": {"status": "exited", "exitCode": 1},
}  # fmt: skip
COMMAND = {
    "type": "command", "commandId": "k", "commandLine": "ls", "output": "", "timestamp": 1,
    "isComplete": True, "exitCode": 1, "durationMs": 5,
}  # fmt: skip
OPERATION = {"id": "o", "label": "O", "scopes": ["changeset"], "status": "idle"}
FAILURE, OTHER_FAILURE = {"errorType": "a", "message": "b"}, {"errorType": "c", "message": "d"}
BROKEN = {"status": "error", "files": [], "operations": [OPERATION], "error": FAILURE}
FINISHED = {"type": "terminal/commandFinished", "commandId": "k"}
SPOT = {"start": {"line": 1, "character": 0}, "end": {"line": 1, "character": 2}}
OTHER_SPOT = {"start": {"line": 2, "character": 0}, "end": {"line": 2, "character": 2}}
REMARK = {
    "id": "a", "origin": {"session": "s", "turnId": "t1"}, "resource": "file:///a",
    "range": SPOT, "resolved": True, "entries": [{"id": "e", "text": "x"}],
}  # fmt: skip


def remark_case(field: str, value: Any) -> Case:
    """Return a field of a partial update, which can set but never clear."""
    action = {"type": "annotations/updated", "annotationId": "a"}
    shows, old = ("annotations", 0, field), REMARK[field]
    return Case({"annotations": [REMARK]}, action, field, value, shows, old, old, value)


WORKSPACE = [
    config_case("root", {"agents": []}),
    Case(
        TERMINAL, {"type": "terminal/exited"}, "exitCode", 0,
        ("lifecycle", "exitCode"), ABSENT, ABSENT, 0,
    ),
    *(
        Case(
            {**TERMINAL, "content": [COMMAND]}, FINISHED, field, 0,
            ("content", 0, field), ABSENT, None, 0,
        )
        for field in ("exitCode", "durationMs")
    ),
    Case(
        BROKEN, {"type": "changeset/statusChanged", "status": "error"}, "error", OTHER_FAILURE,
        ("error",), ABSENT, None, OTHER_FAILURE,
    ),
    Case(
        BROKEN, {"type": "changeset/statusChanged", "status": "ready"}, "error", OTHER_FAILURE,
        ("error",), ABSENT, ABSENT, ABSENT,
    ),
    Case(
        BROKEN, {"type": "changeset/contentChanged", "files": []}, "operations", [],
        ("operations",), [OPERATION], [OPERATION], [],
    ),
    Case(
        BROKEN, {"type": "changeset/operationsChanged"}, "operations", [],
        ("operations",), ABSENT, None, [],
    ),
    Case(
        BROKEN,
        {"type": "changeset/operationStatusChanged", "operationId": "o", "status": "error"},
        "error", FAILURE, ("operations", 0, "error"), ABSENT, None, FAILURE,
    ),
    remark_case("origin", {"session": "ahp-session:/s"}),
    remark_case("resource", "file:///b"),
    remark_case("range", OTHER_SPOT),
    remark_case("resolved", False),
    Case(
        {"sessions": ["s1", "s2"], "primarySession": "s1"},
        {"type": "automationRun/primarySessionChanged"}, "primarySession", "s2",
        ("primarySession",), ABSENT, None, "s2",
    ),
]  # fmt: skip

CASES = [*SESSION, *CHAT, *TOOL_CALLS, *WORKSPACE]
IDS = [f"{case.name[0]} {case.field} {number}" for number, case in enumerate(CASES)]


def seen(state: Any, path: tuple[str | int, ...]) -> Any:
    for step in path:
        if isinstance(step, str) and step not in state:
            return ABSENT
        state = state[step]
    return state


def check(case: Case, action: dict[str, Any], expected: Any) -> None:
    if expected is UNCHANGED:
        assert changes_nothing(case.state, action)
        return
    shown = seen(reduced(case.state, action), case.shows)
    assert same(shown, expected), f"{shown!r} is not {expected!r}"


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_absent(case: Case) -> None:
    check(case, case.action, case.absent)


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_null(case: Case) -> None:
    check(case, {**case.action, case.field: None}, case.null)


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_present(case: Case) -> None:
    check(case, {**case.action, case.field: case.value}, case.present)


def optional_fields(module: ModuleType) -> set[tuple[str, str]]:
    """Return the optional fields of the actions that a module defines."""
    found = set()
    for member in vars(module).values():
        kind = typing.get_type_hints(member).get("type") if is_typeddict(member) else None
        for action_type in typing.get_args(kind):
            if action_type in reducers:
                found |= {(action_type, field) for field in member.__optional_keys__}
    return found


def test_every_optional_field_of_every_action_is_in_the_table() -> None:
    modules: list[ModuleType] = [
        session_actions,
        chat_actions,
        terminal,
        changeset,
        annotations_channel,
        root,
        resource_watch,
        automation_actions,
        run_actions,
        canvas,
    ]
    fields = set().union(*map(optional_fields, modules))
    assert len(fields) > 40
    assert {case.name for case in CASES} == fields


def test_what_a_state_holds_as_null_is_as_good_as_absent() -> None:
    nothing = idle_chat(activeTurn=None, queuedMessages=None, steeringMessage=None)
    assert changes_nothing(nothing, {"type": "chat/usage", "turnId": "t1", "usage": {}})
    started = reduced(nothing, {**START, "queuedMessageId": "q"})
    assert started["queuedMessages"] is None
    assert started["modifiedAt"] != THEN
    no_list = session(workingDirectories=None, inputNeeded=None, customizations=None)
    assert changes_nothing(no_list, {"type": "session/inputNeededRemoved", "id": "x"})
    assert changes_nothing(no_list, {"type": "session/customizationRemoved", "id": "x"})
    directory = {"type": "session/workingDirectorySet", "directory": "file:///a"}
    assert reduced(no_list, directory)["workingDirectories"] == ["file:///a"]


@pytest.mark.parametrize("field", ["toolInput", "intention", "contributor", "_meta"])
def test_a_null_that_a_call_holds_is_carried_along_as_null(field: str) -> None:
    call = {**a_call(PC), field: None}
    state = reduced(chat_with(call), APPROVE, an("Complete", result=OK))
    assert seen(state, (*CALL, field)) is None


@pytest.mark.parametrize("status", [RUN, AUTHR])
def test_a_null_option_or_content_is_dropped_when_a_call_moves_on(status: str) -> None:
    call = {**a_call(status), "selectedOption": None, "content": None}
    action = an("AuthResolved") if status == AUTHR else an("AuthRequired", auth=AUTH)
    state = reduced(chat_with(call), action)
    assert seen(state, (*CALL, "selectedOption")) is ABSENT
    assert seen(state, (*CALL, "content")) is ABSENT
