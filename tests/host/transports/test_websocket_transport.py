"""Frames, back-pressure and keep-alive of one WebSocket, without a network."""

from __future__ import annotations

import asyncio
import socket
import weakref

import pytest
from hypothesis import given
from hypothesis import strategies as st
from websockets.frames import Close, Opcode
from websockets.protocol import OPEN

from agenthost.host.delivery.outbox import Answer
from agenthost.host.transports import ServerWebSocket, WebSocketOptions
from agenthost.host.transports.websocket_reading import PatientProtocol
from agenthost.host.trust import RateLimiter
from agenthost.transport import LOW_WATER, Encoded, TransportClosed
from tests.host.transports.pairs import serving
from tests.host.transports.raw import FakeSocket, frame, open_raw

SILENT = WebSocketOptions(ping_interval=None)

# Any message with any cuts between its fragments, and pings in between.
messages = st.lists(
    st.tuples(
        st.binary(max_size=200),
        st.lists(st.integers(0, 200), max_size=3),
        st.sampled_from([Opcode.TEXT, Opcode.BINARY]),
        st.booleans(),
    ),
    max_size=6,
)


def opened(options: WebSocketOptions = SILENT) -> tuple[ServerWebSocket, FakeSocket]:
    protocol = PatientProtocol(state=OPEN, max_size=options.max_message_size)
    transport, sock = ServerWebSocket(protocol, options), FakeSocket()
    transport.connection_made(sock)
    return transport, sock


def fragments(data: bytes, cuts: list[int], opcode: Opcode, ping: bool) -> bytes:
    places = sorted({min(cut, len(data)) for cut in cuts})
    parts = [data[a:b] for a, b in zip([0, *places], [*places, len(data)], strict=True)]
    wire = b""
    for number, part in enumerate(parts):
        kind = opcode if number == 0 else Opcode.CONT
        wire += frame(part, kind, fin=number == len(parts) - 1)
        wire += frame(b"?", Opcode.PING) if ping else b""
    return wire


def chunks_of(wire: bytes, sizes: list[int]) -> list[bytes]:
    chunks, position = [], 0
    for size in sizes:
        chunks.append(wire[position : position + size])
        position += size
    return [chunk for chunk in (*chunks, wire[position:]) if chunk]


async def receive_all(transport: ServerWebSocket) -> tuple[list[bytes], int]:
    received = []
    while True:
        try:
            received.append(await transport.receive())
        except TransportClosed as closed:
            return received, closed.code


@given(messages, st.lists(st.integers(1, 50), max_size=40))
def test_any_fragments_in_any_chunks_give_the_same_messages(
    sent: list[tuple[bytes, list[int], Opcode, bool]], sizes: list[int]
) -> None:
    wire = b"".join(fragments(*message) for message in sent)
    wire += frame(Close(4000, "end").serialize(), Opcode.CLOSE)

    async def run() -> None:
        transport, sock = opened()
        for chunk in chunks_of(wire, sizes):
            transport.data_received(chunk)
        assert await receive_all(transport) == ([data for data, *_ in sent], 4000)
        pongs = sock.written.count(b"\x8a\x01?")
        assert pongs == sum(
            1 + len({*map(min, cuts, [len(data)] * len(cuts))})
            for data, cuts, _, ping in sent
            if ping
        )
        transport.connection_lost(None)

    asyncio.run(run())


@given(st.binary(max_size=300), st.lists(st.integers(1, 20), max_size=20))
def test_no_bytes_whatever_raise_or_go_unanswered(wire: bytes, sizes: list[int]) -> None:
    async def run() -> None:
        transport, sock = opened(WebSocketOptions(max_message_size=50, ping_interval=None))
        for chunk in chunks_of(wire, sizes):
            transport.data_received(chunk)
        transport.eof_received()
        _, code = await receive_all(transport)
        # The stream broke off, or we said what was wrong with it, or it happened to be a close.
        assert code == 1006 or sock.half_closed
        transport.connection_lost(None)

    asyncio.run(run())


async def test_many_messages_leave_in_one_write() -> None:
    transport, sock = opened()
    batch = tuple(Encoded(b"%d" % n) for n in range(100))
    transport.write(batch)
    assert sock.writes == [b"".join(message.websocket for message in batch)]


