"""Outgoing envelopes: their exact bytes, and which of them may become one."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agenthost.host.delivery.envelopes import Envelope, MergedText, encode_envelope, text_key
from agenthost.protocol.jsonrpc import Notification, decode, dumps
from agenthost.protocol.versions import reduce
from tests.strategies import NOW, json_values

Json = dict[str, Any]
CHAT = "ahp-chat:/1"
ORIGIN = {"clientId": "c", "clientSeq": 3}


def delta(content: str, **extra: Any) -> Json:
    return {"type": "chat/delta", "turnId": "t", "partId": "p", "content": content, **extra}


def told(envelope: Envelope) -> Json:
    message = decode(envelope.payload)
    assert isinstance(message, Notification)
    assert message.method == "action"
    return message.params


# Encoding


@pytest.mark.parametrize("origin", [None, ORIGIN])
@pytest.mark.parametrize("rejection", [None, "no", ""])
def test_an_envelope_says_what_it_holds_and_has_no_key_for_the_rest(
    origin: Json | None, rejection: str | None
) -> None:
    envelope = encode_envelope(CHAT, delta("x"), 7, origin, rejection)
    params = {"channel": CHAT, "action": delta("x"), "serverSeq": 7}
    if origin is not None:
        params["origin"] = origin
    if rejection is not None:
        params["rejectionReason"] = rejection
    assert told(envelope) == params
    assert (envelope.channel, envelope.seq, envelope.action) == (CHAT, 7, delta("x"))


def test_a_host_made_envelope_has_three_members() -> None:
    assert told(encode_envelope(CHAT, delta("x"), 1)) == {
        "channel": CHAT,
        "action": delta("x"),
        "serverSeq": 1,
    }


def test_the_actions_json_is_used_as_it_is_given() -> None:
    given = b'{"type" : "chat/delta"}'
    envelope = encode_envelope(CHAT, delta("x"), 1, action_json=given)
    assert given in envelope.payload
    assert told(envelope)["action"] == {"type": "chat/delta"}


@given(
    st.text(st.characters(exclude_categories=["Cs"])),
    st.dictionaries(st.sampled_from("abc"), json_values()),
    st.integers(0, 2**53),
)
def test_whatever_it_holds_an_envelope_is_one_valid_message(
    channel: str, action: Json, seq: int
) -> None:
    params = told(encode_envelope(channel, action, seq, ORIGIN, channel))
    assert params == {
        "channel": channel,
        "action": action,
        "serverSeq": seq,
        "origin": ORIGIN,
        "rejectionReason": channel,
    }
    assert b"\n" not in encode_envelope(channel, action, seq).payload


# What may be merged


@pytest.mark.parametrize(
    "action",
    [
        delta("x"),
        {**delta("x"), "type": "chat/reasoning"},
        {"type": "terminal/data", "data": "x"},
    ],
)
def test_appended_text_may_be_merged(action: Json) -> None:
    assert text_key(encode_envelope(CHAT, action, 1)) is not None


@pytest.mark.parametrize(
    "action",
    [
        delta("x", _meta={}),
        {"type": "chat/toolCallDelta", "turnId": "t", "toolCallId": "k", "content": "x"},
        {"type": "chat/responsePart", "turnId": "t", "part": {}},
        {"type": "terminal/input", "data": "x"},
        {},
    ],
)
def test_everything_else_stays_by_itself(action: Json) -> None:
    assert text_key(encode_envelope(CHAT, action, 1)) is None


@pytest.mark.parametrize(
    "action", [delta("x"), {"type": "chat/delta"}, {"type": "chat/delta", "content": 1}]
)
def test_what_a_client_made_up_is_never_merged(action: Json) -> None:
    assert text_key(encode_envelope(CHAT, action, 1, ORIGIN, "only the host streams")) is None
    assert text_key(encode_envelope(CHAT, action, 1, ORIGIN)) is None


@pytest.mark.parametrize("strange", [[], {}, None, 1])
def test_a_strange_type_that_comes_back_to_its_sender_does_no_harm(strange: Any) -> None:
    assert text_key(encode_envelope(CHAT, {"type": strange}, 1, ORIGIN, "no")) is None


def test_only_text_for_the_same_target_has_the_same_key() -> None:
    base = encode_envelope(CHAT, delta("x"), 1)
    assert text_key(base) == text_key(encode_envelope(CHAT, delta("y"), 2))
    others = [
        encode_envelope("ahp-chat:/2", delta("x"), 1),
        encode_envelope(CHAT, delta("x", turnId="t2"), 1),
        encode_envelope(CHAT, delta("x", partId="p2"), 1),
        encode_envelope(CHAT, {**delta("x"), "type": "chat/reasoning"}, 1),
    ]
    keys = {text_key(envelope) for envelope in (base, *others)}
    assert len(keys) == 5


# Merging


def merged(*envelopes: Envelope) -> MergedText:
    key = text_key(envelopes[0])
    assert key is not None
    text = MergedText(key, envelopes[0])
    for envelope in envelopes[1:]:
        size = text.size
        assert text.absorb(envelope) == text.size - size
    return text


def test_merged_text_is_one_envelope_with_the_last_number() -> None:
    parts = [encode_envelope(CHAT, delta(text), seq) for text, seq in (("a", 4), ("ż", 5), ("", 9))]
    assert told(merged(*parts).encode()) == {
        "channel": CHAT,
        "action": delta("aż"),
        "serverSeq": 9,
    }
    assert parts[0].action == delta("a")


def test_text_without_a_neighbour_is_sent_as_it_was() -> None:
    envelope = encode_envelope(CHAT, delta("a"), 4)
    text = merged(envelope)
    assert text.encode() is envelope
    assert text.size == len(envelope.payload)


@given(st.lists(st.text("ab 🐢é", max_size=8), min_size=1, max_size=8))
def test_the_size_of_merged_text_is_known_beforehand(texts: list[str]) -> None:
    parts = [encode_envelope(CHAT, delta(text), 1) for text in texts]
    text = merged(*parts)
    assert text.size == len(text.encode().payload)


CONTENT = st.lists(st.text(max_size=3), min_size=1, max_size=6)
PART = {"id": "p", "content": "was here "}
TARGETS: list[tuple[Any, Json, Json, str]] = [
    (
        "chat",
        {"turns": [], "activeTurn": {"id": "t", "responseParts": [{"kind": kind, **PART}]}},
        {"type": action, "turnId": "t", "partId": "p"},
        "content",
    )
    for kind, action in (("markdown", "chat/delta"), ("reasoning", "chat/reasoning"))
] + [
    ("terminal", {"content": content}, {"type": "terminal/data"}, "data")
    for content in (
        [],
        [{"type": "unclassified", "value": "$ "}],
        [{"type": "command", "commandId": "c", "output": "", "isComplete": False}],
        [{"type": "command", "commandId": "c", "output": "", "isComplete": True}],
    )
]


@given(st.sampled_from(TARGETS), CONTENT)
def test_merged_text_reduces_to_the_same_state(
    target: tuple[Any, Json, Json, str], texts: list[str]
) -> None:
    kind, initial, action, field = target
    parts = [encode_envelope(CHAT, {**action, field: text}, 1) for text in texts]
    expected = initial
    for part in parts:
        expected = reduce(kind, expected, part.action, now=NOW)
    assert reduce(kind, initial, merged(*parts).encode().action, now=NOW) == expected


def test_the_log_and_the_wire_agree_on_an_actions_bytes() -> None:
    action = delta("x")
    assert encode_envelope(CHAT, action, 1).payload == (
        encode_envelope(CHAT, action, 1, action_json=dumps(action)).payload
    )
