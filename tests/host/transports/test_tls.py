"""The host behind TLS: who is believed, what is renewed, and who cannot hold anything up."""

from __future__ import annotations

import asyncio
import logging
import ssl
import tracemalloc
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
import trustme
from cryptography.hazmat.primitives import serialization

from agenthost.client import CannotConnect, HostPlace, NotAdmitted, dial
from agenthost.client.link.addresses import dial_place
from agenthost.client.link.tls import pinned_to
from agenthost.host.http.messages import HttpResponse
from agenthost.host.transports import tls
from agenthost.host.transports.tls import BadCertificate, Certificate
from agenthost.host.transports.websocket_server import WebSocketServer
from agenthost.transport import Encoded, TransportClosed
from tests.host.transports.pairs import Held, serving
from tests.host.transports.raw import open_raw

FOREVER = 60
# More than sockets hold by themselves.
PAGE = b"0123456789abcdef" * 300_000


class Files:
    """A certificate in files, as an administrator keeps it."""

    def __init__(self, folder: Path) -> None:
        self.authority = trustme.CA()
        self.certificate, self.key = folder / "cert.pem", folder / "key.pem"
        self.trusted = folder / "ca.pem"
        self.authority.cert_pem.write_to_path(str(self.trusted))
        self.issue()

    def issue(self, *names: str) -> None:
        """Make a new certificate, for other names than the loopback address if wanted."""
        made = self.authority.issue_cert(*names or ("127.0.0.1",))
        self.key.write_bytes(made.private_key_pem.bytes())
        self.certificate.write_bytes(made.cert_chain_pems[0].bytes())

    def lock(self) -> None:
        """Put a password on the key."""
        key = serialization.load_pem_private_key(self.key.read_bytes(), None)
        locked = key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.BestAvailableEncryption(b"s3cret"),
        )
        self.key.write_bytes(locked)


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


@asynccontextmanager
async def secure(
    files: Files, **options: Any
) -> AsyncIterator[tuple[WebSocketServer, Held, Certificate]]:
    shown = Certificate(files.certificate, files.key)
    options = {
        "handshake_timeout": 0.2,
        "pages": lambda request: HttpResponse(200, PAGE),
        **options,
    }
    async with (
        asyncio.timeout(FOREVER),
        serving(tls=shown.context, **options) as (server, held),
    ):
        yield server, held, shown


async def serial(server: WebSocketServer, files: Files) -> object:
    """Return the number of the certificate that a new connection gets to see."""
    believed = ssl.create_default_context(cafile=str(files.trusted))
    _, writer = await asyncio.open_connection("127.0.0.1", server.port, ssl=believed)
    writer.close()
    return writer.get_extra_info("peercert")["serialNumber"]


# Who is believed


async def test_a_client_that_trusts_who_signed_gets_in(files: Files) -> None:
    async with secure(files) as (server, held, _):
        transport = await dial(f"https://127.0.0.1:{server.port}", tls_ca=files.trusted)()
        there = await held.accepted()
        transport.write([Encoded(b'{"n":1}')])
        assert await there.receive() == b'{"n":1}'
        await transport.close()


async def test_who_is_not_known_or_goes_by_another_name_is_not_believed(files: Files) -> None:
    async with secure(files) as (server, _, shown):
        url = f"wss://127.0.0.1:{server.port}"
        with pytest.raises(NotAdmitted, match=r"self-signed|unable to get local issuer"):
            await dial(url)()
        files.issue("elsewhere.example")
        assert shown.renew()
        with pytest.raises(NotAdmitted, match="mismatch"):
            await dial(url, tls_ca=files.trusted)()


async def test_on_this_machine_the_very_file_is_what_counts(files: Files, tmp_path: Path) -> None:
    files.issue("elsewhere.example")
    async with secure(files) as (server, _, _):
        url = f"wss://127.0.0.1:{server.port}"
        transport = await dial_place(HostPlace(url, None, files.certificate))()
        await transport.close()
        (tmp_path / "other").mkdir()
        stranger = Files(tmp_path / "other")
        with pytest.raises(NotAdmitted, match="certificate"):
            await dial_place(HostPlace(url, None, stranger.certificate))()


async def test_a_host_without_tls_is_told_apart(files: Files) -> None:
    async with asyncio.timeout(FOREVER), serving() as (server, _):
        with pytest.raises(CannotConnect, match="no TLS that we understand"):
            await dial(f"wss://127.0.0.1:{server.port}", tls_ca=files.trusted)()


# Renewal


async def test_a_renewed_certificate_is_shown_to_whoever_comes_next(files: Files) -> None:
    async with secure(files) as (server, held, shown):
        before = await serial(server, files)
        transport = await dial(f"wss://127.0.0.1:{server.port}", tls_ca=files.trusted)()
        there = await held.accepted()
        assert not shown.renew()
        files.issue()
        assert shown.renew()
        assert not shown.renew()
        assert await serial(server, files) != before
        # Those who are there stay.
        there.write([Encoded(b"{}")])
        assert await transport.receive() == b"{}"
        await transport.close()


