"""What every transport promises, checked on each kind with a peer at its other end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from agenthost.transport import LOW_WATER, Encoded, TransportClosed
from tests.host.transports.pairs import PAIRS, Pair

# Far beyond anything these tests take; reached only by a wait that would last for ever.
FOREVER = 60

# More than sockets and pipes hold by themselves.
FLOOD = [Encoded(b"x" * 1_000_000)] * 64


@pytest_asyncio.fixture(params=sorted(PAIRS))
async def pair(request: pytest.FixtureRequest) -> AsyncIterator[Pair]:
    async with asyncio.timeout(60), PAIRS[request.param]() as pair:
        yield pair


@pytest.fixture
def kind(request: pytest.FixtureRequest) -> str:
    name = request.node.callspec.params["pair"]
    assert isinstance(name, str)
    return name


async def test_messages_arrive_whole_and_in_order(pair: Pair) -> None:
    host, peer = pair
    sent = [b'{"n":%d}' % n for n in range(500)]
    host.write([Encoded(message) for message in sent[:300]])
    for message in sent[300:]:
        host.write([Encoded(message)])
    assert [await peer.receive() for _ in sent] == sent


async def test_the_peer_s_messages_arrive_whole_and_in_order(pair: Pair) -> None:
    host, peer = pair
    sent = [b'{"n":%d}' % n for n in range(500)]

    async def send_all() -> None:
        for message in sent:
            await peer.send(message)

    sending = asyncio.create_task(send_all())
    assert [await host.receive() for _ in sent] == sent
    await sending


async def test_a_message_of_five_megabytes_passes_both_ways(pair: Pair) -> None:
    host, peer = pair
    big = b'{"text":"' + b"0123456789" * 500_000 + b'"}'
    host.write([Encoded(big), Encoded(b"{}")])
    assert await peer.receive() == big
    assert await peer.receive() == b"{}"
    sending = asyncio.create_task(peer.send(big))
    assert await host.receive() == big
    await sending


@pytest.mark.parametrize("size", [1, 125, 126, 127, 65_535, 65_536])
async def test_messages_of_every_length_class_pass(pair: Pair, size: int) -> None:
    host, peer = pair
    message = b"x" * size
    host.write([Encoded(message)])
    assert await peer.receive() == message
    await peer.send(message)
    assert await host.receive() == message


async def test_text_beyond_ascii_is_carried_byte_for_byte(pair: Pair) -> None:
    host, peer = pair
    message = '{"text":"grüße, 世界 🌍 \\u0000 \u2028"}'.encode()
    host.write([Encoded(message)])
    assert await peer.receive() == message
    await peer.send(message)
    assert await host.receive() == message


async def test_one_message_object_can_be_sent_many_times(pair: Pair) -> None:
    host, peer = pair
    shared = Encoded(b'{"shared":true}')
    host.write((shared, shared))
    host.write((shared,))
    assert [await peer.receive() for _ in range(3)] == [shared.payload] * 3


async def test_writing_nothing_sends_nothing(pair: Pair) -> None:
    host, peer = pair
    host.write([])
    host.write([Encoded(b"1")])
    assert await peer.receive() == b"1"


async def test_a_cancelled_receive_loses_no_message(pair: Pair) -> None:
    host, peer = pair
    waiting = asyncio.create_task(host.receive())
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    await peer.send(b"1")
    assert await host.receive() == b"1"


async def test_two_receivers_at_once_are_a_mistake(pair: Pair) -> None:
    host, peer = pair
    first = asyncio.create_task(host.receive())
    await asyncio.sleep(0)
    with pytest.raises(RuntimeError):
        await host.receive()
    await peer.send(b"1")
    assert await first == b"1"


async def test_the_peer_s_close_is_seen_after_all_it_sent(pair: Pair, kind: str) -> None:
    host, peer = pair
    await peer.send(b"1")
    await peer.send(b"2")
    closing = asyncio.create_task(peer.close(4001, "enough, danke schön"))
    assert [await host.receive(), await host.receive()] == [b"1", b"2"]
    for _ in range(2):
        with pytest.raises(TransportClosed) as closed:
            await host.receive()
        # A byte stream has no room for a code.
        expected = (1000, "end of input") if kind == "stdio" else (4001, "enough, danke schön")
        assert (closed.value.code, closed.value.reason) == expected
    await host.close()
    assert host.closed
    await closing


async def test_the_peer_sees_our_close_after_all_we_sent(pair: Pair, kind: str) -> None:
    host, peer = pair
    host.write([Encoded(b"1"), Encoded(b"2")])
    closing = asyncio.create_task(host.close(4002, "that is all"))
    assert [await peer.receive(), await peer.receive()] == [b"1", b"2"]
    with pytest.raises(TransportClosed) as closed:
        await peer.receive()
    if kind != "stdio":
        assert (closed.value.code, closed.value.reason) == (4002, "that is all")
    await closing


async def test_our_close_ends_our_own_receive_and_drops_what_was_not_received(pair: Pair) -> None:
    host, peer = pair
    await peer.send(b"seen")
    await peer.send(b"dropped")
    assert await host.receive() == b"seen"
    await host.close(4003, "leaving")
    with pytest.raises(TransportClosed) as closed:
        await host.receive()
    assert (closed.value.code, closed.value.reason) == (4003, "leaving")


async def test_a_waiting_receive_ends_with_our_close(pair: Pair) -> None:
    host, _ = pair
    waiting = asyncio.create_task(host.receive())
    await asyncio.sleep(0)
    await host.close()
    with pytest.raises(TransportClosed):
        await waiting


async def test_closing_twice_and_at_once_is_harmless(pair: Pair) -> None:
    host, _ = pair
    await asyncio.gather(host.close(4004, "first"), host.close(1011, "second"))
    await host.close()
    assert host.closed
    with pytest.raises(TransportClosed, match="4004 first"):
        await host.receive()


async def test_a_write_after_the_close_is_ignored(pair: Pair) -> None:
    host, _ = pair
    assert not host.closed
    await host.close()
    before = host.backlog
    host.write([Encoded(b"late")] * 10)
    assert host.backlog == before
    await host.drained()


async def test_a_fresh_transport_is_drained_and_has_a_printable_peer(pair: Pair) -> None:
    host, _ = pair
    await host.drained()
    assert host.backlog == 0
    assert host.peer
    assert host.peer.isprintable()


async def test_the_backlog_of_a_peer_that_does_not_read_grows_and_drains(pair: Pair) -> None:
    host, peer = pair
    host.write(FLOOD)
    assert host.backlog > LOW_WATER
    draining = asyncio.create_task(host.drained())
    await asyncio.sleep(0)
    assert not draining.done()
    for message in FLOOD:
        assert await peer.receive() == message.payload
    await draining
    assert host.backlog <= LOW_WATER


async def test_the_close_does_not_wait_for_a_peer_that_does_not_read(pair: Pair) -> None:
    host, _ = pair
    host.write(FLOOD)
    async with asyncio.timeout(FOREVER):
        await host.close(1013, "too slow")
    with pytest.raises(TransportClosed, match="1013 too slow"):
        await host.receive()


async def test_the_close_releases_who_waits_for_a_drain(pair: Pair) -> None:
    host, _ = pair
    host.write(FLOOD)
    draining = asyncio.create_task(host.drained())
    await asyncio.sleep(0)
    async with asyncio.timeout(FOREVER):
        await host.close()
        await draining


async def test_a_cancelled_close_still_closes(pair: Pair) -> None:
    host, _ = pair
    host.write(FLOOD)
    closing = asyncio.create_task(host.close())
    await asyncio.sleep(0)
    closing.cancel()
    await asyncio.wait([closing])
    async with asyncio.timeout(FOREVER):
        await host.close()
    assert host.closed


async def test_a_peer_that_sends_faster_than_we_receive_is_held_back_not_lost(pair: Pair) -> None:
    host, peer = pair
    sent = [b"%06d" % n + b"x" * 10_000 for n in range(600)]

    async def send_all() -> None:
        for message in sent:
            await peer.send(message)

    sending = asyncio.create_task(send_all())
    received = []
    for _ in sent:
        received.append(await host.receive())
        await asyncio.sleep(0)
    assert received == sent
    await sending
