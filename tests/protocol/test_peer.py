from __future__ import annotations

from typing import Any

import orjson
import pytest

from agenthost.errors import InternalError, LocalProtocolError, NotFound
from agenthost.protocol.jsonrpc import Notification, Request
from agenthost.protocol.peer import (
    CallAnswered,
    CallRefused,
    Event,
    HandshakeState,
    Peer,
    Violation,
)

ROOT = {"channel": "ahp-root://"}


def frame(method: str, id: Any = None, **params: Any) -> bytes:
    message: dict[str, Any] = {"jsonrpc": "2.0", "method": method, "params": ROOT | params}
    if id is not None:
        message["id"] = id
    return orjson.dumps(message)


def events(peer: Peer) -> list[Event]:
    return list(iter(peer.next_event, None))


def sent(peer: Peer) -> list[dict[str, Any]]:
    return [
        orjson.loads(output if isinstance(output, bytes) else b"".join(output))
        for output in peer.take_output()
    ]


def established() -> Peer:
    peer = Peer("host")
    peer.feed(frame("initialize", 1))
    assert peer.next_event() is not None
    peer.respond(1, {})
    peer.take_output()
    return peer


def test_both_roles_talk_to_each_other_through_a_whole_handshake() -> None:
    host, client = Peer("host"), Peer("client")
    client.call("initialize", ROOT | {"clientId": "c"})
    for output in client.take_output():
        assert isinstance(output, bytes)
        host.feed(output)
    request = host.next_event()
    assert isinstance(request, Request)
    host.respond(request.id, {"protocolVersion": "x"})
    for output in host.take_output():
        assert isinstance(output, bytes)
        client.feed(output)
    assert events(client) == [CallAnswered(1, "initialize", {"protocolVersion": "x"})]
    assert host.handshake is client.handshake is HandshakeState.ESTABLISHED


def test_ping_is_answered_before_initialize() -> None:
    peer = Peer("host")
    peer.feed(frame("ping", 9))
    assert events(peer) == [Request(9, "ping", ROOT)]
    peer.respond(9, None)
    assert sent(peer) == [{"jsonrpc": "2.0", "id": 9, "result": None}]


def test_a_request_before_initialize_is_an_invalid_request() -> None:
    peer = Peer("host")
    peer.feed(frame("listSessions", 1))
    assert [type(event) for event in events(peer)] == [Violation]
    assert sent(peer)[0]["error"]["code"] == -32600


def test_a_notification_before_initialize_is_ignored() -> None:
    peer = Peer("host")
    peer.feed(frame("dispatchAction"))
    assert [type(event) for event in events(peer)] == [Violation]
    assert sent(peer) == []


def test_what_is_pipelined_behind_initialize_waits_for_its_answer() -> None:
    peer = Peer("host")
    peer.feed(frame("initialize", 1))
    peer.feed(frame("subscribe", 2))
    peer.feed(frame("dispatchAction"))
    assert events(peer) == [Request(1, "initialize", ROOT)]
    peer.respond(1, {})
    assert events(peer) == [Request(2, "subscribe", ROOT), Notification("dispatchAction", ROOT)]


def test_what_is_pipelined_behind_a_refused_initialize_is_refused_too() -> None:
    peer = Peer("host")
    peer.feed(frame("reconnect", 1))
    peer.feed(frame("subscribe", 2))
    assert len(events(peer)) == 1
    peer.refuse(1, NotFound("unknown client"))
    assert [type(event) for event in events(peer)] == [Violation]
    assert [message["error"]["code"] for message in sent(peer)] == [-32008, -32600]


def test_initialize_may_follow_a_refused_reconnect() -> None:
    peer = Peer("host")
    peer.feed(frame("reconnect", 1))
    events(peer)
    peer.refuse(1, NotFound("unknown client"))
    peer.feed(frame("initialize", 2))
    assert events(peer) == [Request(2, "initialize", ROOT)]


@pytest.mark.parametrize("method", ["initialize", "reconnect"])
def test_a_second_opening_is_refused(method: str) -> None:
    peer = established()
    peer.feed(frame(method, 2))
    assert [type(event) for event in events(peer)] == [Violation]
    assert sent(peer)[0]["error"]["code"] == -32600


def test_an_unknown_method_is_answered_and_an_unknown_notification_ignored() -> None:
    peer = established()
    peer.feed(frame("toString", 5))
    peer.feed(frame("toString"))
    assert [type(event) for event in events(peer)] == [Violation]
    assert [message["error"]["code"] for message in sent(peer)] == [-32601]


def test_a_host_only_method_is_unknown_to_the_host() -> None:
    peer = established()
    peer.feed(frame("root/sessionAdded", 5))
    events(peer)
    assert sent(peer)[0]["error"]["code"] == -32601


