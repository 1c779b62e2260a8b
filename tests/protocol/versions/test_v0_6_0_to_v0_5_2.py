"""Every mapping between 0.6.0 and 0.5.2."""

from __future__ import annotations

from typing import Any

import pytest

from agenthost.protocol.versions import reduce, translator
from tests.protocol.versions.samples import (
    NOW,
    STARTED,
    Json,
    call,
    chat,
    down,
    followed,
    message,
    on_call,
    sent,
    session,
    tool_part,
    up,
    why_not,
)

OLD = "0.5.2"
LADDER = translator(OLD)

MCP = {"kind": "mcp", "customizationId": "m"}
AUTH = {"reason": "required", "resource": {"resource": "https://r"}}
MARKDOWN = {"kind": "markdown", "id": "p", "content": ""}


def asked(request_id: str, **members: Any) -> Json:
    return {"kind": "inputRequest", "request": {"id": request_id}, **members}


def untimed(*parts: Json, **members: Any) -> Json:
    state = chat(*parts, **members)
    if "activeTurn" in state:
        del state["activeTurn"]["startedAt"]
    return state


# Input requests


def test_open_requests_move_out_of_the_active_turn_and_back() -> None:
    first = {"kind": "inputRequest", "request": {"id": "1", "answers": {"q": {"state": "skipped"}}}}
    new = chat(first, MARKDOWN, asked("2"), asked("0", response="accept"), status=24)
    old = down(OLD, "chat", new)
    assert old == untimed(
        MARKDOWN,
        asked("0", response="accept"),
        inputRequests=[first["request"], {"id": "2"}],
        status=24,
    )
    climbed = LADDER.state_up("chat", old)
    assert climbed == untimed(MARKDOWN, asked("0", response="accept"), first, asked("2"), status=24)


def test_a_chat_without_open_requests_has_no_list_of_them() -> None:
    assert "inputRequests" not in down(OLD, "chat", chat(MARKDOWN))


def test_requests_that_were_never_answered_are_left_out_of_history() -> None:
    turn: Json = {"id": "u", "message": message(), "state": "complete"}
    new = {**turn, "responseParts": [asked("1"), MARKDOWN, asked("2", response="cancel")]}
    old = {**turn, "responseParts": [MARKDOWN, asked("2", response="cancel")]}
    assert down(OLD, "chat", chat(active=False, turns=[new]))["turns"] == [old]
    loaded = {"type": "chat/turnsLoaded", "turns": [new]}
    assert sent(OLD, "chat", chat(active=False), loaded) == [{**loaded, "turns": [old]}]
    assert LADDER.result_down("fetchTurns", {}, {"turns": [new]}) == {"turns": [old]}


def test_requests_of_an_idle_chat_have_no_place_in_the_model() -> None:
    old = untimed(active=False, inputRequests=[{"id": "1"}], status=24 + 64)
    assert LADDER.state_up("chat", old) == chat(active=False, status=1 + 64)


@pytest.mark.parametrize(
    "action",
    [
        {"type": "chat/inputRequested", "request": {"id": "2"}},
        {"type": "chat/inputAnswerChanged", "requestId": "1", "questionId": "q", "answer": {}},
        {"type": "chat/inputCompleted", "requestId": "1", "response": "accept"},
    ],
    ids=lambda action: str(action["type"]),
)
def test_the_actions_of_requests_are_the_same_in_both(action: Json) -> None:
    state = chat(asked("1"), status=24)
    assert sent(OLD, "chat", state, action) == [action]
    assert up(OLD, "chat", state, action) is action


def test_a_part_that_is_an_open_request_is_told_as_a_request() -> None:
    part = {"type": "chat/responsePart", "turnId": "t", "part": asked("1")}
    requested = {"type": "chat/inputRequested", "request": {"id": "1"}}
    assert sent(OLD, "chat", chat(), part) == [requested]
    resolved = {**part, "part": asked("1", response="accept")}
    assert sent(OLD, "chat", chat(), resolved) == [resolved]


