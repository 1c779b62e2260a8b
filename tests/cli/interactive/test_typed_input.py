"""What a typed line means."""

from __future__ import annotations

import pytest

from agenthost.agents.demo import Demo
from agenthost.cli.interactive.display.listings import help_lines
from agenthost.cli.interactive.display.styled_text import text_of
from agenthost.cli.interactive.typed_input import (
    COMMANDS,
    Command,
    Intent,
    Interrupts,
    Say,
    Steer,
    mistyped_command,
    own_command,
    parse,
)


@pytest.mark.parametrize(
    ("text", "intent"),
    [
        ("  ", None),
        ("hello", Say("hello")),
        ("two\nlines", Say("two\nlines")),
        ("!faster", Steer("faster")),
        ("! faster", Steer("faster")),
        ("!", Say("!")),
        ("/steer faster now", Steer("faster now")),
        ("/steer", Command("steer")),
        ("/help", Command("help")),
        ("/quit", Command("quit")),
        ("/exit", Command("quit")),
        ("/export some/where.md", Command("export", "some/where.md")),
        ("/run ls", Say("/run ls")),
        ("/usr/bin is a path", Say("/usr/bin is a path")),
        ("//help", Say("/help")),
    ],
)
def test_a_line_is_something_to_say_or_a_command_of_ours(text: str, intent: Intent | None) -> None:
    assert parse(text) == intent


DEMO = tuple(command.name for command in Demo.slash_commands)


@pytest.mark.parametrize(
    ("text", "agents", "meant"),
    [
        ("/sesions", (), "sessions"),
        ("/hlep", (), "help"),
        ("/Quit", (), "quit"),
        ("/eixt", (), "exit"),
        ("/opne release", (), "open"),
        ("/sesions", DEMO, "sessions"),
        # The agent's own, misspelt.
        ("/rnu ls", ("run", "tool"), "run"),
        ("/hlep me", DEMO, "help"),
        # Whose else should they be?
        ("/slow 10", ("slow",), None),
        ("/edit a.txt text", (), None),
        ("/compact", (), None),
        ("/usr/bin is a path", (), None),
        ("/usr", (), None),
        ("//sesions", (), None),
        ("/sessions", (), None),
        ("sesions", (), None),
        ("/", (), None),
    ],
)
def test_a_slip_is_told_from_what_others_understand(
    text: str, agents: tuple[str, ...], meant: str | None
) -> None:
    assert mistyped_command(text, agents) == meant


@pytest.mark.parametrize("name", DEMO)
def test_a_command_that_the_agent_has_is_no_slip(name: str) -> None:
    assert mistyped_command(f"/{name}", DEMO) is None
    assert mistyped_command(f"/{name} 1", DEMO) is None


def test_only_our_own_commands_are_commands() -> None:
    assert own_command("/decline") == Command("decline")
    assert own_command("/ask") is None
    assert own_command("decline") is None


def test_help_lists_every_command() -> None:
    listed = "\n".join(text_of(item) for item in help_lines(80))
    assert all(f"/{name}" in listed for name in COMMANDS)


def test_ctrl_c_cancels_and_a_second_one_soon_after_leaves() -> None:
    interrupts = Interrupts()
    assert interrupts.on_interrupt(10.0, running=True, typing=False) == "cancel"
    assert interrupts.on_interrupt(11.9, running=True, typing=False) == "leave"


def test_ctrl_c_after_a_while_cancels_again() -> None:
    interrupts = Interrupts()
    assert interrupts.on_interrupt(10.0, running=True, typing=True) == "cancel"
    assert interrupts.on_interrupt(12.1, running=True, typing=False) == "cancel"


def test_without_a_turn_ctrl_c_clears_the_line_or_warns() -> None:
    assert Interrupts().on_interrupt(1.0, running=False, typing=True) == "clear"
    assert Interrupts().on_interrupt(1.0, running=False, typing=False) == "warn"
