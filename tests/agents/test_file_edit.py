"""Edits of files in tool calls: shown, approved, and made as approved."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from agenthost.agents import Agent, Turn
from agenthost.agents.common_settings import COMMON_SETTINGS
from agenthost.agents.file_edit import MOST_EDITED
from agenthost.testing import SeenCall, talk


class Editor(Agent):
    """Writes the text behind a name to the file, or deletes it where there is no text."""

    provider, display_name = "editor", "Editor"

    def config_schema(self, values: Any, working_directory: str | None) -> Mapping[str, Any]:
        return {"type": "object", "properties": COMMON_SETTINGS}

    async def run(self, turn: Turn) -> None:
        name, space, text = turn.text.partition(" ")
        async with turn.tool("edit", input={"path": name}) as call:
            done = await call.edit(name, text if space else None)
        if done:
            await turn.write(f"{done.path.name} +{done.added} -{done.removed}")
        else:
            await turn.write(f"{done.reason}")


async def test_a_file_is_made_changed_and_deleted_as_people_see_it(tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    async with talk(Editor(), folder=tmp_path) as chat:
        made = await chat.say("notes.txt one", approve=True)
        assert (made.text, file.read_bytes()) == ("notes.txt +1 -0", b"one")
        assert made.calls["edit"].state["pastTenseMessage"] == "Created notes.txt"
        changed = await chat.say("notes.txt two", approve=True)
        assert changed.calls["edit"].diff == (
            "--- notes.txt\n+++ notes.txt\n@@ -1 +1 @@\n-one\n+two\n"
        )
        assert (changed.text, file.read_bytes()) == ("notes.txt +1 -1", b"two")
        same = await chat.say("notes.txt two")
        assert (same.text, same.calls["edit"].succeeded) == ("notes.txt +0 -0", True)
        gone = await chat.say("notes.txt", approve=True)
        assert gone.text == "notes.txt +0 -1"
        assert gone.calls["edit"].diff.startswith("--- notes.txt\n+++ /dev/null\n")
        assert not file.exists()


async def test_nothing_is_written_that_people_do_not_approve_of(tmp_path: Path) -> None:
    async with talk(Editor(), folder=tmp_path) as chat:
        turn = await chat.say("a.txt one", approve=False)
    assert (turn.text, turn.calls["edit"].status) == ("denied", "cancelled")
    assert not (tmp_path / "a.txt").exists()


async def test_a_session_that_lets_edits_pass_is_asked_for_what_git_runs(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    async with talk(Editor(), folder=tmp_path, config={"autoApprove": "edits"}) as chat:
        assert (await chat.say("a.txt one")).text == "a.txt +1 -0"
        assert (await chat.say(".git/config x", approve=False)).text == "denied"


@pytest.mark.parametrize("change", ["other", None])
async def test_what_has_changed_meanwhile_is_left_alone(tmp_path: Path, change: str | None) -> None:
    file = tmp_path / "a.txt"
    file.write_text("one")

    def interfere(call: SeenCall) -> bool:
        if change is None:
            file.unlink()
        else:
            file.write_text(change)
        return True

    async with talk(Editor(), folder=tmp_path) as chat:
        turn = await chat.say("a.txt two", approve=interfere)
    assert (turn.error, turn.error_type) == ("a.txt has changed in the meantime", "changed")
    assert turn.calls["edit"].error == turn.error
    assert (file.read_text() if file.exists() else None) == change


@pytest.mark.parametrize(
    ("message", "error_type", "why"),
    [
        ("../a.txt one", "outside", "lies outside of the working directories"),
        ("missing.txt", "unusable", "there is no missing.txt to delete"),
        ("binary one", "unusable", "binary cannot be read as text"),
        ("folder one", "unusable", "folder is no file"),
    ],
)
async def test_what_cannot_be_edited_is_refused_before_anybody_is_asked(
    tmp_path: Path, message: str, error_type: str, why: str
) -> None:
    (tmp_path / "binary").write_bytes(b"\xff\x00")
    (tmp_path / "folder").mkdir()
    async with talk(Editor(), folder=tmp_path) as chat:
        turn = await chat.say(message)
    assert turn.error_type == error_type
    assert why in (turn.error or "")


class Careless(Editor):
    """Gives whatever it holds as the text."""

    given: Any = None

    async def run(self, turn: Turn) -> None:
        async with turn.tool("edit") as call:
            await call.edit(Path("a.txt"), self.given)


@pytest.mark.parametrize(
    ("given", "written", "why"),
    [
        ("half \ud800\r\n", b"half \xef\xbf\xbd\r\n", None),
        (b"bytes", None, "the agent made a mistake: it gave bytes for text"),
        ("x" * (MOST_EDITED + 1), None, "that is too much for a.txt"),
    ],
    ids=["half a character", "bytes", "too much"],
)
async def test_what_is_shown_is_what_is_written(
    tmp_path: Path, given: Any, written: bytes | None, why: str | None
) -> None:
    agent = Careless()
    agent.given = given
    async with talk(agent, folder=tmp_path) as chat:
        turn = await chat.say("go", approve=True)
    file = tmp_path / "a.txt"
    assert (turn.error, file.read_bytes() if file.exists() else None) == (why, written)
    assert turn.calls["edit"].diff.endswith("+half \ufffd\n") is (why is None)