async def test_a_single_frame_is_written_as_it_is_without_a_copy() -> None:
    transport, _ = opened()
    written: list[bytes] = []
    transport._socket.write = written.append  # type: ignore[method-assign, assignment]
    message = Encoded(b"{}")
    transport.write([message])
    assert written[0] is message.websocket


async def test_one_tuple_is_joined_once_for_many_connections() -> None:
    batch = (Encoded(b"1"), Encoded(b"2"))
    written: list[bytes] = []
    for _ in range(2):
        transport, _ = opened()
        transport._socket.write = written.append  # type: ignore[method-assign, assignment]
        transport.write(batch)
    assert written[0] is written[1]


async def test_a_list_that_changes_between_two_writes_is_joined_anew() -> None:
    transport, sock = opened()
    batch = [Encoded(b"1"), Encoded(b"2")]
    transport.write(batch)
    batch[0] = Encoded(b"3")
    transport.write(batch)
    assert sock.writes[1].startswith(Encoded(b"3").websocket)


async def test_reading_pauses_while_messages_wait_and_goes_on_when_they_are_taken() -> None:
    transport, sock = opened(WebSocketOptions(inbox_messages=4, ping_interval=None))
    transport.data_received(frame(b"x") * 4)
    assert sock.is_reading()
    transport.data_received(frame(b"x"))
    assert not sock.is_reading()
    for _ in range(3):
        await transport.receive()
    assert sock.is_reading()


async def test_reading_pauses_when_too_many_bytes_wait() -> None:
    transport, sock = opened(WebSocketOptions(inbox_bytes=100, ping_interval=None))
    transport.data_received(frame(b"x" * 60) + frame(b"x" * 60))
    assert not sock.is_reading()
    await transport.receive()
    assert not sock.is_reading()
    await transport.receive()
    assert sock.is_reading()


async def test_our_close_reads_on_to_hear_the_peer_s_goodbye() -> None:
    transport, sock = opened(WebSocketOptions(inbox_messages=0, ping_interval=None))
    transport.data_received(frame(b"x"))
    assert not sock.is_reading()
    transport.start_close(1000, "")
    assert sock.is_reading()
    transport.connection_lost(None)


async def test_empty_fragments_without_end_take_no_memory() -> None:
    transport, _ = opened()
    transport.data_received(frame(b"start", fin=False))
    for _ in range(1000):
        transport.data_received(frame(b"", Opcode.CONT, fin=False))
    assert transport._reader._partial == bytearray(b"start")


@pytest.mark.parametrize(
    ("code", "sent"),
    [(1000, 1000), (1001, 1001), (4999, 4999), (1005, 1000), (1006, 1011), (1015, 1011), (1, 1011)],
)
async def test_a_code_that_may_not_be_sent_is_replaced(code: int, sent: int) -> None:
    transport, sock = opened()
    transport.start_close(code, "because")
    assert Close.parse(sock.written[2:]) == Close(sent, "because")
    transport.connection_lost(None)


async def test_a_long_reason_is_cut_between_two_characters() -> None:
    transport, sock = opened()
    transport.start_close(1000, "ü" * 100)
    assert Close.parse(sock.written[2:]).reason == "ü" * 61
    transport.connection_lost(None)


async def test_nothing_but_control_frames_follows_our_close_frame() -> None:
    transport, sock = opened()
    transport.start_close(1000, "")
    transport.write([Encoded(b"late")])
    transport.data_received(frame(b"?", Opcode.PING))
    assert b"late" not in sock.written
    assert sock.writes[-1] == b"\x8a\x01?"
    transport.connection_lost(None)


async def test_what_comes_between_our_close_and_the_peer_s_is_dropped() -> None:
    transport, _ = opened()
    transport.start_close(4000, "leaving")
    transport.data_received(frame(b"late"))
    with pytest.raises(TransportClosed, match="4000 leaving"):
        await transport.receive()
    transport.connection_lost(None)


async def test_a_connection_that_breaks_off_ends_abnormally() -> None:
    transport, _ = opened()
    transport.data_received(frame(b"whole") + frame(b"broken")[:-1])
    transport.connection_lost(ConnectionResetError())
    assert await receive_all(transport) == ([b"whole"], 1006)
    await transport.close()


