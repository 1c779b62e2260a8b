"""A chat's history as text for an agent that was not there."""

from __future__ import annotations

from typing import Any

from agenthost.agents.acp.sessions.history_text import MOST_CHARACTERS, transcript

Json = dict[str, Any]


def turn(text: str, *parts: Json, state: str = "complete") -> Json:
    return {"id": text, "message": {"text": text}, "responseParts": list(parts), "state": state}


def markdown(text: str) -> Json:
    return {"kind": "markdown", "id": "p", "content": text}


def test_a_chat_without_history_needs_no_words() -> None:
    assert transcript([]) == ""


def test_questions_answers_and_tools_are_told_and_thoughts_are_not() -> None:
    call = {"displayName": "Run", "status": "completed", "success": False}
    tool = {"kind": "toolCall", "toolCall": {**call, "pastTenseMessage": {"markdown": "Ran `x`"}}}
    thought = {"kind": "reasoning", "id": "r", "content": "hmm"}
    told = transcript(
        [turn("one", thought, markdown("first"), tool), turn("two", state="cancelled")]
    )
    assert "User: one\n\nAssistant: first\n[Tool Run: Ran `x` (failed)]" in told
    assert "User: two\n\n[This turn ended early: cancelled.]" in told
    assert "hmm" not in told


def test_a_failure_is_told_as_an_end_and_a_turn_that_went_on_as_one_answer() -> None:
    error = {"kind": "error", "error": {"errorType": "x", "message": "token expired"}}
    told = transcript(
        [
            turn("one", markdown("half "), error, markdown("and half")),
            turn("two", markdown("half"), error, error, state="error"),
        ]
    )
    assert "User: one\n\nAssistant: half and half\n\nUser: two" in told
    assert told.count("[This turn ended early: error.]") == 1
    assert "token expired" not in told


def test_of_a_long_history_the_newest_part_is_told() -> None:
    turns = [turn(f"turn {n}", markdown("x" * (MOST_CHARACTERS // 4))) for n in range(10)]
    told = transcript(turns)
    assert "turn 9" in told
    assert "turn 5" not in told
    assert "left out" in told
    assert len(told) < MOST_CHARACTERS + 500
