from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from agenthost.cli.format.state_format import (
    activity_word,
    age,
    answer_text,
    content_text,
    directory_text,
    error_text,
    question_line,
    session_id,
    session_json,
    short_id,
    status_words,
    tool_input,
    tool_json,
    tool_line,
    tool_output,
    tool_word,
    usage_line,
)

NOW = datetime(2026, 5, 17, 12, 0, tzinfo=UTC)

# Times


@pytest.mark.parametrize(
    ("moment", "words"),
    [
        ("2026-05-17T11:59:30.000Z", "just now"),
        ("2026-05-17T12:00:30.000Z", "just now"),
        ("2026-05-17T11:58:59.000Z", "1 min ago"),
        ("2026-05-17T11:00:01Z", "59 min ago"),
        ("2026-05-17T09:00:00Z", "3 h ago"),
        ("2026-05-15T09:00:00Z", "2 d ago"),
        ("2026-05-01T09:00:00Z", "2026-05-01"),
        ("2026-05-17T11:00:00", "1 h ago"),
        ("some day\x1b[2J", "some day"),
    ],
)
def test_an_age_is_in_words(moment: str, words: str) -> None:
    assert age(moment, NOW) == words


# Sessions


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (1 | 32, ("idle",)),
        (1, ("idle", "unread")),
        (2 | 32, ("error",)),
        (8 | 32, ("running",)),
        (24 | 32, ("needs input",)),
        (24 | 64, ("needs input", "archived", "unread")),
        (1 | 32 | 1024, ("idle",)),
        (0 | 32, ("idle",)),
    ],
)
def test_a_status_is_in_words(status: int, words: tuple[str, ...]) -> None:
    assert status_words(status) == words
    assert activity_word(status) == words[0]


def test_a_session_s_document_has_what_scripts_need() -> None:
    summary = {
        "resource": "ahp-session:/3f2a",
        "provider": "demo",
        "title": "Release",
        "status": 24,
        "activity": "waiting",
        "createdAt": "2026-05-17T11:00:00.000Z",
        "modifiedAt": "2026-05-17T11:30:00.000Z",
        "workingDirectories": ["file:///home/ada/my%20work", "vscode-remote://box/work"],
        "changes": {"files": 2},
    }
    assert session_json(summary) == {
        "session": "ahp-session:/3f2a",
        "id": "3f2a",
        "title": "Release",
        "status": "needs input",
        "archived": False,
        "unread": True,
        "agent": "demo",
        "createdAt": "2026-05-17T11:00:00.000Z",
        "modifiedAt": "2026-05-17T11:30:00.000Z",
        "directories": ["/home/ada/my work", "vscode-remote://box/work"],
        "activity": "waiting",
        "changes": {"files": 2},
    }


@pytest.mark.parametrize(
    ("uri", "id"),
    [("ahp-session:/3f2a", "3f2a"), ("copilot:///a/b", "b"), ("urn:x", "urn:x"), ("a:/", "a:/")],
)
def test_an_id_is_the_end_of_its_uri(uri: str, id: str) -> None:
    assert session_id(uri) == id


@pytest.mark.parametrize(
    ("uri", "short"),
    [
        ("ahp-session:/3f2a9c01-0000-4000-8000-000000000000", "3f2a9c01"),
        ("ahp-session:/release", "release"),
        ("ahp-session:/\x1b[2Jmine", "mine"),
        ("ahp-session:/\x1b[2J" + "0" * 36, "00000000"),
    ],
)
def test_an_id_is_cut_short_where_it_is_random(uri: str, short: str) -> None:
    assert short_id(uri) == short


def test_a_directory_is_a_path_where_it_is_one() -> None:
    assert directory_text("file:///a%20b") == "/a b"
    assert directory_text("ssh://box/a") == "ssh://box/a"


# Tool calls


def call(status: str, **fields: Any) -> dict[str, Any]:
    base = {"toolCallId": "c1", "toolName": "shell", "displayName": "Shell", "status": status}
    return {**base, **fields}


