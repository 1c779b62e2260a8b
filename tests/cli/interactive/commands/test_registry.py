"""The chat's own slash commands, all of them."""

from __future__ import annotations

from agenthost.cli.interactive.commands.registry import COMMANDS, SAME


def test_each_command_is_known_by_its_own_name_and_tells_what_it_does() -> None:
    assert all(name == command.name for name, command in COMMANDS.items())
    assert all(command.about for command in COMMANDS.values())


def test_second_names_lead_to_commands_and_hide_none() -> None:
    assert all(name in COMMANDS for name in SAME.values())
    assert not set(SAME) & set(COMMANDS)


def test_who_may_only_look_changes_nothing() -> None:
    harmless = {
        "help", "keys", "sessions", "open", "chats", "chat", "reasoning", "show", "export", "quit",
        "diff", "earlier",
    }  # fmt: skip
    assert {name for name, command in COMMANDS.items() if command.viewer} == harmless
