"""What waits for one client: in order, bounded, merged for a slow reader, gathered if it allows.

The transport is a fake whose socket the test fills and drains; the event loop's clock stands still
until the test moves it.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agenthost.host.delivery.budget import Budget, Share
from agenthost.host.delivery.envelopes import encode_envelope
from agenthost.host.delivery.outbox import SOCKET_BACKLOG, Outbox
from agenthost.protocol.jsonrpc import loads
from agenthost.protocol.versions import reduce
from agenthost.transport import Encoded
from tests.strategies import NOW, History, chat_histories

Json = dict[str, Any]
CHAT = "ahp-chat:/1"
FULL = SOCKET_BACKLOG + 1


class Socket:
    """A transport that shows what was written and has as much backlog as the test says."""

    peer = "test"

    def __init__(self) -> None:
        self.writes: list[Sequence[Encoded]] = []
        self.backlog = 0
        self.closed = False
        self._drained = asyncio.Event()

    def write(self, messages: Sequence[Encoded]) -> None:
        self.writes.append(messages)

    async def drained(self) -> None:
        while self.backlog > SOCKET_BACKLOG and not self.closed:
            self._drained.clear()
            await self._drained.wait()

    def drain(self) -> None:
        self.backlog = 0
        self._drained.set()

    def end(self) -> None:
        self.closed = True
        self._drained.set()

    async def receive(self) -> bytes:
        raise NotImplementedError

    async def close(self, code: int = 1000, reason: str = "") -> None:
        self.end()

    @property
    def sent(self) -> list[Encoded]:
        return [message for messages in self.writes for message in messages]

    @property
    def texts(self) -> list[str]:
        return [_text(message) for message in self.sent]


def _text(message: Encoded) -> str:
    """Return the text that an envelope appends, or the payload of another message."""
    value = loads(message.payload)
    return value["params"]["action"]["content"] if isinstance(value, dict) else str(value)


class Bench:
    """An outbox on a fake socket, and what it told its owner."""

    def __init__(self, limit: int = 1_000_000, share: Share | None = None) -> None:
        self.socket = Socket()
        self.overflows: list[int] = []
        self.observed: list[Encoded] = []
        self.outbox = Outbox(
            self.socket,
            limit=limit,
            on_overflow=self.overflows.append,
            observe=self.observed.append,
            share=share,
        )

    def send(self, *messages: Encoded, max_latency: float | None = None) -> None:
        self.outbox.put(messages, max_latency)
        self.outbox.flush()


class Clock:
    """The event loop's clock, moved by hand."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._now = loop.time()
        loop.time = self.time  # type: ignore[method-assign]

    def time(self) -> float:
        return self._now

    async def advance(self, seconds: float) -> None:
        self._now += seconds
        await settle()


async def settle() -> None:
    """Let everything run that is ready, and what that makes ready."""
    for _ in range(5):
        await asyncio.sleep(0)


@pytest.fixture
async def bench() -> Bench:
    return Bench()


@pytest.fixture
async def clock() -> Clock:
    return Clock(asyncio.get_running_loop())


numbers = itertools.count(1)


def delta(text: str, part: str = "p") -> Encoded:
    action = {"type": "chat/delta", "turnId": "t", "partId": part, "content": text}
    return encode_envelope(CHAT, action, next(numbers))


def note(text: str) -> Encoded:
    return Encoded(b'"%b"' % text.encode())


# A socket that takes what it is given


async def test_what_is_put_leaves_at_the_flush_in_one_write(bench: Bench) -> None:
    bench.outbox.put([note("a"), note("b")])
    bench.outbox.put([note("c")])
    assert bench.socket.writes == []
    bench.outbox.flush()
    assert len(bench.socket.writes) == 1
    assert bench.socket.texts == ["a", "b", "c"]
    assert bench.outbox.waiting_bytes == 0


async def test_a_shared_tuple_is_handed_on_as_it_is(bench: Bench) -> None:
    shared = (delta("a"), delta("b"))
    bench.outbox.put(shared)
    bench.outbox.flush()
    assert bench.socket.writes[0] is shared


