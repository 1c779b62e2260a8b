"""Where there is no room, people are told so, nothing is half-done, and with room it goes on."""

from __future__ import annotations

import asyncio
import http.client
import subprocess
import sys
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from nats.js.errors import APIError

from agenthost.cluster.realm import RealmLink
from tests.cluster.servers import Servers, one_server, realm_link
from tests.thoroughness import THOROUGH
from tests.wire.client import ROOT, WireClient, WireFailure, open_client
from tests.wire.hosting import ServedHost
from tests.wire.mirrors import assert_mirrors, idle

pytestmark = pytest.mark.timeout(240)
SESSION = "ahp-session:/s"
PATIENCE = 60.0
LIMITED = """accounts { A { users: [{user: a, password: a}]
    jetstream { max_file: 2MB } } }\n no_auth_user: a\n"""


def node(servers: Servers, folder: Path) -> ServedHost:
    return ServedHost(folder, "--cluster", servers.urls[0], "--node", "a", "--drain-seconds", "1")


async def health(host: ServedHost) -> tuple[int, str]:
    def fetch() -> tuple[int, str]:
        connection = http.client.HTTPConnection(host.address, timeout=PATIENCE)
        connection.request("GET", "/healthz")
        answer = connection.getresponse()
        return answer.status, answer.read().decode()

    return await asyncio.to_thread(fetch)


async def until_health(host: ServedHost, status: int, says: str = "") -> None:
    async with asyncio.timeout(PATIENCE):
        while True:
            found, told = await health(host)
            if found == status and says in told:
                return
            await asyncio.sleep(0.05)


async def fill(link: RealmLink) -> None:
    """Take all the room that the servers have."""
    await link.jetstream.add_stream(name="FILL", subjects=["fill"])
    for size in (100_000, 1_000, 1):
        for _ in range(1000):
            try:
                await link.jetstream.publish("fill", bytes(size))
            except APIError:
                break


async def begun_without_room(
    client: WireClient, chat: str, host: ServedHost, link: RealmLink
) -> str:
    """Fill the servers and start a turn before anybody has noticed that; return the turn."""
    numbers = count()
    while True:
        turn = f"t{next(numbers)}"
        await fill(link)
        seq = await client.dispatch(chat, client.turn_started(turn, "hello"))
        await until_health(host, 503, "no room")
        # Behind an answer that refuses the turn, if there is one.
        await client.ping()
        mine = {"clientId": client.client_id, "clientSeq": seq}
        if all(each.get("origin") != mine for each in client.envelopes.get(chat, [])):
            return turn
        # Something that the host had to say by itself was to be stored first, so that it knew.
        await link.jetstream.delete_stream("FILL")
        await until_health(host, 200)


async def test_servers_without_room_are_told_of_and_waited_for(tmp_path: Path) -> None:
    async with one_server(tmp_path, settings=LIMITED) as servers, realm_link(servers) as link:
        host = node(servers, tmp_path / "data")
        await host.start()
        try:
            async with open_client(host.url, "c", "1.0.0") as client:
                await client.initialize(ROOT)
                chat = await client.ready_session(SESSION)
                await client.subscribe(chat)
                # Nobody knows yet, so this is taken up, and waits.
                turn = await begun_without_room(client, chat, host, link)
                renamed = {"type": "session/titleChanged", "title": "other"}
                assert "no room" in await client.rejected(SESSION, renamed)
                with pytest.raises(WireFailure, match="no room"):
                    await client.request("createSession", channel="ahp-session:/more")
                await client.ping()
                await link.jetstream.delete_stream("FILL")
                await client.turn_end(chat, turn)
                await until_health(host, 200)
                await client.accepted(SESSION, renamed)
                await client.ready_session("ahp-session:/more")
                await idle(client, chat)
                await assert_mirrors(client)
            assert "Traceback" not in host.output
        finally:
            await host.kill()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(disk)], capture_output=True
    )
    if mounted.returncode:
        pytest.skip(f"nothing can be mounted here: {mounted.stderr.decode().strip()}")
    yield disk
    subprocess.run(["umount", "--lazy", str(disk)], check=True)


@pytest.mark.skipif(sys.platform != "linux", reason="mounts a disk")
@pytest.mark.skipif(not THOROUGH, reason="runs with THOROUGH=1")
async def test_a_node_whose_disk_is_full_says_so_and_goes_on_with_room(
    small_disk: Path, tmp_path: Path
) -> None:
    async with one_server(tmp_path) as servers:
        host = node(servers, small_disk / "data")
        await host.start()
        try:
            async with open_client(host.url, "c", "1.0.0") as client:
                await client.initialize(ROOT)
                chat = await client.ready_session(SESSION)
                await client.subscribe(chat)
                filler = small_disk / "filler"
                with pytest.raises(OSError, match="No space"):
                    filler.write_bytes(bytes(8 << 20))
                said = await _until_it_ends(host, client, chat)
            assert await host.wait() == 1
            assert "Traceback" not in host.output, host.output
            assert "full" in host.output
            # A node that starts there says so as well.
            with pytest.raises(OSError, match="No space"), filler.open("ab") as more:
                more.write(bytes(8 << 20))
            with pytest.raises(AssertionError, match="full") as refused:
                await host.start()
            assert "Traceback" not in str(refused.value)
            filler.unlink()
            await host.start()
            async with open_client(host.url, "d", "1.0.0") as client:
                await client.initialize(ROOT)
                await client.subscribe(chat)
                turns = [turn["id"] for turn in (await idle(client, chat))["turns"]]
                # What the realm had stored is there, although no disk here had.
                assert turns[: len(said)] == said
                await client.start_turn(chat, "after", "hello")
                await client.turn_end(chat, "after")
        finally:
            await host.kill()


async def _until_it_ends(host: ServedHost, client: WireClient, chat: str) -> list[str]:
    """Say something until the node cannot go on; return the turns that were seen to end."""
    said: list[str] = []
    ending = asyncio.create_task(host.wait())
    while not ending.done():
        turn = f"t{len(said)}"

        async def say(turn: str = turn) -> None:
            await client.start_turn(chat, turn, "x" * 50_000)
            await client.turn_end(chat, turn)

        saying = asyncio.create_task(say())
        await asyncio.wait({saying, ending}, return_when=asyncio.FIRST_COMPLETED)
        if saying.done() and saying.exception() is None:
            said.append(turn)
        elif saying.done():
            await asyncio.wait({ending})
        saying.cancel()
    return said