# Status


@pytest.mark.parametrize(
    ("parts", "new", "old"),
    [
        ([tool_part("auth-required", auth=AUTH)], 24, 8),
        ([tool_part("auth-required", auth=AUTH)], 24 + 32, 8 + 32),
        ([tool_part("auth-required", auth=AUTH), asked("1")], 24, 24),
        ([tool_part("auth-required", auth=AUTH), tool_part("pending-confirmation")], 24, 24),
        ([tool_part("pending-result-confirmation")], 24, 24),
        # Not every action recomputes the status, in either version.
        ([tool_part("pending-confirmation")], 8, 8),
        ([asked("1")], 24, 24),
    ],
)
def test_the_status_is_what_the_old_reducer_would_compute(
    parts: list[Json], new: int, old: int
) -> None:
    assert down(OLD, "chat", chat(*parts, status=new))["status"] == old


@pytest.mark.parametrize("status", [1, 2, 33, 66])
def test_the_status_of_an_idle_chat_stays(status: int) -> None:
    state = chat(active=False, status=status)
    assert down(OLD, "chat", state) is state


# Times


def test_turns_have_no_times_in_the_old_version() -> None:
    turn: Json = {"id": "u", "message": message(), "responseParts": [], "state": "complete"}
    timed = {**turn, "startedAt": STARTED, "duration": 5}
    assert down(OLD, "chat", chat(turns=[timed])) == untimed(turns=[turn])


def test_actions_have_no_times_in_the_old_version() -> None:
    started = {"type": "chat/turnStarted", "turnId": "u", "message": message()}
    assert sent(OLD, "chat", chat(active=False), {**started, "startedAt": STARTED}) == [started]
    for name in ("turnComplete", "turnCancelled"):
        ended = {"type": f"chat/{name}", "turnId": "t"}
        assert sent(OLD, "chat", chat(), {**ended, "duration": 5}) == [ended]
    failed = {"type": "chat/error", "turnId": "t"}
    error = {"errorType": "e", "message": "m"}
    part = {"kind": "error", "error": error}
    told = sent(OLD, "chat", chat(), {**failed, "duration": 5, "part": part})
    assert told == [{**failed, "error": error}]


@pytest.mark.parametrize("given", [{}, {"startedAt": None}])
def test_a_turn_that_an_old_client_starts_begins_when_it_is_received(given: Json) -> None:
    started = {"type": "chat/turnStarted", "turnId": "u", "message": message()}
    climbed = up(OLD, "chat", chat(active=False), {**started, **given})
    assert climbed == {**started, "startedAt": NOW}


@pytest.mark.parametrize(
    ("started", "duration"),
    [
        (STARTED, 4500),
        ("2026-01-01T00:00:05.4999Z", 0),
        ("2026-01-01T01:00:05.000+01:00", 500),
        ("2027-01-01T00:00:00.000Z", 0),
        ("2026-01-01T00:00:00", 0),
        ("yesterday", 0),
        (None, 0),
    ],
)
def test_a_cancellation_by_an_old_client_is_measured_by_the_host(
    started: str | None, duration: int
) -> None:
    state = untimed()
    if started is not None:
        state["activeTurn"]["startedAt"] = started
    cancelled = {"type": "chat/turnCancelled", "turnId": "t"}
    assert up(OLD, "chat", state, cancelled) == {**cancelled, "duration": duration}
    assert up(OLD, "chat", state, {**cancelled, "duration": None})["duration"] == duration


def test_a_cancellation_without_a_turn_took_no_time() -> None:
    cancelled = {"type": "chat/turnCancelled", "turnId": "t"}
    assert up(OLD, "chat", chat(active=False), cancelled)["duration"] == 0


