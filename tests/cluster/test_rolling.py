"""A rolling restart of three nodes while people work: they reconnect, and notice nothing else."""

from __future__ import annotations

from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from soak.cluster.ground import ground
from soak.rolling import Office, at_work, restarted_in_turn
from tests.cluster.servers import three_servers
from tests.wire.client import ROOT, WireClient, open_client
from tests.wire.hosting import ServedHost

pytestmark = pytest.mark.timeout(300)

SESSION = "ahp-session:/s"
Json = dict[str, Any]


async def test_nobody_sees_an_error_while_all_nodes_are_restarted_in_turn(tmp_path: Path) -> None:
    async with ground(tmp_path) as running:
        office = Office(running.nodes)
        async with at_work(office, 4):
            await restarted_in_turn(office)
    assert office.errors == []
    assert office.returns > 0
    assert office.done["turns"] > 9


async def test_a_session_whose_agent_one_node_alone_has_goes_on_when_that_is_back(
    tmp_path: Path,
) -> None:
    (tmp_path / "nats").mkdir()
    async with three_servers(tmp_path / "nats") as servers, AsyncExitStack() as stack:
        address = ("--cluster", ",".join(servers.urls))
        agent = ("--agent", "soak.cluster.worker:Worker")
        able = ServedHost(tmp_path / "a", *address, "--node", "a", *agent, cwd=Path.cwd())
        other = ServedHost(tmp_path / "b", *address, "--node", "b")
        for host in (able, other):
            stack.push_async_callback(host.kill)
            await host.start()
        client = await stack.enter_async_context(open_client(other.url, "ann"))
        await client.initialize(ROOT)
        await _until_there(client, "worker")
        chat = await client.ready_session(SESSION, provider="worker")
        await client.subscribe(chat)
        await client.start_turn(chat, "t1", "stream 100")
        waiting = {"type": "chat/pendingMessageSet", "kind": "queued", "id": "q"}
        message = client.turn_started("", "stream 5")["message"]
        await client.accepted(chat, {**waiting, "message": message})
        assert await able.stop() == 0
        assert len(client.states[chat]["turns"]) == 1
        await able.start()

        def both(state: Json = client.states) -> Json | None:
            turns = state[chat]["turns"]
            return turns if len(turns) == 2 else None

        turns: Any = await client.until(both)
        assert [turn["state"] for turn in turns] == ["complete", "complete"]
        await client.start_turn(chat, "t3", "stream 5")
        ended = await client.turn_end(chat, "t3")
        assert ended["type"] == "chat/turnComplete"


async def _until_there(client: WireClient, agent: str) -> None:
    """Wait until the realm has an agent."""

    def found() -> Json | None:
        agents = client.states[ROOT]["agents"]
        return next((each for each in agents if each["provider"] == agent), None)

    await client.until(found)
