"""Every mapping between 0.9.0 and 0.8.0 that is not about turns."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agenthost.protocol.own_members import FORK
from agenthost.protocol.versions import (
    SUPPORTED_VERSIONS,
    Untranslatable,
    Whereabouts,
    reduce,
    translator,
)
from agenthost.protocol.versions.v0_9_0_to_v0_8_0.rewriters import WRITTEN_BY
from tests.protocol.versions.samples import (
    FIRST,
    NOW,
    SECOND,
    STARTED,
    Json,
    chat,
    down,
    followed,
    message,
    sent,
    session,
    turn,
    up,
    why_not,
)

OLD = "0.8.0"
# Every version that has no error parts.
OLDER = SUPPORTED_VERSIONS[SUPPORTED_VERSIONS.index(OLD) :]
LADDER = translator(OLD)

SESSION, CHAT = "ahp-session:/1", "ahp-chat:/1"


# Sessions


def test_a_failed_session_has_another_name() -> None:
    old, new = session(lifecycle="creationFailed"), session(lifecycle="failed")
    assert down(OLD, "session", new) == old
    assert LADDER.state_up("session", old) == new
    failed = {"type": "session/creationFailed", "error": FIRST}
    held, fresh = followed(OLD, "session", session(lifecycle="creating"), failed)
    assert held == fresh == session(lifecycle="creationFailed", creationError=FIRST)


def test_where_a_session_comes_from_is_not_told() -> None:
    origin = {"kind": "automation", "automation": "ahp-automation:/1", "run": "r:/1"}
    assert down(OLD, "session", session(origin=origin)) == session()
    new, old = {"title": "x", "origin": origin}, {"title": "x"}
    assert LADDER.result_down("listSessions", {}, {"items": [new]}) == {"items": [old]}
    for method, member in (
        ("root/sessionAdded", "summary"),
        ("root/sessionSummaryChanged", "changes"),
    ):
        assert LADDER.notification_down(method, {member: new}) == {member: old}
    update = {"channel": "r", "session": "s", "changes": {"origin": origin}}
    assert LADDER.notification_down("root/sessionSummaryChanged", update) is None


def test_where_a_chat_comes_from_is_told() -> None:
    origin = {"kind": "fork", "chat": CHAT, "turnId": "t"}
    state = session(chats=[{"resource": CHAT, "origin": origin}])
    assert down(OLD, "session", state) == state


# Messages

AUTOMATED = {**message(), "origin": {"kind": "automation"}, "_meta": {"k": 1}}
SHOWN = {
    **message(),
    "origin": {"kind": "systemNotification"},
    "_meta": {"k": 1, WRITTEN_BY: "automation"},
}


def test_what_an_automation_wrote_looks_like_a_notification_everywhere() -> None:
    def members(written: Json) -> Json:
        pending = {"id": "m", "message": written}
        told = {"draft": written, "steeringMessage": pending, "queuedMessages": [pending]}
        return {**told, "turns": [turn(state="complete", message=written)]}

    assert down(OLD, "chat", chat(**members(AUTOMATED))) == chat(**members(SHOWN))
    started = {"type": "chat/turnStarted", "turnId": "n", "startedAt": STARTED}
    told = sent(OLD, "chat", chat(), {**started, "message": AUTOMATED})
    assert told == [{**started, "message": SHOWN}]
    others = [message(), {**message(), "origin": {"kind": "agent"}}]
    for other in others:
        assert sent(OLD, "chat", chat(), {**started, "message": other})[0]["message"] is other


def test_nobody_writes_as_an_automation_by_sending_back_what_was_shown() -> None:
    started = {"type": "chat/turnStarted", "turnId": "n", "startedAt": STARTED, "message": SHOWN}
    assert up(OLD, "chat", chat(), started) == started
    assert LADDER.state_up("chat", chat(draft=SHOWN)) == chat(draft=SHOWN)


# Terminals

HELD = {"kind": "client", "clientId": "c"}


def terminal(**members: Any) -> Json:
    return {"title": "sh", "content": [], "claim": HELD, **members}


EXITED = {"status": "exited", "exitCode": 3}


@pytest.mark.parametrize(
    ("lifecycle", "old", "back"),
    [
        ({"status": "running"}, {}, {"status": "running"}),
        (EXITED, {"exitCode": 3}, EXITED),
        ({**EXITED, "exitCode": 0}, {"exitCode": 0}, {**EXITED, "exitCode": 0}),
        ({"status": "exited"}, {}, {"status": "running"}),
    ],
)
def test_the_end_of_a_terminal_is_its_exit_code(lifecycle: Json, old: Json, back: Json) -> None:
    new, older = terminal(lifecycle=lifecycle), terminal(**old)
    climbed = terminal(lifecycle=back)
    assert down(OLD, "terminal", new) == older
    assert LADDER.state_up("terminal", older) == climbed
    root = {"agents": [], "terminals": [new]}
    assert down(OLD, "root", root) == {"agents": [], "terminals": [older]}
    assert LADDER.state_up("root", down(OLD, "root", root))["terminals"] == [climbed]
    listed = {"type": "root/terminalsChanged", "terminals": [new]}
    assert sent(OLD, "root", {"agents": []}, listed) == [{**listed, "terminals": [older]}]
    told = {**listed, "terminals": [older]}
    climbed_action = up(OLD, "root", {"agents": []}, told, sender="host")
    assert climbed_action["terminals"] == [climbed]


@pytest.mark.parametrize("version", OLDER)
@pytest.mark.parametrize("code", [{}, {"exitCode": 0}, {"exitCode": 3}])
@pytest.mark.parametrize("lifecycle", [{"status": "running"}, EXITED])
def test_a_terminal_that_exits_looks_as_a_snapshot_has_it(
    version: str, code: Json, lifecycle: Json
) -> None:
    exited = {"type": "terminal/exited", **code}
    held, fresh = followed(version, "terminal", terminal(lifecycle=lifecycle), exited)
    assert held == fresh == terminal(**code)


CLAIM = {"kind": "session", "session": SESSION}
AROUND = Whereabouts(
    SESSION,
    chat_of_turn={"t": "ahp-chat:/turn"}.get,
    chat_of_call={"c": "ahp-chat:/call"}.get,
    default_chat=lambda: "ahp-chat:/default",
)


def test_which_chat_holds_a_terminal_is_not_told() -> None:
    claim = {**CLAIM, "chat": CHAT, "turnId": "t"}
    old = {**CLAIM, "turnId": "t"}
    running = {"lifecycle": {"status": "running"}}
    assert down(OLD, "terminal", terminal(claim=claim, **running)) == terminal(claim=old)
    claimed = {"type": "terminal/claimed", "claim": claim}
    assert sent(OLD, "terminal", terminal(**running), claimed) == [{**claimed, "claim": old}]
    listed = {"type": "root/terminalsChanged", "terminals": [terminal(claim=claim, **running)]}
    [told] = sent(OLD, "root", {"agents": []}, listed)
    assert told["terminals"] == [terminal(claim=old)]
    assert LADDER.params_down("createTerminal", {"claim": claim}) == {"claim": old}


@pytest.mark.parametrize(
    ("members", "holder"),
    [
        ({"toolCallId": "c", "turnId": "t"}, "ahp-chat:/call"),
        ({"toolCallId": "gone", "turnId": "t"}, "ahp-chat:/turn"),
        ({"turnId": "t"}, "ahp-chat:/turn"),
        ({"turnId": "gone"}, "ahp-chat:/default"),
        ({}, "ahp-chat:/default"),
    ],
)
def test_the_chat_that_holds_a_terminal_is_looked_up(members: Json, holder: str) -> None:
    old = {**CLAIM, **members}
    new = {**old, "chat": holder}
    params = LADDER.params_up("createTerminal", {"claim": old}, around=AROUND)
    assert params == {"claim": new}
    claimed = {"type": "terminal/claimed", "claim": old}
    assert up(OLD, "terminal", terminal(), claimed, around=AROUND) == {**claimed, "claim": new}
    state = LADDER.state_up("terminal", terminal(claim=old), around=AROUND)
    assert state["claim"] == new


def test_a_client_cannot_claim_a_terminal_for_a_session_without_chats() -> None:
    claimed = {"type": "terminal/claimed", "claim": CLAIM}
    assert "no chat" in why_not(OLD, "terminal", terminal(), claimed)
    with pytest.raises(Untranslatable, match="no chat"):
        LADDER.params_up("createTerminal", {"claim": CLAIM})
    mine = {"type": "terminal/claimed", "claim": HELD}
    assert up(OLD, "terminal", terminal(), mine) == mine


def test_a_claim_of_which_a_host_does_not_tell_the_chat_stays_without_one() -> None:
    claimed = {"type": "terminal/claimed", "claim": CLAIM}
    assert up(OLD, "terminal", terminal(), claimed, sender="host") == claimed
    assert LADDER.state_up("terminal", terminal(claim=CLAIM))["claim"] == CLAIM


# Annotations


def annotation(**members: Any) -> Json:
    said = {"id": "e", "text": "x"}
    return {"id": "a", "resource": "file:///f", "resolved": False, "entries": [said], **members}


IN_TURN = {"session": SESSION, "chat": "ahp-chat:/turn", "turnId": "t"}


@pytest.mark.parametrize(
    ("origin", "turn_id", "back"),
    [
        (IN_TURN, "t", IN_TURN),
        ({"session": SESSION}, "", {"session": SESSION}),
        ({"session": SESSION, "chat": CHAT}, "", {"session": SESSION}),
        ({"session": SESSION, "turnId": "gone"}, "gone", {"session": SESSION, "turnId": "gone"}),
    ],
)
def test_an_annotation_names_its_turn_alone(origin: Json, turn_id: str, back: Json) -> None:
    new, old = annotation(origin=origin), annotation(turnId=turn_id)
    climbed = annotation(origin=back)
    assert down(OLD, "annotations", {"annotations": [new]}) == {"annotations": [old]}
    state = LADDER.state_up("annotations", {"annotations": [old]}, around=AROUND)
    assert state == {"annotations": [climbed]}
    empty: Json = {"annotations": []}
    placed = {"type": "annotations/set", "annotation": new}
    assert sent(OLD, "annotations", empty, placed) == [{**placed, "annotation": old}]
    told = {**placed, "annotation": old}
    assert up(OLD, "annotations", empty, told, around=AROUND)["annotation"] == climbed
    moved = {"type": "annotations/updated", "annotationId": "b"}
    elsewhere = {"annotations": [annotation(id="b", origin={"session": SESSION, "turnId": "x"})]}
    told = {**moved, "turnId": turn_id}
    assert sent(OLD, "annotations", elsewhere, {**moved, "origin": origin}) == [told]
    climbed_action = up(OLD, "annotations", elsewhere, told, around=AROUND)
    assert climbed_action == {**moved, "origin": back}


def test_an_update_that_moves_no_annotation_says_nothing_of_turns() -> None:
    resolved = {"type": "annotations/updated", "annotationId": "a", "resolved": True}
    state = {"annotations": [annotation(origin=IN_TURN)]}
    assert sent(OLD, "annotations", state, resolved) == [resolved]
    assert up(OLD, "annotations", state, resolved, around=AROUND) == resolved


@pytest.mark.parametrize("origin", [IN_TURN, {"session": SESSION, "chat": CHAT}])
def test_an_older_client_that_edits_an_annotation_leaves_it_where_it_was(origin: Json) -> None:
    state = {"annotations": [annotation(origin=origin)]}
    [shown] = down(OLD, "annotations", state)["annotations"]
    edited = {"type": "annotations/set", "annotation": {**shown, "resolved": True}}
    climbed = up(OLD, "annotations", state, edited)
    assert climbed["annotation"] == annotation(origin=origin, resolved=True)
    named = {"type": "annotations/updated", "annotationId": "a", "turnId": shown["turnId"]}
    assert up(OLD, "annotations", state, named)["origin"] == origin
    moved = up(OLD, "annotations", state, {**named, "turnId": "other"}, around=AROUND)
    assert moved["origin"] == {"session": SESSION, "turnId": "other"}


@settings(deadline=None, max_examples=50)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["set", "updated"]),
            st.sampled_from("ab"),
            st.sampled_from([IN_TURN, {"session": SESSION}, {"session": SESSION, "chat": CHAT}]),
        ),
        max_size=6,
    )
)
def test_annotations_look_as_a_snapshot_has_them(steps: list[tuple[str, str, Json]]) -> None:
    actions = [
        {"type": "annotations/set", "annotation": annotation(id=name, origin=origin)}
        if kind == "set"
        else {"type": "annotations/updated", "annotationId": name, "origin": origin}
        for kind, name, origin in steps
    ]
    for version in OLDER:
        held, fresh = followed(version, "annotations", {"annotations": []}, *actions)
        assert held == fresh


# Changesets

CHANGED = {"type": "changeset/contentChanged", "files": []}
FAILED = {"type": "changeset/statusChanged", "status": "error"}


def test_the_error_of_a_changeset_is_repeated_with_its_files() -> None:
    state = {"status": "error", "error": FIRST, "files": [{"id": "f", "edit": {}}]}
    assert sent(OLD, "changeset", state, CHANGED) == [{**CHANGED, "error": FIRST}]
    sound = {"status": "ready", "files": [{"id": "f", "edit": {}}]}
    assert sent(OLD, "changeset", sound, CHANGED) == [CHANGED]
    held, fresh = followed(OLD, "changeset", state, CHANGED)
    assert held == fresh == {"status": "error", "error": FIRST, "files": []}


@pytest.mark.parametrize(
    ("status", "error", "climbed"),
    [
        ("ready", {"error": FIRST}, [CHANGED]),
        ("ready", {}, [CHANGED]),
        ("error", {"error": FIRST}, [CHANGED, {**FAILED, "error": FIRST}]),
        ("error", {}, [CHANGED, FAILED]),
        ("error", {"error": None}, [CHANGED, FAILED]),
    ],
)
def test_the_error_of_a_changeset_is_an_action_of_its_own(
    status: str, error: Json, climbed: list[Json]
) -> None:
    state = {"status": status, "files": []}
    told = {**CHANGED, **error}
    assert LADDER.actions_up("changeset", told, state, now=NOW) == climbed
    assert up(OLD, "changeset", state, told, sender="host") == CHANGED


def changeset_histories() -> st.SearchStrategy[list[Json]]:
    """Build what a 0.8.0 host may say of a changeset: an error only of one that has failed."""
    errors = st.sampled_from([{}, {"error": FIRST}, {"error": SECOND}])
    statuses = st.sampled_from(["computing", "ready"])
    files = st.sampled_from([[], [{"id": "f", "edit": {}}]])
    return st.lists(
        st.one_of(
            st.builds(lambda error: {**FAILED, **error}, errors),
            st.builds(lambda status: {**FAILED, "status": status}, statuses),
            st.builds(lambda error, told: {**CHANGED, **error, "files": told}, errors, files),
        ),
        max_size=8,
    )


@settings(deadline=None, max_examples=60)
@given(changeset_histories())
def test_a_client_of_an_older_host_holds_what_that_host_holds(history: list[Json]) -> None:
    hosts: Json = {"status": "computing", "files": []}
    ours = LADDER.state_up("changeset", hosts)
    for told in history:
        if hosts["status"] != "error" and told["type"] == CHANGED["type"]:
            told = {key: value for key, value in told.items() if key != "error"}
        for climbed in LADDER.actions_up("changeset", told, ours, now=NOW):
            ours = reduce("changeset", ours, climbed, now=NOW)
        hosts = reduce("changeset", hosts, told, now=NOW, version=OLD)
        assert down(OLD, "changeset", ours) == hosts


# Commands

SOURCE = {"session": SESSION, "turnId": "t"}


@pytest.mark.parametrize("meta", [{}, {"k": 1}])
def test_a_session_is_forked_by_a_member_of_its_own(meta: Json) -> None:
    kept = {"_meta": meta} if meta else {}
    old: Json = {"channel": SESSION, "fork": SOURCE, **kept}
    new: Json = {"channel": SESSION, "_meta": {**meta, FORK: SOURCE}}
    assert LADDER.params_up("createSession", old) == new
    assert LADDER.params_down("createSession", new) == old


@pytest.mark.parametrize(
    ("old", "new"),
    [({}, {}), ({"fork": None}, {}), ({"fork": SOURCE, "_meta": 3}, {"_meta": 3})],
)
def test_a_session_that_forks_none_says_nothing(old: Json, new: Json) -> None:
    assert LADDER.params_up("createSession", old) == new
    assert LADDER.params_down("createSession", {"_meta": {"k": 1}}) == {"_meta": {"k": 1}}


@pytest.mark.parametrize(
    ("path", "sent_as"),
    [
        (f"_meta.{FORK}.turnId", "fork.turnId"),
        ("annotation.origin.turnId", "annotation.turnId"),
        ("_meta.k", "_meta.k"),
    ],
)
def test_a_faulty_field_has_the_name_under_which_it_was_sent(path: str, sent_as: str) -> None:
    assert LADDER.path_down(path) == sent_as


def test_an_older_client_hears_nothing_of_automations() -> None:
    known = {"protocolVersion": OLD, "serverSeq": 1, "snapshots": []}
    answer = {**known, "_meta": {"k": 1}, "automations": {"create": {}}}
    assert LADDER.result_down("initialize", {}, answer) == known
