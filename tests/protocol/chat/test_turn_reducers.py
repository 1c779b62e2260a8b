"""The chat channel's reducers for turns, their text and the transcript."""

from __future__ import annotations

from typing import Any

import pytest

from agenthost.protocol.reducer_registry import reducers
from tests.protocol.samples import (
    ERROR,
    IDLE,
    IN_PROGRESS,
    INPUT_NEEDED,
    IS_ARCHIVED,
    IS_READ,
    MESSAGE,
    NOW,
    THEN,
    UNKNOWN_BIT,
    changes_nothing,
    chat,
    finished_turn,
    idle_chat,
    parts_of,
    reduced,
)

TEXT = {"kind": "markdown", "id": "m1", "content": "Hel"}
THOUGHT = {"kind": "reasoning", "id": "r1", "content": "Hm"}
CALL = {
    "kind": "toolCall",
    "toolCall": {"toolCallId": "c1", "toolName": "x", "displayName": "X", "status": "streaming"},
}
REFERENCE = {"kind": "contentRef", "uri": "ahp-session:/s/content/1"}
NOTICE = {"kind": "systemNotification", "content": "disk full"}
QUESTION = {"kind": "inputRequest", "request": {"id": "q1"}}
FAILURE = {"errorType": "model", "message": "overloaded"}
FAILED = {"kind": "error", "error": FAILURE}
RESUMABLE = {**FAILED, "resumable": True}
# A turn of ``_ended`` takes 1.2 seconds.
LATER = "2026-01-01T00:00:01.199Z"
ENDINGS = [
    ("chat/turnComplete", "complete", IDLE),
    ("chat/turnCancelled", "cancelled", IDLE),
    ("chat/error", "error", ERROR),
]


def _started(**members: Any) -> dict[str, Any]:
    action = {"type": "chat/turnStarted", "turnId": "t2", "startedAt": NOW, "message": MESSAGE}
    return {**action, **members}


def _ended(action_type: str, **members: Any) -> dict[str, Any]:
    action = {"type": action_type, "turnId": "t1", "duration": 1200}
    return {**action, **({"part": FAILED} if action_type == "chat/error" else {}), **members}


def _delta(content: str = "lo", part_id: str = "m1", **members: Any) -> dict[str, Any]:
    action = {"type": "chat/delta", "turnId": "t1", "partId": part_id, "content": content}
    return {**action, **members}


def test_a_started_turn_is_active_unread_and_in_progress() -> None:
    before = idle_chat(status=ERROR | IS_READ | IS_ARCHIVED | UNKNOWN_BIT, draft=MESSAGE)
    state = reduced(before, _started(_meta={"not": "kept"}))
    assert state["activeTurn"] == {
        "id": "t2",
        "startedAt": NOW,
        "message": MESSAGE,
        "responseParts": [],
    }
    assert state["status"] == IN_PROGRESS | IS_ARCHIVED | UNKNOWN_BIT
    assert state["modifiedAt"] == NOW
    assert state["draft"] == MESSAGE


def test_a_started_turn_overwrites_one_that_still_runs() -> None:
    state = reduced(chat(TEXT, QUESTION, status=INPUT_NEEDED), _started())
    assert (state["activeTurn"]["id"], parts_of(state), state["turns"]) == ("t2", [], [])
    assert state["status"] == IN_PROGRESS


def test_a_turn_of_a_peer_that_measures_no_time_has_none() -> None:
    action = _started()
    del action["startedAt"]
    state = reduced(idle_chat(), action)
    assert "startedAt" not in state["activeTurn"]
    ending = _ended("chat/turnComplete", turnId="t2")
    del ending["duration"]
    [turn] = reduced(state, ending)["turns"]
    assert not {"startedAt", "duration"} & turn.keys()


def test_a_part_is_appended_without_touching_status_or_time() -> None:
    before = chat(TEXT, status=ERROR)
    state = reduced(before, {"type": "chat/responsePart", "turnId": "t1", "part": QUESTION})
    assert parts_of(state) == [TEXT, QUESTION]
    assert (state["status"], state["modifiedAt"]) == (ERROR, THEN)


def test_text_grows_in_the_part_that_the_delta_names() -> None:
    state = reduced(chat(TEXT, {**TEXT, "id": "m2"}), _delta())
    assert parts_of(state) == [{**TEXT, "content": "Hello"}, {**TEXT, "id": "m2"}]


