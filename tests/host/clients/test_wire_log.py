"""The wire log: every message as a line of JSON, for its owner's eyes, without secrets."""

from __future__ import annotations

import logging
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from agenthost.clock import SystemClock
from agenthost.host.clients.wire_log import MOST_RAW, WireLog
from agenthost.protocol.jsonrpc import dumps, loads

SECRET = "s3cr3t-t0ken"
NOW = "2026-01-02T03:04:05.006Z"


class StoppedClock(SystemClock):
    def now(self) -> str:
        return NOW

    def monotonic(self) -> float:
        return 0.0


def lines(path: Path) -> list[dict[str, Any]]:
    text = path.read_bytes()
    assert SECRET.encode() not in text
    assert text.endswith(b"\n") or not text
    return [loads(line) for line in text.splitlines()]


def record(path: Path, *frames: bytes) -> list[dict[str, Any]]:
    with WireLog(path, StoppedClock()) as log:
        for frame in frames:
            log.record("in", "c1", frame)
    return lines(path)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "logs" / "wire.jsonl"


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


# The file


def test_the_file_is_its_owners_alone(path: Path) -> None:
    before = os.umask(0)
    try:
        record(path)
    finally:
        os.umask(before)
    assert mode(path) == 0o600


def test_a_file_that_was_open_to_others_is_closed_to_them(tmp_path: Path) -> None:
    path = tmp_path / "wire.jsonl"
    path.write_bytes(b"")
    path.chmod(0o644)
    record(path)
    assert mode(path) == 0o600


def test_a_file_that_is_there_goes_on(path: Path) -> None:
    record(path, b"{}")
    assert len(record(path, b"{}", b"{}")) == 3


def test_a_line_is_in_the_file_as_soon_as_it_is_recorded(path: Path) -> None:
    with WireLog(path, StoppedClock()) as log:
        log.record("in", "c1", b"{}")
        assert len(lines(path)) == 1


def test_before_and_after_nothing_is_recorded(path: Path) -> None:
    log = WireLog(path, StoppedClock())
    log.record("in", "c1", b"{}")
    assert not path.exists()
    with log:
        pass
    log.record("in", "c1", b"{}")
    assert lines(path) == []


# What a line says


