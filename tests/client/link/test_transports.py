"""Dialling: what gets through, what comes back, and what each refusal means."""

from __future__ import annotations

import asyncio
import logging
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from websockets.utils import accept_key

from agenthost.client import (
    CannotConnect,
    Closed,
    Connected,
    NotAdmitted,
    Superseded,
    command,
    connect,
    endpoint,
    websocket,
)
from agenthost.client.link.transports import websocket_url
from agenthost.errors import AgentHostError
from agenthost.host import Host
from agenthost.host.http.messages import UpgradeRequest
from agenthost.host.trust import LOCAL_OWNER, Gate, HostTokens, Principal, Refusal
from agenthost.transport import Encoded, Transport, TransportClosed
from tests.host.transports.pairs import serving

FOREVER = 60
TOKEN = "s3cret+/="
# More than sockets hold by themselves.
FLOOD = [Encoded(b"x" * 1_000_000)] * 32

ECHO = """
import sys
for line in sys.stdin.buffer:
    if line == b"bye\\n":
        break
    sys.stdout.buffer.write(line)
    sys.stdout.buffer.flush()
"""


@asynccontextmanager
async def dialled() -> AsyncIterator[tuple[Transport, Transport]]:
    """A transport of ours, and the host's at the other end."""
    async with asyncio.timeout(FOREVER), serving() as (server, held):
        transport = await websocket(f"127.0.0.1:{server.port}")()
        try:
            yield transport, await held.accepted()
        finally:
            await transport.close()


# Addresses


@pytest.mark.parametrize(
    ("address", "url"),
    [
        ("127.0.0.1:8765", "ws://127.0.0.1:8765/"),
        ("example.org", "ws://example.org/"),
        ("[::1]:8765", "ws://[::1]:8765/"),
        ("ws://h:1/path?x=1", "ws://h:1/path?x=1"),
        ("wss://h", "wss://h/"),
        ("http://h:1/?tkn=t", "ws://h:1/?tkn=t"),
        ("https://h/a#fragment", "wss://h/a"),
    ],
)
def test_an_address_means_a_websocket(address: str, url: str) -> None:
    assert websocket_url(address) == url


@pytest.mark.parametrize("address", ["", "ftp://h", "ws://", "://h", "stdio://x"])
def test_what_is_no_address_is_refused_without_quoting_its_secrets(address: str) -> None:
    with pytest.raises(ValueError, match="not the address"):
        connect(address)
    with pytest.raises(ValueError, match="not the address") as failure:
        connect(f"ftp://user:hidden@h/?tkn={TOKEN}")
    assert "hidden" not in str(failure.value)
    assert TOKEN not in str(failure.value)


def test_a_command_has_a_name() -> None:
    with pytest.raises(ValueError, match="command"):
        command()


# WebSockets


async def test_messages_pass_both_ways_whole_and_in_order() -> None:
    sent = [b'{"n":%d}' % n for n in range(300)] + ['{"t":"grüße 世界"}'.encode()]
    async with dialled() as (here, there):
        here.write([Encoded(message) for message in sent])
        assert [await there.receive() for _ in sent] == sent
        there.write([Encoded(message) for message in sent])
        assert [await here.receive() for _ in sent] == sent
        assert here.peer.startswith("ws://127.0.0.1:")


async def test_a_message_of_many_megabytes_passes() -> None:
    big = b'"' + b"0123456789" * 1_200_000 + b'"'
    async with dialled() as (here, there):
        here.write([Encoded(big)])
        assert await there.receive() == big
        there.write([Encoded(big)])
        assert await here.receive() == big


async def test_a_peer_that_does_not_read_makes_a_backlog_that_drains_when_it_does() -> None:
    async with dialled() as (here, there):
        here.write(FLOOD)
        assert here.backlog > 16_000_000
        draining = asyncio.create_task(here.drained())
        for _ in FLOOD:
            await there.receive()
        await draining
        assert here.backlog < 1_000_000


