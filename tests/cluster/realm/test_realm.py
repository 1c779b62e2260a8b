"""Opening a realm and talking plainly: what works, and each way in which it cannot."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from agenthost.cluster.realm import (
    NoJetStream,
    RealmAddress,
    RealmError,
    RealmFull,
    RealmLink,
    RealmTooNew,
    RealmUnreachable,
    Reply,
    connection,
)
from tests.cluster.servers import (
    free_ports,
    known_to_servers,
    one_server,
    realm_link,
    three_servers,
)

pytestmark = [pytest.mark.timeout(180)]
SOON = 30.0


async def test_a_realm_is_made_once_and_found_again(tmp_path: Path) -> None:
    async with one_server(tmp_path) as servers:
        async with RealmLink(servers.address, "a") as link:
            with pytest.raises(RealmError, match="there is no realm “main”"):
                await link.open_realm(create=False)
            made = await link.open_realm(first_message=1000)
        assert (made.begins, made.first, made.last, made.replicas) == (1000, 1000, 999, 1)
        async with RealmLink(servers.address, "b") as link:
            assert await link.open_realm() == made
            state = await link.stream_state()
            assert (state.first, state.last, state.messages) == (1000, 999, 0)
            assert state.created == made.created


async def test_a_cluster_keeps_three_copies_and_many_open_it_at_once(tmp_path: Path) -> None:
    async with three_servers(tmp_path) as servers:

        async def open_it(name: str) -> object:
            async with RealmLink(servers.address, name) as link:
                return await link.open_realm()

        infos = await asyncio.gather(*map(open_it, "abcdef"))
        assert len(set(infos)) == 1
        async with realm_link(servers) as link:
            assert link.info is not None
            assert link.info.replicas == 3


async def test_no_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "_PATIENCE", 1.0)
    [port] = free_ports(1)
    address = RealmAddress((f"nats://someone:secret@127.0.0.1:{port}",))
    with pytest.raises(RealmUnreachable, match="no NATS server answers at nats://127") as caught:
        async with RealmLink(address, "test"):
            pass
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("url", ["nats://[", "what is this", "nats://127.0.0.1:port"])
async def test_what_is_no_address(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "_PATIENCE", 1.0)
    with pytest.raises(RealmUnreachable):
        async with RealmLink(RealmAddress((url,)), "test"):
            pass


def test_what_cannot_name_a_realm() -> None:
    with pytest.raises(RealmError, match="cannot name a realm"):
        RealmLink(RealmAddress(("nats://127.0.0.1",), "a.b"), "test")


async def test_credentials_that_are_not_there(tmp_path: Path) -> None:
    address = RealmAddress(("nats://127.0.0.1",), credentials=tmp_path / "none")
    with pytest.raises(RealmError, match="no file of credentials"):
        async with RealmLink(address, "test"):
            pass


async def test_a_wrong_password(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "_PATIENCE", 1.0)
    settings = "authorization { user: someone, password: secret }\n"
    async with one_server(tmp_path, settings=settings, jetstream=False) as servers:
        why = "it took too long"
        async with asyncio.timeout(SOON):
            # So short a patience may end before the server has said anything.
            while "it took too long" in why:
                with pytest.raises(RealmUnreachable) as caught:
                    async with RealmLink(servers.address, "test"):
                        pass
                why = str(caught.value)
        assert "Authorization Violation" in why


async def test_a_server_that_keeps_no_streams(tmp_path: Path) -> None:
    async with (
        one_server(tmp_path, jetstream=False) as servers,
        RealmLink(servers.address, "test") as link,
    ):
        with pytest.raises(NoJetStream, match="--jetstream"):
            await link.open_realm()


async def test_an_account_without_room(tmp_path: Path) -> None:
    settings = """accounts { A { users: [{user: a, password: a}]
        jetstream { max_file: 1MB, max_streams: 1 } } }\n no_auth_user: a\n"""
    async with one_server(tmp_path, settings=settings) as servers:
        async with RealmLink(servers.address, "test") as link:
            await link.open_realm()
        async with RealmLink(RealmAddress(servers.urls, "other"), "test") as link:
            with pytest.raises(RealmFull, match="no room for the realm"):
                await link.open_realm()


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [({"agenthost-format": "999"}, RealmTooNew), ({"by": "others"}, RealmError)],
)
async def test_a_stream_that_is_not_for_us(
    metadata: dict[str, str], expected: type[Exception], tmp_path: Path
) -> None:
    async with one_server(tmp_path) as servers, RealmLink(servers.address, "test") as link:
        await link.jetstream.add_stream(
            name="AHP_main", subjects=["ahp.main.log.>"], metadata=metadata, allow_atomic=True
        )
        with pytest.raises(expected):
            await link.open_realm()


async def test_plain_messages_reach_whoever_listens(tmp_path: Path) -> None:
    heard: asyncio.Queue[tuple[str, bytes]] = asyncio.Queue()

    def handle(subject: str, payload: bytes, reply: Reply | None) -> None:
        heard.put_nowait((subject, payload))
        if reply is not None:
            reply(b"answer to " + payload)

    async with (
        one_server(tmp_path) as servers,
        realm_link(servers, "a") as a,
        realm_link(servers, "b") as b,
    ):
        subscription = await b.subscribe("to.*", handle)
        await known_to_servers(b)
        await a.publish("to.b", b"hello")
        assert await asyncio.wait_for(heard.get(), SOON) == ("to.b", b"hello")
        assert await a.request("to.b", b"question", SOON) == b"answer to question"
        await subscription.close()
        await known_to_servers(b)
        with pytest.raises(RealmUnreachable, match="nobody is there"):
            await a.request("to.b", b"question", SOON)


async def test_a_handler_that_fails_hears_the_next_message(tmp_path: Path) -> None:
    def handle(subject: str, payload: bytes, reply: Reply | None) -> None:
        assert reply is not None
        reply(b"%d" % (100 // int(payload)))

    async with one_server(tmp_path) as servers, realm_link(servers) as link:
        await link.subscribe("divide", handle)
        with pytest.raises(RealmUnreachable):
            await link.request("divide", b"0", 0.2)
        assert await link.request("divide", b"5", SOON) == b"20"


async def test_a_connection_that_the_server_ends_for_good_is_made_anew(tmp_path: Path) -> None:
    states: asyncio.Queue[bool] = asyncio.Queue()
    async with one_server(tmp_path) as servers, realm_link(servers) as link:
        link.on_state(states.put_nowait)
        await link.subscribe("echo", lambda _s, payload, reply: reply(payload) if reply else None)
        # What a server says that has too many connections, or that lets nobody in any more.
        await link.client._process_err("'Maximum Connections Exceeded'")
        async with asyncio.timeout(SOON):
            while not await states.get():
                pass
        assert link.is_connected
        assert await link.request("echo", b"hello", SOON) == b"hello"


async def test_a_killed_server_is_replaced_by_another(tmp_path: Path) -> None:
    async with three_servers(tmp_path) as servers, realm_link(servers) as link:
        states: asyncio.Queue[bool] = asyncio.Queue()
        link.on_state(states.put_nowait)
        await link.subscribe("echo", lambda _s, payload, reply: reply(payload) if reply else None)
        url = link.client.connected_url
        assert url is not None
        next(server for server in servers.all if server.url.endswith(f":{url.port}")).kill()
        async with asyncio.timeout(SOON):
            assert not await states.get()
            assert await states.get()
        assert await link.request("echo", b"hello", SOON) == b"hello"


async def test_a_server_that_hangs_is_left_although_it_takes_nothing(tmp_path: Path) -> None:
    async with three_servers(tmp_path) as servers, realm_link(servers) as link:
        states: asyncio.Queue[bool] = asyncio.Queue()
        link.on_state(states.put_nowait)
        url = link.client.connected_url
        assert url is not None
        hanging = next(each for each in servers.all if each.url.endswith(f":{url.port}"))
        hanging.pause()
        # More than the sockets hold, so that some of it will never be sent.
        for _ in range(15):
            await link.publish("beat", bytes(1_000_000))
        async with asyncio.timeout(SOON):
            while not await states.get():
                pass
        assert link.is_connected
        await link.subscribe("echo", lambda _s, payload, reply: reply(payload) if reply else None)
        assert await link.request("echo", b"hello", SOON) == b"hello"
        hanging.kill()


async def test_a_link_ends_although_its_server_hangs(tmp_path: Path) -> None:
    async with (
        one_server(tmp_path) as servers,
        asyncio.timeout(SOON),
        realm_link(servers) as link,
    ):
        servers[0].pause()
        for _ in range(15):
            await link.publish("beat", bytes(1_000_000))


async def test_nothing_is_gathered_for_servers_that_are_gone(tmp_path: Path) -> None:
    async with one_server(tmp_path) as servers, realm_link(servers) as link:
        gone = asyncio.Event()
        link.on_state(lambda _: gone.set())
        servers[0].kill()
        await asyncio.wait_for(gone.wait(), SOON)
        for _ in range(100):
            await link.publish("beat", bytes(100_000))
        assert link.waiting < 100_000
        with pytest.raises(RealmUnreachable):
            await link.request("beat", b"", 0.1)
