"""Every mapping between 0.9.0 and 0.8.0."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
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
    sequence_numbers_needed,
    translator,
)
from agenthost.protocol.versions.v0_9_0_to_v0_8_0.rewriters import WRITTEN_BY
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

OLD = "0.8.0"
# Every version that has no error parts.
OLDER = SUPPORTED_VERSIONS[SUPPORTED_VERSIONS.index(OLD) :]
LADDER = translator(OLD)

SESSION, CHAT = "ahp-session:/1", "ahp-chat:/1"
TEXT = {"kind": "markdown", "id": "p", "content": "text"}
FIRST = {"errorType": "quota", "message": "no more"}
SECOND = {"errorType": "network", "message": "gone"}


def failure(error: Json, **members: Any) -> Json:
    return {"kind": "error", "error": error, **members}


def turn(*parts: Json, state: str = "error", **members: Any) -> Json:
    """Build a completed turn."""
    timing = {"startedAt": STARTED, "duration": 5}
    said = {"message": message(), "responseParts": list(parts)}
    return {"id": "u", **timing, **said, "state": state, **members}


def failed_chat(*parts: Json, earlier: tuple[Json, ...] = (), **members: Any) -> Json:
    """Build a chat whose last turn can be resumed."""
    failed = turn(*parts, failure(SECOND, resumable=True), **members)
    return chat(active=False, turns=[*earlier, failed], status=2)


def timeless(state: Json) -> Json:
    return {key: value for key, value in state.items() if key != "modifiedAt"}


# Failures of turns


@pytest.mark.parametrize(
    ("new", "old"),
    [
        (turn(TEXT, failure(FIRST)), turn(TEXT, error=FIRST)),
        (turn(failure(FIRST), TEXT, failure(SECOND, resumable=True)), turn(TEXT, error=SECOND)),
        (turn(failure(FIRST), TEXT, state="complete"), turn(TEXT, state="complete")),
        (turn(failure(FIRST), state="cancelled"), turn(state="cancelled")),
        (turn(TEXT), turn(TEXT)),
    ],
)
def test_the_last_failure_stands_beside_the_parts_of_a_failed_turn(new: Json, old: Json) -> None:
    assert LADDER.turn_down(new) == old
    assert down(OLD, "chat", chat(turns=[new]))["turns"] == [old]
    loaded = {"type": "chat/turnsLoaded", "turns": [new]}
    assert sent(OLD, "chat", chat(), loaded) == [{**loaded, "turns": [old]}]
    assert LADDER.result_down("fetchTurns", {}, {"turns": [new]}) == {"turns": [old]}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (turn(TEXT, error=FIRST), turn(TEXT, failure(FIRST))),
        (turn(TEXT, error=None), turn(TEXT)),
        (turn(TEXT), turn(TEXT)),
        (turn(state="complete"), turn(state="complete")),
    ],
)
def test_the_failure_of_an_older_turn_is_its_last_part(old: Json, new: Json) -> None:
    assert LADDER.turn_up(old) == new
    assert LADDER.state_up("chat", chat(turns=[old])) == chat(turns=[new])
    loaded = {"type": "chat/turnsLoaded", "turns": [old]}
    assert up(OLD, "chat", chat(), loaded, sender="host") == {**loaded, "turns": [new]}


def test_a_turn_that_goes_on_shows_no_failures() -> None:
    state = chat(TEXT, failure(FIRST, resumable=True), tool_part("running"))
    assert down(OLD, "chat", state) == chat(TEXT, tool_part("running"))


def test_a_chat_without_failures_is_not_copied() -> None:
    state = chat(TEXT, turns=[turn(TEXT, state="complete")])
    assert down(OLD, "chat", state) is state


@pytest.mark.parametrize("members", [{}, {"_meta": {"k": 1}}])
def test_an_error_is_told_with_and_without_a_part(members: Json) -> None:
    ended = {"type": "chat/error", "turnId": "t", "duration": 7, **members}
    new, old = {**ended, "part": failure(FIRST)}, {**ended, "error": FIRST}
    assert sent(OLD, "chat", chat(TEXT), new) == [old]
    resumable = {**ended, "part": failure(FIRST, resumable=True)}
    assert sent(OLD, "chat", chat(TEXT), resumable) == [old]
    assert up(OLD, "chat", chat(TEXT), old, sender="host") == new


@pytest.mark.parametrize("version", OLDER)
def test_a_failed_turn_looks_as_a_snapshot_has_it(version: str) -> None:
    state = chat(failure(FIRST, resumable=True), TEXT, tool_part("running", confirmed="setting"))
    ended = {"type": "chat/error", "turnId": "t", "duration": 7, "part": failure(SECOND)}
    held, fresh = followed(version, "chat", state, ended)
    assert timeless(held) == timeless(fresh)
    assert held["turns"][0]["error"] == SECOND


def test_no_error_part_comes_from_an_older_peer() -> None:
    added = {"type": "chat/responsePart", "turnId": "t", "part": failure(FIRST)}
    assert "error part" in why_not(OLD, "chat", chat(), added, sender="host")
    shown = {**added, "part": TEXT}
    assert up(OLD, "chat", chat(), shown, sender="host") == shown


# Resumed turns

RESUME = {"type": "chat/turnResume", "turnId": "u"}
REQUEST: Json = {"id": "q", "message": "?", "questions": []}
ASKED: Json = {"kind": "inputRequest", "request": REQUEST}
ANSWERED = {**ASKED, "response": "accept"}
EARLIER = turn(state="complete", id="before")


def test_a_resumed_turn_is_told_anew() -> None:
    used = {"inputTokens": 3}
    state = failed_chat(failure(FIRST, resumable=True), TEXT, earlier=(EARLIER,), usage=used)
    assert sent(OLD, "chat", state, RESUME) == [
        {"type": "chat/truncated", "turnId": "before"},
        {"type": "chat/turnStarted", "turnId": "u", "startedAt": STARTED, "message": message()},
        {"type": "chat/responsePart", "turnId": "u", "part": TEXT},
        {"type": "chat/usage", "turnId": "u", "usage": used},
    ]


def test_a_first_turn_that_is_resumed_leaves_no_turn_before_it() -> None:
    (cut, *_) = sent(OLD, "chat", failed_chat(), RESUME)
    assert cut == {"type": "chat/truncated"}


def test_turns_that_were_not_loaded_can_still_be_after_a_resume() -> None:
    state = {**failed_chat(), "turnsNextCursor": "more"}
    held, fresh = followed(OLD, "chat", state, RESUME)
    assert timeless(held) == timeless(fresh)
    assert held["turnsNextCursor"] == "more"


def test_a_request_that_nobody_answered_is_asked_again() -> None:
    other = {**ASKED, "request": {**REQUEST, "title": "again"}}
    told = sent(OLD, "chat", failed_chat(ASKED, ANSWERED, other), RESUME)
    assert told[2:] == [
        {"type": "chat/inputRequested", "request": REQUEST},
        {"type": "chat/responsePart", "turnId": "u", "part": ANSWERED},
        {"type": "chat/responsePart", "turnId": "u", "part": other},
    ]


CALLED = tool_part("cancelled", reason="skipped")
RESUMED_TURNS: dict[str, tuple[tuple[Json, ...], Json]] = {
    "nothing said": ((), {}),
    "text and a call": ((TEXT, CALLED), {"usage": {"inputTokens": 3}}),
    "second failure": ((TEXT, failure(FIRST, resumable=True), CALLED), {}),
    "open request": ((TEXT, ASKED, CALLED), {}),
    "answered request": ((TEXT, ANSWERED), {}),
    "written by an automation": ((TEXT,), {"message": {"origin": {"kind": "automation"}}}),
}


@pytest.mark.parametrize("version", OLDER)
@pytest.mark.parametrize("earlier", [(), (EARLIER,)])
@pytest.mark.parametrize("name", RESUMED_TURNS)
def test_a_resumed_turn_looks_as_a_snapshot_has_it(
    version: str, earlier: tuple[Json, ...], name: str
) -> None:
    parts, members = RESUMED_TURNS[name]
    members = {**members, "message": {**message(), **members.get("message", {})}}
    state = failed_chat(*parts, earlier=earlier, **members)
    held, fresh = followed(version, "chat", state, RESUME)
    assert timeless(held) == timeless(fresh)
    assert held["activeTurn"]["id"] == "u"
    assert [shown["id"] for shown in held["turns"]] == [shown["id"] for shown in earlier]
    goes_on = {"type": "chat/responsePart", "turnId": "u", "part": {**TEXT, "id": "p2"}}
    ends = {"type": "chat/turnComplete", "turnId": "u", "duration": 9}
    held, fresh = followed(version, "chat", state, RESUME, goes_on, ends)
    assert timeless(held) == timeless(fresh)


@pytest.mark.parametrize("version", OLDER)
def test_an_open_request_of_a_resumed_turn_can_be_answered(version: str) -> None:
    closed = {"type": "chat/inputCompleted", "requestId": "q", "response": "cancel"}
    held, fresh = followed(version, "chat", failed_chat(ASKED), RESUME)
    assert held["status"] == fresh["status"] == 24
    held, fresh = followed(version, "chat", failed_chat(ASKED), RESUME, closed)
    assert timeless(held) == timeless(fresh)
    assert held["status"] == 8


@pytest.mark.parametrize("name", RESUMED_TURNS)
def test_a_resume_takes_as_many_numbers_as_the_telling_of_its_turn(name: str) -> None:
    parts, members = RESUMED_TURNS[name]
    for cursor in ({}, {"turnsNextCursor": "more"}):
        state = {**failed_chat(*parts, **{"message": message(), **members}), **cursor}
        after = reduce("chat", state, RESUME, now=NOW)
        told = LADDER.action_down("chat", state, RESUME, after)
        assert sequence_numbers_needed(RESUME, state, after) == len(told)


@pytest.mark.parametrize(
    "state",
    [
        chat(active=False),
        chat(TEXT, turns=[turn(failure(FIRST, resumable=True))]),
        chat(active=False, turns=[turn(failure(FIRST))]),
        failed_chat(id="other"),
    ],
)
def test_a_resume_without_effect_is_not_told(state: Json) -> None:
    assert reduce("chat", state, RESUME, now=NOW) is state
    assert sent(OLD, "chat", state, RESUME) == []
    assert sequence_numbers_needed(RESUME, state, state) == 1


def test_no_older_client_can_resume() -> None:
    assert OLD in why_not(OLD, "chat", failed_chat(), RESUME)


def test_a_call_of_a_long_resumed_turn_gets_its_contributor_told_in_the_numbers_it_has() -> None:
    told_parts = [{**TEXT, "id": f"p{number}"} for number in range(999)]
    contributor = {"kind": "mcp", "customizationId": "x"}
    ready = on_call("Ready", invocationMessage="m", confirmed="setting", contributor=contributor)
    for more in range(3):
        parts = [*told_parts, *({**TEXT, "id": f"more{number}"} for number in range(more))]
        state = chat(*parts, failure(FIRST, resumable=True), tool_part("streaming"))
        after = reduce("chat", state, ready, now=NOW)
        told = translator("0.6.0").action_down("chat", state, ready, after)
        assert sequence_numbers_needed(ready, state, after) == len(told)


def test_telling_a_long_turn_anew_costs_no_more_for_each_of_its_parts() -> None:
    looks = 0

    class Part(dict[str, Any]):
        def __getitem__(self, key: str) -> Any:
            nonlocal looks
            looks += 1
            return super().__getitem__(key)

    number = 200
    said = [Part({**TEXT, "id": str(n)}) for n in range(number)]
    asked = [{**ASKED, "request": {**REQUEST, "id": str(n)}} for n in range(number)]
    state = failed_chat(*said, *asked)
    after = reduce("chat", state, RESUME, now=NOW)
    looks = 0
    told = translator("0.5.0").action_down("chat", state, RESUME, after)
    assert len(told) == 2 + 2 * number
    assert looks < 20 * number


class ChatWalk:
    """A chat in which turns fail and are resumed at random; remembers what happened."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.count = 0
        self.state = chat(active=False)

    def next_action(self) -> Json:
        """Do something that is possible, and return the action."""
        self.count += 1
        active = self.state.get("activeTurn")
        action = self._idle() if active is None else self._in_turn({"turnId": active["id"]})
        self.state = reduce("chat", self.state, action, now=NOW)
        return action

    def _idle(self) -> Json:
        turns, chance = self.state["turns"], self.random.random()
        if turns and turns[-1]["state"] == "error" and chance < 0.7:
            return {"type": "chat/turnResume", "turnId": turns[-1]["id"]}
        if turns and chance < 0.8:
            cut = {"type": "chat/truncated"}
            if self.random.random() < 0.3:
                return cut
            return {**cut, "turnId": self.random.choice(turns)["id"]}
        written = message()
        if self.random.random() < 0.3:
            written["origin"] = {"kind": "automation"}
        started = {"startedAt": STARTED, "message": written}
        return {"type": "chat/turnStarted", "turnId": f"t{self.count}", **started}

    def _in_turn(self, named: Json) -> Json:
        name = f"n{self.count}"
        added = {"type": "chat/responsePart", **named}
        invoked = call("running", toolCallId=name, confirmed="setting")
        request = {"id": name, "message": "?", "questions": []}
        part = failure({"errorType": "e", "message": name}, resumable=self.random.random() < 0.8)
        choices: list[Json] = [
            {**added, "part": {**TEXT, "id": name}},
            {**added, "part": {"kind": "toolCall", "toolCall": invoked}},
            {**added, "part": {"kind": "inputRequest", "request": request}},
            {"type": "chat/inputRequested", "request": request},
            {"type": "chat/usage", **named, "usage": {"inputTokens": self.count}},
            *2 * [{"type": "chat/error", **named, "duration": 5, "part": part}],
            {"type": "chat/turnComplete", **named, "duration": 5},
            {"type": "chat/turnCancelled", **named, "duration": 5},
        ]
        return self.random.choice(choices)


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 2**32 - 1), st.integers(1, 40))
def test_whoever_follows_failures_and_resumes_holds_what_a_snapshot_has(
    seed: int, length: int
) -> None:
    walk = ChatWalk(Random(seed))
    held = {version: down(version, "chat", walk.state) for version in OLDER}
    for _ in range(length):
        before = walk.state
        action = walk.next_action()
        numbers = sequence_numbers_needed(action, before, walk.state)
        for version in OLDER:
            told = translator(version).action_down("chat", before, action, walk.state)
            assert len(told) <= numbers
            for each in told:
                held[version] = reduce("chat", held[version], each, now=NOW, version=version)
            fresh = down(version, "chat", walk.state)
            assert timeless(held[version]) == timeless(fresh), version


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


