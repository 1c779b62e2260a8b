"""Help in a chat, as it fits the screen."""

from __future__ import annotations

import pytest

from agenthost.cli.interactive.commands.registry import COMMANDS, GROUPS
from agenthost.cli.interactive.display.help_text import (
    OTHER_ROWS,
    command_lines,
    help_lines,
    keys_lines,
)
from tests.cli.interactive.samples import shown


@pytest.mark.parametrize("width", [120, 80])
def test_on_a_usual_screen_each_command_has_a_row_with_what_it_does(width: int) -> None:
    rows = shown(help_lines(GROUPS, width, 40))
    assert len(rows) + OTHER_ROWS <= 40
    assert max(map(len, rows)) <= width
    for command in COMMANDS.values():
        starts = f"  /{command.name} {command.usage}".rstrip()
        assert any(row.startswith(starts) and row.endswith(f"  {command.about}") for row in rows)


@pytest.mark.parametrize(("width", "height"), [(120, 24), (40, 30), (40, 40), (24, 40)])
def test_on_a_small_one_all_are_named(width: int, height: int) -> None:
    rows = shown(help_lines(GROUPS, width, height))
    assert len(rows) + OTHER_ROWS <= height
    assert max(map(len, rows)) <= width
    words = " ".join(rows).split()
    assert all(f"/{name}" in words for name in COMMANDS)


@pytest.mark.parametrize(("width", "height"), [(120, 40), (40, 30)])
def test_it_says_whose_command_it_is_where_both_have_one(width: int, height: int) -> None:
    text = " ".join(" ".join(shown(help_lines(GROUPS, width, height))).split())
    assert text.startswith("//help asks the agent what it understands.")
    assert "Where both have " in text


@pytest.mark.parametrize("width", [120, 40, 24])
def test_one_command_and_the_keys_are_explained_on_any_screen(width: int) -> None:
    rows = [
        *shown(command_lines(COMMANDS["mode"], ["approvals"], width)),
        *shown(keys_lines(width)),
    ]
    assert max(map(len, rows)) <= width
    text = " ".join(" ".join(rows).split())
    assert f"/mode [MODE] {COMMANDS['mode'].about} (also /approvals)" in text
    assert "Ctrl-D leave; a running turn goes on" in text
