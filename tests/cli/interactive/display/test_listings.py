"""What our own commands print."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

from agenthost.cli.interactive.display.blocks import call_in_full
from agenthost.cli.interactive.display.listings import (
    chats_lines,
    models_lines,
    nth_last_call,
    queue_lines,
    reasoning_lines,
    terminals_lines,
    user_messages,
)
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

Json = Mapping[str, object]
NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)


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
    rows = shown([*call_in_full(call(content=[{"type": "text", "text": output}]), 80)])
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


def test_models_are_listed_with_their_context_and_the_chosen_one_is_marked() -> None:
    hostile: dict[str, object] = {
        "id": "\x1b[2Jx" * 1000,
        "name": "N\n",
        "maxContextWindow": "many",
    }
    models: list[Json] = [{"id": "a", "name": "A", "maxContextWindow": 200_000}, hostile]
    rows = shown(models_lines(models, "a", 40))
    assert rows[1].split() == ["*a", "A", "200k", "tokens"]
    assert all(len(row) <= 60 and row.isprintable() for row in rows)
    assert "and 5 more" in " ".join(shown(models_lines([hostile] * 25, None, 80)))
    assert "names no models" in shown(models_lines([], None, 80))[0]


def test_terminals_are_numbered_and_say_how_they_fare() -> None:
    terminals = [
        {"title": "bash", "lifecycle": {"status": "running"}},
        {"title": "", "lifecycle": {"status": "exited", "exitCode": 3}},
    ]
    rows = shown(terminals_lines(terminals, 80))
    assert rows[1].split() == ["1", "bash", "running"]
    assert rows[2].split() == ["2", "(no", "title)", "ended", "with", "exit", "code", "3"]
    assert "/terminal new opens one" in shown(terminals_lines([], 80))[0]
