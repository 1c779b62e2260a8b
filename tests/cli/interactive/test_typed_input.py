"""What a typed line means."""

from __future__ import annotations

import pytest

from agenthost.agents.demo import Demo
from agenthost.cli.interactive.typed_input import (
    Command,
    Intent,
    Interrupts,
    Say,
    Steer,
    closest_command,
    foreign_command,
    mistyped_command,
    no_such_command,
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
    ("text", "name"),
    [
        ("/sesions", "sesions"),
        ("/foo bar", "foo"),
        ("  /foo\nbar", "foo"),
        ("/usr", "usr"),
        # Ours, or nobody's command at all.
        ("/sessions", None),
        ("/exit", None),
        ("/usr/bin is a path", None),
        ("//sesions", None),
        ("sesions", None),
        ("/", None),
        ("", None),
    ],
)
def test_a_word_with_a_slash_that_is_not_ours_is_told_from_the_rest(
    text: str, name: str | None
) -> None:
    assert foreign_command(text) == name


@pytest.mark.parametrize(
    ("name", "agents", "meant"),
    [
        ("sesions", (), "sessions"),
        ("hlep", (), "help"),
        ("Quit", (), "quit"),
        ("eixt", (), "exit"),
        ("sesions", DEMO, "sessions"),
        ("rnu", ("run", "tool"), "run"),
        ("xyzzy", DEMO, None),
    ],
)
def test_the_command_that_was_meant_is_the_closest(
    name: str, agents: tuple[str, ...], meant: str | None
) -> None:
    assert closest_command(name, agents) == meant


def test_what_nobody_has_is_said_with_what_to_do() -> None:
    assert (
        no_such_command("declien")
        == "there is no command /declien; did you mean /decline? · //declien sends it to the agent"
    )
    assert no_such_command("xyzzy", to_agent=False) == "there is no command /xyzzy"


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("/declin", "decline"),
        ("/opne release", "open"),
        # Good answers to "which folder?".
        ("/usr", None),
        ("/qiut smoking", None),
        ("/decline", None),
        ("decline", None),
    ],
)
def test_an_answer_is_a_slip_only_if_it_is_like_a_command_of_ours(
    text: str, meant: str | None
) -> None:
    assert mistyped_command(text) == meant


def test_only_our_own_commands_are_commands() -> None:
    assert own_command("/decline") == Command("decline")
    assert own_command("/ask") is None
    assert own_command("decline") is None


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
