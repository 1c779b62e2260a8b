"""On three real nodes: terminals, changesets and files of one are used from the others."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.servers import Servers, three_servers
from tests.cluster.test_three_nodes import company, follow, listed, node
from tests.wire.client import ROOT, WireClient, open_client
from tests.wire.hosting import ServedHost
from tests.wire.shells import TERMINAL, create, held_by, shows, types

pytestmark = pytest.mark.timeout(300)
SESSION = "ahp-session:/across"


@pytest.fixture
async def servers(tmp_path: Path) -> AsyncIterator[Servers]:
    (tmp_path / "nats").mkdir()
    async with three_servers(tmp_path / "nats") as started:
        yield started


@pytest.fixture
async def nodes(servers: Servers, tmp_path: Path) -> AsyncIterator[list[ServedHost]]:
    made = [node(servers, tmp_path, name) for name in ("a", "b", "c")]
    try:
        for each in made:
            await each.start()
        yield made
    finally:
        for each in made:
            await each.kill()


async def test_what_one_node_has_in_memory_is_used_from_all(
    nodes: list[ServedHost], tmp_path: Path
) -> None:
    async with company(nodes, SESSION, tmp_path) as (clients, chat):
        ann, *others = clients
        await create(ann)
        await types(ann, 'echo wor""ked\r')
        await shows(ann, "worked")
        for other in others:
            await follow(other, TERMINAL)
            await shows(other, "worked")
        await types(others[0], 'echo fr""om there\r')
        for client in clients:
            await shows(client, "from there")
        await ann.run_turn(chat, "t1", "hello")
        for client in clients:
            await follow(client, f"{SESSION}/changeset/session")
        await _files_are_reached(clients, tmp_path)
        await _what_a_client_serves_is_read_by_another(ann, others[0])
        terminal = "ahp-terminal:/of-session"
        claim = {"kind": "session", "session": SESSION, "chat": chat}
        await ann.request("createTerminal", channel=terminal, claim=claim)
        await follow(ann, terminal)
        await types(ann, 'echo wh""ere\r', terminal)
        await shows(ann, "where", terminal)
        await ann.request("disposeTerminal", channel=TERMINAL)


async def _files_are_reached(clients: list[WireClient], tmp_path: Path) -> None:
    (tmp_path / "work" / "a.txt").write_text("there")
    uri = (tmp_path / "work" / "a.txt").as_uri()
    for client in clients:
        read = await client.request("resourceRead", channel=ROOT, uri=uri)
        assert read["data"] == "there"


async def _what_a_client_serves_is_read_by_another(server: WireClient, reader: WireClient) -> None:
    plugin = {"id": "virtual://p", "uri": "virtual://p", "type": "plugin", "name": "p"}
    entry = {"clientId": server.client_id, "tools": [], "customizations": [plugin]}
    await server.accepted(SESSION, {"type": "session/activeClientSet", "activeClient": entry})
    asking = asyncio.create_task(
        reader.request("resourceRead", channel=ROOT, uri="virtual://p/skill.md")
    )

    def is_asked() -> dict[str, Any] | None:
        asked = [each for each in server.received if "method" in each and "id" in each]
        return next((each for each in asked if each["params"]["uri"].endswith("skill.md")), None)

    request = await server.until(is_asked)
    result = {"data": "hello", "encoding": "utf-8", "contentType": "text/markdown"}
    await server.send({"id": request["id"], "result": result})
    assert (await asking)["data"] == "hello"


async def test_a_terminal_goes_with_its_node_and_who_follows_it_comes_back(
    nodes: list[ServedHost],
) -> None:
    async with open_client(nodes[0].url, "ann") as ann:
        await ann.initialize(ROOT)
        await create(ann, claim=held_by(ann))
        async with open_client(nodes[1].url, "bob") as bob:
            await bob.initialize(ROOT)
            await follow(bob, TERMINAL)
            await nodes[0].kill()
            code, reason = await bob.end()
            assert code == 1013, reason
        async with open_client(nodes[1].url, "bob") as bob:
            await bob.initialize(ROOT)
            await bob.ping()
            failure = await bob.refusal("subscribe", channel=TERMINAL)
            assert failure.code == -32008
            assert "b" in await listed(bob)