async def test_a_silent_peer_is_closed_after_an_unanswered_ping() -> None:
    times = {"ping_interval": 0.01, "ping_timeout": 0.01}
    async with serving(**times) as (server, held), open_raw(server.port) as raw:
        await raw.upgrade()
        transport = await held.accepted()
        assert (await raw.frame()).opcode is Opcode.PING
        assert await raw.close_frame() == Close(1011, "no answer to a ping")
        with pytest.raises(TransportClosed, match="1011"):
            await transport.receive()


async def test_a_peer_that_answers_is_pinged_again_and_stays() -> None:
    times = {"ping_interval": 0.001, "ping_timeout": 20.0}
    async with serving(**times) as (server, held), open_raw(server.port) as raw:
        await raw.upgrade()
        for _ in range(5):
            ping = await raw.frame()
            assert ping.opcode is Opcode.PING
            raw.send(frame(bytes(ping.data), Opcode.PONG))
        assert not (await held.accepted()).closed


async def test_a_peer_that_speaks_but_does_not_pong_is_alive() -> None:
    transport, _ = opened(WebSocketOptions(ping_interval=1000, ping_timeout=1000))
    transport._ping()
    transport.data_received(frame(b"busy"))
    transport._check_life()
    alive = not transport.closed
    transport._ping()
    transport._check_life()
    assert (alive, transport.closed) == (True, True)
    transport.connection_lost(None)


async def test_a_peer_that_we_do_not_read_is_not_blamed_for_its_silence() -> None:
    options = WebSocketOptions(inbox_messages=0, ping_interval=1000, ping_timeout=1000)
    transport, sock = opened(options)
    transport.data_received(frame(b"x"))
    assert not sock.is_reading()
    transport._ping()
    transport._check_life()
    assert not transport.closed
    transport.connection_lost(None)


async def test_small_frames_leave_at_once_and_the_kernel_keeps_little_unsent() -> None:
    async with serving() as (server, held), open_raw(server.port) as raw:
        await raw.upgrade()
        transport = await held.accepted()
        assert isinstance(transport, ServerWebSocket)
        sock = transport._socket.get_extra_info("socket")
        assert sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
        if hasattr(socket, "TCP_NOTSENT_LOWAT"):
            assert sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT) < 1 << 20


class StuckSocket(FakeSocket):
    """A socket whose peer reads nothing: what is written stays."""

    def get_write_buffer_size(self) -> int:
        return len(self.written)


def stuck(
    options: WebSocketOptions = SILENT, rate: RateLimiter | None = None
) -> tuple[ServerWebSocket, StuckSocket]:
    protocol = PatientProtocol(state=OPEN, max_size=options.max_message_size)
    transport, sock = ServerWebSocket(protocol, options, rate), StuckSocket()
    transport.connection_made(sock)
    return transport, sock


async def parsed(sock: FakeSocket) -> None:
    """Wait until the transport has dealt with all that it was given."""
    for _ in range(1000):
        if sock.is_reading():
            return
        await asyncio.sleep(0)
    raise AssertionError("the transport does not read on")


async def test_pings_of_a_peer_that_does_not_read_make_nothing_grow() -> None:
    transport, sock = stuck()
    for _ in range(200):
        transport.data_received(frame(b"x" * 125, Opcode.PING) * 100)
        await parsed(sock)
    assert len(sock.written) < LOW_WATER + 2 * 8192
    transport.connection_lost(None)


async def test_a_peer_that_reads_again_gets_its_latest_pings_answered() -> None:
    async with serving() as (server, held), open_raw(server.port) as raw:
        await raw.upgrade()
        transport = await held.accepted()
        transport.write([Encoded(b"x" * 5_000_000)])
        raw.send(*(frame(b"%d" % n, Opcode.PING) for n in range(1000)), frame(b"end"))
        assert await transport.receive() == b"end"
        assert len((await raw.frame()).data) == 5_000_000
        pongs = [bytes((await raw.frame()).data) for _ in range(16)]
    assert pongs == [b"%d" % n for n in range(984, 1000)]


async def test_a_peer_that_reads_nothing_is_let_go_however_much_it_says() -> None:
    transport, _ = stuck(WebSocketOptions(ping_interval=1000, ping_timeout=1000))
    transport.write([Encoded(b"x" * 1000)])
    transport._ping()
    transport.data_received(frame(b"busy") + frame(b"", Opcode.PONG))
    transport._check_life()
    with pytest.raises(TransportClosed, match="1013 stopped reading"):
        await receive_all_or_raise(transport)
    transport.connection_lost(None)