def test_each_direction_has_its_own_ids() -> None:
    peer = established()
    peer.feed(frame("ping", 1))
    assert peer.call("resourceRead", ROOT | {"uri": "virtual:/x"}) == 1
    events(peer)
    peer.feed(b'{"jsonrpc":"2.0","id":1,"result":{"data":"","encoding":"utf-8"}}')
    assert [type(event) for event in events(peer)] == [CallAnswered]
    peer.respond(1, None)


def test_an_id_in_use_is_refused() -> None:
    peer = established()
    peer.feed(frame("ping", 7))
    peer.feed(frame("ping", 7))
    assert [type(event) for event in events(peer)] == [Request, Violation]
    assert sent(peer)[0]["error"]["code"] == -32600


def test_a_request_is_answered_exactly_once() -> None:
    peer = established()
    peer.feed(frame("ping", 7))
    events(peer)
    peer.respond(7, None)
    with pytest.raises(LocalProtocolError):
        peer.respond(7, None)


def test_an_answer_nobody_waits_for_is_a_violation_and_nothing_more() -> None:
    peer = established()
    peer.feed(b'{"jsonrpc":"2.0","id":99,"result":1}')
    peer.feed(b'{"jsonrpc":"2.0","id":"x","result":1}')
    assert [type(event) for event in events(peer)] == [Violation, Violation]
    assert sent(peer) == []


@pytest.mark.parametrize("id", ["1", "1.0", "1e0"])
def test_an_answer_finds_its_call_however_its_number_is_spelled(id: str) -> None:
    client = Peer("client")
    client.call("initialize", ROOT)
    client.feed(f'{{"jsonrpc":"2.0","id":{id},"result":{{}}}}')
    assert events(client) == [CallAnswered(1, "initialize", {})]
    assert type(client.call("ping", ROOT)) is int
    assert client.handshake is HandshakeState.ESTABLISHED
    assert client.pending_calls == 1


@pytest.mark.parametrize(
    "broken",
    [
        b'{"jsonrpc":"2.0","id":7,"result":1,"error":{"code":1,"message":"x"}}',
        b'{"jsonrpc":"2.0","result":1}',
        b'{"jsonrpc":"2.0","error":{"code":-32600,"message":"x"}}',
    ],
)
def test_a_broken_answer_is_not_answered_under_an_id_that_may_be_the_peers(broken: bytes) -> None:
    peer = established()
    peer.feed(broken)
    assert [type(event) for event in events(peer)] == [Violation]
    assert sent(peer) == []


def test_a_result_that_cannot_be_encoded_leaves_its_request_to_be_refused() -> None:
    peer = established()
    peer.feed(frame("ping", 7))
    events(peer)
    with pytest.raises(TypeError):
        peer.respond(7, object())
    assert sent(peer) == []
    peer.refuse(7, InternalError())
    assert [message["id"] for message in sent(peer)] == [7]


def test_a_call_that_cannot_be_encoded_was_never_made() -> None:
    client = Peer("client")
    with pytest.raises(TypeError):
        client.call("initialize", {"x": object()})
    assert (client.pending_calls, client.handshake) == (0, HandshakeState.AWAITING)
    assert client.take_output() == []


def test_a_name_or_id_of_any_length_is_told_in_short() -> None:
    peer = established()
    peer.feed(frame("x" * 10_000, 2))
    peer.feed(frame("ping", "y" * 10_000))
    peer.feed(frame("ping", "y" * 10_000))
    reasons = [event.reason for event in events(peer) if isinstance(event, Violation)]
    messages = [message["error"]["message"] for message in sent(peer)]
    assert len(reasons) == len(messages) == 2
    assert all(len(text) < 300 for text in (*reasons, *messages))


def test_a_refused_call_carries_the_peers_error() -> None:
    peer = established()
    id = peer.call("resourceRead", ROOT)
    peer.feed(b'{"jsonrpc":"2.0","id":1,"error":{"code":-32008,"message":"gone"}}')
    [event] = events(peer)
    assert isinstance(event, CallRefused)
    assert (event.id, event.method, type(event.error)) == (id, "resourceRead", NotFound)
    assert peer.pending_calls == 0


def test_an_answer_that_nobody_waits_for_is_a_violation() -> None:
    peer = established()
    peer.feed(b'{"jsonrpc":"2.0","id":1,"result":1}')
    assert [type(event) for event in events(peer)] == [Violation]


def test_an_encoded_result_is_passed_through() -> None:
    peer = established()
    peer.feed(frame("ping", 'a"b'))
    events(peer)
    peer.respond_encoded('a"b', (b'{"x":', b"1}"))
    assert sent(peer) == [{"jsonrpc": "2.0", "id": 'a"b', "result": {"x": 1}}]


def test_garbage_is_answered_and_the_connection_goes_on() -> None:
    peer = established()
    peer.feed(b"\xff")
    peer.feed(frame("ping", 2))
    assert [type(event) for event in events(peer)] == [Violation, Request]
    assert sent(peer)[0]["error"]["code"] == -32700