@pytest.mark.parametrize(
    ("state", "word"),
    [
        (call("streaming"), "preparing"),
        (call("pending-confirmation"), "waits for approval"),
        (call("running"), "running"),
        (call("auth-required"), "waits for a sign-in"),
        (call("pending-result-confirmation"), "its result waits for approval"),
        (call("completed", success=True), "done"),
        (call("completed", success=False), "failed"),
        (call("cancelled", reason="denied"), "denied"),
        (call("cancelled", reason="skipped", reasonMessage="not now"), "skipped"),
        # Its turn ended over it.
        (call("cancelled", reason="skipped"), "cancelled"),
        (call("cancelled", reason="result-denied"), "result denied"),
        (call("teleporting\x1b[2J"), "teleporting"),
    ],
)
def test_a_call_s_status_is_a_word(state: dict[str, Any], word: str) -> None:
    assert tool_word(state) == word


def test_a_call_is_a_line_that_says_what_it_does_or_did() -> None:
    assert tool_line(call("streaming")) == "Shell"
    assert tool_line(call("running", invocationMessage="Run\n`ls`")) == "Shell: Run `ls`"
    done = call("completed", invocationMessage="Run", pastTenseMessage={"markdown": "Ran `ls`"})
    assert tool_line(done) == "Shell: Ran `ls`"
    assert tool_line(call("running", invocationMessage="Shell")) == "Shell"


def test_a_call_s_input_is_what_is_known_of_it() -> None:
    assert tool_input(call("streaming")) == ""
    assert tool_input(call("streaming", partialInput='{"a')) == '{"a'
    assert tool_input(call("running", toolInput="ls")) == "ls"
    assert tool_input(call("running", toolInput={"uri": "ahp-content:/1"})) == "[ahp-content:/1]"


@pytest.mark.parametrize(
    ("block", "text"),
    [
        ({"type": "text", "text": "hi\n"}, "hi\n"),
        (
            {"type": "terminal", "title": "t", "resource": "u", "result": {"exitCode": 0}},
            "[exit code 0]",
        ),
        (
            {"type": "terminal", "resource": "u", "result": {"exitCode": 2, "preview": "no"}},
            "no\n[exit code 2]",
        ),
        ({"type": "terminal", "title": "t", "resource": "u"}, ""),
        ({"type": "fileEdit", "after": {"uri": "file:///a"}}, "created /a"),
        ({"type": "fileEdit", "before": {"uri": "file:///a"}}, "deleted /a"),
        (
            {
                "type": "fileEdit",
                "before": {"uri": "file:///a"},
                "after": {"uri": "file:///a"},
                "diff": {"added": 2, "removed": 0},
            },
            "edited /a +2 -0",
        ),
        ({"type": "subagent", "resource": "ahp-chat:/1", "title": "W"}, "[worker W: ahp-chat:/1]"),
        (
            {"type": "embeddedResource", "data": "AAAA", "contentType": "image/png"},
            "[image/png, 3 bytes]",
        ),
        ({"type": "resource", "uri": "file:///a"}, "[file:///a]"),
        ({"type": "hologram"}, "[hologram that this version does not know]"),
    ],
)
def test_every_kind_of_content_has_a_text(block: dict[str, Any], text: str) -> None:
    assert content_text(block) == text


def test_a_call_s_output_joins_its_content_and_its_error() -> None:
    content = [{"type": "text", "text": "one\n"}, {"type": "text", "text": "two"}]
    failed = call("completed", success=False, content=content, error={"message": "gone"})
    assert tool_output(failed) == "one\ntwo\ngone"
    assert tool_output(call("running")) == ""