def test_what_an_old_host_did_not_time_stays_untimed() -> None:
    started = {"type": "chat/turnStarted", "turnId": "u", "message": message()}
    state = reduce(
        "chat", chat(active=False), up(OLD, "chat", chat(), started, sender="host"), now=0
    )
    assert "startedAt" not in state["activeTurn"]
    ended = {"type": "chat/turnComplete", "turnId": "u"}
    state = reduce("chat", state, up(OLD, "chat", state, ended, sender="host"), now=0)
    assert not {"startedAt", "duration"} & state["turns"][0].keys()


# Tool calls


def test_a_call_that_waits_for_authentication_looks_running() -> None:
    content = [{"type": "text", "text": "x"}]
    paused = tool_part("auth-required", auth=AUTH, contributor=MCP, content=content)
    running = tool_part("running", contributor=MCP, content=content)
    assert down(OLD, "chat", chat(paused, status=24)) == untimed(running, status=8)


def test_pausing_and_resuming_are_not_told() -> None:
    running = chat(tool_part("running", contributor=MCP, confirmed="setting"))
    required = on_call("AuthRequired", auth=AUTH)
    assert sent(OLD, "chat", running, required) == []
    paused = reduce("chat", running, required, now=0)
    assert paused["status"] == 24
    assert sent(OLD, "chat", paused, on_call("AuthResolved")) == []


PAUSED = chat(
    tool_part(
        "auth-required",
        auth=AUTH,
        contributor=MCP,
        confirmed="setting",
        content=[{"type": "text", "text": "so far"}],
    ),
    status=24,
)


def test_failing_a_paused_call_restates_what_it_had_and_asks_for_no_review() -> None:
    failed = on_call("Complete", result={"success": False, "pastTenseMessage": "no"})
    result = {**failed["result"], "content": [{"type": "text", "text": "so far"}]}
    told = sent(OLD, "chat", PAUSED, {**failed, "requiresResultConfirmation": True})
    assert told == [{**failed, "result": result}]


@pytest.mark.parametrize("content", [[], [{"type": "text", "text": "other"}]])
def test_failing_a_paused_call_with_content_restates_nothing(content: list[Json]) -> None:
    result = {"success": False, "pastTenseMessage": "no", "content": content}
    failed = on_call("Complete", result=result)
    assert sent(OLD, "chat", PAUSED, failed) == [failed]


@pytest.mark.parametrize(
    "action",
    [
        on_call("Complete", result={"success": True, "pastTenseMessage": ""}),
        on_call("ContentChanged", content=[]),
        on_call("Ready", invocationMessage="m"),
        on_call("Ready", invocationMessage="m", confirmed="setting"),
        on_call("Confirmed", approved=True, confirmed="setting"),
    ],
)
def test_what_a_paused_call_ignores_is_not_told(action: Json) -> None:
    assert sent(OLD, "chat", PAUSED, action) == []


def test_completing_a_call_that_is_not_paused_stays_as_it_is() -> None:
    state = chat(tool_part("running", confirmed="setting"))
    result = {"success": True, "pastTenseMessage": ""}
    completed = on_call("Complete", result=result, requiresResultConfirmation=True)
    assert sent(OLD, "chat", state, completed) == [completed]


SHOWN = {
    "confirmationTitle": "title",
    "edits": {"items": []},
    "editable": False,
    "options": [],
}


@pytest.mark.parametrize("status", ["streaming", "running"])
def test_ready_says_everything_that_the_call_then_shows(status: str) -> None:
    state = chat(tool_part(status, toolInput="old", confirmed="setting"))
    ready = on_call("Ready", invocationMessage="m", riskAssessment={"kind": "judge"}, **SHOWN)
    kept = {} if status == "streaming" else {"toolInput": "old"}
    plain = on_call("Ready", invocationMessage="m", **SHOWN)
    assert sent(OLD, "chat", state, ready) == [{**plain, **kept}]


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({}, {}),
        ({"toolInput": "old"}, {}),
        ({"toolInput": "new"}, {"editedToolInput": "new"}),
        ({"toolInput": ""}, {"editedToolInput": ""}),
        ({"_meta": {}}, {"_meta": {}}),
    ],
)
def test_approving_a_pending_call_by_ready_is_told_as_a_confirmation(
    given: Json, told: Json
) -> None:
    state = chat(tool_part("pending-confirmation", toolInput="old", **SHOWN), status=24)
    ready = on_call("Ready", invocationMessage="m", confirmed="setting", **given)
    expected = on_call("Confirmed", approved=True, confirmed="setting", **told)
    assert sent(OLD, "chat", state, ready) == [expected]


