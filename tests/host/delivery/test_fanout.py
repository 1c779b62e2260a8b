"""Who receives what: nothing twice, nothing too little, one encoding for all who share it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from agenthost.host.channels.session.kind import SESSION as SESSIONS
from agenthost.host.clients.connection import Connection
from agenthost.host.delivery.fanout import Fanout
from agenthost.host.log.channel import AnyChannel, Change, LiveChannel, Subscription
from agenthost.host.log.deliveries import Broadcast, Notice
from agenthost.host.log.kind import AnyKind
from agenthost.protocol.jsonrpc import dumps, loads
from agenthost.protocol.versions import NEWEST
from agenthost.transport import Encoded

URI = "ahp-session:/1"
SESSION: AnyKind = SESSIONS


@dataclass(eq=False)
class Receiver:
    """A connection and its outbox, as far as the fan-out knows them."""

    version: str = NEWEST
    messages: list[Encoded] = field(default_factory=list)
    flushed: int = 0

    @property
    def outbox(self) -> Receiver:
        return self

    def put(self, messages: Sequence[Encoded], max_latency: float | None = None) -> None:
        self.messages.extend(messages)

    def flush(self) -> None:
        self.flushed = len(self.messages)

    @property
    def seqs(self) -> list[int]:
        return [loads(message.payload)["params"]["serverSeq"] for message in self.messages]


def subscribed(channel: AnyChannel, from_seq: int, uri: str = URI, **more: Any) -> Receiver:
    receiver = Receiver(**more)
    connection = cast(Connection, receiver)
    channel.subscriptions[connection] = Subscription(connection, uri, from_seq)
    return receiver


def broadcast(channel: AnyChannel, seq: int, sender: Receiver | None = None) -> Broadcast:
    action = {"type": "session/titleChanged", "title": f"T{seq}"}
    made = Broadcast(channel, seq, action, dumps(action), Change(None))
    if sender is not None:
        made.sender, made.as_sent = cast(Connection, sender), {**action, "spelled": "oddly"}
        made.origin = {"clientId": "c", "clientSeq": 1}
    return made


@pytest.fixture
def channel() -> AnyChannel:
    return LiveChannel(URI, SESSION, {})


@pytest.mark.parametrize("from_seq", range(9))
def test_who_joins_inside_a_run_gets_what_follows_its_snapshot_and_nothing_twice(
    channel: AnyChannel, from_seq: int
) -> None:
    early, late = subscribed(channel, 0), subscribed(channel, from_seq)
    Fanout().release([broadcast(channel, seq) for seq in (2, 3, 5, 7)])
    assert early.seqs == [2, 3, 5, 7]
    assert late.seqs == [seq for seq in (2, 3, 5, 7) if seq > from_seq]
    assert late.flushed == len(late.messages)


def test_all_of_one_version_and_spelling_share_one_encoding(channel: AnyChannel) -> None:
    receivers = [subscribed(channel, 0) for _ in range(3)]
    other = subscribed(channel, 0, uri="ahp-session:/%31")
    Fanout().release([broadcast(channel, 1), broadcast(channel, 2)])
    for one in receivers[1:]:
        assert all(a is b for a, b in zip(one.messages, receivers[0].messages, strict=True))
    assert loads(other.messages[0].payload)["params"]["channel"] == "ahp-session:/%31"


def test_the_sender_alone_gets_its_own_words_in_its_place_of_the_run(channel: AnyChannel) -> None:
    sender, other = subscribed(channel, 0), subscribed(channel, 0)
    run = [broadcast(channel, 1), broadcast(channel, 2, sender), broadcast(channel, 3)]
    Fanout().release(run)
    assert (sender.seqs, other.seqs) == ([1, 2, 3], [1, 2, 3])
    assert b"oddly" in sender.messages[1].payload
    assert not any(b"oddly" in message.payload for message in other.messages)


def test_runs_and_notices_arrive_in_the_order_in_which_they_were_decided(
    channel: AnyChannel,
) -> None:
    second = LiveChannel("ahp-session:/2", SESSION, {})
    receiver = subscribed(channel, 0)
    second.subscriptions[cast(Connection, receiver)] = Subscription(
        cast(Connection, receiver), second.uri, 0
    )
    done: list[str] = []
    Fanout().release(
        [
            broadcast(channel, 1),
            broadcast(second, 2),
            Notice(channel, "auth/required", {"resource": "r"}),
            lambda: done.append("called"),
            broadcast(channel, 3),
        ]
    )
    told = [loads(message.payload)["params"].get("serverSeq") for message in receiver.messages]
    assert (told, done) == ([1, 2, None, 3], ["called"])


def test_a_delivery_that_fails_costs_the_others_nothing(
    channel: AnyChannel, caplog: pytest.LogCaptureFixture
) -> None:
    receiver = subscribed(channel, 0)

    def fail() -> None:
        raise RuntimeError("one receiver's trouble")

    Fanout().release([broadcast(channel, 1), fail, broadcast(channel, 2)])
    assert receiver.seqs == [1, 2]
    assert "a delivery failed" in caplog.text
