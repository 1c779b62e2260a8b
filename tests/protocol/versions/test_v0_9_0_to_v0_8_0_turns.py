"""Failed and resumed turns between 0.9.0 and 0.8.0."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agenthost.protocol.versions import (
    SUPPORTED_VERSIONS,
    reduce,
    sequence_numbers_needed,
    translator,
)
from tests.protocol.versions.samples import (
    FIRST,
    NOW,
    SECOND,
    STARTED,
    Json,
    call,
    chat,
    down,
    followed,
    message,
    on_call,
    sent,
    tool_part,
    turn,
    up,
    why_not,
)

OLD = "0.8.0"
# Every version that has no error parts.
OLDER = SUPPORTED_VERSIONS[SUPPORTED_VERSIONS.index(OLD) :]
LADDER = translator(OLD)

SESSION, CHAT = "ahp-session:/1", "ahp-chat:/1"
TEXT = {"kind": "markdown", "id": "p", "content": "text"}


def failure(error: Json, **members: Any) -> Json:
    return {"kind": "error", "error": error, **members}


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
