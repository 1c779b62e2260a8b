"""What typed words mean for settings, and how settings are laid out."""

from __future__ import annotations

from typing import Any

import pytest

from agenthost.cli.exit_codes import USAGE, CommandFailed
from agenthost.cli.format.terminal_text import Ink
from agenthost.cli.interactive.commands.settings import setting_value, settings_from
from agenthost.cli.interactive.commands.settings_table import settings_table

SCHEMA = {
    "type": "object",
    "properties": {
        "autoApprove": {
            "type": "string",
            "title": "Approvals",
            "enum": ["default", "edits"],
            "sessionMutable": True,
        },
        "steps": {"type": "number", "title": "Steps", "default": 5, "sessionMutable": True},
        "isolation": {"type": "string", "title": "Where it works"},
    },
}


@pytest.mark.parametrize(
    ("schema", "text", "value"),
    [
        ({"type": "string", "title": "t"}, "12", "12"),
        ({"type": "number", "title": "t"}, "12", 12),
        ({"type": "boolean", "title": "t"}, "true", True),
        ({"type": "array", "title": "t"}, '["a"]', ["a"]),
        ({"type": "number", "title": "t", "enum": [1, 2]}, "2", 2),
        ({"type": "string", "title": "t", "enum": ["a"], "enumDynamic": True}, "b", "b"),
        ({"type": "array", "title": "t", "items": {"type": "string"}}, "a, b", ["a", "b"]),
        ({}, "word", "word"),
        ({}, "[1]", [1]),
    ],
)
def test_a_word_becomes_what_the_setting_is(schema: Any, text: str, value: Any) -> None:
    assert setting_value("key", schema, text) == value


@pytest.mark.parametrize(
    ("schema", "text", "told"),
    [
        ({"type": "string", "readOnly": True}, "x", "cannot be changed"),
        ({"type": "boolean"}, "perhaps", "key is true or false, not 'perhaps'"),
        ({"type": "boolean"}, "12", "key is true or false, not '12'"),
        ({"type": "number"}, "true", "key is a number"),
        ({"type": "number"}, "NaN", "key is a number"),
        ({"type": "array"}, "[" * 100_000, "key is a list"),
        ({"type": "string", "enum": ["a", "b"]}, "c", "key is one of a, b"),
    ],
)
def test_what_cannot_be_a_value_is_refused(schema: Any, text: str, told: str) -> None:
    with pytest.raises(CommandFailed, match=told.replace("[", r"\[")) as refused:
        setting_value("key", schema, text)
    assert len(str(refused.value)) < 200


def test_settings_of_a_command_line_are_checked_against_the_schema() -> None:
    typed = [("AUTOAPPROVE", "edits"), ("steps", "1"), ("steps", "2"), ("isolation", "worktree")]
    assert settings_from(typed, SCHEMA) == {
        "autoApprove": "edits",
        "steps": 2,
        "isolation": "worktree",
    }
    with pytest.raises(CommandFailed, match="did you mean steps") as close:
        settings_from([("step", "1")], SCHEMA)
    assert close.value.code == USAGE
    with pytest.raises(CommandFailed, match="there are autoApprove, isolation, steps"):
        settings_from([("zzz", "1")], SCHEMA)
    with pytest.raises(CommandFailed, match="there are none here"):
        settings_from([("zzz", "1")], None)
    assert settings_from([], None) == {}


def test_of_a_session_that_exists_some_settings_stay() -> None:
    assert settings_from([("steps", "3")], SCHEMA, existing=True) == {"steps": 3}
    with pytest.raises(CommandFailed, match="isolation cannot be changed: it was decided"):
        settings_from([("isolation", "folder")], SCHEMA, existing=True)


def test_of_a_new_session_it_is_said_what_a_setting_can_only_be_there() -> None:
    fixed = {"type": "string", "enum": ["folder"], "default": "folder", "readOnly": True}
    schema = {"properties": {"isolation": fixed, "mode": {"type": "string", "readOnly": True}}}
    with pytest.raises(CommandFailed, match=r"cannot be chosen here: it can only be folder$"):
        settings_from([("isolation", "worktree")], schema)
    with pytest.raises(CommandFailed, match=r"mode cannot be chosen here$"):
        settings_from([("mode", "x")], schema)


@pytest.mark.parametrize("width", [36, 80, 160])
def test_the_table_fits_and_says_what_can_no_longer_be_changed(width: int) -> None:
    config = {"schema": SCHEMA, "values": {"autoApprove": "edits"}}
    rows = settings_table(config, width, Ink(False), of_session=True)
    assert max(map(len, rows)) <= width
    assert [row.split()[:2] for row in rows[1:]] == [
        ["autoApprove", "edits"],
        ["steps", "5"],
        ["isolation", "-"],
    ]
    assert rows[3].endswith("(decided at the start)") == (width > 60)


def test_hostile_names_and_values_are_made_safe() -> None:
    bad = "\x1b[2J\n" + "x" * 100_000
    schema = {"type": "object", "properties": {bad: {"type": "string", "title": bad}}}
    for row in settings_table({"schema": schema, "values": {bad: bad}}, None, Ink(False)):
        assert row.isprintable()
        assert len(row) < 500
    with pytest.raises(CommandFailed) as refused:
        settings_from([(bad, bad)], {"properties": {"a": {}}})
    assert str(refused.value).isprintable()
