"""What our own commands print."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from agenthost.cli.interactive.diffs import diff_lines
from agenthost.cli.interactive.intents import COMMANDS
from agenthost.cli.interactive.listings import (
    chats_lines,
    help_lines,
    last_call,
    queue_lines,
    reasoning_lines,
    sessions_lines,
    show_lines,
    user_messages,
)
from tests.cli.interactive.samples import (
    active,
    call,
    chat,
    markdown,
    pending_call,
    reasoning,
    shown,
    tool,
    turn,
)

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
LONG = "0" * 36


@pytest.mark.parametrize("width", [100, 80, 40, 24])
def test_help_is_whole_on_a_screen_of_any_width(width: int) -> None:
    rows = shown(help_lines(width))
    assert max(map(len, rows)) <= width
    words = " ".join(" ".join(rows).split())
    for usage, about in COMMANDS.values():
        assert f"{usage} {about}".strip() in words
    assert words.startswith("//help asks the agent what it understands.")


def test_sessions_are_numbered_and_the_present_one_is_marked() -> None:
    summaries = [
        {
            "resource": f"ahp-session:/{id}",
            "title": title,
            "status": status,
            "modifiedAt": "2026-01-01T11:00:00Z",
        }
        for id, title, status in (("mine", "One", 1), (LONG, "Two", 24))
    ]
    rows = shown(sessions_lines(summaries, "ahp-session:/mine", NOW, 80))
    assert rows[1].split() == ["*", "1", "One", "idle", "1", "h", "ago", "mine"]
    assert rows[2].split() == ["2", "Two", "needs", "input", "1", "h", "ago", "00000000"]


def test_chats_say_where_they_come_from() -> None:
    moment = "2026-01-01T11:00:00Z"
    session = {
        "chats": [
            {"resource": "a", "title": "Main", "status": 1, "modifiedAt": moment},
            {
                "resource": "b",
                "title": "Worker",
                "status": 8,
                "modifiedAt": moment,
                "origin": {"kind": "tool", "chat": "a", "toolCallId": "t"},
                "interactivity": "read-only",
            },
        ]
    }
    rows = shown(chats_lines(session, "a", NOW, 80))
    assert rows[1].startswith("* 1  Main")
    assert "worker, read-only" in rows[2]


def test_the_queue_is_listed_in_order() -> None:
    message = {"text": "later", "origin": {"kind": "user"}}
    state = chat(queuedMessages=[{"id": "a", "message": message}])
    assert shown(queue_lines(state, 80))[1] == " 1  later"
    assert shown(queue_lines(chat(), 80)) == ["· nothing is queued"]


def test_the_last_reasoning_is_shown_in_full() -> None:
    state = chat(turn(reasoning("why\n\nbecause")), turn(markdown("x"), id="2"))
    assert shown(reasoning_lines(state, 80)) == ["", "∴ reasoning", "why", "", "because"]
    assert shown(reasoning_lines(chat(), 80)) == ["· no reasoning so far"]


def test_a_tool_call_is_shown_with_all_that_it_said() -> None:
    output = "\n".join(f"row {n}" for n in range(40))
    state = chat(turn(tool(call(content=[{"type": "text", "text": output}]))))
    rows = shown(show_lines(state, 80))
    assert rows[:3] == ["", "✓ Shell · Ran it", "  ls"]
    assert len(rows) == 43
    assert shown(show_lines(chat(), 80)) == ["· no tool call so far"]


def test_the_call_that_waits_is_the_one_to_show() -> None:
    waits = pending_call(toolCallId="w")
    state = chat(running=active(tool(waits), tool(call("running", toolCallId="r"))))
    assert last_call(state) is waits


def test_what_was_said_can_be_called_up_again() -> None:
    other = turn(id="2")
    other["message"] = {"text": "not me", "origin": {"kind": "agent"}}
    state = chat(turn(), other, running=active(id="3", text="now"))
    assert user_messages(state) == ["hi", "now"]


def test_a_diff_shows_what_would_change() -> None:
    assert shown(diff_lines("a", "one\ntwo\n", "one\n2\n", 80)) == [
        "a  changed",
        "@@ -1,2 +1,2 @@",
        " one",
        "-two",
        "+2",
    ]
    assert shown(diff_lines("a", None, "x\x1b[8m", 80))[-1] == "+x\\x1b[8m"
    assert shown(diff_lines("a", "x", None, 80))[0] == "a  deleted"
