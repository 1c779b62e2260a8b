from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agenthost.cli.format.terminal_text import Ink, columns
from agenthost.cli.format.wire_log_format import (
    Filter,
    WireLogReader,
    WireMessage,
    message_json,
    message_line,
)

UUID = "0f5fe848-5639-401d-be77-ca1ea5349dd7"


def entry(direction: str, message: Any, at: str = "00.000", connection: str = "c1") -> Any:
    time = f"2026-05-17T12:00:{at}Z"
    return {"time": time, "connection": connection, "direction": direction, "message": message}


def request(id: int, method: str, **params: Any) -> Any:
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": params}


def shown(said: WireMessage, width: int | None = None) -> str:
    return message_line(said, width, Ink(False))


def test_a_request_and_its_answer_belong_together() -> None:
    conversation = WireLogReader()
    asked = conversation.read(entry("in", request(7, "subscribe", channel=f"ahp-chat:/{UUID}")))
    assert shown(asked) == "12:00:00.000 c1   → subscribe #7 chat:/0f5fe848"
    answered = conversation.read(entry("out", {"id": 7, "result": {"a": "x"}}, "00.120"))
    assert (answered.method, answered.channel, answered.took) == ("subscribe", asked.channel, 120)
    line = '12:00:00.120 c1   ← = subscribe #7 chat:/0f5fe848 {a="x"} (120 ms)'
    assert shown(answered) == line
    assert not answered.is_error


def test_answers_are_not_mixed_up_between_connections_and_sides() -> None:
    conversation = WireLogReader()
    conversation.read(entry("in", request(1, "listSessions"), connection="c1"))
    conversation.read(entry("in", request(1, "ping"), connection="c2"))
    conversation.read(entry("out", request(1, "resourceRead"), connection="c1"))
    answer = {"id": 1, "result": None}
    assert conversation.read(entry("out", answer, connection="c2")).method == "ping"
    assert conversation.read(entry("in", answer, connection="c1")).method == "resourceRead"
    assert conversation.read(entry("out", answer, connection="c1")).method == "listSessions"
    assert conversation.read(entry("out", answer, connection="c1")).method == ""


def test_a_refusal_is_an_error_with_its_code() -> None:
    conversation = WireLogReader()
    conversation.read(entry("in", request(1, "subscribe")))
    refused = conversation.read(
        entry("out", {"id": 1, "error": {"code": -32008, "message": "not\nthere"}})
    )
    assert refused.is_error
    assert "! subscribe #1 -32008 not there" in shown(refused)


def test_an_action_is_told_by_its_type_number_and_fields() -> None:
    params = {
        "channel": "ahp-chat:/1",
        "serverSeq": 9,
        "action": {"type": "chat/delta", "turnId": UUID, "content": "a\n b"},
    }
    said = WireLogReader().read(entry("out", {"method": "action", "params": params}))
    assert (said.kind, said.action, said.is_error) == ("notification", "chat/delta", False)
    assert shown(said).endswith('← action chat:/1 @9 chat/delta turnId="0f5fe848" content="a\\n b"')


def test_a_rejected_action_is_an_error() -> None:
    params = {"action": {"type": "chat/turnStarted"}, "rejectionReason": "a turn is active"}
    said = WireLogReader().read(entry("out", {"method": "action", "params": params}))
    assert said.is_error
    assert "REJECTED: a turn is active" in shown(said)


@pytest.mark.parametrize(
    "line",
    [
        "not json",
        "[]",
        "3",
        "{}",
        '{"direction": "sideways", "message": {}}',
        '{"direction": "in", "raw": "\\u001b[2Jgarbage"}',
        '{"direction": "in", "message": "text"}',
        '{"direction": "in", "time": 3, "message": {"method": "x", "params": []}}',
        '{"direction": "out", "message": {"id": {}, "error": "oops"}}',
    ],
)
def test_whatever_stands_in_a_log_is_shown(line: str) -> None:
    said = WireLogReader().read_line(line)
    assert said is not None
    assert "\x1b" not in shown(said)
    assert json.dumps(message_json(said))


NAMES = ("message", "method", "params", "id", "action", "error", "result", "type", "x")
SCALARS = st.none() | st.booleans() | st.floats() | st.text()
MESSAGES = st.recursive(
    SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(NAMES), inner)
)


@given(MESSAGES)
def test_no_message_is_too_strange(message: Any) -> None:
    conversation = WireLogReader()
    for direction in ("in", "out"):
        said = conversation.read({"direction": direction, "message": message})
        assert len(shown(said).splitlines()) == 1
        message_json(said)


def test_empty_lines_are_passed_over() -> None:
    assert WireLogReader().read_line(b" \n") is None


def test_a_line_is_cut_to_the_width() -> None:
    said = WireLogReader().read(entry("in", request(1, "x", text="y" * 500, more="z" * 500)))
    assert columns(shown(said, 80)) == 80
    assert len(shown(said)) > 100


SAID = WireMessage(kind="notification", method="action", action="chat/delta", channel="ahp-chat:/1")


@pytest.mark.parametrize(
    ("filter", "passes"),
    [
        (Filter(), True),
        (Filter(method="action"), True),
        (Filter(method="chat/delta"), True),
        (Filter(method="chat/*"), True),
        (Filter(method="session/*"), False),
        (Filter(channel="chat:/1"), True),
        (Filter(channel="chat:/2"), False),
        (Filter(errors=True), False),
        (Filter(channel="chat:/1", method="ping"), False),
    ],
)
def test_a_filter_takes_all_its_words_together(filter: Filter, passes: bool) -> None:
    assert filter(SAID) is passes


def test_a_document_keeps_the_whole_message() -> None:
    message = request(1, "subscribe", channel="ahp-chat:/1", view={"turns": 1})
    told = message_json(WireLogReader().read(entry("in", message)))
    assert told == {
        "time": "2026-05-17T12:00:00.000Z",
        "connection": "c1",
        "from": "client",
        "kind": "request",
        "method": "subscribe",
        "channel": "ahp-chat:/1",
        "id": 1,
        "error": False,
        "message": message,
    }
