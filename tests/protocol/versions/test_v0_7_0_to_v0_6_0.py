"""Every mapping between 0.7.0 and 0.6.0."""

from __future__ import annotations

from typing import Any

import pytest

from agenthost.protocol.versions import (
    SUPPORTED_VERSIONS,
    Untranslatable,
    reduce,
    sequence_numbers_needed,
    translator,
)
from agenthost.protocol.versions.v0_7_0_to_v0_6_0.step import STASH
from agenthost.protocol.versions.v0_7_0_to_v0_6_0.terminals import fold_terminals
from tests.protocol.versions.samples import (
    NOW,
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

OLD = "0.6.0"
OLDER = SUPPORTED_VERSIONS[1:]
LADDER = translator(OLD)

A, B = "file:///a", "file:///b"

# Working directories


@pytest.mark.parametrize(
    ("directories", "expected"),
    [([A, B], {"workingDirectory": A}), ([], {}), (None, {})],
)
def test_the_first_working_directory_stands_for_all(
    directories: list[str] | None, expected: Json
) -> None:
    members: Json = {} if directories is None else {"workingDirectories": directories}
    state = session(**members, chats=[{"resource": "ahp-chat:/1", **members}])
    assert down(OLD, "session", state) == session(
        **expected, chats=[{"resource": "ahp-chat:/1", **expected}]
    )
    assert down(OLD, "chat", chat(**members)) == chat(**expected)


def test_a_single_working_directory_becomes_a_list_of_one() -> None:
    state = session(workingDirectory=A, chats=[{"resource": "c", "workingDirectory": B}])
    climbed = LADDER.state_up("session", state)
    assert climbed == session(
        workingDirectories=[A], chats=[{"resource": "c", "workingDirectories": [B]}]
    )
    assert LADDER.state_up("chat", chat(workingDirectory=A)) == chat(workingDirectories=[A])


@pytest.mark.parametrize("kind", ["session", "chat"])
def test_changes_of_working_directories_are_not_told(kind: str) -> None:
    state = session() if kind == "session" else chat()
    added = {"type": f"{kind}/workingDirectorySet", "directory": A}
    assert sent(OLD, kind, state, added) == []


def test_a_partial_update_tells_the_first_directory() -> None:
    state = session(chats=[{"resource": "c"}])
    update = {"type": "session/chatUpdated", "chat": "c"}
    changes = {"title": "x", "workingDirectories": [A, B]}
    (told,) = sent(OLD, "session", state, {**update, "changes": changes})
    assert told == {**update, "changes": {"title": "x", "workingDirectory": A}}


def test_a_partial_update_of_which_nothing_is_left_is_not_sent() -> None:
    state = session(chats=[{"resource": "c"}])
    changes: Json = {"workingDirectories": []}
    update = {"type": "session/chatUpdated", "chat": "c", "changes": changes}
    assert sent(OLD, "session", state, update) == []
    notice = {"channel": "r", "session": "s", "changes": changes}
    assert LADDER.notification_down("root/sessionSummaryChanged", notice) is None


def test_summaries_in_notifications_and_results_are_translated_both_ways() -> None:
    new, old = {"title": "x", "workingDirectories": [A]}, {"title": "x", "workingDirectory": A}
    for method, member in (
        ("root/sessionAdded", "summary"),
        ("root/sessionSummaryChanged", "changes"),
    ):
        assert LADDER.notification_down(method, {member: new}) == {member: old}
        assert LADDER.notification_up(method, {member: old}) == {member: new}
    assert LADDER.result_down("listSessions", {}, {"items": [new]}) == {"items": [old]}
    assert LADDER.result_up("listSessions", {}, {"items": [old]}) == {"items": [new]}


def test_creating_a_session_takes_one_directory_in_the_old_version() -> None:
    assert LADDER.params_up("createSession", {"workingDirectory": A}) == {"workingDirectories": [A]}
    assert LADDER.params_up("createSession", {"workingDirectory": None}) == {}
    assert LADDER.params_down("createSession", {"workingDirectories": [A, B]}) == {
        "workingDirectory": A
    }


@pytest.mark.parametrize("method", ["resolveSessionConfig", "sessionConfigCompletions"])
def test_the_directory_of_a_configuration_is_singular_in_every_version(method: str) -> None:
    params = {"workingDirectory": A}
    assert LADDER.params_up(method, params) is params
    assert LADDER.params_down(method, params) is params


# Chats


def test_a_side_chat_looks_like_any_chat_not_like_a_fork() -> None:
    side = {"kind": "sideChat", "chat": "c", "turnId": "t", "selection": {"text": "s"}}
    summary = {"resource": "c", "origin": side}
    assert down(OLD, "chat", chat(origin=side))["origin"] == {"kind": "user"}
    (told,) = sent(OLD, "session", session(), {"type": "session/chatAdded", "summary": summary})
    assert told["summary"] == {"resource": "c", "origin": {"kind": "user"}}


def test_other_origins_stay() -> None:
    fork = {"kind": "fork", "chat": "c", "turnId": "t"}
    state = chat(origin=fork)
    assert down(OLD, "chat", state) is state


def test_an_old_source_is_a_fork() -> None:
    old = {"chat": "new", "source": {"chat": "c", "turnId": "t"}}
    new = {"chat": "new", "source": {"kind": "fork", "chat": "c", "turnId": "t"}}
    assert LADDER.params_up("createChat", old) == new
    assert LADDER.params_down("createChat", {**new, "workingDirectories": [A]}) == old


def test_an_old_host_cannot_be_asked_for_a_side_chat() -> None:
    source = {"kind": "sideChat", "chat": "c", "turnId": "t"}
    with pytest.raises(Untranslatable):
        LADDER.params_down("createChat", {"chat": "new", "source": source})


def test_new_capabilities_are_not_advertised() -> None:
    newer = {
        "multipleChats": {"fork": True, "sideChat": True},
        "multipleWorkingDirectories": {"immutablePrimary": True},
    }
    state = {"agents": [{"provider": "p", "capabilities": newer}]}
    older = {"multipleChats": {"fork": True}}
    assert down(OLD, "root", state) == {"agents": [{"provider": "p", "capabilities": older}]}
    changed = {"type": "root/agentsChanged", **state}
    assert sent(OLD, "root", {"agents": []}, changed)[0]["agents"][0]["capabilities"] == older


# Attachments

ATTACHED = {"type": "chat", "label": "L", "resource": "ahp-chat:/o", "endTurn": "t9"}
STASHED: Json = {
    "type": "simple",
    "label": "L",
    "modelRepresentation": "The chat ahp-chat:/o, up to turn t9.",
    "_meta": {STASH: {"resource": "ahp-chat:/o", "endTurn": "t9"}},
}


def test_a_chat_attachment_is_shown_as_a_simple_one_and_found_again() -> None:
    state = chat(draft=message(ATTACHED))
    old = down(OLD, "chat", state)
    assert old["draft"]["attachments"] == [STASHED]
    assert LADDER.state_up("chat", old) == state


def test_a_stash_keeps_what_a_client_changed_around_it() -> None:
    edited = {**STASHED, "label": "M", "range": {}, "_meta": {**STASHED["_meta"], "mine": 1}}
    draft = {"type": "chat/draftChanged", "draft": message(edited)}
    assert up(OLD, "chat", chat(), draft)["draft"]["attachments"] == [
        {**ATTACHED, "label": "M", "range": {}, "_meta": {"mine": 1}}
    ]


def test_an_attachment_to_the_latest_turn_says_so() -> None:
    latest = {key: value for key, value in ATTACHED.items() if key != "endTurn"}
    (old,) = down(OLD, "chat", chat(draft=message(latest)))["draft"]["attachments"]
    assert old["modelRepresentation"] == "The chat ahp-chat:/o, up to its latest completed turn."


@pytest.mark.parametrize(
    "meta", [None, {}, {STASH: None}, {STASH: "x"}, "text"], ids=lambda meta: str(meta)
)
def test_a_simple_attachment_without_a_stash_stays_simple(meta: Any) -> None:
    action = {"type": "chat/draftChanged", "draft": message({**STASHED, "_meta": meta})}
    assert up(OLD, "chat", chat(), action) is action


MESSAGE_ACTIONS: list[tuple[Json, str]] = [
    ({"type": "chat/turnStarted", "turnId": "u", "startedAt": ""}, "message"),
    ({"type": "chat/pendingMessageSet", "kind": "queued", "id": "q"}, "message"),
    ({"type": "chat/draftChanged"}, "draft"),
    (on_call("Confirmed", approved=False, reason="denied"), "userSuggestion"),
]


@pytest.mark.parametrize(("action", "member"), MESSAGE_ACTIONS, ids=lambda value: str(value)[:30])
def test_messages_are_translated_in_every_action_that_has_one(action: Json, member: str) -> None:
    state = chat(tool_part("pending-confirmation"))
    (told,) = sent(OLD, "chat", state, {**action, member: message(ATTACHED)})
    assert told == {**action, member: message(STASHED)}
    assert up(OLD, "chat", state, told) == {**action, member: message(ATTACHED)}


def test_messages_are_translated_everywhere_in_a_chat() -> None:
    turn = {"id": "u", "state": "complete"}
    refused = tool_part("cancelled", reason="denied", userSuggestion=message(ATTACHED))

    def whole(attachment: Json, suggestion: Json) -> Json:
        state = chat(
            suggestion,
            turns=[{**turn, "message": message(attachment), "responseParts": [suggestion]}],
            steeringMessage={"id": "s", "message": message(attachment)},
            queuedMessages=[{"id": "q", "message": message(attachment)}],
            draft=message(attachment),
        )
        state["activeTurn"]["message"] = message(attachment)
        return state

    old_refused = tool_part("cancelled", reason="denied", userSuggestion=message(STASHED))
    new, old = whole(ATTACHED, refused), whole(STASHED, old_refused)
    assert down(OLD, "chat", new) == old
    assert LADDER.state_up("chat", old) == new


def test_messages_are_translated_in_commands_too() -> None:
    new, old = {"initialMessage": message(ATTACHED)}, {"initialMessage": message(STASHED)}
    assert LADDER.params_up("createChat", old) == new
    assert LADDER.params_down("createChat", new) == old
    items = LADDER.result_down("completions", {}, {"items": [{"attachment": ATTACHED}]})
    assert items == {"items": [{"attachment": STASHED}]}


# Tool input


@pytest.mark.parametrize("status", ["running", "completed", "cancelled", "pending-confirmation"])
def test_referenced_input_is_left_out(status: str) -> None:
    referring = chat(tool_part(status, toolInput={"uri": "res:/in"}))
    assert down(OLD, "chat", referring) == chat(tool_part(status))


@pytest.mark.parametrize(
    ("before", "given", "told"),
    [
        ({"toolInput": "old"}, {}, {"toolInput": "old"}),
        ({"toolInput": "old"}, {"toolInput": "new"}, {"toolInput": "new"}),
        ({"toolInput": "old"}, {"toolInput": ""}, {"toolInput": ""}),
        ({}, {"toolInput": {"uri": "res:/in"}}, {}),
        ({}, {}, {}),
    ],
)
def test_ready_repeats_the_input_that_the_call_then_has(
    before: Json, given: Json, told: Json
) -> None:
    state = chat(tool_part("running", confirmed="setting", **before))
    ready = on_call("Ready", invocationMessage="m")
    assert sent(OLD, "chat", state, {**ready, **given}) == [{**ready, **told}]


def test_a_pending_call_is_never_left_with_the_input_it_had_before() -> None:
    state = chat(tool_part("pending-confirmation", toolInput="harmless"))
    ready = on_call("Ready", invocationMessage="m", toolInput={"uri": "res:/in"})
    assert sent(OLD, "chat", state, ready) == [{**ready, "toolInput": ""}]


@pytest.mark.parametrize(
    ("held", "given"),
    [
        ({"toolInput": {"uri": "res:/in"}}, {}),
        ({}, {"toolInput": {"uri": "res:/in"}}),
        ({"toolInput": "harmless"}, {"toolInput": {"uri": "res:/in"}, "confirmed": "setting"}),
    ],
)
def test_an_input_that_was_not_shown_or_will_not_be_kept_needs_no_empty_one_in_its_place(
    held: Json, given: Json
) -> None:
    state = chat(tool_part("pending-confirmation", **held))
    ready = on_call("Ready", invocationMessage="m", **given)
    [told] = sent(OLD, "chat", state, ready)
    assert "toolInput" not in told


def test_a_call_id_that_is_used_again_means_the_later_call() -> None:
    done = {"confirmed": "setting", "success": True, "pastTenseMessage": "did"}
    first = tool_part("completed", toolInput={"uri": "res:/in"}, **done)
    ready = on_call("Ready", invocationMessage="m", toolInput="ls", confirmed="setting")
    assert sent(OLD, "chat", chat(first, tool_part("streaming")), ready) == [ready]


def test_ready_tells_no_intention() -> None:
    ready = on_call("Ready", invocationMessage="m", confirmed="setting")
    assert sent(OLD, "chat", chat(tool_part("streaming")), {**ready, "intention": "why"}) == [ready]


MCP = {"kind": "mcp", "customizationId": "x"}
LATE = on_call("Ready", invocationMessage="m", confirmed="setting", contributor=MCP)
PAUSE = on_call("AuthRequired", auth={"reason": "required", "resource": {"resource": "https://r"}})
BUSY = (
    {"kind": "markdown", "id": "p", "content": "text"},
    tool_part("streaming", partialInput="{"),
    tool_part("running", toolCallId="other", confirmed="setting"),
    {"kind": "inputRequest", "request": {"id": "q", "answers": {"a": {"state": "skipped"}}}},
)


@pytest.mark.parametrize("version", OLDER)
@pytest.mark.parametrize("usage", [{}, {"usage": {"inputTokens": 3}}])
def test_a_call_with_a_late_contributor_is_seen_to_wait_for_authentication(
    version: str, usage: Json
) -> None:
    state = chat(*BUSY, status=24)
    state["activeTurn"] |= usage
    held, fresh = followed(version, "chat", state, LATE, PAUSE)
    assert {**held, "modifiedAt": ""} == {**fresh, "modifiedAt": ""}
    if version == OLD:
        shown = held["activeTurn"]["responseParts"][1]["toolCall"]
        assert (shown["status"], shown["contributor"]) == ("auth-required", MCP)


@pytest.mark.parametrize("version", OLDER)
def test_a_chat_that_waits_still_does_when_its_call_has_a_late_contributor(version: str) -> None:
    waiting = chat(tool_part("pending-confirmation", invocationMessage="m"), status=24)
    again = on_call("Ready", invocationMessage="m", contributor=MCP)
    held, fresh = followed(version, "chat", waiting, again)
    assert (held["status"], fresh["status"]) == (24, 24)
    assert held["activeTurn"] == fresh["activeTurn"]
    assert len(sent(version, "chat", waiting, again)) <= sequence_numbers_needed(
        again, waiting, reduce("chat", waiting, again, now=NOW)
    )


@pytest.mark.parametrize(
    "contributor", [MCP, {"kind": "client", "clientId": "c"}, {**MCP, "customizationId": "y"}]
)
def test_a_contributor_that_is_known_already_or_not_taken_over_is_not_told(
    contributor: Json,
) -> None:
    known = chat(tool_part("streaming", contributor=contributor))
    ready = {**LATE, "contributor": contributor}
    assert len(sent(OLD, "chat", known, ready)) == 1
    taken = {"kind": "client", "clientId": "other"}
    assert len(sent(OLD, "chat", known, {**LATE, "contributor": taken})) == 1


def test_a_turn_of_very_many_parts_is_not_told_anew() -> None:
    parts = [{"kind": "markdown", "id": f"p{n}", "content": ""} for n in range(1000)]
    before = chat(*parts, tool_part("streaming"))
    assert len(sent(OLD, "chat", before, LATE)) == 1
    assert sequence_numbers_needed(LATE, before, reduce("chat", before, LATE, now=NOW)) == 1


@pytest.mark.parametrize(
    ("held", "told"),
    [
        ({"toolInput": "old"}, {"editedToolInput": "edit"}),
        ({}, {}),
        ({"toolInput": {"uri": "res:/in"}}, {}),
    ],
)
def test_an_edit_is_told_as_what_the_call_then_holds(held: Json, told: Json) -> None:
    state = chat(tool_part("pending-confirmation", **held))
    approval = on_call("Confirmed", approved=True, confirmed="user-action")
    assert sent(OLD, "chat", state, {**approval, "editedToolInput": "edit"}) == [
        {**approval, **told}
    ]


@pytest.mark.parametrize("members", [{"invocationMessage": "m"}, {"_meta": {"k": 1}}])
def test_a_delta_without_content_is_sent_with_an_empty_one(members: Json) -> None:
    delta = on_call("Delta", **members)
    state = chat(tool_part("streaming"))
    assert sent(OLD, "chat", state, delta) == [{**delta, "content": ""}]
    full = on_call("Delta", content="x")
    assert sent(OLD, "chat", state, full)[0] is full


# Terminals

TERMINAL = {"type": "terminal", "resource": "t:/1", "title": "sh"}
RESULT = {"exitCode": 1, "preview": "out", "truncated": True}
OUTCOME = {"type": "terminalComplete", "resource": "t:/1", **RESULT}
TEXT = {"type": "text", "text": "x"}


@pytest.mark.parametrize(
    ("new", "old"),
    [
        ([TERMINAL], [TERMINAL]),
        ([{**TERMINAL, "result": RESULT}, TEXT], [TERMINAL, OUTCOME, TEXT]),
        (
            [{**TERMINAL, "result": {}}],
            [TERMINAL, {"type": "terminalComplete", "resource": "t:/1"}],
        ),
    ],
)
def test_a_terminals_result_is_a_block_of_its_own_in_the_old_version(
    new: list[Json], old: list[Json]
) -> None:
    running = chat(tool_part("running", confirmed="setting"))
    for action, content in (
        (on_call("ContentChanged", content=new), old),
        (on_call("Complete", result={"success": True, "content": new}), old),
    ):
        (told,) = sent(OLD, "chat", running, action)
        assert told.get("content", told.get("result", {}).get("content")) == content
        assert up(OLD, "chat", running, told) == action
    held = chat(tool_part("running", confirmed="setting", content=new))
    assert down(OLD, "chat", held) == chat(tool_part("running", confirmed="setting", content=old))
    assert LADDER.state_up("chat", down(OLD, "chat", held)) == held


def test_whether_a_terminal_is_a_pty_is_not_told() -> None:
    block = {**TERMINAL, "isPty": False}
    state = chat(tool_part("running", content=[block]))
    assert down(OLD, "chat", state) == chat(tool_part("running", content=[TERMINAL]))
    assert down(OLD, "terminal", {"title": "sh", "isPty": False}) == {"title": "sh"}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ([OUTCOME], [{**TERMINAL, "title": "Tool", "result": RESULT}]),
        ([TERMINAL, TEXT, OUTCOME], [{**TERMINAL, "result": RESULT}, TEXT]),
        (
            [TERMINAL, OUTCOME, OUTCOME],
            [{**TERMINAL, "result": RESULT}, {**TERMINAL, "title": "Tool", "result": RESULT}],
        ),
        ([{**OUTCOME, "cwd": A}], [{**TERMINAL, "title": "Tool", "result": RESULT}]),
        (
            [{"type": "terminalComplete", "preview": "out", "exitCode": 0}],
            [{"type": "text", "text": "out\n(exit code 0)"}],
        ),
        ([{"type": "terminalComplete"}], [{"type": "text", "text": ""}]),
        (
            [{"type": "terminalComplete", "preview": "out", "exitCode": 0, "cwd": A}],
            [{"type": "text", "text": "out\n(exit code 0, in file:///a)"}],
        ),
        (
            [{"type": "terminalComplete", "cwd": A}],
            [{"type": "text", "text": "(in file:///a)"}],
        ),
    ],
)
def test_an_outcome_finds_its_terminal_or_stands_for_one(old: list[Json], new: list[Json]) -> None:
    state = chat(tool_part("running", confirmed="setting"))
    changed = on_call("ContentChanged", content=old)
    assert up(OLD, "chat", state, changed)["content"] == new
    completed = on_call("Complete", result={"success": True, "content": old})
    assert up(OLD, "chat", state, completed)["result"]["content"] == new


