"""Who comes in, as whom, and what they may do then; nobody's token is ever written down."""

from __future__ import annotations

import asyncio
import itertools
import stat
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from websockets.exceptions import InvalidStatus

from agenthost.cli.main import main
from agenthost.host import Gate, Host
from agenthost.host import host as host_module
from agenthost.host.trust import HostTokens, Limits
from agenthost.host.trust.failed_tokens import FAILURES
from agenthost.protocol.methods import METHODS, Access
from agenthost.tokens import BOOK_FILE, Role, TokenBook
from agenthost.transport import memory_pair
from tests.host.transports.raw import open_raw, upgrade_head
from tests.protocol.wire_samples import full
from tests.wire.client import open_client, user_message
from tests.wire.hosting import ServedHost, serve

pytestmark = pytest.mark.asyncio(loop_scope="module")

ROOT = "ahp-root://"
DENIED = -32009
# What an agent's own service would want; ``authenticate`` carries it.
FOREIGN_SECRET = "a-token-for-some-service"
# How often ``agenthost serve`` shows the owner's token: page, WebSocket, VS Code.
SHOWN_AT_START = 3


@dataclass
class Guarded:
    """A host with a token, a book of named ones, and everything it writes down."""

    host: ServedHost
    book: TokenBook
    wire_log: Path
    secrets: list[str] = field(default_factory=list)
    numbers: Any = field(default_factory=lambda: itertools.count(1))

    def token(self, role: Role, *, year: int | None = None) -> tuple[str, str]:
        """Create a token and return its name and secret; ``year`` is a past one of its life."""
        name = f"{role.value}-{next(self.numbers)}"
        now = datetime.now(UTC) if year is None else datetime(year, 1, 1, tzinfo=UTC)
        expires = None if year is None else datetime(year, 1, 2, tzinfo=UTC)
        made = self.book.create(name, role, expires=expires, now=now.timestamp())
        self.secrets.append(made.secret)
        return name, made.secret

    def url(self, secret: str) -> str:
        return f"ws://{self.host.address}/?tkn={secret}"

    @property
    def port(self) -> int:
        return int(self.host.address.rpartition(":")[2])

    async def refused(self, url: str, **options: Any) -> tuple[int, str]:
        """Try to connect and return status and text of the refusal."""
        with pytest.raises(InvalidStatus) as refusal:
            async with open_client(url, **options):
                pass
        response = refusal.value.response
        return response.status_code, (response.body or b"").decode()


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def guarded(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Guarded]:
    """A talkative host for the whole module, which at its end has written down no secret."""
    directory = tmp_path_factory.mktemp("guarded")
    wire_log = directory / "wire.jsonl"
    async with serve(directory / "data", "-v", "--wire-log", str(wire_log)) as host:
        guarded = Guarded(host, TokenBook(host.data_dir / BOOK_FILE), wire_log)
        guarded.token(Role.VIEWER)
        async with open_client(host.url, "first") as client:
            await client.initialize()
        yield guarded
        assert await host.stop() == 0
        written = host.output + wire_log.read_text()
        assert "connected from" in host.output
        assert written.count(host.token) == SHOWN_AT_START
        for secret in (*guarded.secrets, FOREIGN_SECRET):
            assert secret not in written
        assert "Traceback" not in host.output


# Coming in


async def test_no_token_and_a_wrong_one_are_refused(guarded: Guarded) -> None:
    plain = f"ws://{guarded.host.address}/"
    status, text = await guarded.refused(plain)
    assert (status, "token is required" in text) == (401, True)
    for wrong in ("zzz", guarded.host.token[:-1], guarded.host.token + "x", "%00", "%ff"):
        status, text = await guarded.refused(guarded.url(wrong))
        assert (status, "not valid" in text) == (401, True)
        assert wrong not in text
    async with open_client(guarded.host.url):
        pass


