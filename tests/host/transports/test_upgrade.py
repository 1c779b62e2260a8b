"""Upgrades, pages and everything that is neither, over a real socket."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import tracemalloc
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from agenthost.host.http.messages import HttpRequest, HttpResponse, UpgradeRequest
from agenthost.host.transports import ServerWebSocket, WebSocketServer
from agenthost.host.transports.upgrade import HttpHandshake
from agenthost.host.trust import Principal, Refusal, Role
from agenthost.transport import Transport
from tests.host.transports.pairs import accept_all, serving
from tests.host.transports.raw import FakeSocket, Response, frame, open_raw, upgrade_head

BIG_PAGE = bytes(range(256)) * 20_000


def pages(request: HttpRequest) -> HttpResponse | None:
    match request.path:
        case "/":
            return HttpResponse(200, b"<p>hi</p>", "text/html; charset=utf-8")
        case "/big":
            return HttpResponse(200, BIG_PAGE, "application/octet-stream", "max-age=3600")
        case "/broken":
            raise LookupError("the page's own failure")
        case "/bad-header":
            return HttpResponse(200, b"", headers={"X": "a\r\nb"})
        case "/whoami":
            return HttpResponse(200, f"{request.method} {request.token}".encode())
    return None


async def ask(server: WebSocketServer, request: bytes) -> Response:
    async with asyncio.timeout(60), open_raw(server.port) as raw:
        raw.send(request)
        return await raw.response()


def get(target: str, method: str = "GET", extra: str = "") -> bytes:
    return f"{method} {target} HTTP/1.1\r\nHost: x\r\n{extra}\r\n".encode()


async def test_a_page_is_served_with_its_type_and_length() -> None:
    async with serving(pages=pages) as (server, _):
        response = await ask(server, get("/"))
    assert (response.status, response.body) == (200, b"<p>hi</p>")
    assert response.headers["content-type"] == "text/html; charset=utf-8"
    assert response.headers["content-length"] == "9"
    assert response.headers["connection"] == "close"
    assert response.headers["x-content-type-options"] == "nosniff"


async def test_a_page_of_megabytes_arrives_whole() -> None:
    async with serving(pages=pages) as (server, _):
        response = await ask(server, get("/big"))
    assert response.body == BIG_PAGE
    assert response.headers["cache-control"] == "max-age=3600"


async def test_a_page_arrives_whole_at_a_client_that_has_already_ended_its_side() -> None:
    async with serving(pages=pages) as (server, _), open_raw(server.port) as raw:
        raw.send(get("/big"))
        raw.writer.write_eof()
        assert (await raw.response()).body == BIG_PAGE


async def test_head_gets_the_head_of_the_page() -> None:
    async with serving(pages=pages) as (server, _):
        response = await ask(server, get("/", "HEAD"))
        assert (response.status, response.body) == (200, b"")
        assert response.headers["content-length"] == "9"
        assert (await ask(server, get("/none", "HEAD"))).status == 404


async def test_a_page_sees_method_and_token() -> None:
    async with serving(pages=pages) as (server, _):
        assert (await ask(server, get("/whoami?tkn=t"))).body == b"GET t"


async def test_a_missing_page_is_not_found_and_a_failing_one_an_error_without_details(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with serving(pages=pages) as (server, _):
        assert (await ask(server, get("/none"))).status == 404
        for target in ("/broken?tkn=s3cret", "/bad-header?tkn=s3cret"):
            response = await ask(server, get(target))
            assert response.status == 500
            assert b"failure" not in response.body
    assert "the page's own failure" in caplog.text
    assert "s3cret" not in caplog.text


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (get("/", "POST", "Content-Length: 5\r\n") + b"hello", 405),
        (get("/", "POST", "Transfer-Encoding: chunked\r\n") + b"5\r\nhello\r\n0\r\n\r\n", 405),
        (get("/", "DELETE"), 405),
        (get("/", "OPTIONS"), 405),
        (get("/", "GET", "Content-Length: 5\r\n") + b"hello", 400),
        (get("/", "GET", "Content-Length: nonsense\r\n"), 400),
        (get("/", "GET", "Transfer-Encoding: chunked\r\n"), 400),
        (get("/", "GET", "no colon here\r\n"), 400),
        (get("/", "GET", "X: \x00\r\n"), 400),
        (get("*"), 400),
        (get("http://["), 400),
        ("GET /ü HTTP/1.1\r\n\r\n".encode(), 400),
        (b"GET /\r\n\r\n", 400),
        (b"GET / HTTP/one\r\n\r\n", 400),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505),
        (b"garbage\r\n\r\n", 400),
        (b"\x16\x03\x01\x02\x00\x01", 400),
        (b"\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 4000 + b"\r\n", 431),
        (b"GET /" + b"x" * 100_000, 431),
        (b"GET / HTTP/1.1\r\nX: " + b"y" * 10_000 + b"\r\n\r\n", 400),
    ],
)
async def test_what_is_no_plain_get_gets_a_clean_answer(
    request_: bytes, status: int, caplog: pytest.LogCaptureFixture
) -> None:
    async with serving(pages=pages) as (server, _):
        response = await ask(server, request_)
    assert response.status == status
    assert response.headers["connection"] == "close"
    assert response.body
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]


async def test_a_client_that_still_sends_its_body_can_read_why_it_is_refused() -> None:
    async with serving() as (server, _), open_raw(server.port) as raw:
        raw.send(get("/", "POST", "Content-Length: 5000000\r\n"), b"x" * 5_000_000)
        await raw.writer.drain()
        assert (await raw.response()).status == 405


async def test_an_http_1_0_client_may_read_pages_and_not_upgrade() -> None:
    async with serving(pages=pages) as (server, _):
        assert (await ask(server, b"GET / HTTP/1.0\r\n\r\n")).status == 200
        old = upgrade_head().replace(b"HTTP/1.1", b"HTTP/1.0")
        assert (await ask(server, old)).status == 505


async def test_a_request_to_speak_another_protocol_is_a_plain_request() -> None:
    async with serving(pages=pages) as (server, _):
        extra = "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n"
        assert (await ask(server, get("/", extra=extra))).status == 200


async def test_a_slow_request_times_out_with_an_answer() -> None:
    async with serving(handshake_timeout=0.02) as (server, _), open_raw(server.port) as raw:
        raw.send(b"GET / HTTP/1.1\r\nX-Slow")
        assert (await raw.response()).status == 408


async def test_a_silent_socket_is_dropped_without_a_word() -> None:
    async with serving(handshake_timeout=0.02) as (server, _), open_raw(server.port) as raw:
        with contextlib.suppress(ConnectionResetError):
            assert await raw.reader.read() == b""


async def test_a_client_that_does_not_read_its_page_is_cut_off(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("agenthost.host.transports.upgrade._ANSWER_PATIENCE", 0.02)
    lost = asyncio.Event()
    original = HttpHandshake.connection_lost

    def connection_lost(self: HttpHandshake, exc: Exception | None) -> None:
        original(self, exc)
        lost.set()

    monkeypatch.setattr(HttpHandshake, "connection_lost", connection_lost)

    def huge(request: HttpRequest) -> HttpResponse:
        return HttpResponse(200, b"x" * 50_000_000)

    async with serving(pages=huge) as (server, _), open_raw(server.port) as raw:
        raw.writer.transport.pause_reading()  # type: ignore[attr-defined]
        raw.send(get("/"))
        async with asyncio.timeout(60):
            await lost.wait()


async def test_a_page_is_not_copied_for_each_client_that_does_not_read_it() -> None:
    page = HttpResponse(200, b"0123456789abcdef" * 1_000_000)
    async with (
        serving(pages=lambda request: page) as (server, _),
        contextlib.AsyncExitStack() as stack,
    ):
        clients = [await stack.enter_async_context(open_raw(server.port)) for _ in range(5)]
        tracemalloc.start()
        stack.callback(tracemalloc.stop)
        for client in clients:
            client.send(get("/"))
            # Of the rest nothing is taken; the stream itself takes no more than a little.
            await client.reader.readexactly(1)
        assert tracemalloc.get_traced_memory()[1] < len(page.body) // 4
        tracemalloc.stop()
        # Who reads it after all gets it whole; also one who has long said all they had to say.
        for client in clients[:2]:
            client.writer.write_eof()
            assert (await client.reader.read()).endswith(b"\r\n\r\n" + page.body)


async def test_the_gate_sees_the_whole_request_and_names_the_principal() -> None:
    seen: list[UpgradeRequest] = []

    def gate(request: UpgradeRequest) -> Principal:
        seen.append(request)
        return Principal("somebody", Role.VIEWER)

    async with serving(gate=gate) as (server, held):
        url = f"ws://127.0.0.1:{server.port}/any/p%20ath?tkn=t&x=1"
        async with connect(url, origin="http://page.example") as client:  # type: ignore[arg-type]
            transport, principal = await held.accepted_with_principal()
            host, port, *_ = client.local_address
            assert transport.peer == f"{host}:{port}"
    (request,) = seen
    assert principal == Principal("somebody", Role.VIEWER)
    assert (request.path, request.query["x"], request.token) == ("/any/p ath", "1", "t")
    assert request.origin == "http://page.example"
    assert request.headers["HOST"] == f"127.0.0.1:{server.port}"
    assert request.peer == transport.peer


@pytest.mark.parametrize(
    ("status", "text"), [(401, "A token is needed."), (403, "This origin is not welcome.")]
)
async def test_the_gate_refuses_with_status_and_text(status: int, text: str) -> None:
    async with serving(gate=lambda request: Refusal(status, text)) as (server, _):
        with pytest.raises(InvalidStatus) as refused:
            await connect(f"ws://127.0.0.1:{server.port}")
    response = refused.value.response
    assert (response.status_code, response.body) == (status, text.encode())
    assert ("WWW-Authenticate" in response.headers) == (status == 401)


async def test_a_failing_gate_lets_nobody_in(caplog: pytest.LogCaptureFixture) -> None:
    def gate(request: UpgradeRequest) -> Principal:
        raise LookupError("no idea")

    async with serving(gate=gate) as (server, _):
        response = await ask(server, upgrade_head("/?tkn=s3cret"))
    assert (response.status, response.body) == (500, b"Internal error.\n")
    assert "no idea" in caplog.text
    assert "s3cret" not in caplog.text


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Sec_WebSocket_Version": "8"}, 400),
        ({"Sec_WebSocket_Key": "short"}, 400),
        ({"Connection": "close"}, 426),
    ],
)
async def test_a_malformed_upgrade_is_refused(headers: dict[str, str], status: int) -> None:
    async with serving() as (server, _):
        response = await ask(server, upgrade_head(**headers))
    assert response.status == status
    assert response.headers["x-content-type-options"] == "nosniff"


async def test_no_compression_is_agreed_on() -> None:
    async with serving() as (server, _), open_raw(server.port) as raw:
        raw.send(upgrade_head(Sec_WebSocket_Extensions="permessage-deflate"))
        response = await raw.response()
    assert response.status == 101
    assert "sec-websocket-extensions" not in response.headers


async def test_past_the_limit_upgrades_wait_for_better_times_and_pages_do_not() -> None:
    async with serving(pages=pages, max_connections=1) as (server, held):
        async with connect(f"ws://127.0.0.1:{server.port}"):
            transport = await held.accepted()
            response = await ask(server, upgrade_head())
            assert response.status == 503
            assert "retry-after" in response.headers
            assert (await ask(server, get("/"))).status == 200
        held.release()
        await transport.close()
        await asyncio.gather(*server._tasks.values())
        assert server.connections == 0
        async with connect(f"ws://127.0.0.1:{server.port}"):
            pass


async def test_of_too_many_sockets_without_a_request_the_oldest_is_dropped_unheard() -> None:
    async with (
        serving(pages=pages, max_undecided=1) as (server, _),
        open_raw(server.port) as first,
        open_raw(server.port) as second,
    ):
        with contextlib.suppress(ConnectionResetError):
            assert await first.reader.read() == b""
        second.send(get("/"))
        assert (await second.response()).status == 200


async def test_silent_sockets_from_one_address_cost_those_from_another_nothing() -> None:
    async with (
        serving(pages=pages, max_undecided=4) as (server, _),
        open_raw(server.port, source="127.0.0.2") as patient,
        contextlib.AsyncExitStack() as silent,
    ):
        for _ in range(20):
            await silent.enter_async_context(open_raw(server.port))
        # The last of them has been accepted, and what it cost has been decided.
        assert (await ask(server, get("/"))).status == 200
        patient.send(get("/"))
        assert (await patient.response()).status == 200


async def test_no_log_at_any_level_holds_the_token(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(1)
    async with serving(pages=pages) as (server, _):
        async with open_raw(server.port) as raw:
            await raw.upgrade("/?tkn=s3cret", Authorization="Bearer s3cret")
            raw.send(frame(b"hello"))
        await ask(server, get("/?tkn=s3cret"))
        await ask(server, upgrade_head("/?tkn=s3cret", Sec_WebSocket_Key="short"))
    assert "s3cret" not in caplog.text


@given(st.lists(st.integers(1, 60), max_size=60))
def test_an_upgrade_and_the_frames_behind_it_may_come_in_any_chunks(sizes: list[int]) -> None:
    wire = upgrade_head("/x?tkn=t") + frame(b"first") + frame(b"second")

    async def run() -> None:
        received: list[bytes] = []
        done = asyncio.Event()

        async def serve(transport: Transport, principal: Any) -> None:
            received.extend([await transport.receive(), await transport.receive()])
            done.set()

        server = WebSocketServer("", 0, gate=accept_all, serve=serve, ping_interval=None)
        sock = FakeSocket()
        handler: HttpHandshake | ServerWebSocket = HttpHandshake(server)
        handler.connection_made(sock)
        position = 0
        for size in (*sizes, len(wire)):
            if chunk := wire[position : position + size]:
                handler.data_received(chunk)
            position += size
            if sock.protocol is not None:
                assert isinstance(sock.protocol, ServerWebSocket)
                handler = sock.protocol
        assert isinstance(handler, ServerWebSocket)
        (task,) = server._tasks.values()
        await done.wait()
        handler.connection_lost(None)
        await task
        assert received == [b"first", b"second"]

    asyncio.run(run())


@given(st.binary(max_size=400), st.lists(st.integers(1, 60), max_size=20))
def test_no_bytes_whatever_make_a_handshake_raise(data: bytes, sizes: list[int]) -> None:
    async def run() -> None:
        server = WebSocketServer("", 0, gate=accept_all, serve=None)  # type: ignore[arg-type]
        sock = FakeSocket()
        handshake = HttpHandshake(server)
        handshake.connection_made(sock)
        position = 0
        for size in (*sizes, len(data)):
            if chunk := data[position : position + size]:
                handshake.data_received(chunk)
            position += size
        assert sock.written == b"" or sock.written.startswith(b"HTTP/1.1 ")
        handshake.connection_lost(None)

    asyncio.run(run())