def test_outcomes_are_folded_without_searching_for_their_terminals() -> None:
    looks = 0

    class Block(dict[str, Any]):
        def get(self, key: str, default: Any = None) -> Any:
            nonlocal looks
            looks += 1
            return super().get(key, default)

    number = 300
    terminals = [Block(type="terminal", resource=f"t{n}", title="") for n in range(number)]
    outcomes = [Block(type="terminalComplete", resource=f"t{n}", exitCode=n) for n in range(number)]
    folded = fold_terminals([*terminals, *reversed(outcomes)], None)
    assert [block["result"]["exitCode"] for block in folded] == list(range(number))
    assert looks < 30 * number


@pytest.mark.parametrize("resource", [3, None, ["t"], {"t": 1}])
def test_an_outcome_that_names_no_terminal_properly_trips_nothing(resource: Any) -> None:
    outcome = {"type": "terminalComplete", "resource": resource}
    terminal = {"type": "terminal", "resource": resource, "title": ""}
    [kept, folded] = fold_terminals([terminal, outcome], "Shell")
    assert kept is terminal
    assert folded["type"] == ("text" if resource is None else "terminal")


def test_an_outcome_of_an_unknown_call_still_gets_a_title() -> None:
    changed = {**on_call("ContentChanged", content=[OUTCOME]), "toolCallId": "other"}
    (block,) = up(OLD, "chat", chat(), changed)["content"]
    assert block["title"] == "Terminal"