async def receive_all_or_raise(transport: ServerWebSocket) -> None:
    while True:
        await transport.receive()


@pytest.mark.parametrize(
    "sent",
    [
        frame(b"", Opcode.PING),
        frame(b"", Opcode.PONG),
        frame(b"", Opcode.CONT, fin=False),
        frame(b"x" * 2000, Opcode.CONT, fin=False),
    ],
    ids=["pings", "pongs", "empty fragments", "bytes"],
)
async def test_every_frame_and_every_byte_counts_in_the_rate(sent: bytes) -> None:
    now = asyncio.get_running_loop().time()
    rate = RateLimiter(1.0, 200_000, now)
    transport, sock = opened()
    transport._reader._rate = rate
    transport.data_received(frame(b"", fin=False))
    parts = 0
    while sock.is_reading():
        transport.data_received(sent * 10)
        await asyncio.sleep(0)
        parts += 1
        assert parts < 1000
    # Another connection of the same principal waits as well.
    other, other_sock = opened()
    other._reader._rate = rate
    other.data_received(frame(b"hello" * 2000))
    assert not other_sock.is_reading()
    for one in (transport, other):
        one.connection_lost(None)


async def test_who_was_too_fast_loses_nothing() -> None:
    transport, _ = opened()
    transport._reader._rate = RateLimiter(1_000_000.0, 10_000, asyncio.get_running_loop().time())
    for number in range(50):
        transport.data_received(frame(b"%d" % number))
    async with asyncio.timeout(60):
        received = [await transport.receive() for _ in range(50)]
    assert received == [b"%d" % number for number in range(50)]
    transport.connection_lost(None)


async def test_a_large_message_stays_shared_until_the_socket_takes_it() -> None:
    pieces = [bytes([number]) * 100_000 for number in range(100)]
    async with serving() as (server, held), open_raw(server.port) as raw:
        await raw.upgrade()
        transport = await held.accepted()
        assert isinstance(transport, ServerWebSocket)
        transport.write([Encoded(b"before"), Encoded(pieces), Encoded(b"after")])
        assert transport._socket.get_write_buffer_size() <= 3 * LOW_WATER
        assert transport.backlog > 1_000_000
        assert (await raw.frame()).data == b"before"
        assert (await raw.frame()).data == b"".join(pieces)
        assert (await raw.frame()).data == b"after"
        async with asyncio.timeout(60):
            await transport.drained()
        assert transport.backlog <= LOW_WATER


async def test_a_large_message_is_let_go_with_its_connection() -> None:
    transport, _ = stuck()
    message = Answer([bytes(1_000_000)])
    seen = weakref.ref(message)
    transport.write([message])
    del message
    assert seen() is not None
    transport.connection_lost(None)
    assert seen() is None


async def test_no_timer_outlives_its_connection() -> None:
    options = WebSocketOptions(ping_interval=1000, ping_timeout=1000)
    for end in ("lost", "closed", "awaited"):
        transport, sock = opened(options)
        transport._reader._rate = RateLimiter(0.001, 1, asyncio.get_running_loop().time())
        transport.data_received(frame(b"a", Opcode.PING) * 3)
        if end == "awaited":
            assert transport._ping_timer is not None
            transport._ping_timer.cancel()
            transport._ping()
        if end == "closed":
            transport.start_close(1000, "")
        transport.connection_lost(None)
        written = len(sock.writes)
        assert [
            timer
            for timer in asyncio.get_running_loop()._scheduled  # type: ignore[attr-defined]
            if not timer.cancelled() and getattr(timer._callback, "__self__", None) is transport
        ] == []
        assert len(sock.writes) == written


async def test_a_peer_may_send_more_once_it_is_trusted_with_it() -> None:
    transport, _ = opened(WebSocketOptions(max_message_size=10, ping_interval=None))
    transport.accept_up_to(1000)
    transport.data_received(frame(b"x" * 1000))
    assert await transport.receive() == b"x" * 1000
    transport.data_received(frame(b"x" * 1001))
    with pytest.raises(TransportClosed, match="1009"):
        await transport.receive()
    transport.connection_lost(None)