async def test_a_goodbye_that_is_cut_short_leaves_no_socket_behind() -> None:
    async def deaf(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = await reader.readuntil(b"\r\n\r\n")
        key = next(line for line in request.split(b"\r\n") if b"sec-websocket-key" in line.lower())
        accepted = accept_key(key.partition(b": ")[2].decode())
        writer.write(
            b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            + f"Sec-WebSocket-Accept: {accepted}\r\n\r\n".encode()
        )
        try:
            await reader.read()
        except ConnectionError:
            pass
        finally:
            writer.close()
            left.set()

    left = asyncio.Event()
    async with asyncio.timeout(FOREVER), await asyncio.start_server(deaf, "127.0.0.1", 0) as server:
        transport = await websocket(f"127.0.0.1:{server.sockets[0].getsockname()[1]}")()
        closing = asyncio.create_task(transport.close())
        await asyncio.sleep(0)
        closing.cancel()
        # The other side sees the end of the connection at once, and not when memory is tidied up.
        await left.wait()


async def test_a_goodbye_carries_its_code_and_reason() -> None:
    async with dialled() as (here, there):
        there.write([Encoded(b"{}")])
        await there.close(1013, "too slow")
        assert await here.receive() == b"{}"
        with pytest.raises(TransportClosed) as end:
            await here.receive()
        assert (end.value.code, end.value.reason) == (1013, "too slow")
        assert here.closed
        here.write([Encoded(b"{}")])
        await here.drained()


async def test_a_broken_socket_is_an_abnormal_end() -> None:
    async with dialled() as (here, there):
        there.abort()  # type: ignore[attr-defined]
        with pytest.raises(TransportClosed) as end:
            await here.receive()
        assert end.value.code == 1006


async def test_what_was_written_before_the_end_still_arrives() -> None:
    async with dialled() as (here, there):
        here.write([Encoded(b"%d" % number) for number in range(100)])
        await here.close()
        assert [await there.receive() for _ in range(100)] == [b"%d" % n for n in range(100)]
        with pytest.raises(TransportClosed):
            await there.receive()


# Who gets in


def tokens_seen(request: UpgradeRequest) -> list[str | None]:
    return [request.headers.get("Authorization"), request.query.get("tkn")]


@pytest.mark.parametrize("in_url", [False, True])
async def test_a_token_travels_as_a_header_or_in_the_url(in_url: bool) -> None:
    seen: list[Any] = []

    def gate(request: UpgradeRequest) -> Principal:
        seen.extend(tokens_seen(request))
        return LOCAL_OWNER

    async with serving(gate=gate) as (server, _):
        dial = websocket(f"127.0.0.1:{server.port}", TOKEN, token_in_url=in_url)
        await (await dial()).close()
    assert seen == ([None, TOKEN] if in_url else [f"Bearer {TOKEN}", None])


@pytest.mark.parametrize("status", [401, 403, 404])
async def test_a_refusal_is_final_and_says_what_the_host_said(status: int) -> None:
    def gate(request: UpgradeRequest) -> Refusal:
        return Refusal(status, "not you")

    async with serving(gate=gate) as (server, _):
        with pytest.raises(NotAdmitted, match="not you") as refusal:
            await websocket(f"127.0.0.1:{server.port}", TOKEN, token_in_url=True)()
        assert refusal.value.status == status
        assert TOKEN not in str(refusal.value)


@pytest.mark.parametrize(("status", "after"), [(503, None), (429, 12.0)])
async def test_a_host_that_is_busy_may_be_tried_again(status: int, after: float | None) -> None:
    def gate(request: UpgradeRequest) -> Refusal:
        return Refusal(status, "later", None if after is None else int(after))

    async with serving(gate=gate) as (server, _):
        with pytest.raises(CannotConnect) as trouble:
            await websocket(f"127.0.0.1:{server.port}")()
        assert trouble.value.retry_after == after


async def test_nobody_there_is_worth_another_try_and_keeps_the_token_secret() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        with pytest.raises(CannotConnect, match="cannot be reached") as trouble:
            await websocket(f"127.0.0.1:{port}", TOKEN, token_in_url=True)()
    assert TOKEN not in str(trouble.value)


async def test_a_server_that_is_no_host_is_worth_another_try() -> None:
    async def babble(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"SSH-2.0-OpenSSH\r\n")
        writer.close()

    async with await asyncio.start_server(babble, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(CannotConnect):
            await websocket(f"127.0.0.1:{port}")()


async def test_no_token_reaches_a_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    async with Host() as host:
        url = await host.listen(port=0, gate=Gate(HostTokens(TOKEN)))
        for in_url in (False, True):
            async with connect(url, token=TOKEN, token_in_url=in_url) as client:
                await client.request("ping")
        with pytest.raises(NotAdmitted):
            async with connect(url, token="wrong"):
                raise AssertionError("nobody gets in")
    assert TOKEN not in caplog.text
    assert "s3cret" not in caplog.text


async def test_a_second_client_of_one_id_takes_over_for_good() -> None:
    async with asyncio.timeout(FOREVER), Host() as host:
        url = await host.listen(port=0)

        class Patient:
            """A clock on which every connection has lasted."""

            def __init__(self) -> None:
                self._seconds = 0.0

            def now(self) -> str:
                return "2026-01-01T00:00:00.000Z"

            def monotonic(self) -> float:
                self._seconds += 60
                return self._seconds

            async def sleep(self, seconds: float) -> None:
                await asyncio.Event().wait()

        async with (
            connect(url, client_id="one", clock=Patient()) as first,
            connect(url, client_id="one") as second,
        ):
            states = [state async for state in first.connection]
            assert isinstance(states[-1], Closed)
            assert isinstance(states[-1].error, Superseded)
            await second.request("ping")


# A host that is looked for


async def test_a_host_that_comes_back_elsewhere_with_another_token_is_found_again() -> None:
    places: list[tuple[str, str | None]] = []

    async def find() -> tuple[str, str | None]:
        return places[-1]

    async with asyncio.timeout(FOREVER):
        async with Host() as host:
            places.append((await host.listen(port=0, gate=Gate(HostTokens("first"))), "first"))
            client = await connect(endpoint(find), roll=lambda: 0.0).__aenter__()
            await client.request("ping")
        async with Host() as host:
            places.append((await host.listen(port=0, gate=Gate(HostTokens("second"))), "second"))
            await client.request("ping")
            assert isinstance(client.connection.state, Connected)
            await client.aclose()
    assert places[0] != places[1]


async def test_a_host_that_is_not_found_is_looked_for_again() -> None:
    answers: list[Exception] = [OSError("no such file"), AgentHostError("nobody serves here")]

    async with asyncio.timeout(FOREVER), Host() as host:
        url = await host.listen(port=0)

        async def find() -> tuple[str, str | None]:
            if answers:
                raise answers.pop(0)
            return url, None

        with pytest.raises(CannotConnect, match="no such file"):
            async with connect(endpoint(find)):
                raise AssertionError("nobody was found")
        async with connect(endpoint(find), wait=True, roll=lambda: 0.0) as client:
            await client.request("ping")
    assert answers == []


async def test_a_refusal_at_an_address_that_the_host_has_left_is_not_final() -> None:
    async with asyncio.timeout(FOREVER), Host() as host:
        url = await host.listen(port=0, gate=Gate(HostTokens(TOKEN)))
        tokens = ["old"]

        async def find() -> tuple[str, str | None]:
            return url, tokens.pop(0) if len(tokens) > 1 else tokens[0]

        with pytest.raises(NotAdmitted):
            await endpoint(find)()
        tokens = ["old", TOKEN]
        with pytest.raises(CannotConnect):
            await endpoint(find)()
        await (await endpoint(find)()).close()


async def test_an_address_that_is_none_may_be_a_better_one_next_time() -> None:
    async def find() -> tuple[str, str | None]:
        return "gopher://h", None

    with pytest.raises(CannotConnect, match="not the address of a host"):
        await endpoint(find)()


def test_a_token_without_an_address_is_an_error_rather_than_forgotten() -> None:
    with pytest.raises(ValueError, match="a token goes with an address"):
        connect(command("agenthost"), token=TOKEN)


# Processes


@asynccontextmanager
async def process(*argv: str) -> AsyncIterator[Transport]:
    async with asyncio.timeout(FOREVER):
        transport = await command(*argv)()
        try:
            yield transport
        finally:
            await transport.close()


async def test_lines_pass_to_and_from_a_process() -> None:
    sent = [b'{"n":%d}' % n for n in range(300)] + [b'"' + b"x" * 3_000_000 + b'"']
    async with process(sys.executable, "-c", ECHO) as transport:
        transport.write([Encoded(message) for message in sent])
        assert [await transport.receive() for _ in sent] == sent
        await transport.drained()
        assert transport.backlog == 0


async def test_a_process_that_ends_ends_the_connection() -> None:
    async with process(sys.executable, "-c", ECHO) as transport:
        transport.write([Encoded(b"1"), Encoded(b"bye")])
        assert await transport.receive() == b"1"
        with pytest.raises(TransportClosed, match="the process ended"):
            await transport.receive()
        assert transport.closed


async def test_a_process_that_does_not_read_is_not_waited_for_in_writing() -> None:
    async with process(sys.executable, "-c", "import time; time.sleep(60)") as transport:
        transport.write([Encoded(b"x" * 1_000_000)] * 4)
        assert transport.backlog > 1_000_000


async def test_a_command_that_does_not_exist_is_not_tried_again() -> None:
    with pytest.raises(NotAdmitted, match="cannot be started"):
        await command("no-such-agenthost")()


async def test_a_host_of_our_own_is_talked_to_over_its_streams(tmp_path: Path) -> None:
    serve = (sys.executable, "-m", "agenthost.cli.main", "serve", "--stdio")
    dial = command(*serve, "--data-dir", str(tmp_path / "data"))
    async with asyncio.timeout(60), connect(dial) as client:
        chat = await (await client.sessions.create()).chat()
        assert "hello" in await chat.ask("hello")
