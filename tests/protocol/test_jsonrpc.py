from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agenthost.errors import InvalidParams, NotFound, WireError
from agenthost.protocol.jsonrpc import (
    Failure,
    InboundError,
    Message,
    Notification,
    Request,
    Success,
    decode,
    dumps,
    encode,
)

# Lone surrogates are no text, and no JSON.
texts = st.text(st.characters(exclude_categories=["Cs"]))
json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=8,
)
ids = st.integers(0, 2**53) | texts
objects = st.dictionaries(texts, json_values)


@given(
    st.builds(Request, ids, st.text("abc/"), objects)
    | st.builds(Notification, st.text("abc/"), objects)
    | st.builds(Success, ids, json_values)
)
def test_what_is_encoded_decodes_to_the_same_message(message: Message) -> None:
    assert decode(encode(message)) == message


def test_a_null_result_stays_on_the_wire() -> None:
    assert encode(Success(1, None)) == b'{"jsonrpc":"2.0","id":1,"result":null}'


def test_an_error_comes_back_as_its_own_class_with_its_data() -> None:
    failure = decode(
        b'{"jsonrpc":"2.0","id":3,"error":{"code":-32008,"message":"gone","data":{"x":1}}}'
    )
    assert isinstance(failure, Failure)
    assert isinstance(failure.error, NotFound)
    assert (failure.error.message, failure.error.data) == ("gone", {"x": 1})


def test_an_error_code_of_the_peers_own_survives() -> None:
    failure = decode(b'{"jsonrpc":"2.0","id":3,"error":{"code":-32077,"message":"odd"}}')
    assert isinstance(failure, Failure)
    assert type(failure.error) is WireError
    assert failure.error.to_wire() == {"code": -32077, "message": "odd"}


def test_invalid_params_names_the_path_in_its_data() -> None:
    error = InvalidParams("expected a string", path="action.title")
    assert error.to_wire() == {
        "code": -32602,
        "message": "expected a string",
        "data": {"path": "action.title"},
    }


@pytest.mark.parametrize(
    ("frame", "code", "id"),
    [
        (b"{", -32700, None),
        (b"\xff\xfe", -32700, None),
        (b'{"a": NaN}', -32700, None),
        (b"[" * 5000, -32700, None),
        (b"[]", -32600, None),
        (b"3", -32600, None),
        (b"{}", -32600, None),
        (b'{"id":4}', -32600, 4),
        (b'{"jsonrpc":"2.0","id":{},"method":"ping"}', -32600, None),
        (b'{"jsonrpc":"2.0","id":true,"method":"ping"}', -32600, None),
        (b'{"id":4,"method":"ping"}', -32600, 4),
        (b'{"jsonrpc":"1.0","id":"x","method":"ping"}', -32600, "x"),
        (b'{"jsonrpc":"2.0","id":4,"method":7}', -32600, 4),
        (b'{"jsonrpc":"2.0","id":4,"method":"ping","params":[1]}', -32602, 4),
        (b'{"jsonrpc":"2.0","id":4,"method":"ping","params":null}', -32602, 4),
    ],
)
def test_a_frame_that_is_no_message_is_answered_by_its_error(
    frame: bytes, code: int, id: Any
) -> None:
    with pytest.raises(InboundError) as caught:
        decode(frame)
    reply = caught.value.reply
    assert reply is not None
    assert (reply.error.wire_code, reply.id) == (code, id)


@pytest.mark.parametrize(
    "frame",
    [
        b'{"jsonrpc":"2.0","method":7}',
        b'{"jsonrpc":"2.0","method":"x","params":3}',
        b'{"jsonrpc":"2.0","id":[],"result":1}',
        b'{"jsonrpc":"2.0","id":1,"error":"no"}',
        b'{"jsonrpc":"2.0","id":1,"result":1,"error":{"code":1,"message":"no"}}',
        b'{"jsonrpc":"2.0","result":1}',
    ],
)
def test_a_broken_notification_or_response_is_not_answered(frame: bytes) -> None:
    with pytest.raises(InboundError) as caught:
        decode(frame)
    assert caught.value.reply is None


def test_numbers_beyond_32_bits_are_kept() -> None:
    message = decode(dumps({"jsonrpc": "2.0", "id": 2**40, "result": {"serverSeq": 2**52}}))
    assert message == Success(2**40, {"serverSeq": 2**52})