# The older reducers

LATER = "2026-01-01T00:01:00.000Z"


def named(kind: str, **members: Any) -> Json:
    return {"type": f"chat/{kind}", **members}


TOUCHING = [
    (chat(active=False), named("turnStarted", turnId="n", startedAt=STARTED, message=message())),
    (chat(), named("turnComplete", turnId="t", duration=1)),
    (chat(), named("turnCancelled", turnId="t", duration=1)),
    (chat(), named("error", turnId="t", duration=1, error=FIRST)),
    (chat(active=False), named("truncated")),
    (chat(active=False, turns=[EARLIER]), named("truncated", turnId="before")),
    (chat(ASKED, status=24), named("inputRequested", request=REQUEST)),
    (chat(ASKED), named("inputAnswerChanged", requestId="q", questionId="none")),
    (chat(ASKED), named("inputCompleted", requestId="q", response="accept")),
]
NOT_TOUCHING = [
    (chat(), named("turnComplete", turnId="other", duration=1)),
    (chat(), named("error", turnId="other", duration=1, error=FIRST)),
    (chat(), named("truncated", turnId="other")),
    (chat(active=False), named("inputRequested", request=REQUEST)),
    (chat(ANSWERED), named("inputAnswerChanged", requestId="q", questionId="none")),
    (chat(ANSWERED), named("inputCompleted", requestId="q", response="accept")),
    (chat(active=False), named("inputCompleted", requestId="q", response="accept")),
]