async def test_an_expired_token_is_refused(guarded: Guarded) -> None:
    _, secret = guarded.token(Role.OWNER, year=2020)
    assert (await guarded.refused(guarded.url(secret)))[0] == 401


async def test_a_token_revoked_while_the_host_runs_lets_nobody_in(guarded: Guarded) -> None:
    name, secret = guarded.token(Role.OPERATOR)
    async with open_client(guarded.url(secret), "soon revoked") as client:
        await client.initialize()
    data_dir = str(guarded.host.data_dir)
    assert main(["token", "revoke", name, "--data-dir", data_dir]) == 0
    assert (await guarded.refused(guarded.url(secret)))[0] == 401


async def test_the_token_may_stand_in_the_header_or_in_the_url_of_any_path(
    guarded: Guarded,
) -> None:
    token = guarded.host.token
    bearer: dict[str, Any] = {"additional_headers": {"Authorization": f"Bearer {token}"}}
    for url, options in (
        (f"ws://{guarded.host.address}/", bearer),
        (f"ws://{guarded.host.address}/any/path?x=1", bearer),
        (guarded.url(token), {}),
        (f"ws://{guarded.host.address}/any/path?x=1&tkn={token}", {}),
    ):
        async with open_client(url, "found", **options) as client:
            await client.initialize()


async def test_a_foreign_page_is_refused_even_with_the_token(guarded: Guarded) -> None:
    for origin in (
        "https://evil.example",
        "http://evil.example:8765",
        f"http://evil.example:{guarded.port}",
        f"http://127.0.0.1:{guarded.port + 1}",
        f"https://{guarded.host.address}.evil.example",
        "null",
        "file://",
    ):
        status, text = await guarded.refused(guarded.host.url, origin=origin)
        assert (status, "may not connect" in text) == (403, True), origin


async def test_the_host_s_own_page_and_vs_code_may_connect(guarded: Guarded) -> None:
    for origin in (f"http://{guarded.host.address}", "vscode-file://vscode-app"):
        async with open_client(guarded.host.url, "page", origin=origin) as client:
            await client.initialize()


async def test_too_many_wrong_tokens_mean_a_pause_that_never_keeps_out_the_right_one(
    guarded: Guarded,
) -> None:
    async with open_client(guarded.host.url):
        pass
    statuses = [(await guarded.refused(guarded.url("wrong")))[0] for _ in range(FAILURES + 1)]
    assert statuses == [401] * FAILURES + [429]
    with pytest.raises(InvalidStatus) as refusal:
        async with open_client(guarded.url("wrong")):
            pass
    assert int(refusal.value.response.headers["Retry-After"]) > 0
    async with open_client(guarded.host.url, "patient") as client:
        await client.initialize()


# What a role may do


async def test_a_viewer_sees_everything_and_changes_nothing_but_what_it_has_read(
    guarded: Guarded,
) -> None:
    session = "ahp-session:/viewed"
    async with (
        open_client(guarded.host.url, "owner of viewed") as owner,
        open_client(guarded.url(guarded.token(Role.VIEWER)[1]), "viewer") as viewer,
    ):
        await owner.initialize()
        chat = await owner.ready_session(session)
        await owner.subscribe(chat)
        await viewer.initialize(ROOT, session, chat)
        await owner.run_turn(chat, "t1", "hello")
        await viewer.turn_end(chat, "t1")
        await owner.ping()
        seen = len(owner.received)
        tried = set()
        turn = {"type": "chat/turnStarted", "turnId": "t2", "startedAt": "2026-01-01T00:00:00.000Z"}
        for channel, action in (
            (chat, {**turn, "message": user_message("mine")}),
            (chat, {"type": "chat/truncated"}),
            (chat, {"type": "chat/draftChanged", "draft": user_message("mine")}),
            (session, {"type": "session/titleChanged", "title": "mine"}),
            (session, {"type": "session/isArchivedChanged", "isArchived": True}),
            (ROOT, {"type": "root/configChanged", "config": {}}),
        ):
            reason = await viewer.rejected(channel, action)
            assert reason == f"the role viewer may not dispatch {action['type']}"
            tried.add(action["type"])
        await owner.ping()
        news = [message["params"] for message in owner.received[seen:] if "method" in message]
        # The host may have more to say of the turn that is over.
        assert not tried & {params.get("action", {}).get("type") for params in news}
        await viewer.accepted(session, {"type": "session/isReadChanged", "isRead": False})
        await owner.action(session, "session/isReadChanged", isRead=False)