def test_reasoning_grows_in_a_reasoning_part() -> None:
    state = reduced(chat(TEXT, THOUGHT), _delta("m", "r1", type="chat/reasoning"))
    assert parts_of(state) == [TEXT, {**THOUGHT, "content": "Hmm"}]


def test_of_two_parts_with_one_id_the_first_counts_even_when_it_is_of_the_wrong_kind() -> None:
    assert parts_of(reduced(chat(TEXT, TEXT), _delta())) == [{**TEXT, "content": "Hello"}, TEXT]
    assert changes_nothing(chat({**THOUGHT, "id": "m1"}, TEXT), _delta())


def test_a_tool_call_is_addressed_by_its_call_id() -> None:
    assert changes_nothing(chat(CALL, {**TEXT, "id": "c1"}), _delta("lo", "c1"))


def test_parts_without_an_id_are_passed_over() -> None:
    state = reduced(chat(REFERENCE, NOTICE, QUESTION, TEXT), _delta())
    assert parts_of(state)[3]["content"] == "Hello"


def test_a_delta_shares_the_transcript_and_every_other_part() -> None:
    before = chat(CALL, TEXT, THOUGHT, turns=[finished_turn(f"t{n}") for n in range(10, 20)])
    state = reduced(before, _delta())
    assert state["turns"] is before["turns"]
    assert parts_of(state)[0] is parts_of(before)[0]
    assert parts_of(state)[2] is parts_of(before)[2]
    assert state["activeTurn"]["message"] is before["activeTurn"]["message"]


class _Untouchable(list[Any]):
    """Finished turns that may be passed on but not looked at."""

    def _refuse(self, *args: object) -> Any:
        raise AssertionError("a delta looked at finished turns")

    __iter__ = __len__ = __getitem__ = __contains__ = __eq__ = copy = _refuse


@pytest.mark.parametrize("action_type", ["chat/delta", "chat/reasoning"])
def test_streaming_text_never_looks_at_finished_turns(action_type: str) -> None:
    turns = _Untouchable()
    before = {**chat(TEXT, THOUGHT), "turns": turns}
    part_id = "m1" if action_type == "chat/delta" else "r1"
    state = reducers[action_type](before, _delta("lo", part_id, type=action_type), NOW)
    assert state["turns"] is turns
    assert state is not before


def test_the_last_usage_report_counts_whole() -> None:
    first = {"type": "chat/usage", "turnId": "t1", "usage": {"inputTokens": 5, "model": "m"}}
    last = {**first, "usage": {"outputTokens": 7}}
    assert reduced(chat(), first, last)["activeTurn"]["usage"] == {"outputTokens": 7}


@pytest.mark.parametrize(("action_type", "outcome", "activity"), ENDINGS)
def test_an_ended_turn_joins_the_transcript(action_type: str, outcome: str, activity: int) -> None:
    usage = {"inputTokens": 5}
    before = chat(TEXT, QUESTION, status=INPUT_NEEDED | IS_READ, turns=[finished_turn("t0")])
    state = reduced(
        before, {"type": "chat/usage", "turnId": "t1", "usage": usage}, _ended(action_type)
    )
    assert state["turns"][1] == {
        "id": "t1",
        "startedAt": THEN,
        "duration": 1200,
        "message": MESSAGE,
        "responseParts": [TEXT, QUESTION, *([FAILED] if outcome == "error" else [])],
        "usage": usage,
        "state": outcome,
    }
    assert "activeTurn" not in state
    assert (state["status"], state["modifiedAt"]) == (activity | IS_READ, LATER)


@pytest.mark.parametrize(("action_type", "outcome", "activity"), ENDINGS)
def test_a_turn_without_usage_records_none(action_type: str, outcome: str, activity: int) -> None:
    [turn] = reduced(chat(), _ended(action_type))["turns"]
    assert "usage" not in turn


@pytest.mark.parametrize(("action_type", "outcome", "activity"), ENDINGS)
@pytest.mark.parametrize(("given", "recorded"), [(-5, 0), (-0.5, 0), (0, 0), (2.5, 2.5), (None, 0)])
def test_a_duration_is_never_negative(
    action_type: str, outcome: str, activity: int, given: Any, recorded: float
) -> None:
    [turn] = reduced(chat(), _ended(action_type, duration=given))["turns"]
    assert turn["duration"] == recorded


