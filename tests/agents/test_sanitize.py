"""What agents emit: fit for the wire, or refused before the chat has it."""

from __future__ import annotations

import json
import math
from types import MappingProxyType
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agenthost.agents import AgentError
from agenthost.agents import sanitize as emitting
from agenthost.agents.sanitize import as_bytes, emit, json_copy, text_pieces, valid_text
from tests.agents.fakes import TURN, FakePort

any_text = st.text(st.characters(exclude_categories=()))
scalars = st.none() | st.booleans() | st.integers() | st.floats() | any_text
json_like = st.recursive(
    scalars,
    lambda inner: st.lists(inner) | st.tuples(inner) | st.dictionaries(any_text, inner),
    max_leaves=10,
)


@pytest.mark.parametrize(
    ("text", "fit"),
    [
        ("plain ä 😀", "plain ä 😀"),
        ("half \ud83d", "half \ufffd"),
        ("\ude00 half", "\ufffd half"),
        # A pair that came apart is whole again.
        ("\ud83d\ude00", "😀"),
    ],
)
def test_half_a_character_is_replaced(text: str, fit: str) -> None:
    assert valid_text(text) == fit


@given(json_like)
def test_whatever_is_like_json_can_be_encoded(value: Any) -> None:
    fit = json_copy(value)
    assert orjson.loads(orjson.dumps(fit)) == fit


def test_what_json_cannot_say_is_left_out() -> None:
    given_ = {"nan": math.nan, "inf": -math.inf, "wide": 2**70, "huge": 10**400, "n": 2**64 - 1}
    fit = {"nan": None, "inf": None, "wide": float(2**70), "huge": None, "n": 2**64 - 1}
    assert json_copy(given_) == fit


def test_nobody_else_holds_what_is_emitted() -> None:
    inner = [1]
    fit = json_copy(MappingProxyType({"a": (inner, {"b": inner})}))
    inner.append(2)
    assert fit == {"a": [[1], {"b": [1]}]}


@pytest.mark.parametrize("value", [{1, 2}, object(), b"x", {1: "x"}, [len]])
def test_what_is_no_data_is_the_agents_mistake(value: Any) -> None:
    with pytest.raises(AgentError, match="the agent made a mistake: it gave") as raised:
        json_copy(value)
    assert raised.value.error_type == "badAction"


def test_text_is_no_bytes_and_bytes_are_no_text() -> None:
    assert as_bytes(bytearray(b"x")) == as_bytes(memoryview(b"x")) == b"x"
    with pytest.raises(AgentError, match="it gave str for bytes"):
        as_bytes("x")  # type: ignore[arg-type]
    with pytest.raises(AgentError, match="it gave bytes for text"):
        valid_text(b"x")  # type: ignore[arg-type]


def test_an_action_that_the_protocol_does_not_know_changes_nothing() -> None:
    port = FakePort()
    before = port.state
    usage = {"type": "chat/usage", "turnId": TURN, "usage": {"inputTokens": "many"}}
    with pytest.raises(AgentError, match=r"action\.usage\.inputTokens: expected a whole number"):
        emit(port, usage)
    assert (port.state, port.actions) == (before, [])


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        (
            {"type": "chat/inputRequested",
             "request": {"id": "r", "questions": [{"id": "q", "kind": "nope", "message": "?"}]}},
            r"action\.request\.questions\[0\]\.kind: there is no 'nope'; there is text, number",
        ),
        (
            {"type": "chat/toolCallReady", "toolCallId": "c", "invocationMessage": "Do it",
             "riskAssessment": {"kind": "judge", "status": "what"}},
            r"action\.riskAssessment\.status: there is no 'what'; there is loading, complete",
        ),
        (
            {"type": "chat/toolCallComplete", "toolCallId": "c",
             "result": {"success": True, "pastTenseMessage": "Did it",
                        "content": [{"type": "text", "text": ""}, {"type": "hologram"}]}},
            r"action\.result\.content\[1\]\.type: there is no 'hologram'",
        ),
        (
            {"type": "chat/responsePart", "part": {"kind": "smell"}},
            r"action\.part\.kind: there is no 'smell'",
        ),
        (
            {"type": "chat/toolCallStart", "toolCallId": "c", "toolName": "t", "displayName": "T",
             "contributor": {"kind": "ghost"}},
            r"action\.contributor\.kind: there is no 'ghost'; there is client, mcp",
        ),
    ],
)  # fmt: skip
def test_a_variant_of_no_version_is_the_agents_mistake(
    fields: dict[str, Any], problem: str
) -> None:
    port = FakePort()
    with pytest.raises(AgentError, match=problem) as raised:
        emit(port, {"turnId": TURN, **fields})
    assert raised.value.error_type == "badAction"
    assert port.actions == []


def test_what_the_protocol_leaves_open_stays_open() -> None:
    port = FakePort()
    fields = {"toolCallId": "c", "toolName": "t", "displayName": "T"}
    action = {"type": "chat/toolCallStart", "turnId": TURN, **fields, "own": {"kind": "mine"}}
    emit(port, {**action, "_meta": {"type": "anything"}})
    assert port.actions == [{**action, "_meta": {"type": "anything"}}]


@given(any_text)
def test_pieces_are_the_text_and_each_is_whole(text: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(emitting, "LONGEST_PIECE", 3)
        pieces = list(text_pieces(text))
    assert "".join(pieces) == valid_text(text)
    assert all(0 < len(piece) <= 3 and piece.encode() for piece in pieces)


@pytest.mark.parametrize("character", ["x", "\x00", "ä", "😀"])
def test_no_piece_is_more_than_a_frame_may_be(character: str) -> None:
    pieces = list(text_pieces(character * 1_000_000))
    assert max(len(orjson.dumps(piece)) for piece in pieces) < 800_000


def test_none_stands_for_nothing_except_where_it_is_data() -> None:
    port = FakePort()
    usage = {"inputTokens": None, "outputTokens": 3.0, "_meta": {"cost": None}}
    emit(port, {"type": "chat/usage", "turnId": TURN, "usage": usage})
    assert port.actions[0]["usage"] == {"outputTokens": 3, "_meta": {"cost": None}}


def test_an_error_can_always_be_told() -> None:
    class Own(AgentError):
        def __init__(self) -> None:
            pass

    assert json.dumps(str(AgentError("half \ud800"))) == '"half ?"'
    assert str(AgentError("")) == "AgentError"
    assert (str(Own()), Own().error_type) == ("Own", "agentError")


@pytest.mark.parametrize(
    "action",
    [
        {"type": "chat/inputRequested", "request": {"id": "trust-1", "message": "Start them?"}},
        {"type": "chat/inputCompleted", "requestId": "trust-1", "response": "accept"},
        {
            "type": "chat/responsePart",
            "turnId": TURN,
            "part": {"kind": "inputRequest", "request": {"id": "trust-1", "message": "Sure?"}},
        },
    ],
)
def test_no_agent_asks_or_answers_in_the_hosts_name(action: dict[str, Any]) -> None:
    port = FakePort()
    with pytest.raises(AgentError, match="questions named trust-… are the host's"):
        emit(port, action)
    assert port.actions == []
