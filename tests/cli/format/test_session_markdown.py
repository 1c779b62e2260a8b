from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from agenthost.cli.format.session_markdown import fence, session_markdown

SESSION = {
    "resource": "ahp-session:/1",
    "title": "Fix *the* <parser>",
    "provider": "demo",
    "createdAt": "2026-05-17T12:00:00.000Z",
    "workingDirectories": ["file:///work"],
}


def turn(text: str, *parts: Any, **fields: Any) -> dict[str, Any]:
    message = {"text": text, "origin": {"kind": "user"}}
    base = {"id": "t", "message": message, "responseParts": list(parts), "state": "complete"}
    return {**base, **fields}


def chat(*turns: Any, title: str = "Chat", **fields: Any) -> dict[str, Any]:
    return {"resource": f"ahp-chat:/{title}", "title": title, "turns": list(turns), **fields}


def part(kind: str, content: Any) -> dict[str, Any]:
    return {"kind": kind, "id": "p", "content": content}


def document(*turns: Any) -> str:
    return session_markdown(SESSION, [chat(*turns)])


def test_a_session_is_a_document_from_its_title_to_its_last_answer() -> None:
    text = document(turn("Hello\n# there", part("markdown", "Hi **you**.\n")))
    assert text == (
        "# Fix \\*the\\* \\<parser\\>\n\n"
        "- session: `ahp-session:/1`\n- agent: demo\n- directory: `/work`\n"
        "- created: 2026-05-17T12:00:00.000Z\n\n"
        "### You\n\n> Hello\n> # there\n\n"
        "### demo\n\nHi **you**.\n"
    )


def test_reasoning_is_folded() -> None:
    text = document(turn("x", part("reasoning", "hm"), part("markdown", "yes")))
    assert "<details>\n<summary>Reasoning</summary>\n\nhm\n\n</details>\n\nyes" in text


def test_a_tool_call_shows_its_input_and_output_in_safe_fences() -> None:
    call = {
        "toolCallId": "c",
        "toolName": "shell",
        "displayName": "Shell",
        "status": "completed",
        "success": True,
        "invocationMessage": "Run",
        "pastTenseMessage": "Ran `a < b`",
        "toolInput": "a < b",
        "content": [{"type": "text", "text": "```\nout\n"}],
    }
    text = document(turn("x", {"kind": "toolCall", "toolCall": call}))
    assert "<summary>Tool: Shell: Ran `a &lt; b` (done)</summary>" in text
    assert "```\na < b\n```" in text
    assert "````\n```\nout\n````" in text


def test_a_denied_call_says_why() -> None:
    call = {
        "toolCallId": "c",
        "toolName": "shell",
        "displayName": "Shell",
        "status": "cancelled",
        "reason": "denied",
        "reasonMessage": "too risky",
        "invocationMessage": "Run",
    }
    text = document(turn("x", {"kind": "toolCall", "toolCall": call}))
    assert "(denied)" in text
    assert "Reason: too risky" in text


def test_questions_stand_with_their_answers() -> None:
    request = {
        "id": "r",
        "message": "Tell me",
        "questions": [
            {"id": "a", "kind": "text", "message": "Name?"},
            {"id": "b", "kind": "boolean", "message": "OK?"},
        ],
        "answers": {"a": {"state": "submitted", "value": {"kind": "text", "value": "Ada"}}},
    }
    asked = {"kind": "inputRequest", "request": request}
    text = document(turn("x", {**asked, "response": "accept"}), turn("y", asked))
    assert "**Questions** (answered): Tell me\n- Name? **Ada**\n- OK? **no answer**" in text
    assert "**Questions** (not answered): Tell me" in text


def test_a_question_that_was_asked_alone_is_written_once() -> None:
    request = {
        "id": "r",
        "message": "Who are you?",
        "questions": [{"id": "a", "kind": "text", "message": "Who are you?"}],
        "answers": {"a": {"state": "submitted", "value": {"kind": "text", "value": "Ada"}}},
    }
    text = document(turn("x", {"kind": "inputRequest", "request": request, "response": "accept"}))
    assert "**Question** (answered): Who are you? **Ada**" in text


def failure(message: str) -> dict[str, Any]:
    return {"kind": "error", "error": {"errorType": "e", "message": message}}


def test_endings_and_notices_are_quoted() -> None:
    text = document(
        turn("a", part("systemNotification", {"markdown": "mind"})),
        turn("b", failure("no way"), state="error"),
        turn("e", state="error"),
        turn("c", state="cancelled"),
        turn("d", {"kind": "contentRef", "uri": "ahp-content:/1"}, {"kind": "hologram"}),
    )
    assert "> **Notice:** mind" in text
    assert text.count("> **Error:**") == 2
    assert "> **Error:** no way" in text
    assert "> **Error:** no reason given" in text
    assert "> **Cancelled**" in text
    assert "`ahp-content:/1`" in text
    assert "does not know: hologram" in text


def test_an_error_that_a_turn_got_over_stands_where_it_happened() -> None:
    text = document(turn("a", part("markdown", "one"), failure("oh"), part("markdown", "two")))
    assert "one\n\n> **Error:** oh\n\ntwo" in text


def test_what_is_under_way_and_what_waits_is_there_too() -> None:
    active = turn("now", part("markdown", "so far"))
    del active["state"]
    pending = {"id": "m", "message": {"text": "later", "origin": {"kind": "user"}}}
    state = chat(activeTurn=active, queuedMessages=[pending], steeringMessage=pending)
    text = session_markdown(SESSION, [state])
    assert "so far\n\n> **Under way**" in text
    assert "### Steering\n\n> later\n\n### Queued\n\n> later" in text


def test_several_chats_have_headings_that_say_where_they_come_from() -> None:
    worker = chat(
        turn("do it", message={"text": "do it", "origin": {"kind": "tool"}}),
        title="Worker",
        origin={"kind": "tool", "chat": "ahp-chat:/Main", "toolCallId": "c"},
    )
    fork = chat(title="Fork", origin={"kind": "fork", "chat": "ahp-chat:/Main", "turnId": "t"})
    text = session_markdown(SESSION, [chat(turn("x"), title="Main"), worker, fork])
    assert "## Chat: Main" in text
    assert "## Chat: Worker\n\n- chat: `ahp-chat:/Worker`\n- works for: `ahp-chat:/Main`" in text
    assert "### Task\n\n> do it" in text
    assert "- continues: `ahp-chat:/Main`" in text


def test_usage_is_told_where_it_is_known() -> None:
    assert "*m · 3 out tokens*" in document(turn("x", usage={"model": "m", "outputTokens": 3}))


def test_escape_sequences_do_not_get_into_a_document() -> None:
    assert "\x1b" not in document(turn("\x1b[2J", part("markdown", "\x1b]0;x\x07")))
    named = {**SESSION, "resource": "ahp-session:/\x1b[2J", "workingDirectories": ["x:\x9b2J"]}
    assert not set("\x1b\x9b") & set(session_markdown(named, []))


@given(st.text(alphabet="`a \n"))
def test_a_fence_is_longer_than_any_inside(text: str) -> None:
    first, *inside, last = fence(text).split("\n")
    assert first == last
    assert not any(line.strip().startswith(first) for line in inside)