@pytest.mark.parametrize(
    "given",
    [
        {"invocationMessage": "new"},
        {"toolInput": "rm -rf /"},
        {"options": [{"id": "always", "label": "Always", "kind": "approve"}]},
        {"confirmationTitle": "new", "edits": {"items": [{}]}, "editable": True},
        {"_meta": {"k": 1}, "confirmed": ""},
        {"invocationMessage": "new", "confirmed": "setting"},
        {"invocationMessage": "new", "confirmed": "setting", "toolInput": "other"},
    ],
)
def test_nobody_is_left_with_what_a_waiting_call_was_going_to_do_before(given: Json) -> None:
    waiting = tool_part("pending-confirmation", toolInput="ls", _meta={"k": 0}, **SHOWN)
    ready = on_call("Ready", **{"invocationMessage": "m", **given})
    assert len(sent(OLD, "chat", chat(waiting, status=24), ready)) == 2
    held, fresh = followed(OLD, "chat", chat(waiting, status=24), ready)
    assert held == fresh


@pytest.mark.parametrize("given", [{}, {"riskAssessment": {"kind": "judge"}}])
def test_a_waiting_call_of_which_only_the_risk_is_new_is_not_told_anew(given: Json) -> None:
    state = chat(tool_part("pending-confirmation", **SHOWN), status=24)
    assert sent(OLD, "chat", state, on_call("Ready", invocationMessage="m", **given)) == []


def test_a_stray_ready_that_only_clears_an_error_is_told() -> None:
    stray = on_call("Ready", invocationMessage="m")
    assert sent(OLD, "chat", chat(active=False, status=2), stray) == [stray]


def test_ready_on_a_pending_call_means_nothing_from_an_old_host() -> None:
    state = chat(tool_part("pending-confirmation"), status=24)
    assert why_not(OLD, "chat", state, on_call("Ready", invocationMessage="m"), sender="host")
    running = chat(tool_part("running", confirmed="setting"))
    assert not why_not(OLD, "chat", running, on_call("Ready", invocationMessage="m"), sender="host")


def test_the_risk_of_a_call_is_not_told() -> None:
    state = chat(tool_part("pending-confirmation", riskAssessment={"kind": "judge"}))
    assert down(OLD, "chat", state) == untimed(tool_part("pending-confirmation"))


def test_system_notifications_carry_no_metadata() -> None:
    part = {"kind": "systemNotification", "content": "x"}
    noted = {"type": "chat/responsePart", "turnId": "t", "part": {**part, "_meta": {}}}
    assert sent(OLD, "chat", chat(), noted) == [{**noted, "part": part}]
    assert down(OLD, "chat", chat({**part, "_meta": {}})) == untimed(part)


# Sessions

NEEDED: Json = {"chat": "c", "turnId": "t"}
AUTHENTICATION = {**NEEDED, "id": "a", "kind": "toolAuthentication", "toolCall": call("x")}
CONFIRMATION = {**NEEDED, "id": "b", "kind": "toolConfirmation", "toolCall": call("y")}


def test_a_wait_for_authentication_is_not_listed() -> None:
    both = session(inputNeeded=[AUTHENTICATION, CONFIRMATION], status=24)
    assert down(OLD, "session", both) == session(inputNeeded=[CONFIRMATION], status=24)
    alone = session(inputNeeded=[AUTHENTICATION], status=24 + 64)
    assert down(OLD, "session", alone) == session(status=8 + 64)


