"""``agenthost migrate``: a single host's sessions into a realm and back, equal at both ends."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

from agenthost.cluster.numbers import message_of
from tests.cli.running import Cli, Done
from tests.cluster.servers import one_server, realm_link
from tests.wire.client import ROOT, open_client, promised
from tests.wire.hosting import ServedHost, serve
from tests.wire.mirrors import idle
from tests.wire.talking import call_in, confirmed
from tests.wire.wording import annotation

LARGE = "seq 20000"
SESSIONS = ("ahp-session:/one", "ahp-session:/two")


async def migrate(folder: Path, *words: str) -> Done:
    return await Cli(folder, folder)("migrate", *words)


async def fill(host: ServedHost) -> list[str]:
    """Make sessions with turns, a large result and an annotation; return their channels."""
    channels = []
    async with open_client(host.url) as client:
        await client.initialize(ROOT)
        for session in SESSIONS:
            chat = await client.used_session(session)
            await client.run_turn(chat, "t2", "/stream 300")
            await client.start_turn(chat, "t3", f"/run {LARGE}")
            call = await call_in(client, chat, "pending-confirmation")
            await client.accepted(chat, confirmed("t3", call, True))
            await client.turn_end(chat, "t3")
            remarks = f"{session}/annotations"
            await client.subscribe(remarks)
            await client.accepted(remarks, annotation(client.version, "a1", session))
            channels += [session, chat, remarks]
    return channels


async def states(host: ServedHost, channels: list[str]) -> dict[str, Any]:
    async with open_client(host.url) as client:
        await client.initialize()
        listed = (await client.request("listSessions"))["items"]
        assert {item["resource"] for item in listed} == set(SESSIONS)
        return {each: promised(await client.snapshot(each), client.version) for each in channels}


async def large_result(host: ServedHost, chat: str) -> str:
    """Return what lies outside of the chat, as whoever follows the reference reads it."""
    async with open_client(host.url) as client:
        await client.initialize()
        state = json.dumps(await client.subscribe(chat))
        uri = re.search(r'"uri": "(ahp-content:[^"]+)"', state)
        assert uri is not None, state[-2000:]
        return str((await client.request("resourceRead", uri=uri[1]))["data"])


async def use_in_the_realm(
    host: ServedHost, seen: int, channels: list[str], before: dict[str, Any]
) -> dict[str, Any]:
    """Find all on a node as it was, say something, and return what there is then."""
    chat = channels[1]
    assert await states(host, channels) == before
    async with open_client(host.url, "early") as client:
        # Whoever saw the single host comes back, and numbers go on above what it had.
        result = await client.reconnect(seen, chat)
        assert result["type"] == "snapshot"
        envelope = await client.start_turn(chat, "t4", "hello")
        assert envelope["serverSeq"] > seen
        await client.turn_end(chat, "t4")
        await idle(client, chat)
    return await states(host, channels)


async def test_sessions_go_into_a_realm_and_come_back_as_they_were(tmp_path: Path) -> None:
    single, back = tmp_path / "single", tmp_path / "back"
    async with serve(single) as host:
        channels = await fill(host)
        before = await states(host, channels)
        large, token = await large_result(host, channels[1]), host.token
        async with open_client(host.url, "early") as client:
            seen = (await client.initialize(channels[1]))["serverSeq"]
        await host.stop()
    async with one_server(tmp_path) as servers:
        url = ",".join(servers.urls)
        done = await migrate(tmp_path, "--to", url, "--data-dir", str(single))
        assert (done.code, done.err) == (0, "")
        assert "Copied 2 sessions" in done.out
        async with realm_link(servers) as link:
            info = await link.open_realm(create=False)
            # Above all that the single host can have given out.
            assert info.first > message_of(seen)
        again = await migrate(tmp_path, "--to", url, "--data-dir", str(single))
        assert again.code == 1
        assert "has something in it already" in again.err
        (tmp_path / "node").mkdir(mode=0o700)
        shutil.copy(single / "token", tmp_path / "node" / "token")
        node = ServedHost(tmp_path / "node", "--cluster", url, "--node", "n")
        await node.start()
        try:
            assert node.token == token
            after = await use_in_the_realm(node, seen, channels, before)
            assert await large_result(node, channels[1]) == large
        finally:
            await node.stop()
        done = await migrate(tmp_path, "--from", url, "--data-dir", str(back), "--json")
        assert (done.code, done.err) == (0, "")
        refused = await migrate(tmp_path, "--from", url, "--data-dir", str(back))
        assert refused.code == 1
        assert "is in use already" in refused.err
    async with serve(back) as host:
        assert await states(host, channels) == after
        assert await large_result(host, channels[1]) == large
        async with open_client(host.url, "early") as client:
            # Who was there before is sent the state, and not what happens to have its number.
            result = await client.reconnect(seen, channels[1])
            assert result["type"] == "snapshot"
    # What was read was not changed.
    async with serve(single) as host:
        assert await states(host, channels) == before


async def test_a_host_that_runs_is_not_copied(tmp_path: Path) -> None:
    async with one_server(tmp_path) as servers, serve(tmp_path / "single"):
        words = ("--to", servers.urls[0], "--data-dir", str(tmp_path / "single"))
        done = await migrate(tmp_path, *words)
        assert (done.code, done.out) == (1, "")
        assert "stop it first" in done.err


async def test_what_cannot_be_copied_is_said_in_a_sentence(tmp_path: Path) -> None:
    nowhere = "nats://127.0.0.1:1"
    done = await migrate(tmp_path, "--to", nowhere, "--data-dir", str(tmp_path / "none"))
    assert (done.code, "Traceback" in done.err) == (1, False)
    async with one_server(tmp_path) as servers:
        words = ("--data-dir", str(tmp_path / "none"))
        done = await migrate(tmp_path, "--to", servers.urls[0], *words)
        assert done.code == 1
        assert "there are no sessions" in done.err
        done = await migrate(tmp_path, "--from", servers.urls[0], *words)
        assert done.code == 1
        assert "there is no realm" in done.err
