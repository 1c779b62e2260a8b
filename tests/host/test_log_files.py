"""The host's log: lines that programs read, kept small, private and free of secrets."""

from __future__ import annotations

import json
import logging
import queue
import stat
from pathlib import Path
from typing import Any

import pytest

from agenthost.host.log_files import (
    FAILURE,
    LONGEST_TEXT,
    JsonLineFormatter,
    LineQueue,
    PrivateLogFile,
    describe_error,
    open_logs,
)

log = logging.getLogger("tests.host.log_files")


def written(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines()]


def test_what_goes_on_is_in_the_file_and_what_goes_wrong_on_standard_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "data" / "logs" / "host.log"
    with open_logs(file):
        log.info("a client came")
        log.warning("it went", extra={"session": "ahp-session:/1", "turn": "t1"})
    first, second = written(file)
    assert (first["level"], first["message"]) == ("info", "a client came")
    assert second["logger"] == "tests.host.log_files"
    assert (second["session"], second["turn"]) == ("ahp-session:/1", "t1")
    shown = capsys.readouterr().err
    assert "it went" in shown
    assert "a client came" not in shown
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    for folder in (file.parent, file.parent.parent):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_standard_error_can_be_json_and_tell_everything(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with open_logs(None, verbose=True, log_format="json"):
        log.info("two\nlines")
    [line] = capsys.readouterr().err.splitlines()
    assert json.loads(line)["message"] == "two\nlines"


def test_standard_error_obeys_and_forges_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with open_logs(None):
        log.warning("the agent failed\n%s", "\x1b]0;x\x07\x1b[2J\r\u202e\n2026-01-01 ERROR a: b")
        try:
            raise ValueError("\x1b[31m\n2026-01-01 ERROR a: b")
        except ValueError:
            log.exception("it failed")
    shown = capsys.readouterr().err
    assert all(sign.isprintable() or sign == "\n" for sign in shown)
    assert r"\x1b]0;x\x07\x1b[2J\r\u202e" in shown
    margin = [line for line in shown.splitlines() if not line.startswith("  ")]
    assert [line.rpartition(": ")[2] for line in margin] == ["the agent failed", "it failed"]


def test_nothing_is_made_where_nothing_is_logged(tmp_path: Path) -> None:
    with open_logs(tmp_path / "data" / "logs" / "host.log"):
        log.debug("too little to be told")
    assert list(tmp_path.iterdir()) == []


def test_logging_is_as_it_was_afterwards(tmp_path: Path) -> None:
    root = logging.getLogger()
    before = (root.level, [*root.handlers])
    with open_logs(tmp_path / "host.log", verbose=True):
        assert len(root.handlers) == len(before[1]) + 2
    assert (root.level, root.handlers) == before


def test_an_error_is_told_with_its_class_its_words_and_its_place(tmp_path: Path) -> None:
    with open_logs(tmp_path / "host.log"):
        try:
            raise KeyError("colour")
        except KeyError:
            log.exception("the agent failed")
    [line] = written(tmp_path / "host.log")
    error = line["error"]
    assert (error["type"], error["message"]) == ("KeyError", "'colour'")
    name, _, number = error["where"].rpartition(":")
    assert name == __file__
    assert 'raise KeyError("colour")' in Path(name).read_text().splitlines()[int(number) - 1]
    assert error["traceback"].startswith("Traceback")


def test_a_failure_that_was_described_is_told_once_and_as_it_was_masked(tmp_path: Path) -> None:
    failure = describe_error(ValueError("of Ada"), mask=lambda text: text.replace("Ada", "…"))
    with open_logs(tmp_path / "host.log"):
        log.error("the agent failed in a chat\nTraceback", extra={FAILURE: failure, "turn": "t1"})
    [line] = written(tmp_path / "host.log")
    assert line["message"] == "the agent failed in a chat"
    assert (line["error"]["message"], line["turn"]) == ("of …", "t1")
    assert "Ada" not in line["error"]["traceback"]


def test_no_secret_is_in_any_part_of_a_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with open_logs(tmp_path / "host.log", log_format="json"):
        try:
            raise ValueError("GET /?tkn=hidden1")
        except ValueError:
            about = {"client": "ws://box/?token=hidden2"}
            log.exception("Authorization: Bearer %s", "hidden3", extra=about)
    told = (tmp_path / "host.log").read_text() + capsys.readouterr().err
    assert "hidden" not in told
    assert told.count("[redacted]") >= 6


class Wordless(Exception):
    def __str__(self) -> str:
        raise RuntimeError


def test_an_exception_that_cannot_say_what_it_is_is_logged_all_the_same(tmp_path: Path) -> None:
    with open_logs(tmp_path / "host.log"):
        log.error("failed", exc_info=Wordless())
    [line] = written(tmp_path / "host.log")
    assert line["error"]["type"] == "Wordless"


def test_a_huge_message_is_cut() -> None:
    record = logging.LogRecord("x", logging.INFO, "", 0, "y" * 10 * LONGEST_TEXT, (), None)
    assert len(JsonLineFormatter().format(record)) < 2 * LONGEST_TEXT


def test_the_file_is_rotated_and_the_oldest_part_goes(tmp_path: Path) -> None:
    target = PrivateLogFile(tmp_path / "host.log", largest=100, older_files=2)
    for number in range(10):
        target.emit(logging.LogRecord("x", logging.INFO, "", 0, f"{number}" * 60, (), None))
    target.close()
    parts = {path.name: path.read_text()[0] for path in tmp_path.iterdir()}
    assert parts == {"host.log": "9", "host.log.1": "8", "host.log.2": "7"}
    assert {stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()} == {0o600}


def test_lines_that_the_disk_cannot_take_are_dropped_and_counted() -> None:
    waiting: queue.Queue[Any] = queue.Queue(2)
    handler = LineQueue(waiting)
    for number in range(5):
        handler.handle(logging.LogRecord("x", logging.INFO, "", 0, str(number), (), None))
    taken = [json.loads(waiting.get_nowait().msg)["message"] for _ in range(2)]
    assert taken == ["0", "1"]
    handler.handle(logging.LogRecord("x", logging.INFO, "", 0, "5", (), None))
    taken = [json.loads(waiting.get_nowait().msg)["message"] for _ in range(2)]
    assert taken[0].startswith("3 lines were not logged")
    assert taken[1] == "5"


def test_a_log_that_cannot_be_written_is_told_once_and_stops_nobody(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "host.log").mkdir()
    with open_logs(tmp_path / "host.log"):
        log.info("one")
        log.info("two")
    assert capsys.readouterr().err.count("cannot be written") == 1