def test_listing_a_wait_for_authentication_is_not_told_but_unlisting_may_be() -> None:
    added = {"type": "session/inputNeededSet", "request": AUTHENTICATION}
    assert sent(OLD, "session", session(), added) == []
    removed = {"type": "session/inputNeededRemoved", "id": "a"}
    listed = session(inputNeeded=[AUTHENTICATION], status=24)
    assert sent(OLD, "session", listed, removed) == [removed]


def test_a_wait_for_authentication_takes_away_what_it_replaces() -> None:
    before = session(inputNeeded=[{**CONFIRMATION, "id": "a"}], status=24)
    replaced = {"type": "session/inputNeededSet", "request": AUTHENTICATION}
    assert sent(OLD, "session", before, replaced) == [
        {"type": "session/inputNeededRemoved", "id": "a"}
    ]


def test_a_pre_registered_oauth_client_is_not_told() -> None:
    state = {"kind": "authRequired", **AUTH}
    newer = {**state, "oauthClient": {"clientId": "o"}}
    changed = {"type": "session/mcpServerStateChanged", "id": "m"}
    server = {"type": "mcpServer", "id": "m", "state": {"kind": "ready"}}
    before = session(customizations=[server])
    assert sent(OLD, "session", before, {**changed, "state": newer}) == [
        {**changed, "state": state}
    ]
    plugin = {"type": "plugin", "id": "p", "children": [{**server, "state": newer}]}
    held = session(customizations=[{**server, "state": newer}, plugin])
    older = {**server, "enabled": True, "state": state}
    assert down(OLD, "session", held)["customizations"] == [
        older,
        {**plugin, "enabled": True, "children": [older]},
    ]


def test_scopes_are_not_asked_of_an_old_host() -> None:
    params = {"resource": "r", "token": "t"}
    assert LADDER.params_down("authenticate", {**params, "scopes": ["s"]}) == params
    assert LADDER.params_up("authenticate", params) is params


# Changesets

FILE: Json = {"id": "f", "edit": {}}
CHANGESET = {"status": "ready", "files": [FILE]}


def test_the_capabilities_of_a_changeset_are_not_told() -> None:
    entry = {"label": "x", "uriTemplate": "u", "changeKind": "turn"}
    newer = {**entry, "capabilities": {"review": {}}}
    assert down(OLD, "session", session(changesets=[newer])) == session(changesets=[entry])
    changed = {"type": "session/changesetsChanged", "changesets": [newer]}
    assert sent(OLD, "session", session(), changed) == [{**changed, "changesets": [entry]}]


def test_a_file_that_can_be_reviewed_says_that_it_was_not() -> None:
    unreviewed = {**FILE, "reviewed": False}
    assert LADDER.state_down("changeset", CHANGESET)["files"] == [unreviewed]
    file_set = {"type": "changeset/fileSet", "file": FILE}
    empty = {"status": "ready", "files": []}
    assert sent(OLD, "changeset", empty, file_set) == [{**file_set, "file": unreviewed}]


def test_a_file_that_cannot_be_reviewed_says_nothing() -> None:
    assert LADDER.state_down("changeset", CHANGESET, reviewable=False) is CHANGESET
    file_set = {"type": "changeset/fileSet", "file": FILE}
    empty = {"status": "ready", "files": []}
    assert sent(OLD, "changeset", empty, file_set, reviewable=False) == [file_set]


def test_reviewing_files_is_called_otherwise_and_the_hosts_alone() -> None:
    new = {"type": "changeset/filesReviewChanged", "files": ["f"], "reviewed": True}
    old = {"type": "changeset/filesReviewedChanged", "fileIds": ["f"], "reviewed": True}
    assert sent(OLD, "changeset", CHANGESET, new) == [old]
    assert sent(OLD, "changeset", CHANGESET, new, sender="client") == []
    assert up(OLD, "changeset", CHANGESET, old, sender="host") == new
    assert "host" in why_not(OLD, "changeset", CHANGESET, old)
    assert why_not(OLD, "changeset", CHANGESET, new)
