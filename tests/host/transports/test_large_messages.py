"""Large messages on their way: few at once of one principal, and none is kept for nothing."""

from __future__ import annotations

import asyncio

import pytest
from websockets.frames import Opcode
from websockets.protocol import OPEN

from agenthost.host.transports import ServerWebSocket, WebSocketOptions, websocket_reading
from agenthost.host.transports.websocket_reading import PatientProtocol
from agenthost.host.trust import Limits
from agenthost.host.trust.large_messages import LargeMessages
from agenthost.transport import TransportClosed
from tests.host.transports.raw import FakeSocket, frame

SMALL = 10_000
MESSAGE = b"x" * 100_000
WHOLE = frame(MESSAGE)
HALF = len(WHOLE) // 2
# What one read from a socket may bring, which is parsed no further once a message has to wait.
ONE_READ = 64 * 1024


def opened(large: LargeMessages) -> tuple[ServerWebSocket, FakeSocket]:
    options = WebSocketOptions(ping_interval=None)
    protocol = PatientProtocol(state=OPEN, max_size=options.max_message_size)
    transport, sock = ServerWebSocket(protocol, options, None, large), FakeSocket()
    transport.connection_made(sock)
    return transport, sock


def one_at_a_time(seconds: float = 60.0) -> LargeMessages:
    return LargeMessages(
        Limits(max_small_frame_bytes=SMALL, max_large_messages=1, large_message_seconds=seconds)
    )


async def until_read(sock: FakeSocket) -> None:
    async with asyncio.timeout(60):
        while not sock.is_reading():  # noqa: ASYNC110
            await asyncio.sleep(0)


@pytest.fixture(autouse=True)
def _no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(websocket_reading, "_SEAT_PAUSE", 0.0)


async def test_the_next_large_message_waits_until_one_has_arrived_and_small_ones_do_not() -> None:
    large = one_at_a_time()
    (first, _), (second, waiting), (third, third_socket) = (opened(large) for _ in range(3))
    first.data_received(WHOLE[:HALF])
    second.data_received(WHOLE[:HALF])
    await asyncio.sleep(0)
    assert not waiting.is_reading()
    assert len(second._protocol.reader.buffer) < 2 * SMALL
    third.data_received(frame(b"small"))
    assert await third.receive() == b"small"
    assert third_socket.is_reading()
    first.data_received(WHOLE[HALF:])
    assert await first.receive() == MESSAGE
    await until_read(waiting)
    second.data_received(WHOLE[HALF:])
    assert await second.receive() == MESSAGE
    for each in (first, second, third):
        each.connection_lost(None)


async def test_what_nobody_has_taken_counts_as_on_its_way() -> None:
    large = one_at_a_time()
    (first, _), (second, waiting) = opened(large), opened(large)
    first.data_received(WHOLE)
    second.data_received(WHOLE[:ONE_READ])
    await asyncio.sleep(0)
    assert not waiting.is_reading()
    await first.receive()
    await until_read(waiting)
    for each in (first, second):
        each.connection_lost(None)


async def test_fragments_of_one_message_count_together() -> None:
    large = one_at_a_time()
    (first, _), (second, waiting) = opened(large), opened(large)
    first.data_received(WHOLE[:HALF])
    part = b"x" * (SMALL // 2)
    second.data_received(frame(part, fin=False))
    for _ in range(4):
        second.data_received(frame(part, Opcode.CONT, fin=False))
    await asyncio.sleep(0)
    assert not waiting.is_reading()
    for each in (first, second):
        each.connection_lost(None)


async def test_a_message_that_takes_too_long_makes_room_for_one_that_waits() -> None:
    large = one_at_a_time(seconds=1e-9)
    (first, first_socket), (second, second_socket) = opened(large), opened(large)
    first.data_received(WHOLE[:HALF])
    # Nobody waits yet: it may take its time.
    assert first_socket.is_reading()
    second.data_received(WHOLE[:HALF])
    with pytest.raises(TransportClosed, match="1013 a large message took too long"):
        await first.receive()
    await until_read(second_socket)
    second.data_received(WHOLE[HALF:])
    assert await second.receive() == MESSAGE
    # Nobody will take what it goes on to send.
    first.data_received(WHOLE[HALF:-1])
    assert len(first._protocol.reader.buffer) <= HALF
    for each in (first, second):
        each.connection_lost(None)


async def test_a_connection_leaves_nothing_of_its_message_behind() -> None:
    large = one_at_a_time()
    (first, _), (second, second_socket) = opened(large), opened(large)
    first.data_received(WHOLE[:HALF])
    second.data_received(WHOLE[:HALF])
    first.connection_lost(ConnectionResetError())
    assert not first._protocol.reader.buffer
    await until_read(second_socket)
    second.data_received(WHOLE[HALF:])
    assert await second.receive() == MESSAGE
    second.connection_lost(None)
