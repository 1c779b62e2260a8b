"""Walks over turns: what they find, and what they pass over."""

from __future__ import annotations

from typing import Any

from agenthost.protocol.chat.parts import error_of, open_requests, tool_calls, turns_of

CALL: Any = {"toolCallId": "c", "status": "running"}
OPEN: Any = {"id": "q1"}
ANSWERED: Any = {"kind": "inputRequest", "request": {"id": "q2"}, "response": "accept"}
TURN: Any = {
    "id": "t",
    "responseParts": [
        {"kind": "markdown", "id": "m", "content": "text"},
        {"kind": "toolCall", "toolCall": CALL},
        {"kind": "of the future", "toolCall": {}, "request": {}},
        ANSWERED,
        {"kind": "inputRequest", "request": OPEN},
    ],
}


def chat(**state: Any) -> Any:
    return state


def test_calls_and_open_requests_are_found_among_other_parts() -> None:
    assert [*tool_calls(TURN)] == [CALL]
    assert [*open_requests(TURN)] == [OPEN]


def test_no_turn_has_nothing() -> None:
    assert [*tool_calls(None)] == []
    assert [*open_requests(None)] == []


def test_the_turn_under_way_comes_last() -> None:
    done: Any = {"id": "done"}
    assert [*turns_of(chat(turns=[done], activeTurn=TURN))] == [done, TURN]
    assert [*turns_of(chat(turns=[done]))] == [done]


FIRST: Any = {"errorType": "e", "message": "first"}
LAST: Any = {"errorType": "e", "message": "last"}
PARTS: Any = [
    {"kind": "error", "error": FIRST, "resumable": True},
    {"kind": "markdown", "id": "m", "content": "text"},
    {"kind": "error", "error": LAST},
    {"kind": "of the future", "error": FIRST},
]


def test_why_a_turn_failed_is_what_its_last_error_says() -> None:
    failed: Any = {"id": "t", "state": "error", "responseParts": PARTS}
    assert error_of(failed) == LAST


def test_a_turn_that_was_taken_up_and_came_to_its_end_did_not_fail() -> None:
    for state in ("complete", "cancelled"):
        turn: Any = {"id": "t", "state": state, "responseParts": PARTS}
        assert error_of(turn) is None
    silent: Any = {"id": "t", "state": "error", "responseParts": []}
    assert error_of(silent) is None
