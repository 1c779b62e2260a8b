"""``agenthost logs``: the end of a host's log, also over its older parts, and as it grows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agenthost.cli.commands import logs
from agenthost.cli.data_dir import LOG_FILE
from agenthost.cli.format.log_format import log_lines
from agenthost.cli.format.terminal_text import Ink
from agenthost.cli.log_reader import LONGEST_LINE, LogFollower
from tests.cli.in_process import CommandInProcess


def line(message: str, level: str = "info", **more: Any) -> str:
    told = {"time": "2026-11-16T10:00:00.000+00:00", "level": level, "logger": "agenthost.host.x"}
    return json.dumps({**told, "message": message, **more}) + "\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / LOG_FILE
    path.parent.mkdir(parents=True)
    return path


@pytest.fixture
def command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> CommandInProcess:
    return CommandInProcess("logs", logs.register, tmp_path, capsys)


def messages(out: str) -> list[str]:
    return [json.loads(text)["message"] for text in out.splitlines()]


def test_the_newest_lines_are_told_over_all_parts(command: CommandInProcess, file: Path) -> None:
    file.with_name("host.log.2").write_text(line("1") + line("2"))
    file.with_name("host.log.1").write_text(line("3") + line("4"))
    file.write_text(line("5"))
    code, out, _ = command("-n", "4", "--json")
    assert (code, messages(out)) == (0, ["2", "3", "4", "5"])


def test_lines_are_chosen_by_level_and_session(command: CommandInProcess, file: Path) -> None:
    file.write_text(
        line("a", "error", session="ahp-session:/3f2a99")
        + line("b", "info", session="ahp-session:/3f2a99")
        + line("c", "critical", session="ahp-session:/other")
    )
    assert messages(command("--level", "error", "--json")[1]) == ["a", "c"]
    assert messages(command("--session", "3f2a", "--json")[1]) == ["a", "b"]
    assert messages(command("--session", "ahp-session:/other", "--json")[1]) == ["c"]


def test_what_is_no_line_of_a_log_is_passed_over(command: CommandInProcess, file: Path) -> None:
    half = line("half")[:20]
    file.write_text("Traceback\n[]\n{}\n" + "[" * 5000 + "\n" + line("good") + half)
    assert messages(command("--json")[1]) == ["good"]


def test_a_host_that_never_logged_is_told(command: CommandInProcess) -> None:
    code, out, err = command()
    assert (code, out) == (1, "")
    assert "there is no log" in err


def test_people_read_when_how_bad_what_and_where(command: CommandInProcess, file: Path) -> None:
    error = {"type": "KeyError", "message": "'x'", "where": "a.py:7", "traceback": "Traceback …"}
    file.write_text(line("the agent failed", "error", turn="t1", error=error))
    _, out, _ = command()
    assert "ERROR host.x: the agent failed" in out
    assert "turn t1" in out
    assert "KeyError: 'x'  a.py:7" in out
    assert "Traceback" not in out
    assert "Traceback" in command("--traceback")[1]


def test_nothing_that_a_terminal_obeys_is_printed() -> None:
    evil = "\x1b]0;owned\x07\x1b[2J"
    error = {"type": evil, "message": evil, "where": evil, "traceback": evil}
    told = {"message": evil, "level": evil, "logger": evil, "time": evil, "session": evil}
    rows = "\n".join(log_lines({**told, "error": error}, Ink(False), traceback=True))
    assert "\x1b" not in rows
    assert "\x07" not in rows


def test_a_growing_log_is_followed_over_rotations(file: Path) -> None:
    follower = LogFollower(file)
    assert follower.read_new() == []
    file.write_text(line("1") + line("2")[:9])
    assert [found["message"] for found in follower.read_new()] == ["1"]
    with open(file, "a", buffering=1) as more:
        more.write(line("2")[9:])
        assert [found["message"] for found in follower.read_new()] == ["2"]
        more.write(line("3"))
    file.rename(file.with_name("host.log.1"))
    file.write_text(line("4"))
    assert [found["message"] for found in follower.read_new()] == ["3", "4"]
    follower.close()


def test_a_log_that_was_cut_off_is_followed_from_its_new_beginning(file: Path) -> None:
    file.write_text("".join(line(f"old {number}") for number in range(20)))
    follower = LogFollower(file)
    assert len(follower.read_new()) == 20
    # The same file, as `copytruncate` leaves it.
    file.write_text(line("new"))
    assert [each["message"] for each in follower.read_new()] == ["new"]
    follower.close()


def test_a_line_without_an_end_is_not_held_for_ever(file: Path) -> None:
    file.write_text("x" * (LONGEST_LINE + 1))
    follower = LogFollower(file)
    assert follower.read_new() == []
    with file.open("a") as opened:
        opened.write("\n" + line("after it"))
    assert [each["message"] for each in follower.read_new()] == ["after it"]
    assert follower._begun == ""
    follower.close()


def test_a_time_that_is_none_here_is_not_told() -> None:
    [row] = log_lines({"message": "hello", "time": "0001-01-01T00:00:00+14:00"}, Ink(False))
    assert row.startswith("? ")
