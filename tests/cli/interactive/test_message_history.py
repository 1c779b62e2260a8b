"""The history of typed lines across sessions."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path

import pytest

from agenthost.cli.interactive import message_history
from agenthost.cli.interactive.message_history import MessageHistory, open_history

HERE = {"workingDirectories": ["file:///here"]}
THERE = {"workingDirectories": ["file:///there"]}


def history(tmp_path: Path, session: dict[str, list[str]] = HERE) -> MessageHistory:
    found = open_history(tmp_path, session, {})
    assert found is not None
    return found


def test_what_was_typed_in_this_folder_is_nearer_than_elsewhere_and_this_chat_nearest(
    tmp_path: Path,
) -> None:
    history(tmp_path).keep("first here")
    history(tmp_path, THERE).keep("there, later")
    history(tmp_path).keep("two\nlines")
    assert history(tmp_path).texts(["said in this chat"]) == [
        "there, later",
        "first here",
        "two\nlines",
        "said in this chat",
    ]


def test_a_text_is_there_once_where_it_is_nearest(tmp_path: Path) -> None:
    for text in ("again", "other", "again"):
        history(tmp_path).keep(text)
    assert history(tmp_path).texts() == ["other", "again"]


def test_it_is_its_owners_alone_and_in_a_folder_that_is_made_for_it(tmp_path: Path) -> None:
    history(tmp_path / "new" / "data").keep("secretive")
    assert (tmp_path / "new" / "data" / "history").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("text", [" begins with a space", "", "\n", "x" * 20_000])
def test_what_is_not_to_be_kept_is_not_kept(tmp_path: Path, text: str) -> None:
    history(tmp_path).keep(text)
    assert history(tmp_path).texts() == []
    assert not (tmp_path / "history").exists()


def test_it_can_be_turned_off(tmp_path: Path) -> None:
    assert open_history(tmp_path, HERE, {"AGENTHOST_NO_HISTORY": "1"}) is None


def test_without_a_data_directory_it_is_in_the_users_own(tmp_path: Path) -> None:
    environ = {"AGENTHOST_DATA_DIR": str(tmp_path / "own")}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AGENTHOST_DATA_DIR", environ["AGENTHOST_DATA_DIR"])
        found = open_history(None, {}, {})
        assert found is not None
        found.keep("far away")
    assert (tmp_path / "own" / "history").is_file()


def test_only_the_newest_lines_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(message_history, "MOST_LINES", 10)
    monkeypatch.setattr(message_history, "_SLACK", 5)
    kept = history(tmp_path)
    for number in range(40):
        kept.keep(f"line {number}")
    assert kept.texts() == [f"line {number}" for number in range(30, 40)]
    assert len((tmp_path / "history").read_text().splitlines()) <= 15
    assert os.listdir(tmp_path) == ["history"]


def test_several_chats_append_without_losing_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The file is replaced again and again meanwhile.
    monkeypatch.setattr(message_history, "MOST_LINES", 180)
    monkeypatch.setattr(message_history, "_SLACK", 0)
    monkeypatch.setattr(message_history, "_TRIES", 2_000)
    (tmp_path / "history").write_text("no entry\n" * 300)

    def chat(name: str) -> None:
        for number in range(60):
            history(tmp_path).keep(f"{name} {number}")

    threads = [threading.Thread(target=chat, args=(name,)) for name in "abc"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(history(tmp_path).texts()) == 180


@pytest.mark.parametrize(
    "content",
    [
        b"\x00\xff\xfe" * 100,
        b"[" * 100_000 + b"\n",
        b'{"folder": 1, "text": 2}\n{"text": "no folder"}\n[]\n"x"\nnull\n',
        json.dumps({"folder": "", "text": "x" * 100_000}).encode(),
    ],
)
def test_a_broken_file_costs_nothing_but_itself(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "history").write_bytes(content + b"\n")
    kept = history(tmp_path)
    kept.keep("goes on")
    assert kept.texts() == ["goes on"]


def test_what_a_terminal_would_obey_is_taken_out(tmp_path: Path) -> None:
    row = {"folder": "file:///here", "text": "a\x1b]0;b\x07\ud800c\x00"}
    (tmp_path / "history").write_text(json.dumps(row) + "\n")
    assert history(tmp_path).texts() == ["a]0;bc"]


def test_what_is_no_plain_file_is_left_alone(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "history")
    kept = history(tmp_path)
    kept.keep("nowhere")
    assert kept.texts(["said"]) == ["said"]
    (tmp_path / "history").unlink()
    (tmp_path / "dear").write_text("dear\n")
    (tmp_path / "history").symlink_to(tmp_path / "dear")
    kept.keep("nowhere")
    assert (tmp_path / "dear").read_text() == "dear\n"
