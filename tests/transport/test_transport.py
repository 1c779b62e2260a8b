"""The shared message, the queue, and what the memory pair does beyond the common contract."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st
from websockets.frames import Frame, Opcode
from websockets.streams import StreamReader

from agenthost.errors import AgentHostError
from agenthost.transport import LOW_WATER, Encoded, ReceiveQueue, TransportClosed, memory_pair


def parse_frame(data: bytes) -> Frame:
    """Parse one unmasked frame with a parser that is not ours."""
    reader = StreamReader()
    reader.feed_data(data)
    parser = Frame.parse(reader.read_exact, mask=False)
    with pytest.raises(StopIteration) as stopped:
        next(parser)
    assert not reader.buffer, "bytes are left after the frame"
    frame = stopped.value.value
    assert isinstance(frame, Frame)
    return frame


@pytest.mark.parametrize("size", [0, 1, 125, 126, 65_535, 65_536, 1_000_000])
def test_a_message_becomes_one_final_text_frame(size: int) -> None:
    payload = b"x" * size
    frame = parse_frame(Encoded(payload).websocket)
    assert (frame.opcode, frame.fin, bytes(frame.data)) == (Opcode.TEXT, True, payload)


@given(st.binary(max_size=300))
def test_every_payload_survives_its_frame(payload: bytes) -> None:
    assert bytes(parse_frame(Encoded(payload).websocket).data) == payload


def test_a_frame_and_a_line_are_built_once_and_shared() -> None:
    message = Encoded(b"{}")
    assert message.websocket is message.websocket
    assert message.line is message.line
    assert message.line == b"{}\n"


def test_a_message_cannot_be_changed_and_shows_no_content() -> None:
    message = Encoded(b'{"secret":1}')
    with pytest.raises(AttributeError):
        message.payload = b""  # type: ignore[misc]
    assert "secret" not in repr(message)


def test_the_end_of_a_transport_tells_code_and_reason() -> None:
    closed = TransportClosed(1001, "going away")
    assert isinstance(closed, AgentHostError)
    assert (closed.code, closed.reason, str(closed)) == (1001, "going away", "1001 going away")
    assert str(TransportClosed(1006)) == "1006"


async def test_an_inbox_gives_what_came_before_the_end_and_only_that() -> None:
    inbox = ReceiveQueue()
    inbox.put(b"before")
    inbox.end(1000, "bye")
    inbox.put(b"after")
    inbox.end(1011, "ignored")
    assert (len(inbox), inbox.size) == (1, 6)
    assert await inbox.take() == b"before"
    with pytest.raises(TransportClosed, match="1000 bye"):
        await inbox.take()


async def test_an_inbox_counts_its_bytes_and_tells_when_one_is_taken() -> None:
    sizes: list[int] = []
    inbox = ReceiveQueue(on_take=lambda: sizes.append(inbox.size))
    inbox.put(b"12")
    inbox.put(b"345")
    await inbox.take()
    await inbox.take()
    assert sizes == [3, 0]


async def test_a_memory_backlog_is_what_the_other_side_has_not_received() -> None:
    left, right = memory_pair()
    left.write([Encoded(b"123"), Encoded(b"45")])
    assert (left.backlog, right.backlog) == (5, 0)
    await right.receive()
    assert left.backlog == 2


async def test_a_memory_pair_drains_at_its_own_low_water_mark() -> None:
    left, right = memory_pair(low_water=3)
    left.write([Encoded(b"12"), Encoded(b"34"), Encoded(b"56")])
    draining = asyncio.create_task(left.drained())
    await right.receive()
    await asyncio.sleep(0)
    assert not draining.done()
    await right.receive()
    await draining


async def test_a_bounded_memory_pair_ends_when_the_peer_does_not_receive() -> None:
    left, right = memory_pair(bound=10)
    left.write([Encoded(b"1234567890")])
    assert (left.closed, right.closed) == (False, False)
    left.write([Encoded(b"1")])
    assert (left.closed, right.closed) == (True, True)
    assert await right.receive() == b"1234567890"
    assert await right.receive() == b"1"
    with pytest.raises(TransportClosed, match="1013"):
        await right.receive()


def test_a_memory_pair_can_be_named_and_made_outside_a_loop() -> None:
    left, right = memory_pair(peers=("a client", "the host"))
    assert (left.peer, right.peer) == ("a client", "the host")
    assert LOW_WATER > 0
