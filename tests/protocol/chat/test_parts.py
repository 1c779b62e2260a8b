"""Walks over turns: what they find, and what they pass over."""

from __future__ import annotations

from typing import Any

from agenthost.protocol.chat.parts import open_requests, tool_calls, turns_of

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