# What tool calls are nested in


def test_tool_calls_are_translated_wherever_they_are() -> None:
    new = call("completed", toolInput={"uri": "res:/in"}, content=[{**TERMINAL, "isPty": True}])
    old = call("completed", content=[TERMINAL])
    part, old_part = ({"kind": "toolCall", "toolCall": each} for each in (new, old))
    turn: Json = {"id": "u", "message": message(), "state": "complete"}
    told = sent(
        OLD,
        "chat",
        chat(),
        {"type": "chat/turnsLoaded", "turns": [{**turn, "responseParts": [part]}]},
    )
    assert told[0]["turns"] == [{**turn, "responseParts": [old_part]}]
    told = sent(OLD, "chat", chat(), {"type": "chat/responsePart", "turnId": "t", "part": part})
    assert told[0]["part"] == old_part
    request = {"id": "i", "kind": "toolConfirmation", "chat": "c", "turnId": "t"}
    state = session(inputNeeded=[{**request, "toolCall": new}], status=24)
    assert down(OLD, "session", state)["inputNeeded"] == [{**request, "toolCall": old}]
    action = {"type": "session/inputNeededSet", "request": {**request, "toolCall": new}}
    assert sent(OLD, "session", session(), action)[0]["request"]["toolCall"] == old
    page = LADDER.result_down(
        "fetchTurns",
        {},
        {"turns": [{**turn, "responseParts": [part]}]},
    )
    assert page == {"turns": [{**turn, "responseParts": [old_part]}]}


@pytest.mark.parametrize("kind", ["session", "chat"])
def test_a_newer_action_from_an_old_client_is_refused(kind: str) -> None:
    state = session() if kind == "session" else chat()
    added = {"type": f"{kind}/workingDirectorySet", "directory": A}
    assert "0.6.0" in why_not(OLD, kind, state, added)
