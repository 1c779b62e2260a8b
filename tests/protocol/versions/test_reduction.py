"""The public reduce function, and what older reducers do otherwise beyond their fixtures."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from agenthost.protocol.versions import SUPPORTED_VERSIONS, reduce

Json = dict[str, Any]

ROOT: Json = {"agents": []}
COUNTED = {"type": "root/activeSessionsChanged", "activeSessions": 1}


MESSAGE: Json = {"text": "", "origin": {"kind": "user"}}


def chat(*parts: Json, **members: Any) -> Json:
    turn = {"id": "t", "message": MESSAGE}
    state = {"resource": "ahp-chat:/1", "title": "", "status": 8, "modifiedAt": "", "turns": []}
    return {**state, "activeTurn": {**turn, "responseParts": list(parts)}, **members}


def call(status: str, **members: Any) -> Json:
    base = {"toolCallId": "c", "toolName": "n", "displayName": "N"}
    return {"kind": "toolCall", "toolCall": {**base, "status": status, **members}}


def on_call(name: str, **members: Any) -> Json:
    return {"type": f"chat/toolCall{name}", "turnId": "t", "toolCallId": "c", **members}


def only_call(state: Json) -> Json:
    (part,) = state["activeTurn"]["responseParts"]
    found: Json = part["toolCall"]
    return found


@pytest.mark.parametrize("version", SUPPORTED_VERSIONS)
def test_an_action_is_reduced_in_every_version(version: str) -> None:
    state = reduce("root", ROOT, COUNTED, now=0, version=version)
    assert state == {"agents": [], "activeSessions": 1}


@pytest.mark.parametrize("version", SUPPORTED_VERSIONS)
@pytest.mark.parametrize(
    "action",
    [
        {"type": "chat/draftChanged"},
        {"type": "root/unknown"},
        {"type": "nonsense"},
        {"type": None},
        {"type": ["root/agentsChanged"]},
        {},
    ],
)
def test_what_does_not_concern_the_channel_gives_back_the_very_state(
    version: str, action: Json
) -> None:
    assert reduce("root", ROOT, action, now=0, version=version) is ROOT


@pytest.mark.parametrize("kind", ["", "Root", "mcp", "chat/delta"])
@pytest.mark.parametrize("version", SUPPORTED_VERSIONS)
def test_an_unknown_kind_of_channel_is_an_error(kind: str, version: str) -> None:
    with pytest.raises(ValueError, match="kind"):
        reduce(kind, ROOT, COUNTED, now=0, version=version)


@pytest.mark.parametrize("version", ["", "0.4.0", "0.5.3", "0.10.0", "1.0.1", "newest"])
def test_a_version_that_we_do_not_speak_is_an_error(version: str) -> None:
    with pytest.raises(ValueError, match="version"):
        reduce("root", ROOT, COUNTED, now=0, version=version)


# Before 0.9.0 reducers read a clock.
CLOCKED = SUPPORTED_VERSIONS[2:]


@pytest.mark.parametrize("version", CLOCKED)
@pytest.mark.parametrize(
    "now", [9999, 9999.7, "1970-01-01T00:00:09.999Z", datetime(1970, 1, 1, 0, 0, 9, 999000, UTC)]
)
def test_the_time_may_be_given_in_any_form(version: str, now: Any) -> None:
    state = reduce("chat", chat(), {"type": "chat/truncated"}, now=now, version=version)
    assert state["modifiedAt"] == "1970-01-01T00:00:09.999Z"


STARTED = "2026-01-01T01:00:00.000+01:00"
BEGUN = {"type": "chat/turnStarted", "turnId": "t", "startedAt": STARTED, "message": MESSAGE}


@pytest.mark.parametrize("version", SUPPORTED_VERSIONS)
@pytest.mark.parametrize(
    ("action", "told"),
    [
        (BEGUN, STARTED),
        (
            {"type": "chat/turnComplete", "turnId": "t", "duration": 1500},
            "2026-01-01T00:00:01.500Z",
        ),
        ({"type": "chat/turnCancelled", "turnId": "t", "duration": -5}, "2026-01-01T00:00:00.000Z"),
        ({"type": "chat/truncated"}, "before"),
        ({"type": "chat/inputRequested", "request": {"id": "r"}}, "before"),
    ],
)
def test_since_0_9_0_a_chat_was_changed_when_the_actions_say_so(
    version: str, action: Json, told: str
) -> None:
    state = chat(modifiedAt="before")
    state["activeTurn"]["startedAt"] = STARTED
    after = reduce("chat", state, action, now=0, version=version)
    clock = "1970-01-01T00:00:00.000Z"
    assert after["modifiedAt"] == (clock if version in CLOCKED else told)


@pytest.mark.parametrize("version", SUPPORTED_VERSIONS[:2])
def test_a_turn_whose_start_cannot_be_read_ends_all_the_same(version: str) -> None:
    state = chat(modifiedAt="before")
    state["activeTurn"]["startedAt"] = "some day"
    done = {"type": "chat/turnComplete", "turnId": "t", "duration": 1}
    after = reduce("chat", state, done, now=0, version=version)
    assert ("activeTurn" in after, after["modifiedAt"]) == (False, "before")


def test_a_time_without_a_zone_is_an_error() -> None:
    with pytest.raises(ValueError, match="zone"):
        reduce("root", ROOT, COUNTED, now=datetime(2026, 1, 1))


@pytest.mark.parametrize("version", SUPPORTED_VERSIONS[4:])
def test_an_old_delta_without_content_prints_undefined(version: str) -> None:
    state = reduce("chat", chat(call("streaming")), on_call("Delta"), now=0, version=version)
    assert only_call(state)["partialInput"] == "undefined"


@pytest.mark.parametrize(
    ("version", "status", "confirmed", "kept"),
    [
        ("0.7.0", "running", None, True),
        ("0.7.0", "pending-confirmation", "setting", True),
        ("0.6.0", "running", None, False),
        ("0.6.0", "running", "setting", False),
        ("0.6.0", "pending-confirmation", "setting", False),
        ("0.6.0", "pending-confirmation", None, True),
        ("0.5.2", "running", None, False),
        ("0.5.0", "running", "setting", False),
    ],
)
def test_what_an_omitted_input_means_to_ready(
    version: str, status: str, confirmed: str | None, kept: bool
) -> None:
    given = {} if confirmed is None else {"confirmed": confirmed}
    state = chat(call(status, toolInput="in", invocationMessage="m", confirmed="setting"))
    ready = on_call("Ready", invocationMessage="m", **given)
    after = reduce("chat", state, ready, now=0, version=version)
    assert ("toolInput" in only_call(after)) is kept


@pytest.mark.parametrize("version", ["0.5.2", "0.5.1", "0.5.0"])
def test_an_old_ready_ignores_a_pending_call_but_still_recomputes_the_status(version: str) -> None:
    pending = call("pending-confirmation", invocationMessage="old")
    ready = on_call("Ready", invocationMessage="new", confirmed="setting")
    settled = chat(pending, status=24)
    assert reduce("chat", settled, ready, now=0, version=version) is settled
    stale = reduce("chat", chat(pending, status=8), ready, now=0, version=version)
    assert (stale["status"], only_call(stale)["invocationMessage"]) == (24, "old")


@pytest.mark.parametrize(("version", "stored"), [("0.7.0", None), ("0.6.0", "e"), ("0.5.0", "e")])
def test_where_there_was_no_input_only_old_versions_store_an_edit(
    version: str, stored: str | None
) -> None:
    state = chat(call("pending-confirmation", invocationMessage="m"))
    edit = on_call("Confirmed", approved=True, confirmed="setting", editedToolInput="e")
    after = reduce("chat", state, edit, now=0, version=version)
    assert only_call(after).get("toolInput") == stored


@pytest.mark.parametrize("version", ["0.5.2", "0.5.1", "0.5.0"])
def test_old_requests_open_and_count_while_no_turn_runs(version: str) -> None:
    idle = chat(status=33)
    del idle["activeTurn"]
    asked = reduce(
        "chat",
        idle,
        {"type": "chat/inputRequested", "request": {"id": "r"}},
        now=0,
        version=version,
    )
    assert (asked["inputRequests"], asked["status"]) == ([{"id": "r"}], 24)
    answered = reduce(
        "chat",
        asked,
        {"type": "chat/inputCompleted", "requestId": "r", "response": "accept"},
        now=0,
        version=version,
    )
    assert ("inputRequests" in answered, answered["status"]) == (False, 1)


@pytest.mark.parametrize(("version", "recorded"), [("0.5.2", True), ("0.5.1", False)])
def test_an_answered_request_is_recorded_at_the_end_of_the_turn_in_one_version(
    version: str, recorded: bool
) -> None:
    markdown = {"kind": "markdown", "id": "p", "content": ""}
    answers = {"q": {"state": "skipped"}}
    state = chat(markdown, inputRequests=[{"id": "r", "answers": answers}], status=24)
    action = {"type": "chat/inputCompleted", "requestId": "r", "response": "decline"}
    after = reduce("chat", state, action, now=0, version=version)
    part = {
        "kind": "inputRequest",
        "request": {"id": "r", "answers": answers},
        "response": "decline",
    }
    assert after["activeTurn"]["responseParts"] == [markdown, *([part] if recorded else [])]
    assert after["status"] == 8


@pytest.mark.parametrize("version", ["0.5.2", "0.5.0"])
def test_an_open_request_keeps_an_old_chat_waiting_through_tool_calls(version: str) -> None:
    state = chat(inputRequests=[{"id": "r"}], status=24)
    stray = on_call("Complete", result={"success": True, "pastTenseMessage": ""})
    assert reduce("chat", state, stray, now=0, version=version) is state


@pytest.mark.parametrize("version", SUPPORTED_VERSIONS)
def test_only_newer_versions_toggle_children(version: str) -> None:
    plugin = {"type": "plugin", "id": "p", "children": [{"type": "rule", "id": "p/r"}]}
    state = {"customizations": [plugin]}
    decided = {"enabled": False, "enablement": [{"kind": "session", "enabled": False}]}
    action = {"type": "session/customizationToggled", "id": "p/r", **decided}
    after = reduce("session", state, action, now=0, version=version)
    assert (after is state) is (version in ("0.5.1", "0.5.0"))


# Before 0.9.0 and before 0.8.0 many shapes were others; what a state becomes shows which.
ENDED = {"type": "chat/error", "turnId": "t", "duration": 1}
FAILURE = {"errorType": "e", "message": "m"}


@pytest.mark.parametrize("version", SUPPORTED_VERSIONS)
def test_a_failure_is_the_last_part_of_its_turn_or_a_member_of_it(version: str) -> None:
    told = {"error": FAILURE, "part": {"kind": "error", "error": FAILURE}}
    (turn,) = reduce("chat", chat(), {**ENDED, **told}, now=0, version=version)["turns"]
    shown = (turn.get("error"), turn["responseParts"])
    assert shown == ((FAILURE, []) if version in CLOCKED else (None, [told["part"]]))


@pytest.mark.parametrize("version", SUPPORTED_VERSIONS)
def test_an_exit_is_a_lifecycle_or_a_code(version: str) -> None:
    running: Json = {}
    exited = {"type": "terminal/exited", "exitCode": 3}
    state = reduce("terminal", running, exited, now=0, version=version)
    since = {"lifecycle": {"status": "exited", "exitCode": 3}}
    assert state == ({"exitCode": 3} if version in CLOCKED else since)


@pytest.mark.parametrize("version", SUPPORTED_VERSIONS)
def test_new_content_left_no_error_standing_before_0_9_0(version: str) -> None:
    state = {"status": "error", "error": FAILURE, "files": []}
    action = {"type": "changeset/contentChanged", "files": [{"id": "f", "edit": {}}]}
    after = reduce("changeset", state, action, now=0, version=version)
    # Files came with an action of their own only later; the oldest versions ignore this one.
    assert after is state or ("error" in after) is (version not in CLOCKED)


@pytest.mark.parametrize("version", SUPPORTED_VERSIONS)
def test_a_session_that_could_not_be_made_is_called_otherwise_since_0_9_0(version: str) -> None:
    action = {"type": "session/creationFailed", "error": FAILURE}
    after = reduce("session", {"lifecycle": "creating"}, action, now=0, version=version)
    assert after["lifecycle"] == ("creationFailed" if version in CLOCKED else "failed")


@pytest.mark.parametrize("version", SUPPORTED_VERSIONS[:6])
def test_a_tool_that_runs_at_a_client_is_no_wait_for_input_since_0_8_0(version: str) -> None:
    request = {"id": "i", "kind": "toolClientExecution"}
    action = {"type": "session/inputNeededSet", "request": request}
    after = reduce("session", {"status": 8}, action, now=0, version=version)
    assert after["status"] == (8 if version in SUPPORTED_VERSIONS[:3] else 24)


@pytest.mark.parametrize("version", SUPPORTED_VERSIONS)
def test_a_server_was_only_on_or_off_before_0_8_0(version: str) -> None:
    server: Json = {"type": "mcpServer", "id": "m"}
    decisions = [{"kind": "session", "enabled": False}]
    action = {"type": "session/customizationToggled", "id": "m"}
    decided = {**action, "enabled": False, "enablement": decisions}
    state = {"customizations": [server]}
    (after,) = reduce("session", state, decided, now=0, version=version)["customizations"]
    since = version in SUPPORTED_VERSIONS[:3]
    assert after == {**server, **({"enablement": decisions} if since else {"enabled": False})}


def test_reviewing_files_has_another_name_in_one_version() -> None:
    state = {"status": "ready", "files": [{"id": "f", "edit": {}}]}
    old = {"type": "changeset/filesReviewedChanged", "fileIds": ["f"], "reviewed": True}
    new = {"type": "changeset/filesReviewChanged", "files": ["f"], "reviewed": True}
    reviewed = {"status": "ready", "files": [{"id": "f", "edit": {}, "reviewed": True}]}
    assert reduce("changeset", state, old, now=0, version="0.5.2") == reviewed
    assert reduce("changeset", state, new, now=0, version="0.5.2") is state
    assert reduce("changeset", state, new, now=0, version="0.6.0") == reviewed
    assert reduce("changeset", state, old, now=0, version="0.5.1") is state


def test_the_oldest_version_keeps_no_intention() -> None:
    start = on_call("Start", toolName="n", displayName="N", intention="why")
    assert "intention" in only_call(reduce("chat", chat(), start, now=0, version="0.5.1"))
    assert "intention" not in only_call(reduce("chat", chat(), start, now=0, version="0.5.0"))