@pytest.mark.parametrize(("state", "action"), TOUCHING)
def test_older_clients_stamp_a_chat_that_was_touched_by_their_clock(
    state: Json, action: Json
) -> None:
    after = reduce("chat", state, action, now=LATER, version=OLD)
    assert after["modifiedAt"] == LATER


@pytest.mark.parametrize(("state", "action"), NOT_TOUCHING)
def test_older_clients_leave_a_chat_that_was_not_touched(state: Json, action: Json) -> None:
    assert reduce("chat", state, action, now=LATER, version=OLD) is state


def test_an_error_part_is_unknown_to_older_clients_and_kept_as_such() -> None:
    added = {"type": "chat/responsePart", "turnId": "t", "part": failure(FIRST)}
    after = reduce("chat", chat(), added, now=NOW, version=OLD)
    assert after["activeTurn"]["responseParts"] == [failure(FIRST)]


def members_of(value: Any) -> Iterator[str]:
    """Give the names of all members, wherever they are."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    if isinstance(value, dict):
        yield from value
    for each in inner:
        yield from members_of(each)


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 2**32 - 1), st.integers(1, 30))
def test_nothing_of_the_newer_version_is_told(seed: int, length: int) -> None:
    walk = ChatWalk(Random(seed))
    for _ in range(length):
        before = walk.state
        action = walk.next_action()
        for told in [
            *LADDER.action_down("chat", before, action, walk.state),
            down(OLD, "chat", walk.state),
        ]:
            assert "resumable" not in members_of(told)
            assert "part" not in told or told["part"]["kind"] != "error"