@pytest.mark.parametrize(
    ("preview", "text", "output"),
    [
        ("a\r\n\x1b[31mb\x1b[0m\r\n", "a\nb\n", "a\nb\n[exit code 3]"),
        # Of a long output the preview is the end.
        ("b\r\n", "a\nb\n", "a\nb\n[exit code 3]"),
        ("a\r\n", "something else\n", "a\r\n\n[exit code 3]\nsomething else"),
    ],
)
def test_what_a_terminal_printed_is_told_once(preview: str, text: str, output: str) -> None:
    def told(code: int, **fields: Any) -> str:
        result = {"exitCode": code, "preview": preview}
        terminal = {"type": "terminal", "title": "t", "resource": "u", "result": result}
        content = [terminal, {"type": "text", "text": text}]
        return tool_output(call("completed", success=True, content=content, **fields))

    assert told(3) == output
    if "[exit code 3]" in output.splitlines()[-1]:
        assert told(0) == output.removesuffix("\n[exit code 3]")
        error = {"message": "exit code 3"}
        assert told(3, error=error) == output.replace("[exit code 3]", "exit code 3")


def test_a_call_s_document_has_no_more_than_is_known() -> None:
    assert tool_json(call("running", toolInput="ls", confirmed="setting")) == {
        "id": "c1",
        "toolCallId": "c1",
        "tool": "shell",
        "name": "Shell",
        "status": "running",
        "input": "ls",
        "output": "",
        "confirmed": "setting",
    }


# Questions


CHOICE = {
    "id": "colour",
    "kind": "single-select",
    "message": "Which?",
    "options": [{"id": "r", "label": "red"}, {"id": "g", "label": "green"}],
}


@pytest.mark.parametrize(
    ("question", "line"),
    [
        ({"id": "n", "kind": "text", "message": "Name?", "required": True}, "n: Name?"),
        ({"id": "n", "kind": "text", "message": "Name?"}, "n: Name? (optional)"),
        (
            {"id": "a", "kind": "integer", "message": "Age?", "required": True},
            "a: Age? (a whole number)",
        ),
        (
            {"id": "a", "kind": "number", "message": "Age?", "required": True},
            "a: Age? (a number)",
        ),
        ({"id": "b", "kind": "boolean", "message": "OK?"}, "b: OK? (yes or no, optional)"),
        ({**CHOICE, "required": True}, "colour: Which? (one of red, green)"),
        (
            {**CHOICE, "kind": "multi-select", "allowFreeformInput": True},
            "colour: Which? (any of red, green, or other text, optional)",
        ),
        ({"id": "x", "kind": "telepathy", "title": "Think!", "required": True}, "x: Think!"),
    ],
)
def test_a_question_is_a_line_that_says_how_to_answer(question: dict[str, Any], line: str) -> None:
    assert question_line(question) == line


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (None, "no answer"),
        ({"state": "skipped"}, "skipped"),
        ({"state": "skipped", "freeformValues": ["later"]}, "later"),
        ({"state": "submitted", "value": {"kind": "text", "value": "Ada"}}, "Ada"),
        ({"state": "submitted", "value": {"kind": "number", "value": 3}}, "3"),
        ({"state": "submitted", "value": {"kind": "boolean", "value": False}}, "no"),
        ({"state": "submitted", "value": {"kind": "selected", "value": "g"}}, "green"),
        (
            {
                "state": "submitted",
                "value": {"kind": "selected", "value": "", "freeformValues": ["mauve"]},
            },
            "mauve",
        ),
        (
            {"state": "submitted", "value": {"kind": "selected-many", "value": ["g", "x"]}},
            "green, x",
        ),
        ({"state": "submitted", "value": {"kind": "selected-many", "value": []}}, "nothing"),
    ],
)
def test_an_answer_is_a_text_with_labels(answer: dict[str, Any] | None, text: str) -> None:
    assert answer_text(CHOICE, answer) == text


# The rest


def test_usage_is_a_line_of_what_is_known() -> None:
    usage = {"inputTokens": 1234, "outputTokens": 5, "cacheReadTokens": 0, "model": "m"}
    assert usage_line(usage) == "m · 1,234 in, 0 cached, 5 out tokens"
    assert usage_line({"outputTokens": 5}) == "5 out tokens"
    assert usage_line({}) == ""


def test_an_error_without_a_reason_says_so() -> None:
    assert error_text({"message": "no\nway"}) == "no way"
    assert error_text(None) == error_text({}) == "no reason given"
