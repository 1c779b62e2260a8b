"""What people and machines that watch are told of a cluster: nodes, health and numbers."""

from __future__ import annotations

import asyncio
import json
import re
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from tests.cluster.servers import Servers, one_server
from tests.wire.client import open_client
from tests.wire.hosting import ServedHost

pytestmark = pytest.mark.timeout(300)

PATIENCE = 60.0


@pytest.fixture
async def servers(tmp_path: Path) -> AsyncIterator[Servers]:
    (tmp_path / "nats").mkdir()
    async with one_server(tmp_path / "nats") as started:
        yield started


@pytest.fixture
async def nodes(servers: Servers, tmp_path: Path) -> AsyncIterator[list[ServedHost]]:
    made = [
        ServedHost(
            tmp_path / name, "--cluster", servers.urls[0], "--node", name, "--label", "rack=7",
            "--root", str(tmp_path),
        )
        for name in "ab"
    ]  # fmt: skip
    try:
        await asyncio.gather(*(each.start() for each in made))
        yield made
    finally:
        await asyncio.gather(*(each.kill() for each in made))


async def agenthost(host: ServedHost, *words: str) -> str:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "agenthost.cli.main", *words),
        *("--data-dir", str(host.data_dir)),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await process.communicate()
    assert process.returncode == 0, err.decode()
    return out.decode()


def fetch(host: ServedHost, path: str) -> tuple[int, str]:
    headers = {"Authorization": f"Bearer {host.token}"}
    try:
        with urlopen(Request(f"http://{host.address}{path}", headers=headers), timeout=30) as page:
            return page.status, page.read().decode()
    except HTTPError as refusal:
        return refusal.code, refusal.read().decode()


async def numbers(host: ServedHost) -> dict[str, float]:
    status, page = await asyncio.to_thread(fetch, host, "/metrics")
    assert status == 200
    found = re.findall(r"^agenthost_cluster_(\w+)(?:{.*?})? (\S+)$", page, re.M)
    return {name: float(value) for name, value in found}


async def until_shown(host: ServedHost, expected: dict[str, Any]) -> dict[str, Any]:
    """Wait until ``agenthost nodes`` says so of the node a."""
    async with asyncio.timeout(PATIENCE):
        while True:
            told = {
                each["node"]: each for each in json.loads(await agenthost(host, "nodes", "--json"))
            }
            shown = told.get("a", {})
            if all(shown.get(key) == value for key, value in expected.items()):
                return told
            await asyncio.sleep(0.05)


async def test_who_is_there_what_they_own_and_how_they_are(
    servers: Servers, nodes: list[ServedHost]
) -> None:
    a, b = nodes
    async with open_client(a.url, "person") as client:
        await client.initialize()
        chat = await client.ready_session("ahp-session:/one")
        await client.request("agenthost/moveSession", channel="ahp-session:/one", node="a")
        await client.subscribe(chat)
        await client.start_turn(chat, "t1", "/run echo hello")
        # Asked of the other one.
        told = await until_shown(b, {"sessions": 1, "turns": 1, "clients": 1})
        assert sorted(told) == ["a", "b"]
        assert [name for name, each in told.items() if each["here"]] == ["b"]
        assert sum(each["leads"] for each in told.values()) == 1
        assert told["a"]["labels"] == {"rack": "7"}
        assert told["a"]["url"].endswith(a.address)
        assert told["a"]["load"] >= 0
        assert "ailment" not in told["a"]
        table = (await agenthost(b, "nodes")).splitlines()
        assert re.match(r"a (L )?rack=7 +ok +1 +1 +1 ", table[1]), table
        assert (await numbers(a))["owned_units"] >= 1
        both = [await numbers(host) for host in nodes]
        assert sum(each["leads"] for each in both) == 1
        assert [each["nodes"] for each in both] == [2, 2]
        assert all(each["feed_fresh"] == 1 for each in both)
    assert await asyncio.to_thread(fetch, b, "/healthz") == (200, "ok\n")
    # Without the realm a node cannot serve anybody well, and says why.
    servers[0].kill()
    async with asyncio.timeout(PATIENCE):
        while (health := await asyncio.to_thread(fetch, b, "/healthz"))[0] == 200:  # noqa: ASYNC110
            await asyncio.sleep(0.1)
    assert health == (503, "no news from the realm\n")
    assert (await numbers(b))["feed_fresh"] == 0
    servers[0].start()
    async with asyncio.timeout(PATIENCE):
        while (await asyncio.to_thread(fetch, b, "/healthz"))[0] != 200:  # noqa: ASYNC110
            await asyncio.sleep(0.1)


async def test_a_node_that_is_killed_leaves_nothing_outside_of_its_data_directory(
    servers: Servers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    node = ServedHost(tmp_path / "a", "--cluster", servers.urls[0], "--root", str(tmp_path))
    await node.start()
    await node.kill()
    assert list(temporary.iterdir()) == []
