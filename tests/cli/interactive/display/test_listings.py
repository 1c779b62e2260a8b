"""What our own commands print."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from agenthost.cli.interactive.display.blocks import call_in_full
from agenthost.cli.interactive.display.listings import (
    chats_lines,
    help_lines,
    nth_last_call,
    queue_lines,
    reasoning_lines,
    sessions_lines,
    user_messages,
)
from agenthost.cli.interactive.typed_input import COMMANDS
from tests.cli.interactive.samples import (
    active,
    call,
    chat,
    markdown,
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
            {"resource": "c", "title": "Old", "status": 1 | 64, "modifiedAt": moment},
        ]
    }
    rows = shown(chats_lines(session, "a", NOW, 80))
    assert rows[1].startswith("* 1  Main")
    assert "worker, read-only" in rows[2]
    assert "archived" in rows[3]


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
    rows = shown(call_in_full(call(content=[{"type": "text", "text": output}]), 80))
    assert rows[:2] == ["✓ Shell · Ran it", "  ls"]
    assert len(rows) == 42


def test_tool_calls_are_counted_from_the_last_one() -> None:
    made = [call(toolCallId=id) for id in "abc"]
    state = chat(turn(tool(made[0])), turn(id="2"), running=active(*map(tool, made[1:]), id="3"))
    assert [nth_last_call(state, number) for number in (1, 2, 3, 4)] == [*reversed(made), None]


def test_what_was_said_can_be_called_up_again() -> None:
    other = turn(id="2")
    other["message"] = {"text": "not me", "origin": {"kind": "agent"}}
    state = chat(turn(), other, running=active(id="3", text="now"))
    assert user_messages(state) == ["hi", "now"]