async def test_a_viewer_may_call_nothing_that_changes_anything(guarded: Guarded) -> None:
    async with open_client(guarded.url(guarded.token(Role.VIEWER)[1]), "caller") as viewer:
        await viewer.initialize(ROOT)
        for method in ("createSession", "disposeSession", "createChat", "disposeChat"):
            assert METHODS[method].access is Access.OPERATE
            failure = await viewer.refusal(method, **full(METHODS[method].params))
            assert (failure.code, failure.message) == (
                DENIED,
                f"the role viewer may not call {method}",
            )
        secret = {"resource": "https://example.org", "token": FOREIGN_SECRET}
        assert (await viewer.refusal("authenticate", **secret)).code == DENIED
        failure = await viewer.refusal("resourceRead", uri="file:///etc/passwd")
        assert failure.code == DENIED
        assert (await viewer.request("listSessions"))["items"] is not None
        assert len(viewer.received) == len(viewer.asked)


async def test_an_operator_works_but_does_not_configure_the_host(guarded: Guarded) -> None:
    async with open_client(guarded.url(guarded.token(Role.OPERATOR)[1]), "operator") as operator:
        await operator.initialize(ROOT)
        chat = await operator.ready_session("ahp-session:/operated")
        await operator.subscribe(chat)
        await operator.run_turn(chat, "t1", "hello")
        reason = await operator.rejected(ROOT, {"type": "root/configChanged", "config": {}})
        assert reason == "operators may not change the host's configuration"
        failure = await operator.refusal("resourceRead", uri="file:///etc/passwd")
        assert failure.code == DENIED


async def test_a_client_id_belongs_to_the_principal_that_used_it_first(guarded: Guarded) -> None:
    _, other = guarded.token(Role.OWNER)
    async with open_client(guarded.host.url, "mine") as rightful:
        await rightful.initialize(ROOT)
        async with open_client(guarded.url(other), "mine") as thief:
            failure = await thief.refusal(
                "initialize", protocolVersions=[thief.version], clientId="mine"
            )
            assert (failure.code, "another principal" in failure.message) == (DENIED, True)
            failure = await thief.refusal(
                "reconnect", clientId="mine", lastSeenServerSeq=0, subscriptions=[ROOT]
            )
            assert failure.code == DENIED
            assert "owner" not in failure.message
            # Refused as a thief, it may still come in as itself.
            await thief.request("initialize", protocolVersions=[thief.version], clientId="own")
        await rightful.ping()
        assert not rightful.closed.done()


async def test_the_token_of_authenticate_reaches_no_log(guarded: Guarded) -> None:
    async with open_client(guarded.host.url, "authenticating") as client:
        await client.initialize()
        frame = '{"jsonrpc":"2.0","id":%s,"method":"authenticate","params":{"channel":"ahp-root://"'
        frame += ',"resource":"https://example.org","token":"' + FOREIGN_SECRET + '"%s}}%s'
        answer = await client.exchange(frame % (5, "", ""), 5)
        assert answer["error"]["code"] == -32602
        # What nearly is that message must not reach it either.
        for close in ("garbage", ""):
            await client.exchange(frame % (5, ',"x":', close))
        await client.exchange("[" + frame % (6, "", "") + "]")
        deep = "[" * 300 + "]" * 300
        await client.exchange(frame % (7, f',"scopes":{deep}', ""))