async def test_a_flush_of_nothing_writes_nothing(bench: Bench) -> None:
    bench.outbox.flush()
    bench.send(note("a"))
    bench.outbox.flush()
    assert len(bench.socket.writes) == 1


async def test_text_is_not_merged_for_a_reader_that_keeps_up(bench: Bench) -> None:
    bench.send(delta("a"), delta("b"))
    assert bench.socket.texts == ["a", "b"]


# A socket that is full


async def test_a_full_socket_makes_messages_wait_until_it_drains(bench: Bench) -> None:
    bench.socket.backlog = FULL
    bench.send(note("a"))
    bench.send(note("b"), note("c"))
    await settle()
    assert bench.socket.writes == []
    assert bench.outbox.waiting_bytes == len(b'"a""b""c"')
    bench.socket.drain()
    await settle()
    assert bench.socket.texts == ["a", "b", "c"]
    assert bench.outbox.waiting_bytes == 0


async def test_a_socket_with_some_backlog_is_not_full(bench: Bench) -> None:
    bench.socket.backlog = SOCKET_BACKLOG
    bench.send(note("a"))
    assert bench.socket.texts == ["a"]


async def test_nothing_overtakes_what_waits(bench: Bench) -> None:
    bench.socket.backlog = FULL
    bench.send(note("a"))
    await settle()
    # The socket is free again, and the queue has not noticed yet.
    bench.socket.drain()
    bench.send(note("b"))
    await settle()
    bench.send(note("c"))
    assert bench.socket.texts == ["a", "b", "c"]


