"""What a session changed, in a conversation with a real host: /diff."""

from __future__ import annotations

from pathlib import Path

import pytest

from agenthost.cli.format.diff_format import FileDiff
from agenthost.cli.interactive.commands.changes import changes_lines
from agenthost.client import changes
from tests.cli.interactive.commands.test_retry_and_undo import shown
from tests.cli.interactive.samples import shown as rows_of
from tests.cli.interactive.test_conversation import talking


async def test_all_that_a_session_changed_is_shown(tmp_path: Path) -> None:
    async with talking(folder=tmp_path) as talk:
        talk.at.on_submit("//edit notes.txt some text")
        await talk.until(lambda: talk.at.prompts.dialogue is not None)
        talk.at.on_submit("1")
        await talk.until(lambda: talk.at.chat.channel.confirmed["turns"])
        talk.at.on_submit("/diff")
        await shown(talk, "1 file", "  added  ", "+some text")


async def test_where_nothing_was_changed_that_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(changes, "LISTING_PATIENCE", 0.01)
    async with talking() as talk:
        talk.at.on_submit("/diff")
        await shown(talk, "nothing was changed in this session")


def test_what_a_terminal_obeys_is_spelled_out_in_names_and_lines() -> None:
    bad = "a\x1b[2J\rb"
    files = [
        FileDiff(bad, "old" + bad, "renamed", "file:///x", 1, 1, rows=["-" + bad, "+x" * 200]),
        FileDiff("b", "b", "modified", "file:///b", unshown="too large" + bad),
    ]
    rows = rows_of(list(changes_lines(files, 40)))
    assert rows[0] == "2 files  +1 −1"
    assert all(row.isprintable() and len(row) <= 40 for row in rows)
    assert any("too large" in row for row in rows)