@pytest.mark.parametrize(
    ("started", "duration", "modified"),
    [
        ("2026-05-01T12:00:00Z", 1500, "2026-05-01T12:00:01.500Z"),
        ("2026-05-01T12:00:00.250+02:00", 0, "2026-05-01T10:00:00.250Z"),
        ("2026-05-01T12:00:00Z", -7000, "2026-05-01T12:00:00.000Z"),
        ("2026-05-01T12:00:00Z", 1e300, THEN),
        ("9999-12-31T23:59:59.999-01:00", 0, THEN),
        ("yesterday", 5, THEN),
        ("", 5, THEN),
        (None, 5, THEN),
    ],
)
def test_a_chat_is_modified_when_its_turn_ended(
    started: Any, duration: float, modified: str
) -> None:
    before = chat()
    running = {**before, "activeTurn": {**before["activeTurn"], "startedAt": started}}
    state = reduced(running, _ended("chat/turnComplete", duration=duration))
    assert state["modifiedAt"] == modified


def test_a_failure_is_the_last_part_and_no_part_of_its_own() -> None:
    report = {"type": "chat/responsePart", "turnId": "t1", "part": FAILED}
    assert changes_nothing(chat(TEXT), report)
    [turn] = reduced(chat(TEXT), _ended("chat/error"))["turns"]
    assert turn["responseParts"] == [TEXT, FAILED]
    assert "error" not in turn


def _failed(*parts: Any, **members: Any) -> Any:
    turn = finished_turn("t1", state="error", responseParts=[*parts], startedAt=THEN, **members)
    return idle_chat(turns=[finished_turn("t0"), turn], status=ERROR | IS_READ | IS_ARCHIVED)


RESUME = {"type": "chat/turnResume", "turnId": "t1"}


def test_a_failed_turn_is_taken_up_where_it_ended() -> None:
    before = _failed(TEXT, RESUMABLE, usage={"inputTokens": 5}, duration=10)
    state = reduced(before, RESUME)
    assert state["turns"] == [finished_turn("t0")]
    assert state["activeTurn"] == {
        "id": "t1",
        "startedAt": THEN,
        "message": MESSAGE,
        "responseParts": [TEXT, RESUMABLE],
        "usage": {"inputTokens": 5},
    }
    assert (state["status"], state["modifiedAt"]) == (IN_PROGRESS | IS_ARCHIVED, THEN)


def test_a_turn_that_fails_and_is_taken_up_twice_is_one_turn_with_both_failures() -> None:
    failing = _ended("chat/error", part=RESUMABLE)
    state = reduced(chat(TEXT), failing, RESUME, _delta(), failing, RESUME)
    state = reduced(state, _ended("chat/turnComplete"))
    [turn] = state["turns"]
    assert turn["responseParts"] == [{**TEXT, "content": "Hello"}, RESUMABLE, RESUMABLE]
    assert turn["state"] == "complete"


def test_a_question_left_open_asks_again_when_its_turn_is_taken_up() -> None:
    assert reduced(_failed(QUESTION, RESUMABLE), RESUME)["status"] == INPUT_NEEDED | IS_ARCHIVED


def test_a_turn_that_tells_no_start_has_begun_when_the_chat_was_last_modified() -> None:
    turn = finished_turn("t1", state="error", responseParts=[RESUMABLE])
    state = reduced(idle_chat(turns=[turn], modifiedAt=LATER), RESUME)
    assert state["activeTurn"]["startedAt"] == LATER


@pytest.mark.parametrize(
    "state",
    [
        idle_chat(),
        chat(turns=[finished_turn("t1", state="error", responseParts=[RESUMABLE])]),
        _failed(),
        _failed(FAILED),
        _failed({**FAILED, "resumable": False}),
        _failed(RESUMABLE, TEXT),
        idle_chat(turns=[finished_turn("t1", responseParts=[RESUMABLE])]),
        idle_chat(
            turns=[
                finished_turn("t1", state="error", responseParts=[RESUMABLE]),
                finished_turn("t2"),
            ]
        ),
    ],
    ids=["none", "busy", "bare", "for good", "not", "not last part", "complete", "not last"],
)
def test_only_the_last_turn_can_be_taken_up_and_only_if_its_failure_says_so(state: Any) -> None:
    assert changes_nothing(state, RESUME)