async def test_a_socket_is_refilled_in_portions() -> None:
    bench = Bench(limit=10 * SOCKET_BACKLOG)
    bench.socket.backlog = FULL
    big = [Encoded(b'"%b"' % (b"x" * (SOCKET_BACKLOG // 2))) for _ in range(5)]
    bench.send(*big)
    await settle()
    bench.socket.drain()
    await settle()
    assert bench.socket.sent == big
    assert [len(messages) for messages in bench.socket.writes] == [2, 2, 1]


async def test_neighbouring_text_for_one_target_becomes_one(bench: Bench) -> None:
    bench.socket.backlog = FULL
    parts = [delta(text) for text in "abc"]
    bench.send(*parts[:2])
    bench.send(parts[2])
    bench.socket.drain()
    await settle()
    (message,) = bench.socket.sent
    params = loads(message.payload)["params"]
    assert params["action"]["content"] == "abc"
    assert params["serverSeq"] == loads(parts[2].payload)["params"]["serverSeq"]


async def test_only_neighbours_with_the_same_target_become_one(bench: Bench) -> None:
    bench.socket.backlog = FULL
    bench.send(delta("a"), delta("b", "q"), delta("c"), note("-"), delta("d"), delta("e"))
    bench.socket.drain()
    await settle()
    assert bench.socket.texts == ["a", "b", "c", "-", "de"]


async def test_what_was_taken_to_be_sent_takes_in_nothing_more(bench: Bench) -> None:
    bench.socket.backlog = FULL
    bench.send(delta("a"), delta("b"))
    bench.socket.drain()
    await settle()
    bench.socket.backlog = FULL
    bench.send(delta("c"))
    bench.socket.drain()
    await settle()
    assert bench.socket.texts == ["ab", "c"]


async def test_a_refused_action_reaches_a_slow_client_whole(bench: Bench) -> None:
    bench.socket.backlog = FULL
    origin = {"clientId": "c", "clientSeq": 1}
    made_up: list[Json] = [
        {"type": "chat/delta", "content": "x"},
        {"type": "chat/delta"},
        {"type": []},
    ]
    for action in made_up:
        bench.send(encode_envelope(CHAT, action, next(numbers), origin, "not yours to send"))
    bench.socket.drain()
    await settle()
    params = [loads(message.payload)["params"] for message in bench.socket.sent]
    assert [item["rejectionReason"] for item in params] == ["not yours to send"] * 3
    assert all(item["origin"] == origin for item in params)


async def test_a_connection_that_ends_while_messages_wait_ends_the_wait(bench: Bench) -> None:
    bench.socket.backlog = FULL
    bench.send(note("a"))
    await settle()
    bench.socket.end()
    await settle()
    assert bench.socket.writes == []
    assert "outbox" not in {task.get_name() for task in asyncio.all_tasks()}


# Too much


async def test_too_much_closes_once_and_says_how_much_waited() -> None:
    bench = Bench(limit=10)
    bench.socket.backlog = FULL
    bench.send(note("1234"))
    assert bench.overflows == []
    bench.send(note("5678"))
    assert bench.overflows == [12]
    bench.send(note("more"), note("and more"))
    bench.socket.drain()
    await settle()
    bench.send(note("later"))
    assert bench.overflows == [12]
    assert bench.socket.writes == []
    assert bench.outbox.waiting_bytes == 0


async def test_exactly_the_limit_may_wait() -> None:
    bench = Bench(limit=12)
    bench.socket.backlog = FULL
    bench.send(note("1234"), note("5678"))
    assert bench.overflows == []
    bench.socket.drain()
    await settle()
    assert bench.socket.texts == ["1234", "5678"]


async def test_merging_keeps_a_slow_reader_of_a_stream_below_the_limit() -> None:
    bench = Bench(limit=5_000)
    bench.socket.backlog = FULL
    for _ in range(2_000):
        bench.send(delta("ab"))
    assert bench.overflows == []
    assert 4_000 < bench.outbox.waiting_bytes < 5_000
    for _ in range(1_000):
        bench.send(delta("ab"))
    assert len(bench.overflows) == 1


async def test_a_big_message_for_a_free_socket_is_never_too_much(clock: Clock) -> None:
    bench = Bench(limit=10)
    big = note("x" * 100)
    bench.send(big)
    # Neither is it behind something that is only being gathered.
    bench.send(note("a"), max_latency=1.0)
    bench.send(big)
    assert bench.overflows == []
    assert bench.socket.sent[0] is bench.socket.sent[2] is big


# Gathering


async def test_who_allows_some_latency_gets_one_write(bench: Bench, clock: Clock) -> None:
    bench.send(delta("a"), max_latency=0.5)
    await clock.advance(0.3)
    bench.send(delta("b"), note("-"), max_latency=0.5)
    await clock.advance(0.199)
    assert bench.socket.writes == []
    await clock.advance(0.002)
    assert len(bench.socket.writes) == 1
    assert bench.socket.texts == ["ab", "-"]


async def test_what_comes_later_does_not_put_off_what_waits(bench: Bench, clock: Clock) -> None:
    for _ in range(5):
        bench.send(note("a"), max_latency=1.0)
        await clock.advance(0.3)
    assert bench.socket.texts[:4] == ["a"] * 4


async def test_the_next_gathering_starts_anew(bench: Bench, clock: Clock) -> None:
    bench.send(note("a"), max_latency=1.0)
    await clock.advance(1.0)
    bench.send(note("b"), max_latency=1.0)
    await clock.advance(0.9)
    assert bench.socket.texts == ["a"]
    await clock.advance(0.2)
    assert bench.socket.texts == ["a", "b"]


async def test_the_shorter_latency_counts(bench: Bench, clock: Clock) -> None:
    bench.send(note("a"), max_latency=5.0)
    bench.send(note("b"), max_latency=0.1)
    await clock.advance(0.11)
    assert bench.socket.texts == ["a", "b"]
    bench.send(note("c"), max_latency=0.1)
    bench.send(note("d"), max_latency=5.0)
    await clock.advance(0.11)
    assert bench.socket.texts == ["a", "b", "c", "d"]


async def test_the_shortest_latency_of_one_flush_counts(bench: Bench, clock: Clock) -> None:
    bench.outbox.put([note("a")], 5.0)
    bench.outbox.put([note("b")], 0.1)
    bench.outbox.put([note("c")], 3.0)
    bench.outbox.flush()
    await clock.advance(0.11)
    assert bench.socket.texts == ["a", "b", "c"]


@pytest.mark.parametrize("latency", [None, 0, 0.0])
async def test_what_may_not_wait_takes_along_what_was_gathered(
    bench: Bench, clock: Clock, latency: float | None
) -> None:
    bench.send(delta("a"), max_latency=1.0)
    bench.send(delta("b"), max_latency=1.0)
    bench.send(note("c"), max_latency=latency)
    assert bench.socket.texts == ["ab", "c"]
    assert len(bench.socket.writes) == 1
    await clock.advance(2.0)
    assert len(bench.socket.writes) == 1


async def test_one_message_in_a_flush_that_may_not_wait_hurries_all(
    bench: Bench, clock: Clock
) -> None:
    bench.outbox.put([note("a")], 1.0)
    bench.outbox.put([note("b")])
    bench.outbox.flush()
    assert bench.socket.texts == ["a", "b"]


async def test_a_full_socket_outlasts_the_latency(bench: Bench, clock: Clock) -> None:
    bench.send(note("a"), max_latency=0.5)
    bench.socket.backlog = FULL
    await clock.advance(1.0)
    bench.send(note("b"), max_latency=0.5)
    await clock.advance(1.0)
    assert bench.socket.writes == []
    bench.socket.drain()
    await settle()
    assert bench.socket.texts == ["a", "b"]


# Holding back


async def test_what_is_held_follows_the_answer(bench: Bench) -> None:
    bench.outbox.hold()
    bench.send(note("b"))
    bench.send(note("c"))
    assert bench.socket.writes == []
    bench.outbox.resume([note("a")])
    assert bench.socket.texts == ["a", "b", "c"]
    bench.send(note("d"))
    assert bench.socket.texts == ["a", "b", "c", "d"]


async def test_an_answer_does_not_wait_for_a_latency(bench: Bench, clock: Clock) -> None:
    bench.send(note("a"), max_latency=1.0)
    await clock.advance(1.0)
    bench.outbox.hold()
    bench.outbox.resume([note("b")])
    assert bench.socket.texts == ["a", "b"]
    bench.outbox.hold()
    bench.send(note("d"), max_latency=1.0)
    bench.outbox.resume([note("c")])
    assert bench.socket.texts == ["a", "b", "c", "d"]


async def test_what_is_dropped_is_never_sent(bench: Bench) -> None:
    bench.outbox.hold()
    bench.send(note("b"))
    bench.outbox.drop_held()
    bench.outbox.flush()
    assert bench.socket.writes == []
    bench.send(note("c"))
    assert bench.socket.texts == ["c"]


# Ending, observing


async def test_after_the_end_nothing_is_sent(bench: Bench, clock: Clock) -> None:
    bench.send(note("a"), max_latency=1.0)
    bench.outbox.put([note("b")])
    bench.outbox.close()
    bench.outbox.flush()
    await clock.advance(2.0)
    bench.send(note("c"))
    assert bench.socket.writes == []
    assert bench.outbox.waiting_bytes == 0


async def test_the_end_stops_a_wait_for_the_socket(bench: Bench) -> None:
    bench.socket.backlog = FULL
    bench.send(note("a"))
    await settle()
    bench.outbox.close()
    bench.outbox.close()
    bench.socket.drain()
    await settle()
    assert bench.socket.writes == []
    assert "outbox" not in {task.get_name() for task in asyncio.all_tasks()}


async def test_a_last_word_leaves_even_through_a_full_socket(bench: Bench, clock: Clock) -> None:
    bench.send(note("a"), max_latency=1.0)
    bench.socket.backlog = FULL
    bench.send(delta("b"), delta("c"))
    bench.outbox.put([note("d")])
    await settle()
    bench.outbox.finish()
    assert bench.socket.texts == ["a", "bc", "d"]
    assert bench.observed == bench.socket.sent
    bench.send(note("e"))
    bench.outbox.finish()
    bench.socket.drain()
    await clock.advance(2.0)
    assert bench.socket.texts == ["a", "bc", "d"]
    assert "outbox" not in {task.get_name() for task in asyncio.all_tasks()}


async def test_what_is_held_is_not_a_last_word(bench: Bench) -> None:
    bench.outbox.hold()
    bench.send(note("a"))
    bench.outbox.finish()
    bench.outbox.resume([note("b")])
    assert bench.socket.texts == []


async def test_the_observer_sees_what_leaves_in_the_form_in_which_it_leaves(
    bench: Bench, clock: Clock
) -> None:
    bench.send(delta("a"))
    bench.socket.backlog = FULL
    bench.send(delta("b"), delta("c"), note("d"))
    bench.socket.drain()
    await settle()
    bench.send(note("e"), max_latency=1.0)
    bench.outbox.close()
    assert bench.observed == bench.socket.sent
    assert bench.socket.texts == ["a", "bc", "d"]


async def test_nobody_needs_to_observe() -> None:
    socket = Socket()
    outbox = Outbox(socket, limit=10, on_overflow=lambda waiting: None)
    outbox.put([note("a")])
    outbox.flush()
    assert socket.texts == ["a"]


# Whole streams


@st.composite
def streams(draw: st.DrawFn) -> tuple[History, list[str]]:
    """Draw a chat's history with much text in it, and what the network does after each action."""
    history = draw(chat_histories())
    actions: list[Json] = []
    for action in history.actions:
        actions.append(action)
        if action["type"] in ("chat/delta", "chat/reasoning"):
            again = {**action, "content": "+"}
            actions += [again] * draw(st.integers(0, 3))
    weather = st.sampled_from(["clear", "full", "drain", "gather", "wait"])
    after = draw(st.lists(weather, min_size=len(actions), max_size=len(actions)))
    return History("chat", history.initial, actions), after


@given(streams())
def test_whatever_the_network_does_the_client_reaches_the_same_state_in_order(
    stream: tuple[History, list[str]],
) -> None:
    history, weather = stream

    async def send() -> list[Encoded]:
        clock, bench = Clock(asyncio.get_running_loop()), Bench()
        for seq, (action, what) in enumerate(zip(history.actions, weather, strict=True), 1):
            latency = 1.0 if what == "gather" else None
            bench.send(encode_envelope(CHAT, action, seq), max_latency=latency)
            if what == "full":
                bench.socket.backlog = FULL
            elif what == "drain":
                bench.socket.drain()
                await settle()
            elif what == "wait":
                await clock.advance(0.6)
        bench.socket.drain()
        await clock.advance(2.0)
        assert bench.outbox.waiting_bytes == 0
        assert bench.overflows == []
        return bench.socket.sent

    received = [loads(message.payload)["params"] for message in asyncio.run(send())]
    seen = [params["serverSeq"] for params in received]
    assert seen == sorted(set(seen))
    assert seen[-1] == len(history.actions)
    expected = state = history.initial
    for action in history.actions:
        expected = reduce("chat", expected, action, now=NOW)
    for params in received:
        state = reduce("chat", state, params["action"], now=NOW)
    assert state == expected


async def test_who_is_behind_is_let_go_when_its_principal_has_no_room_left() -> None:
    budget = Budget(1_000_000)
    benches = [Bench(limit=900_000, share=budget.share("a")) for _ in range(4)]
    other = Bench(limit=900_000, share=budget.share("b"))
    for bench in (*benches, other):
        bench.socket.backlog = FULL
    for _ in range(4):
        for bench in (*benches, other):
            bench.send(note("x" * 100_000))
    assert budget.used < 1_500_000
    assert [bool(bench.overflows) for bench in benches].count(True) > 0
    assert other.overflows == []
    for bench in (*benches, other):
        bench.outbox.close()
    assert budget.used == 0
