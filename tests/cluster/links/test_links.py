"""Links carry whole messages in order between nodes, or they end: nothing is lost quietly."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from agenthost.cluster.links import LinkServer, frames, link_end, open_link
from agenthost.cluster.links.frames import FrameKind, LinkFrame
from agenthost.cluster.links.link_end import LinkEnd
from agenthost.cluster.realm import RealmError, RealmLink, RealmUnreachable
from agenthost.errors import RemoteProtocolError
from agenthost.host.trust.principals import LOCAL_OWNER, Principal
from agenthost.tokens import Role
from agenthost.transport import LOW_WATER, CloseCode, Encoded, Transport, TransportClosed
from tests.cluster.servers import (
    Servers,
    known_to_servers,
    one_server,
    realm_link,
    three_servers,
    until,
)

pytestmark = [pytest.mark.timeout(120)]
SOON = 30.0


async def at_once(position: int) -> None:
    """Have read the log as far as anybody."""


async def echo(transport: Transport, principal: Principal, purpose: str) -> None:
    with contextlib.suppress(TransportClosed):
        while True:
            transport.write([Encoded(await transport.receive())])


async def next_of(transport: Transport) -> bytes:
    return await asyncio.wait_for(transport.receive(), SOON)


async def end_of(transport: Transport) -> TransportClosed:
    while True:
        try:
            await next_of(transport)
        except TransportClosed as closed:
            return closed


@contextlib.asynccontextmanager
async def one_node(
    folder: Path, serve: Callable[[Transport, Principal, str], Awaitable[None]] = echo
) -> AsyncIterator[tuple[RealmLink, LinkServer]]:
    """Run a server with an owner, and give a front's connection and the owner's links."""
    async with (
        one_server(folder) as servers,
        realm_link(servers, "front") as front,
        realm_link(servers, "owner") as owner,
        LinkServer(owner, "node", serve, lambda: 0) as server,
    ):
        await known_to_servers(owner)
        yield front, server


class Wire:
    """Two ends without servers, whose frames can be lost."""

    def __init__(self, **of_left: object) -> None:
        self.lose: Callable[[bytes], bool] = lambda data: False
        self.frames: list[LinkFrame] = []
        self.left = LinkEnd("right", self._to("right"), **of_left)  # type: ignore[arg-type]
        self.right = LinkEnd("left", self._to("left"))

    def _to(self, side: str) -> Callable[[bytes], Awaitable[None]]:
        async def publish(data: bytes) -> None:
            self.frames.append(frames.read_frame(data))
            if not self.lose(data):
                getattr(self, side).deliver(data)

        return publish


async def test_messages_of_all_sizes_come_in_order(tmp_path: Path) -> None:
    async with one_node(tmp_path) as (front, server):
        link = await open_link(front, "node", LOCAL_OWNER, "client", at_once)
        sizes = (0, 1, 256 * 1024 - 1, 256 * 1024, 9_000_000, 5)
        for size in sizes:
            link.write([Encoded(b"x" * size), Encoded(b"y")])
        for size in sizes:
            assert await next_of(link) == b"x" * size
            assert await next_of(link) == b"y"
        assert link.backlog <= LOW_WATER
        await link.close()
        await until(lambda: len(server) == 0)


async def test_the_owner_knows_for_whom_and_what_for(tmp_path: Path) -> None:
    served: asyncio.Queue[tuple[Principal, str]] = asyncio.Queue()

    async def serve(transport: Transport, principal: Principal, purpose: str) -> None:
        served.put_nowait((principal, purpose))
        await transport.close(CloseCode.POLICY_VIOLATION, "not you")

    async with one_node(tmp_path, serve) as (front, _):
        guest = Principal("guest", Role.VIEWER)
        link = await open_link(front, "node", guest, "client", at_once)
        assert await asyncio.wait_for(served.get(), SOON) == (guest, "client")
        assert str(await end_of(link)) == "1008 not you"
        assert link.closed


async def test_an_owner_that_fails_ends_the_link(tmp_path: Path) -> None:
    async def serve(transport: Transport, principal: Principal, purpose: str) -> None:
        raise RuntimeError("on purpose")

    async with one_node(tmp_path, serve) as (front, _):
        link = await open_link(front, "node", LOCAL_OWNER, "client", at_once)
        assert (await end_of(link)).code == CloseCode.INTERNAL_ERROR


async def test_nobody_there(tmp_path: Path) -> None:
    async with one_node(tmp_path) as (front, _):
        with pytest.raises(RealmUnreachable, match="node other does not answer: nobody is there"):
            await open_link(front, "other", LOCAL_OWNER, "client", at_once)


async def test_links_end_when_the_owner_leaves_and_a_new_one_knows_none(tmp_path: Path) -> None:
    async with one_server(tmp_path) as servers, realm_link(servers, "a") as link:
        async with LinkServer(link, "node", echo, lambda: 0):
            opened = await open_link(link, "node", LOCAL_OWNER, "client", at_once)
            opened.write([Encoded(b"hello")])
            assert await next_of(opened) == b"hello"
        assert str(await end_of(opened)) == "1001 the owner ends its links"
        stale = await _left_behind(servers, link)
        async with LinkServer(link, "node", echo, lambda: 0):
            stale.write([Encoded(b"hello")])
            assert "does not know the link" in (await end_of(stale)).reason


async def _left_behind(servers: Servers, link: RealmLink) -> Transport:
    """Return a link whose owner was lost without a word."""
    async with realm_link(servers, "b") as lost:
        await LinkServer(lost, "node", echo, lambda: 0).__aenter__()
        await known_to_servers(lost)
        return await open_link(link, "node", LOCAL_OWNER, "client", at_once)


async def test_what_the_owner_says_waits_for_the_log(tmp_path: Path) -> None:
    position = 7
    arrived = asyncio.Event()
    asked: list[int] = []

    async def reached(wanted: int) -> None:
        asked.append(wanted)
        await arrived.wait()

    async with (
        one_server(tmp_path) as servers,
        realm_link(servers) as link,
        LinkServer(link, "node", echo, lambda: position),
    ):
        opened = await open_link(link, "node", LOCAL_OWNER, "client", reached)
        opened.write([Encoded(b"one"), Encoded(b"two")])
        await until(lambda: asked == [7])
        receiving = asyncio.create_task(next_of(opened))
        await asyncio.sleep(0)
        assert not receiving.done()
        arrived.set()
        assert await receiving == b"one"
        assert await next_of(opened) == b"two"
        opened.write([Encoded(b"three")])
        assert await next_of(opened) == b"three"
        # What was reached once is not asked for again.
        assert asked == [7]
        await opened.close()


async def test_a_copy_that_fails_ends_the_link() -> None:
    async def reached(position: int) -> None:
        raise RealmError("the log cannot be read")

    wire = Wire(reached=reached)
    wire.left.deliver(LinkFrame(FrameKind.PIECES, 1, 5, 0, frames.piece(b"x", False)).encoded())
    assert "the log cannot be read" in (await end_of(wire.left)).reason
    assert "the log cannot be read" in (await end_of(wire.right)).reason


async def test_a_lost_frame_ends_the_link_on_both_sides() -> None:
    wire = Wire()
    wire.left.write([Encoded(b"one")])
    assert await next_of(wire.right) == b"one"
    wire.lose = lambda data: True
    wire.left.write([Encoded(b"two")])
    await until(lambda: wire.frames[-1].number == 2)
    wire.lose = lambda data: False
    wire.left.write([Encoded(b"three")])
    assert (await end_of(wire.right)).reason == "messages of the link were lost"
    assert (await end_of(wire.left)).reason == "messages of the link were lost"


async def test_a_lost_last_frame_is_noticed_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(link_end, "KEEPALIVE", 0.05)
    wire = Wire()
    wire.lose = lambda data: frames.read_frame(data).kind is FrameKind.PIECES
    wire.left.write([Encoded(b"one")])
    assert (await end_of(wire.right)).reason == "messages of the link were lost"


async def test_a_silent_peer_ends_the_link(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(link_end, "KEEPALIVE", 0.05)
    monkeypatch.setattr(link_end, "SILENCE", 0.3)
    wire = Wire()
    wire.left.write([Encoded(b"hello")])
    assert await next_of(wire.right) == b"hello"
    # Words of life keep it for longer than that.
    alive = sum(frame.kind is FrameKind.ALIVE for frame in wire.frames)
    await until(lambda: len(wire.frames) > alive + 20)
    assert not wire.left.closed
    wire.lose = lambda data: True
    for side in (wire.left, wire.right):
        assert (await end_of(side)).reason == "nothing is heard of the other side"


async def test_a_peer_that_takes_nothing_is_sent_no_more_than_a_window() -> None:
    wire = Wire()
    message = Encoded(bytes(100_000))
    count = 100
    wire.left.write([message] * count)
    drained = asyncio.create_task(wire.left.drained())
    await until(lambda: len(wire.frames) >= 4)
    for _ in range(100):
        await asyncio.sleep(0)
    assert wire.right._received.size < 2 * link_end.WINDOW
    assert wire.left.backlog > 9_000_000
    assert not drained.done()
    for _ in range(count):
        assert len(await next_of(wire.right)) == 100_000
    await asyncio.wait_for(drained, SOON)
    assert wire.left.backlog <= LOW_WATER
    await wire.left.close()


async def test_a_peer_that_sends_more_than_is_taken_is_cut_off() -> None:
    wire = Wire()
    body = frames.piece(bytes(200_000), False)
    for number in range(1, 40):
        wire.right.deliver(LinkFrame(FrameKind.PIECES, number, 0, 0, body).encoded())
    assert wire.right.closed
    assert wire.right._received.size < 5 * link_end.WINDOW
    assert (await end_of(wire.right)).code == CloseCode.TRY_AGAIN_LATER


async def test_a_message_without_end_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(link_end, "LARGEST_MESSAGE", 1_000_000)
    wire = Wire()
    wire.left.write([Encoded(bytes(2_000_000))])
    assert (await end_of(wire.right)).code == CloseCode.TOO_BIG


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"no frame",
        bytes(100),
        LinkFrame(FrameKind.PIECES, 1, 0, 0, b"\x00\x00\x00\x09short").encoded(),
        LinkFrame(FrameKind.PIECES, 1, 0, 0, b"\x00").encoded(),
        LinkFrame(FrameKind.CLOSE, 1, 0, 0, b"").encoded(),
    ],
)
async def test_what_is_no_frame_ends_the_link(data: bytes) -> None:
    wire = Wire()
    wire.right.deliver(data)
    assert (await end_of(wire.right)).code == CloseCode.POLICY_VIOLATION
    await wire.left.close()


async def test_no_request_for_a_link_is_taken_up(tmp_path: Path) -> None:
    async with one_node(tmp_path) as (front, server):
        for nonsense in (b"", b"[]", b'{"id": "a.b"}', b"\xff"):
            answer = await front.request("links.owner.node.open", nonsense, SOON)
            assert b"refused" in answer
        assert len(server) == 0


async def test_what_was_written_before_the_end_still_comes() -> None:
    wire = Wire()
    wire.left.write([Encoded(b"last words")])
    await wire.left.close(CloseCode.GOING_AWAY, "bye")
    wire.left.write([Encoded(b"too late")])
    assert await next_of(wire.right) == b"last words"
    assert str(await end_of(wire.right)) == "1001 bye"
    await wire.left.close()


async def test_a_reconnect_ends_links_or_leaves_them_whole(tmp_path: Path) -> None:
    async with (
        three_servers(tmp_path) as servers,
        realm_link(servers, "front") as front,
        realm_link(servers, "owner") as owner,
        LinkServer(owner, "node", echo, lambda: 0),
    ):

        async def opened() -> Transport:
            # Servers tell each other a moment later who listens.
            while True:
                with contextlib.suppress(RealmUnreachable):
                    return await open_link(front, "node", LOCAL_OWNER, "client", at_once)

        link = await asyncio.wait_for(opened(), SOON)
        url = front.client.connected_url
        assert url is not None
        received: list[bytes] = []
        sent = 0
        with contextlib.suppress(TransportClosed):
            for sent in range(300):
                link.write([Encoded(b"%d" % sent)])
                if sent == 50:
                    port = url.port
                    next(each for each in servers.all if each.url.endswith(f":{port}")).kill()
                received.append(await next_of(link))
        assert received == [b"%d" % number for number in range(len(received))]
        if not link.closed:
            assert len(received) == 300
        await link.close()

        link = await asyncio.wait_for(opened(), SOON)
        link.write([Encoded(b"hello")])
        assert await next_of(link) == b"hello"
        await link.close()


def test_a_frame_is_what_it_was() -> None:
    frame = LinkFrame(FrameKind.PIECES, 3, 2**60, 5, frames.piece(b"a", True) + b"\0\0\0\0")
    assert frames.read_frame(frame.encoded()) == frame
    assert list(frames.pieces_of(frame.body)) == [(b"a", True), (b"", False)]
    with pytest.raises(RemoteProtocolError):
        frames.read_frame(b"")