def test_a_line_has_time_connection_direction_and_the_message(path: Path) -> None:
    message = {"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {"channel": "ahp-root://"}}
    answer = {"jsonrpc": "2.0", "id": 1, "result": None}
    with WireLog(path, StoppedClock()) as log:
        log.record("in", "c1", dumps(message))
        log.record("out", "c2", dumps(answer))
    assert lines(path) == [
        {"time": NOW, "connection": "c1", "direction": "in", "message": message},
        {"time": NOW, "connection": "c2", "direction": "out", "message": answer},
    ]


def test_a_message_with_line_breaks_is_one_line(path: Path) -> None:
    (line,) = record(path, b'{\n"method":\r\n"a\\nb"\n}')
    assert line["message"] == {"method": "a\nb"}


def authenticate(**extra: Any) -> dict[str, Any]:
    params = {"channel": "ahp-root://", "resource": "https://r", "token": SECRET, **extra}
    return {"jsonrpc": "2.0", "id": 1, "method": "authenticate", "params": params}


def test_the_token_of_authenticate_is_left_out_and_the_rest_kept(path: Path) -> None:
    (line,) = record(path, dumps(authenticate()))
    expected = authenticate(token="[redacted]")
    assert line["message"] == expected


def test_a_token_in_a_batch_is_left_out(path: Path) -> None:
    (line,) = record(path, dumps([authenticate()]))
    assert "authenticate" in str(line)


@pytest.mark.parametrize(
    "frame",
    [
        # Another method, another spelling, a name whose letters are written as numbers.
        dumps({**authenticate(), "method": "authenticate2"}),
        b'{"method":"x","params":{"auth":[{"accessToken":"%b"}]}}' % SECRET.encode(),
        b'{"params":{"to\\u006ben":"%b"}}' % SECRET.encode(),
        b'[{"params":{"to\\u006ben":"%b"}}]' % SECRET.encode(),
        b'{"result":{"uri":"ws://127.0.0.1:1/?tkn=%b"}}' % SECRET.encode(),
    ],
)
def test_a_secret_is_left_out_whatever_the_message(path: Path, frame: bytes) -> None:
    (line,) = record(path, frame)
    assert "[redacted]" in str(line)


@pytest.mark.parametrize("value", [b"[]", b'"text"', b"17", b"null", b"true"])
def test_json_that_is_no_message_is_recorded(path: Path, value: bytes) -> None:
    (line,) = record(path, value)
    assert {"raw", "message"} & line.keys()


# What is no JSON


def test_a_frame_that_is_no_json_is_kept_as_it_came(path: Path) -> None:
    (line,) = record(path, b"GET / HTTP/1.1")
    assert line == {"time": NOW, "connection": "c1", "direction": "in", "raw": "GET / HTTP/1.1"}


@pytest.mark.parametrize(
    "frame",
    [
        f"GET /?tkn={SECRET} HTTP/1.1",
        f"Authorization: Bearer {SECRET}",
        # A message that was cut off, or is wrong by a comma.
        dumps(authenticate()).decode()[:-1],
        f'{{"method":"authenticate","params":{{"token": "{SECRET}',
        f'{{"params":{{"token":"\\"{SECRET}",}}}}',
    ],
)
def test_a_frame_that_is_no_json_is_redacted(path: Path, frame: str) -> None:
    (line,) = record(path, frame.encode())
    assert "[redacted]" in line["raw"]


def test_bytes_that_are_no_text_are_shown_as_far_as_they_are(path: Path) -> None:
    (line,) = record(path, b"\xff\xfe{ok")
    assert line["raw"] == "\ufffd\ufffd{ok"


def test_of_a_long_frame_that_is_no_json_the_beginning_is_kept(path: Path) -> None:
    (line,) = record(path, b"x" * (MOST_RAW + 100))
    assert line["raw"] == "x" * MOST_RAW


def test_a_long_message_is_kept_whole(path: Path) -> None:
    message = {"method": "x" * (3 * MOST_RAW)}
    (line,) = record(path, dumps(message))
    assert line["message"] == message


@pytest.mark.parametrize("depth", [100, 260, 1_000, 5_000])
def test_a_message_as_deep_as_can_be_does_no_harm(path: Path, depth: int) -> None:
    nested = b'{"a":' * depth + b"1" + b"}" * depth
    secret = b'{"method":"authenticate","params":{"token":"%b","x":%b}}'
    (line,) = record(path, secret % (SECRET.encode(), nested))
    assert "authenticate" in str(line)


# Trouble with the disk


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_disk_ends_the_log_and_nothing_else(caplog: pytest.LogCaptureFixture) -> None:
    with WireLog(Path("/dev/full"), StoppedClock()) as log:
        log.record("in", "c1", b"{}")
        log.record("in", "c1", b"{}")
    (told,) = caplog.records
    assert told.levelno == logging.ERROR
    assert "the wire log cannot be written and ends here" in told.getMessage()


def test_a_directory_that_cannot_be_made_is_told_at_once(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(OSError, match="file"):
        WireLog(tmp_path / "file" / "wire.jsonl", StoppedClock()).__enter__()


# What is typed


@pytest.mark.parametrize("wrap", [lambda m: m, lambda m: [m, m]])
def test_of_what_is_typed_only_the_length_is_recorded(wrap: Any, path: Path) -> None:
    typed = {"type": "terminal/input", "data": SECRET}
    message = wrap({"method": "dispatchAction", "params": {"clientSeq": 1, "action": typed}})
    spelled = dumps(message).replace(b"terminal/input", b"terminal\\/\\u0069nput")
    cut_off = dumps(message)[:-3]
    told = record(path, dumps(message), spelled, cut_off)
    assert all("12 characters" in str(line) for line in told[:2])
    assert told[2]["raw"] == f"[{len(cut_off)} bytes]"
    printed = {"type": "terminal/data", "data": "ls"}
    (line,) = record(path.with_name("other"), dumps({"params": {"action": printed}}))
    assert line["message"]["params"]["action"] == printed
