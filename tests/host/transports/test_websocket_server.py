"""The server: what its connections may do, how it serves them, and how it ends."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
from typing import Any

import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, ConnectionClosedOK
from websockets.frames import Close, Opcode

from agenthost.host.http.messages import UpgradeRequest
from agenthost.host.transports import CannotListen, Serve, WebSocketServer
from agenthost.host.trust import Limits, Principal, Role
from agenthost.transport import Encoded, Transport, TransportClosed
from tests.host.transports.pairs import GRACE, accept_all, serving
from tests.host.transports.raw import frame, open_raw, upgrade_head

HELLO = Encoded(b'{"hello":true}')


def running(serve: Serve, host: str = "127.0.0.1") -> WebSocketServer:
    return WebSocketServer(host, 0, gate=accept_all, serve=serve)


async def echo(transport: Transport, principal: Any) -> None:
    while True:
        transport.write([Encoded(await transport.receive())])


async def test_a_fragmented_message_arrives_whole_with_a_ping_answered_in_its_middle() -> None:
    async with serving() as (server, held), open_raw(server.port) as raw:
        await raw.upgrade()
        transport = await held.accepted()
        raw.send(
            frame('{"ü'.encode()[:3], fin=False),
            frame(b"are you there?", Opcode.PING),
            frame('{"ü'.encode()[3:], Opcode.CONT, fin=False),
            frame(b'":1}', Opcode.CONT),
        )
        assert await transport.receive() == '{"ü":1}'.encode()
        pong = await raw.frame()
        assert (pong.opcode, pong.data) == (Opcode.PONG, b"are you there?")


async def test_a_pong_never_splits_a_message() -> None:
    async with serving() as (server, held), open_raw(server.port) as raw:
        await raw.upgrade()
        transport = await held.accepted()
        big = Encoded(b"x" * 3_000_000)
        for n in range(10):
            transport.write([big])
            raw.send(frame(b"%d" % n, Opcode.PING))
        received = [await raw.frame() for _ in range(20)]
    texts = [f.data for f in received if f.opcode is Opcode.TEXT]
    pongs = [f.data for f in received if f.opcode is Opcode.PONG]
    assert texts == [big.payload] * 10
    assert pongs == [b"%d" % n for n in range(10)]


async def test_a_binary_frame_is_taken_for_text_and_invalid_text_is_handed_over() -> None:
    async with serving() as (server, held), connect(f"ws://127.0.0.1:{server.port}") as client:
        transport = await held.accepted()
        await client.send(b'{"binary":true}')
        assert await transport.receive() == b'{"binary":true}'
        await client.send(b"\xff\xfe", text=True)
        assert await transport.receive() == b"\xff\xfe"


@pytest.mark.parametrize("fragmented", [False, True])
async def test_a_message_over_the_limit_closes_with_1009_after_those_before_it(
    fragmented: bool,
) -> None:
    async with serving(max_message_size=1000) as (server, held), open_raw(server.port) as raw:
        await raw.upgrade()
        transport = await held.accepted()
        raw.send(frame(b"x" * 1000))
        if fragmented:
            raw.send(frame(b"x" * 600, fin=False), frame(b"x" * 401, Opcode.CONT))
        else:
            raw.send(frame(b"x" * 1001))
        assert len(await transport.receive()) == 1000
        with pytest.raises(TransportClosed) as closed:
            await transport.receive()
        assert closed.value.code == 1009
        assert (await raw.close_frame()).code == 1009


async def test_a_client_in_the_middle_of_a_huge_message_learns_why_it_is_closed() -> None:
    limits = {"max_message_size": 1000, "close_grace": 20}
    async with serving(**limits) as (server, _), open_raw(server.port) as raw:
        await raw.upgrade()
        raw.send(frame(b"x" * 20_000_000))
        assert (await raw.close_frame()).code == 1009
        await raw.writer.drain()


@pytest.mark.parametrize(
    "wire",
    [
        frame(b"unmasked", mask=False),
        frame(b"", Opcode.CONT),
        frame(b"a", fin=False) + frame(b"b"),
        b"\xf1\x80\0\0\0\0",
        b"\x83\x80\0\0\0\0",
        b"\x89\xfe\x00\x80" + b"\0" * 132,
        frame(b"x", Opcode.CLOSE),
        frame(b"a", fin=False) + frame(Close(1000, "").serialize(), Opcode.CLOSE),
    ],
    ids=[
        "an unmasked frame",
        "a continuation of nothing",
        "a message within a message",
        "reserved bits",
        "an unknown opcode",
        "a control frame too long",
        "half a close code",
        "a close within a message",
    ],
)
async def test_a_breach_of_the_protocol_closes_with_1002(wire: bytes) -> None:
    async with serving() as (server, held), open_raw(server.port) as raw:
        await raw.upgrade()
        transport = await held.accepted()
        raw.send(frame(b"before"), wire)
        assert await transport.receive() == b"before"
        with pytest.raises(TransportClosed) as closed:
            await transport.receive()
        assert closed.value.code == 1002
        assert (await raw.close_frame()).code == 1002
        assert await raw.reader.read() == b""


async def test_a_close_frame_without_a_code_is_answered_and_reported_as_such() -> None:
    async with serving() as (server, held), open_raw(server.port) as raw:
        await raw.upgrade()
        transport = await held.accepted()
        raw.send(frame(b"", Opcode.CLOSE))
        with pytest.raises(TransportClosed, match="1005"):
            await transport.receive()
        assert (await raw.frame()).data == b""


async def test_a_client_that_vanishes_ends_the_connection_abnormally() -> None:
    async with serving() as (server, held):
        async with open_raw(server.port) as raw:
            await raw.upgrade()
            transport = await held.accepted()
        with pytest.raises(TransportClosed, match="1006"):
            await transport.receive()
        transport.write([HELLO] * 100)


async def test_the_connection_closes_when_serve_returns() -> None:
    async def serve(transport: Transport, principal: Any) -> None:
        transport.write([HELLO])

    async with running(serve) as server, connect(f"ws://127.0.0.1:{server.port}") as client:
        assert await client.recv(decode=False) == HELLO.payload
        with pytest.raises(ConnectionClosedOK):
            await client.recv()


async def test_the_connection_closes_with_1011_when_serve_fails_and_the_failure_is_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def serve(transport: Transport, principal: Any) -> None:
        raise LookupError("our own mistake")

    async with running(serve) as server, connect(f"ws://127.0.0.1:{server.port}") as client:
        with pytest.raises(ConnectionClosed) as closed:
            await client.recv()
    assert closed.value.rcvd == Close(1011, "internal error")
    assert "our own mistake" in caplog.text


async def test_a_serve_that_lets_the_end_through_is_no_failure(
    caplog: pytest.LogCaptureFixture,
) -> None:
    ended = asyncio.Event()

    async def serve(transport: Transport, principal: Any) -> None:
        try:
            await transport.receive()
        finally:
            ended.set()

    async with running(serve) as server:
        async with connect(f"ws://127.0.0.1:{server.port}"):
            pass
        await ended.wait()
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]


async def test_the_end_of_the_server_tells_every_client_why() -> None:
    async with serving(close_grace=10) as (server, held):
        async with (
            connect(f"ws://127.0.0.1:{server.port}") as one,
            connect(f"ws://127.0.0.1:{server.port}") as two,
        ):
            (await held.accepted()).write([HELLO])
            (await held.accepted()).write([HELLO])
            closing = asyncio.create_task(server.aclose("maintenance"))
            await asyncio.gather(one.wait_closed(), two.wait_closed())
            held.release()
            await closing
            for client in (one, two):
                assert await client.recv(decode=False) == HELLO.payload
                with pytest.raises(ConnectionClosed) as closed:
                    await client.recv()
                assert closed.value.rcvd == Close(1001, "maintenance")
        assert server.connections == 0
        with pytest.raises(OSError, match=r".+"):
            await asyncio.open_connection("127.0.0.1", server.port)


async def test_the_end_of_the_server_does_not_wait_for_clients_that_do_not_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("agenthost.host.transports.websocket_server._GOODBYE", GRACE)
    async with serving(close_grace=1000) as (server, held), open_raw(server.port) as raw:
        await raw.upgrade()
        transport = await held.accepted()
        transport.write([Encoded(b"x" * 1_000_000)] * 64)
        held.release()
        async with asyncio.timeout(60):
            await server.aclose()
        assert server.connections == 0


async def test_the_end_of_the_server_cancels_a_serve_that_does_not_return(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("agenthost.host.transports.websocket_server._GOODBYE", GRACE)
    cancelled = asyncio.Event()

    async def serve(transport: Transport, principal: Any) -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.set()
            raise

    async with running(serve) as server, connect(f"ws://127.0.0.1:{server.port}"):
        async with asyncio.timeout(60):
            await server.aclose()
    assert cancelled.is_set()


async def test_the_end_of_the_server_reports_a_serve_that_resists_its_cancellation(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("agenthost.host.transports.websocket_server._GOODBYE", GRACE)
    monkeypatch.setattr("agenthost.host.transports.websocket_server._CANCELLATION", GRACE)
    enough = asyncio.Event()

    async def serve(transport: Transport, principal: Any) -> None:
        while not enough.is_set():
            try:
                await enough.wait()
            except asyncio.CancelledError:
                continue

    async with running(serve) as server, open_raw(server.port) as raw:
        await raw.upgrade()
        async with asyncio.timeout(60):
            await server.aclose()
        tasks = list(server._tasks.values())
        enough.set()
        await asyncio.wait(tasks)
    assert "does not end when cancelled" in caplog.text


async def test_a_handshake_in_progress_ends_with_the_server() -> None:
    async with serving() as (server, _), open_raw(server.port) as raw:
        raw.send(b"GET / HTTP/1.1\r\n")
        async with open_raw(server.port) as later:
            later.send(b"GET / HTTP/1.1\r\n\r\n")
            # Sockets are accepted in order, so the first one is in its handshake by now.
            assert (await later.response()).status == 404
        await server.aclose()
        with contextlib.suppress(ConnectionResetError):
            assert await raw.reader.read() == b""


async def test_a_name_is_reached_on_all_its_addresses_under_one_port() -> None:
    addresses = {info[4][0] for info in socket.getaddrinfo("localhost", 0, type=socket.SOCK_STREAM)}
    async with running(echo, "localhost") as server:
        for address in addresses:
            async with open_raw(server.port, str(address)) as raw:
                await raw.upgrade()
                raw.send(frame(b"hello"))
                assert (await raw.frame()).data == b"hello"


async def test_ipv6_is_served_and_shown_in_brackets() -> None:
    peers: list[str] = []

    async def serve(transport: Transport, principal: Any) -> None:
        peers.append(transport.peer)

    try:
        async with running(serve, "::1") as server, open_raw(server.port, "::1") as raw:
            await raw.upgrade()
            assert (await raw.close_frame()).code == 1000
    except CannotListen:
        pytest.skip("this machine has no IPv6")
    assert [peer.rpartition(":")[0] for peer in peers] == ["[::1]"]


async def test_one_principal_s_connections_never_take_the_seats_of_others() -> None:
    limits = Limits(max_connections=16)

    def gate(request: UpgradeRequest) -> Principal:
        name = request.query["as"]
        return Principal(name, Role.OWNER if name == "owner" else Role.VIEWER)

    options = {"max_connections": 16, "gate": gate, "seats": limits.has_seat}
    async with serving(**options) as (server, _), contextlib.AsyncExitStack() as opened:

        async def attempt(name: str) -> int:
            raw = await opened.enter_async_context(open_raw(server.port))
            raw.send(upgrade_head(f"/?as={name}"))
            return (await raw.response()).status

        # One greedy viewer has its share, many together have what is not the owner's.
        assert [await attempt("greedy") for _ in range(5)] == [101, 101, 503, 503, 503]
        assert [await attempt(f"v{n}") for n in range(15)] == [101] * 13 + [503] * 2
        assert await attempt("owner") == 101


async def test_silent_sockets_keep_nobody_out() -> None:
    async with (
        serving(max_undecided=20) as (server, held),
        contextlib.AsyncExitStack() as silent,
    ):
        for _ in range(200):
            await silent.enter_async_context(open_raw(server.port))
        async with asyncio.timeout(60), open_raw(server.port) as raw:
            await raw.upgrade()
            await held.accepted()
