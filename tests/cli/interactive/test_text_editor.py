"""Editing what is typed in the user's own editor."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from agenthost.cli.interactive.text_editor import NotEdited, edit_text, editor_command


class Aside:
    """A screen that steps aside, and says that it did."""

    def __init__(self) -> None:
        self.times = 0

    @asynccontextmanager
    async def suspended(self) -> AsyncIterator[None]:
        self.times += 1
        yield


def editor(tmp_path: Path, body: str) -> str:
    script = tmp_path / "my editor.py"
    script.write_text(f"import sys, os\npath = sys.argv[-1]\n{body}\n")
    return f"'{sys.executable}' '{script}' --wait"


def is_gone(path: str) -> bool:
    return not os.path.exists(path)


async def test_what_the_editor_leaves_is_the_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = (
        "modes = [oct(os.stat(p).st_mode & 0o777) for p in (path, os.path.dirname(path))]\n"
        "text = open(path).read()\n"
        "open(path, 'w').write(f'{text}and {modes}\\n')\n"
        f"open({str(tmp_path / 'where')!r}, 'w').write(path)\n"
    )
    monkeypatch.setenv("VISUAL", editor(tmp_path, body))
    monkeypatch.setenv("EDITOR", "never-this-one")
    screen = Aside()
    edited = await edit_text("begun", screen=screen)
    assert edited == "begun\nand ['0o600', '0o700']"
    assert screen.times == 1
    assert is_gone((tmp_path / "where").read_text())


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("sys.exit(3)", "exit code 3"),
        ("os.unlink(path)", "cannot be read"),
        ("open(path, 'w').write('x' * 2_000_000)", "too long"),
    ],
)
async def test_what_went_wrong_is_said_and_the_text_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str, why: str
) -> None:
    monkeypatch.setenv("VISUAL", editor(tmp_path, body))
    with pytest.raises(NotEdited, match=why):
        await edit_text("begun", screen=Aside())


def test_the_editor_is_the_one_that_the_user_named() -> None:
    assert editor_command({"VISUAL": "sh -c x", "EDITOR": "cat"}) == ["sh", "-c", "x"]
    assert editor_command({"VISUAL": "", "EDITOR": "cat"}) == ["cat"]
    with pytest.raises(NotEdited, match=r"\$VISUAL names no program"):
        editor_command({"VISUAL": "no-such-editor", "EDITOR": "cat"})
    with pytest.raises(NotEdited, match=r"\$EDITOR names no program"):
        editor_command({"EDITOR": "'"})


def test_without_a_name_one_that_is_there_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NotEdited, match="set \\$VISUAL or \\$EDITOR"):
        editor_command({})
    (tmp_path / "vi").write_text("#!/bin/sh\n")
    os.chmod(tmp_path / "vi", 0o755)
    assert editor_command({}) == [str(tmp_path / "vi")]


@pytest.mark.parametrize("heeds", ["", "import signal; signal.signal(15, signal.SIG_IGN)\n"])
async def test_an_editor_ends_with_the_chat_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, heeds: str
) -> None:
    started = tmp_path / "started"
    body = f"{heeds}open({str(started)!r}, 'w').write(path)\nimport time; time.sleep(600)"
    monkeypatch.setenv("VISUAL", editor(tmp_path, body))
    editing = asyncio.create_task(edit_text("begun", screen=Aside()))
    async with asyncio.timeout(60):
        while True:
            if not is_gone(str(started)) and started.read_text():
                break
            await asyncio.sleep(0.01)
        editing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await editing
    assert is_gone(started.read_text())