@pytest.mark.parametrize(("action_type", "outcome", "activity"), ENDINGS)
@pytest.mark.parametrize(
    "state", [idle_chat(status=ERROR), chat(status=ERROR)], ids=["idle", "other"]
)
def test_an_ending_of_another_turn_leaves_even_the_status(
    state: Any, action_type: str, outcome: str, activity: int
) -> None:
    assert changes_nothing(state, _ended(action_type, turnId="elsewhere"))


HISTORY = [finished_turn("t10"), finished_turn("t11"), finished_turn("t12")]


def test_truncation_keeps_the_transcript_through_the_turn_and_drops_the_active_one() -> None:
    waiting = {"id": "w", "message": MESSAGE}
    before = chat(
        TEXT,
        turns=HISTORY,
        turnsNextCursor="older",
        steeringMessage=waiting,
        queuedMessages=[waiting],
        draft=MESSAGE,
        status=ERROR | IS_READ,
    )
    state = reduced(before, {"type": "chat/truncated", "turnId": "t11"})
    expected = {**before, "turns": HISTORY[:2], "status": IDLE | IS_READ}
    del expected["activeTurn"]
    assert state == expected


def test_truncation_without_a_turn_drops_everything_and_the_cursor() -> None:
    state = reduced(chat(TEXT, turns=HISTORY, turnsNextCursor="older"), {"type": "chat/truncated"})
    assert state["turns"] == []
    assert not {"activeTurn", "turnsNextCursor"} & state.keys()


@pytest.mark.parametrize("turn_id", ["unknown", "t1", None, ""])
def test_truncation_at_a_turn_that_is_not_there_changes_nothing(turn_id: str | None) -> None:
    before = chat(TEXT, turns=HISTORY, turnsNextCursor="older")
    assert changes_nothing(before, {"type": "chat/truncated", "turnId": turn_id})


def test_loaded_turns_go_in_front_and_the_copy_that_was_there_wins() -> None:
    fresh = finished_turn("t10", state="error")
    older = finished_turn("t9")
    state = reduced(
        idle_chat(turns=HISTORY, turnsNextCursor="a"),
        {"type": "chat/turnsLoaded", "turns": [older, fresh], "turnsNextCursor": "b"},
    )
    assert state["turns"] == [older, *HISTORY]
    assert (state["turnsNextCursor"], state["modifiedAt"]) == ("b", THEN)


def test_loading_the_last_page_removes_the_cursor() -> None:
    before = idle_chat(turns=HISTORY, turnsNextCursor="a")
    state = reduced(before, {"type": "chat/turnsLoaded", "turns": [HISTORY[0]]})
    assert "turnsNextCursor" not in state
    assert state["turns"] is before["turns"]


@pytest.mark.parametrize("state", [idle_chat(), idle_chat(activeTurn=None), chat(TEXT, THOUGHT)])
@pytest.mark.parametrize(
    "action",
    [
        _delta(turnId="elsewhere"),
        _delta(turnId="elsewhere", partId="r1", type="chat/reasoning"),
        {"type": "chat/responsePart", "turnId": "elsewhere", "part": TEXT},
        {"type": "chat/usage", "turnId": "elsewhere", "usage": {}},
    ],
    ids=lambda value: value.get("type", ""),
)
def test_only_the_active_turn_can_be_addressed(state: Any, action: dict[str, Any]) -> None:
    assert changes_nothing(state, action)


@pytest.mark.parametrize(
    ("state", "action"),
    [
        (chat(TEXT), _delta("")),
        (chat(TEXT), _delta("lo", "unknown")),
        (chat(THOUGHT), _delta("lo", "r1")),
        (chat(TEXT), _delta("lo", "m1", type="chat/reasoning")),
        (chat(THOUGHT), _delta("", "r1", type="chat/reasoning")),
        (idle_chat(turns=HISTORY), {"type": "chat/turnsLoaded", "turns": HISTORY}),
        (idle_chat(), {"type": "chat/nobodyKnowsThis"}),
    ],
    ids=lambda value: value.get("type", ""),
)
def test_what_changes_nothing_gives_back_the_same_object(
    state: Any, action: dict[str, Any]
) -> None:
    assert changes_nothing(state, action)


def test_repeating_a_usage_report_changes_nothing() -> None:
    report = {"type": "chat/usage", "turnId": "t1", "usage": {"inputTokens": 5}}
    assert changes_nothing(reduced(chat(), report), report)