async def test_a_bad_renewal_is_told_and_the_old_certificate_stays(
    files: Files, caplog: pytest.LogCaptureFixture
) -> None:
    async with secure(files) as (server, _, shown):
        before = await serial(server, files)
        kept = files.certificate.read_bytes()
        files.issue()
        # Half of a renewal: the certificate of one key beside another.
        files.certificate.write_bytes(kept)
        with caplog.at_level(logging.ERROR):
            assert not shown.renew()
        assert "the certificate from before is kept" in caplog.text
        assert await serial(server, files) == before
        files.issue()
        assert shown.renew()
        assert await serial(server, files) != before


async def test_the_watch_finds_a_renewal(files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = Certificate(files.certificate, files.key)
    taken_up = asyncio.Event()
    monkeypatch.setattr(tls.log, "info", lambda *_: taken_up.set())
    watching = asyncio.create_task(shown.watch(0.0))
    files.issue()
    async with asyncio.timeout(FOREVER):
        await taken_up.wait()
    watching.cancel()
    await asyncio.gather(watching, return_exceptions=True)
    assert not shown.renew()


def test_files_that_will_not_do_are_named(files: Files, tmp_path: Path) -> None:
    with pytest.raises(BadCertificate, match=r"none\.pem cannot be read"):
        Certificate(files.certificate, tmp_path / "none.pem")
    with pytest.raises(BadCertificate, match="no certificate and its key"):
        Certificate(files.key, files.certificate)
    files.lock()
    with pytest.raises(BadCertificate, match="must not have a password"):
        Certificate(files.certificate, files.key)


# Those who do not play along


async def test_a_page_larger_than_any_buffer_arrives_whole(files: Files) -> None:
    async with secure(files) as (server, _, _):
        believed = pinned_to(files.certificate)
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port, ssl=believed)
        writer.write(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        answer = await reader.read()
        assert answer.startswith(b"HTTP/1.1 200")
        assert answer.endswith(b"\r\n\r\n" + PAGE)
        writer.close()
        await writer.wait_closed()


async def test_silent_and_garbled_handshakes_are_let_go_and_keep_nobody_out(files: Files) -> None:
    async with secure(files) as (server, held, _):
        silent = [await asyncio.open_connection("127.0.0.1", server.port) for _ in range(50)]
        garbled, sending = await asyncio.open_connection("127.0.0.1", server.port)
        sending.write(b"\x16 and then nothing that is TLS")
        transport = await dial(f"wss://127.0.0.1:{server.port}", tls_ca=files.trusted)()
        await held.accepted()
        for reader in (garbled, *(reader for reader, _ in silent)):
            with suppress(ConnectionResetError):
                assert await reader.read() == b""
        assert server.undecided == 0
        for _, writer in silent:
            writer.close()
        sending.close()
        await transport.close()


@pytest.mark.parametrize("said", [b"", b"\x16", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"])
async def test_a_socket_counts_from_its_first_moment_on(files: Files, said: bytes) -> None:
    async with (
        secure(files, max_undecided=20, handshake_timeout=FOREVER) as (server, held, _),
        AsyncExitStack() as silent,
    ):
        for _ in range(100):
            raw = await silent.enter_async_context(open_raw(server.port))
            raw.send(said)
        transport = await dial(f"wss://127.0.0.1:{server.port}", tls_ca=files.trusted)()
        await held.accepted()
        assert server.undecided == 19
        await transport.close()


async def test_a_connection_does_not_cost_the_quarter_of_a_megabyte_that_asyncio_reads(
    files: Files,
) -> None:
    async with secure(files, handshake_timeout=FOREVER) as (server, held, _):
        tracemalloc.start()
        try:
            async with AsyncExitStack() as silent:
                for _ in range(50):
                    raw = await silent.enter_async_context(open_raw(server.port))
                    raw.send(b"\x16")
                transport = await dial(f"wss://127.0.0.1:{server.port}", tls_ca=files.trusted)()
                await held.accepted()
                here = tracemalloc.take_snapshot()
                made = here.filter_traces([tracemalloc.Filter(True, "*/sslproto.py")])
                assert sum(trace.size for trace in made.traces) < 50 * 64 * 1024
                await transport.close()
        finally:
            tracemalloc.stop()


async def test_a_browser_that_speaks_plain_http_is_told_what_to_speak(files: Files) -> None:
    async with secure(files) as (server, _, _), open_raw(server.port) as raw:
        raw.send(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        answer = await raw.response()
        assert answer.status == 400
        assert answer.body == b"This port speaks TLS: use https:// or wss://.\n"
    async with secure(files) as (server, _, _):
        with pytest.raises(NotAdmitted, match="This port speaks TLS"):
            await dial(f"ws://127.0.0.1:{server.port}")()


async def test_however_much_comes_before_any_tls_is_let_go(files: Files) -> None:
    async with secure(files, handshake_timeout=FOREVER) as (server, _, _):
        async with open_raw(server.port) as raw:
            raw.send(b"\x16", bytes(200_000))
            with suppress(ConnectionResetError):
                await raw.reader.read()
        assert server.undecided == 0


async def test_the_end_of_the_server_is_told_over_tls_too(files: Files) -> None:
    async with secure(files) as (server, held, _):
        transport = await dial(f"wss://127.0.0.1:{server.port}", tls_ca=files.trusted)()
        await held.accepted()
        ending = asyncio.create_task(server.aclose("gone fishing"))
        with pytest.raises(TransportClosed, match="gone fishing"):
            await transport.receive()
        await transport.close()
        held.release()
        await ending
