"""Files that the host reads and writes for an agent: inside the session's folders only."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from agenthost.agents.acp.connection.files import MOST_BYTES, read_text, write_text
from agenthost.agents.folders import FileRefused, Folders
from tests.agents.acp.stage import Stage
from tests.wire.talking import said

at_stage = pytest.mark.asyncio(loop_scope="package")


@at_stage
async def test_an_agent_reads_and_writes_through_the_host(stage: Stage) -> None:
    chat = await stage.chat()
    path = stage.folder / "deep" / "er" / "f.txt"
    assert said(await chat.run("t1", f"/write {path} some text")) == "written"
    assert path.read_text() == "some text"
    assert said(await chat.run("t2", f"/read {path}")) == "some text"
    path.write_text("one\ntwo\nthree\n")
    assert said(await chat.run("t3", f"/read {path} 2 1")) == "two\n"


@at_stage
async def test_an_agent_is_refused_what_is_outside(stage: Stage, tmp_path: Path) -> None:
    chat = await stage.chat()
    secret = tmp_path / "secret.txt"
    secret.write_text("secret")
    (stage.folder / "link").symlink_to(secret)
    (stage.folder / "folder").symlink_to(tmp_path)
    paths = [secret, stage.folder / "link", stage.folder / "folder" / "secret.txt",
             stage.folder / ".." / "x", "/etc/passwd"]  # fmt: skip
    for number, path in enumerate(paths):
        told = said(await chat.run(f"r{number}", f"/read {path}"))
        assert told.startswith("-32602 "), told
        assert "outside of the working directories" in told
        told = said(await chat.run(f"w{number}", f"/write {path} text"))
        assert "outside of the working directories" in told
    assert secret.read_text() == "secret"


@at_stage
async def test_an_agent_is_told_that_a_file_is_not_there(stage: Stage) -> None:
    chat = await stage.chat()
    told = said(await chat.run("t1", f"/read {stage.folder / 'nothing'}"))
    assert told.startswith("-32002 ")


def test_lines_are_counted_from_one_and_ends_are_kept(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"one\r\ntwo\x0c\nthree")
    folders = Folders([tmp_path.as_uri()])
    assert read_text(folders, "f") == "one\r\ntwo\x0c\nthree"
    assert read_text(folders, "f", 2, 1) == "two\x0c\n"
    assert read_text(folders, "f", 0, 1) == read_text(folders, "f", None, 1) == "one\r\n"
    assert read_text(folders, "f", 3) == "three"
    assert read_text(folders, "f", 9) == ""


def test_every_folder_of_the_session_is_reached(tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        (tmp_path / name).mkdir()
    folders = Folders([(tmp_path / "a").as_uri(), (tmp_path / "b").as_uri()])
    write_text(folders, str(tmp_path / "b" / "f"), "text")
    assert read_text(folders, str(tmp_path / "b" / "f")) == "text"
    with pytest.raises(FileRefused, match="outside"):
        write_text(folders, str(tmp_path / "c" / "f"), "text")
    assert not (tmp_path / "c" / "f").exists()


def test_what_is_no_text_file_is_refused(tmp_path: Path) -> None:
    folders = Folders([tmp_path.as_uri()])
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    os.mkfifo(tmp_path / "pipe")
    with (tmp_path / "large").open("wb") as file:
        file.truncate(MOST_BYTES + 1)
    for name, reason in (("binary", "no text"), ("pipe", "no file"), ("large", "too large"),
                         ("", "no file"), ("a\0b", "outside")):  # fmt: skip
        with pytest.raises(FileRefused, match=reason):
            read_text(folders, name)
    with pytest.raises(FileRefused, match="Not a directory"):
        write_text(folders, "binary/below", "text")
    with pytest.raises(FileRefused, match="cannot be written"):
        write_text(folders, "f", "\ud800")