async def test_files_with_secrets_are_the_owner_s_alone(guarded: Guarded) -> None:
    data_dir = guarded.host.data_dir
    for path in (data_dir / "token", data_dir / BOOK_FILE, guarded.wire_log):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, path


# Other ways to start


async def test_without_a_token_this_machine_is_let_in_under_its_own_name_only(
    tmp_path: Path,
) -> None:
    async with serve(tmp_path / "data", "--no-token") as host:
        assert "tkn" not in host.output
        assert not (tmp_path / "data" / "token").exists()
        async with open_client(host.url, "anyone") as client:
            await client.initialize(ROOT)
            await client.ready_session("ahp-session:/open")
            await client.accepted(ROOT, {"type": "root/configChanged", "config": {}})
        port = int(host.address.rpartition(":")[2])
        for name, status in (
            (f"127.0.0.1:{port}", 101),
            (f"localhost:{port}", 101),
            (f"rebound.example:{port}", 403),
            (f"127.0.0.1.rebound.example:{port}", 403),
            (f"127.0.0.1:{port + 1}", 403),
            ("", 403),
        ):
            async with open_raw(port) as raw:
                raw.send(upgrade_head(Host=name))
                assert (await raw.response()).status == status, name
        async with open_raw(port) as raw:
            own = {"Host": f"rebound.example:{port}", "Origin": f"http://rebound.example:{port}"}
            raw.send(upgrade_head(**own))
            assert (await raw.response()).status == 403


async def test_on_every_address_the_token_and_the_page_s_own_address_let_in(
    tmp_path: Path,
) -> None:
    async with serve(tmp_path / "data", "--host", "0.0.0.0") as host:
        port = int(host.address.rpartition(":")[2])
        url = f"ws://127.0.0.1:{port}/?tkn={host.token}"
        async with open_client(url, origin=f"http://127.0.0.1:{port}") as client:
            await client.initialize()
        with pytest.raises(InvalidStatus, match="403"):
            async with open_client(url, origin=f"http://rebound.example:{port}"):
                pass
        with pytest.raises(InvalidStatus, match="401"):
            async with open_client(f"ws://127.0.0.1:{port}/"):
                pass


# What changes while somebody is connected


async def test_whoever_s_token_is_revoked_or_expires_is_disconnected_and_nobody_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host_module, "TOKEN_CHECK_INTERVAL", 0.01)
    book, owner_secret = TokenBook(tmp_path / BOOK_FILE), "s" * 43
    now = time.time()
    soon = datetime.fromtimestamp(now + 3600, UTC)
    revoked = book.create("revoked", Role.OPERATOR, expires=None, now=now).secret
    expiring = book.create("expiring", Role.VIEWER, expires=soon, now=now).secret
    kept = book.create("kept", Role.VIEWER, expires=soon.replace(year=soon.year + 9), now=now)
    async with Host() as host:
        url = await host.listen(port=0, gate=Gate(HostTokens(owner_secret, book)))
        async with AsyncExitStack() as stack:
            clients = {
                name: await stack.enter_async_context(open_client(f"{url}/?tkn={secret}", name))
                for name, secret in (
                    ("revoked", revoked),
                    ("expiring", expiring),
                    ("kept", kept.secret),
                    ("owner", owner_secret),
                )
            }
            for client in clients.values():
                await client.initialize(ROOT)
            book.revoke("revoked")
            ending = (1008, "the token was revoked or has expired")
            assert await clients["revoked"].closed == ending
            monkeypatch.setattr(time, "time", lambda: now + 7200)
            assert await clients["expiring"].closed == ending
            for name in ("kept", "owner"):
                await clients[name].ping()


