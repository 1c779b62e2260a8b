"""Who takes nothing any more is let go; who takes a little is not.

The transport is a fake, and the event loop's clock is moved by hand.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from agenthost.host.delivery.envelopes import encode_envelope
from agenthost.host.delivery.outbox import (
    LOOK_SECONDS,
    MUCH,
    SECONDS_WITH_MUCH,
    STALL_SECONDS,
    Answer,
    Outbox,
    takes_more,
)
from agenthost.transport import Encoded


class Socket:
    """A transport that takes as much as the test lets it."""

    peer = "test"

    def __init__(self, backlog: int = 0) -> None:
        self.backlog = backlog
        self.closed = False
        self.written = 0
        self._changed = asyncio.Event()

    def write(self, messages: Sequence[Encoded]) -> None:
        self.written += len(messages)

    async def drained(self) -> None:
        while self.backlog and not self.closed:
            self._changed.clear()
            await self._changed.wait()

    def take(self, size: int) -> None:
        self.backlog -= size
        self._changed.set()

    async def close(self, code: int = 1000, reason: str = "") -> None:
        self.closed = True
        self._changed.set()

    async def receive(self) -> bytes:
        raise NotImplementedError


class Clock:
    """The event loop's clock, moved by hand."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._now = self._loop.time()
        self._loop.time = lambda: self._now  # type: ignore[method-assign]

    async def advance(self, seconds: float) -> None:
        """Let time pass in steps as small as anybody looks at it."""
        until = self._now + seconds
        while self._now < until:
            self._now = min(until, self._now + LOOK_SECONDS)
            for _ in range(5):
                await asyncio.sleep(0)


@pytest.fixture
async def clock() -> Clock:
    return Clock()


async def test_a_transport_that_drains_takes_more(clock: Clock) -> None:
    socket = Socket(backlog=100)
    waiting = asyncio.create_task(takes_more(socket, lambda: 10.0))
    await clock.advance(9.0)
    socket.take(100)
    assert await waiting is True


async def test_a_transport_that_takes_nothing_has_stalled(clock: Clock) -> None:
    waiting = asyncio.create_task(takes_more(Socket(backlog=100), lambda: 10.0))
    await clock.advance(9.0)
    assert not waiting.done()
    await clock.advance(2.0)
    assert waiting.result() is False


async def test_a_transport_that_takes_a_little_now_and_then_has_not_stalled(clock: Clock) -> None:
    socket = Socket(backlog=100)
    waiting = asyncio.create_task(takes_more(socket, lambda: 10.0))
    for _ in range(9):
        await clock.advance(9.0)
        socket.take(10)
    assert not waiting.done()
    socket.take(10)
    assert await waiting is True


async def test_an_ended_transport_is_not_waited_for() -> None:
    socket = Socket(backlog=100)
    waiting = asyncio.create_task(takes_more(socket, lambda: 10.0))
    await socket.close()
    assert await waiting is True


def text(size: int, seq: int = 1) -> Encoded:
    action = {"type": "chat/delta", "turnId": "t", "partId": f"p{seq}", "content": "x" * size}
    return encode_envelope("ahp-chat:/1", action, seq)


class Bench:
    """An outbox on a socket that is full from the start."""

    def __init__(self) -> None:
        self.socket = Socket(backlog=1 << 30)
        self.overflows: list[int] = []
        self.stalls: list[int] = []
        self.outbox = Outbox(
            self.socket,
            limit=8 << 20,
            on_overflow=self.overflows.append,
            on_stall=self.stalls.append,
        )

    def send(self, *messages: Encoded) -> None:
        self.outbox.put(messages)
        self.outbox.flush()

    def answer(self, size: int) -> None:
        answer = Answer(b"x" * size)
        self.outbox.expect((answer,))
        self.send(answer)


async def test_a_client_that_takes_nothing_for_long_is_let_go(clock: Clock) -> None:
    bench = Bench()
    bench.send(text(10))
    await clock.advance(STALL_SECONDS - 1)
    assert bench.stalls == []
    await clock.advance(2.0)
    assert len(bench.stalls) == 1
    assert bench.overflows == []
    assert bench.outbox.waiting_bytes == 0


async def test_a_client_that_takes_nothing_is_let_go_sooner_when_much_waits(clock: Clock) -> None:
    bench = Bench()
    bench.send(text(MUCH + 1))
    await clock.advance(SECONDS_WITH_MUCH + 1)
    assert len(bench.stalls) == 1


async def test_a_large_answer_is_given_all_the_time(clock: Clock) -> None:
    bench = Bench()
    bench.answer(20 << 20)
    await clock.advance(STALL_SECONDS - 1)
    assert bench.stalls == bench.overflows == []


async def test_no_further_answer_is_made_while_the_client_has_not_taken_the_last(
    clock: Clock,
) -> None:
    bench = Bench()
    bench.answer(2 << 20)
    room = asyncio.create_task(bench.outbox.room())
    await clock.advance(1.0)
    assert not room.done()
    bench.socket.take(bench.socket.backlog)
    await room
    assert bench.socket.written == 1


async def test_answers_count_before_it_is_their_turn(clock: Clock) -> None:
    bench = Bench()
    bench.socket.take(bench.socket.backlog)
    answer = Answer(b"x" * (2 << 20))
    bench.outbox.expect((answer,))
    room = asyncio.create_task(bench.outbox.room())
    await clock.advance(1.0)
    assert not room.done()
    bench.send(answer)
    await room
    assert bench.socket.written == 1


async def test_the_end_of_an_outbox_frees_whoever_waits_for_room() -> None:
    bench = Bench()
    bench.answer(2 << 20)
    room = asyncio.create_task(bench.outbox.room())
    await asyncio.sleep(0)
    bench.outbox.close()
    await room


async def test_the_last_messages_leave_although_the_socket_is_full() -> None:
    bench = Bench()
    bench.send(text(10, 1))
    bench.outbox.put((text(10, 2),))
    bench.outbox.finish()
    assert bench.socket.written == 2
    bench.send(text(10, 3))
    assert bench.socket.written == 2


async def test_what_is_held_back_is_not_sent_without_its_answer() -> None:
    bench = Bench()
    bench.outbox.hold()
    bench.send(text(10))
    bench.outbox.finish()
    assert bench.socket.written == 0
