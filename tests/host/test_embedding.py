"""A host inside another program: over a socket, over memory, with its own agents and store."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import orjson
import pytest

from agenthost.agents import Agent, Turn
from agenthost.host import Host, SqliteStore
from agenthost.transport import Encoded, Transport, TransportClosed, memory_pair
from tests.wire.client import open_client

Json = dict[str, Any]
ROOT = "ahp-root://"
SESSION = "ahp-session:/s1"
PATIENCE = 60.0


class Greeter(Agent):
    provider, display_name = "greeter", "Greeter"

    async def run(self, turn: Turn) -> None:
        await turn.write(f"Hello! You said: {turn.text}")


class MemoryClient:
    """The other end of a memory pair: sends requests, keeps what comes."""

    def __init__(self, transport: Transport) -> None:
        self.transport = transport
        self._ids = itertools.count(1)
        self.actions: list[Json] = []

    def send(self, **message: Any) -> None:
        self.transport.write((Encoded(orjson.dumps({"jsonrpc": "2.0", **message})),))

    async def receive(self) -> Json:
        async with asyncio.timeout(PATIENCE):
            message: Json = orjson.loads(await self.transport.receive())
        if message.get("method") == "action":
            self.actions.append(message["params"]["action"])
        return message

    async def request(self, method: str, **params: Any) -> Any:
        id = next(self._ids)
        self.send(id=id, method=method, params={"channel": ROOT, **params})
        while (message := await self.receive()).get("id") != id:
            pass
        return message["result"]

    async def action(self, action_type: str) -> Json:
        while True:
            for action in self.actions:
                if action["type"] == action_type:
                    return action
            await self.receive()

    async def open_chat(self) -> str:
        await self.request("initialize", protocolVersions=["0.7.0"], clientId="c1")
        await self.request("createSession", channel=SESSION)
        result = await self.request("subscribe", channel=SESSION)
        if result["snapshot"]["state"]["lifecycle"] != "ready":
            await self.action("session/ready")
            result = await self.request("subscribe", channel=SESSION)
        chat: str = result["snapshot"]["state"]["defaultChat"]
        await self.request("subscribe", channel=chat)
        return chat

    def start_turn(self, chat: str, text: str) -> None:
        message = {"text": text, "origin": {"kind": "user"}}
        started = {"startedAt": "2026-01-01T00:00:00.000Z", "message": message}
        action = {"type": "chat/turnStarted", "turnId": "t1", **started}
        params = {"channel": chat, "clientSeq": 1, "action": action}
        self.send(method="dispatchAction", params=params)


@asynccontextmanager
async def connected(host: Host) -> AsyncIterator[MemoryClient]:
    """Serve one client over memory; what serving it raises, this raises."""
    near, far = memory_pair()
    serving = asyncio.create_task(host.serve(far), name="serve a memory client")
    yield MemoryClient(near)
    await near.close()
    async with asyncio.timeout(PATIENCE):
        await serving


async def test_a_host_in_ten_lines_serves_a_turn_over_a_socket() -> None:
    async with Host([Greeter()]) as host:
        url = await host.listen(port=0)
        async with open_client(url) as client:
            await client.initialize()
            chat = await client.ready_session(SESSION)
            await client.subscribe(chat)
            await client.run_turn(chat, "t1", "hi")
            (part,) = client.states[chat]["turns"][0]["responseParts"]
            assert part["content"] == "Hello! You said: hi"


async def test_a_client_over_memory_runs_a_turn() -> None:
    async with Host([Greeter()]) as host, connected(host) as client:
        chat = await client.open_chat()
        client.start_turn(chat, "hi")
        await client.action("chat/turnComplete")
        assert (await client.action("chat/delta"))["content"] == "Hello! You said: hi"


async def test_clients_over_memory_and_over_a_socket_share_a_session() -> None:
    async with Host() as host:
        url = await host.listen(port=0)
        async with connected(host) as client, open_client(url, "c2") as other:
            chat = await client.open_chat()
            await other.initialize()
            await other.subscribe(chat)
            client.start_turn(chat, "hello")
            await other.turn_end(chat, "t1")
            await client.action("chat/turnComplete")


async def test_leaving_the_block_tells_memory_clients_and_ends_their_turns() -> None:
    async with Host() as host:
        near, far = memory_pair()
        serving = asyncio.create_task(host.serve(far), name="serve a memory client")
        client = MemoryClient(near)
        chat = await client.open_chat()
        client.start_turn(chat, "/slow 60")
        await client.action("chat/turnStarted")
    await client.action("chat/error")
    with pytest.raises(TransportClosed) as closed:
        await client.action("no such action")
    assert closed.value.code == 1001
    assert closed.value.reason == "the host is shutting down"
    async with asyncio.timeout(PATIENCE):
        await serving


async def test_a_host_with_a_store_continues_where_the_last_one_stopped(tmp_path: Path) -> None:
    path = tmp_path / "sessions.sqlite"
    async with Host([Greeter()], store=SqliteStore(path)) as host, connected(host) as client:
        chat = await client.open_chat()
        client.start_turn(chat, "hi")
        await client.action("chat/turnComplete")
    async with Host([Greeter()], store=SqliteStore(path)) as host, connected(host) as client:
        await client.request("initialize", protocolVersions=["0.7.0"], clientId="c1")
        state = (await client.request("subscribe", channel=chat))["snapshot"]["state"]
        assert state["turns"][0]["responseParts"][0]["content"] == "Hello! You said: hi"


async def test_a_host_that_is_not_running_says_so() -> None:
    host = Host()
    with pytest.raises(RuntimeError, match="async with"):
        await host.listen(port=0)