async def test_without_tokens_nobody_is_ever_disconnected_for_want_of_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    checked = asyncio.Event()

    class Watched(Gate):
        def still_valid(self, *args: Any) -> bool:
            checked.set()
            return super().still_valid(*args)

    monkeypatch.setattr(host_module, "TOKEN_CHECK_INTERVAL", 0.01)
    ours, theirs = memory_pair()
    async with Host() as host, asyncio.timeout(60):
        embedded = asyncio.create_task(host.serve(theirs))
        async with open_client(await host.listen(port=0, gate=Watched(None))) as client:
            await client.initialize()
            await checked.wait()
            checked.clear()
            await checked.wait()
            await client.ping()
        assert not ours.closed
        await ours.close()
        await embedded


async def test_a_connection_follows_no_more_channels_than_it_may() -> None:
    async with Host(limits=Limits(max_subscriptions=3)) as host:
        url = await host.listen(port=0)
        async with open_client(url, "greedy") as client:
            first = await client.initialize(ROOT, *(f"ahp-session:/none-{n}" for n in range(9)))
            assert [snapshot["resource"] for snapshot in first["snapshots"]] == [ROOT]
            chat = await client.ready_session("ahp-session:/s1")
            await client.subscribe(chat)
            failure = await client.refusal("subscribe", channel="ahp-session:/s1/annotations")
            assert (failure.code, "3 channels" in failure.message) == (DENIED, True)
            # What is followed already may be asked for again, and leaving makes room.
            await client.subscribe(chat)
            await client.send({"method": "unsubscribe", "params": {"channel": ROOT}})
            await client.subscribe("ahp-session:/s1/annotations")
            last_seen = client.last_seen
        async with open_client(url, "greedy") as client:
            listed = [ROOT, "ahp-session:/s1", chat, "ahp-session:/s1/annotations"]
            result = await client.reconnect(last_seen, *listed)
            assert result["missing"] == listed[3:]


async def test_a_connection_that_does_not_initialize_in_time_is_closed() -> None:
    async with Host(limits=Limits(handshake_seconds=0.05)) as host:
        url = await host.listen(port=0)
        async with open_client(url, "hesitant") as client:
            await client.ping()
            assert await client.closed == (1008, "no initialize came in time")


async def test_a_viewer_never_gets_to_send_what_only_others_need_to(tmp_path: Path) -> None:
    book, owner_secret = TokenBook(tmp_path / BOOK_FILE), "s" * 43
    viewer_secret = book.create("viewer", Role.VIEWER, expires=None, now=time.time()).secret
    large = f'{{"jsonrpc":"2.0","id":9,"method":"x","params":{{"y":"{"y" * 500_000}"}}}}'
    async with Host() as host:
        url = await host.listen(port=0, gate=Gate(HostTokens(owner_secret, book)))
        async with (
            open_client(f"{url}/?tkn={viewer_secret}", "viewer") as viewer,
            open_client(f"{url}/?tkn={owner_secret}", "owner") as owner,
        ):
            await viewer.initialize()
            await owner.initialize()
            assert (await owner.exchange(large, 9))["error"]["code"] == -32601
            await viewer.socket.send(large)
            assert (await viewer.closed)[0] == 1009


async def test_many_connections_of_a_viewer_leave_the_owner_its_seat(tmp_path: Path) -> None:
    book, owner_secret = TokenBook(tmp_path / BOOK_FILE), "s" * 43
    viewer_secret = book.create("viewer", Role.VIEWER, expires=None, now=time.time()).secret
    async with Host(limits=Limits(max_connections=24)) as host, AsyncExitStack() as stack:
        url = await host.listen(port=0, gate=Gate(HostTokens(owner_secret, book)))
        for number in range(3):
            viewer = open_client(f"{url}/?tkn={viewer_secret}", f"viewer {number}")
            await (await stack.enter_async_context(viewer)).initialize()
        with pytest.raises(InvalidStatus, match="503"):
            await stack.enter_async_context(open_client(f"{url}/?tkn={viewer_secret}", "one more"))
        for number in range(21):
            owner = open_client(f"{url}/?tkn={owner_secret}", f"owner {number}")
            await (await stack.enter_async_context(owner)).initialize()
