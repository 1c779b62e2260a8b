"""One connection: how fast it is read, and how much nonsense it may hold."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from agenthost.host import Host, Limits
from agenthost.host.clients import connection as connection_module
from agenthost.host.clients import connection as connections
from agenthost.protocol.jsonrpc import dumps, loads
from agenthost.transport import Encoded, Transport, TransportClosed, memory_pair

PING = dumps({"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {"channel": "ahp-root://"}})


class Sleeper:
    """A clock that moves only while the connection sleeps, and an ``asyncio`` that moves it."""

    def __init__(self) -> None:
        self.slept = 0.0

    def now(self) -> str:
        return "2026-01-02T03:04:05.006Z"

    def monotonic(self) -> float:
        return self.slept

    async def sleep(self, seconds: float) -> None:
        self.slept += seconds
        await asyncio.sleep(0)

    def __getattr__(self, name: str) -> Any:
        return getattr(asyncio, name)


@asynccontextmanager
async def connected(**options: Any) -> AsyncIterator[Transport]:
    """Serve a client by a host in memory and give the client's end."""
    ours, theirs = memory_pair()
    async with Host(**options) as host, asyncio.timeout(60):
        task = asyncio.create_task(host.serve(theirs))
        try:
            yield ours
        finally:
            await ours.close()
            await task


async def test_a_hasty_client_is_slowed_to_its_rate_and_loses_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sleeper = Sleeper()
    monkeypatch.setattr(connection_module, "asyncio", sleeper)
    limits = Limits(messages_per_second=10, message_burst=5)
    async with connected(clock=sleeper, limits=limits) as client:
        client.write([Encoded(PING)] * 25)
        answers = [loads(await client.receive()) for _ in range(25)]
    assert answers == [{"jsonrpc": "2.0", "id": 1, "result": None}] * 25
    assert sleeper.slept == pytest.approx(2.0)


@pytest.fixture
def patience(monkeypatch: pytest.MonkeyPatch) -> int:
    """How many violations in a row a host of this test puts up with."""
    monkeypatch.setattr(connections, "MOST_VIOLATIONS", 50)
    return 50


async def test_whoever_sends_nothing_but_nonsense_is_closed_in_the_end(patience: int) -> None:
    async with connected() as client:
        client.write([Encoded(b"nonsense")] * patience)
        answers = [loads(await client.receive()) for _ in range(patience - 1)]
        assert {answer["error"]["code"] for answer in answers} == {-32700}
        with pytest.raises(TransportClosed) as end:
            await client.receive()
    assert (end.value.code, end.value.reason) == (1008, "too many messages that break the protocol")


async def test_sound_messages_make_up_for_those_that_are_not(patience: int) -> None:
    unknown = Encoded(b'{"jsonrpc":"2.0","id":2,"method":"poll","params":{}}')
    async with connected() as client:
        for _ in range(2):
            client.write([unknown] * (patience - 1))
            for _ in range(patience - 1):
                assert b"-32601" in await client.receive()
            client.write([Encoded(PING)])
            assert loads(await client.receive())["result"] is None


async def test_what_is_sent_while_an_answer_is_being_made_waits_behind_it() -> None:
    ours, theirs = memory_pair()
    async with Host() as host, asyncio.timeout(60):
        task = asyncio.create_task(host.serve(theirs))
        ours.write([Encoded(PING)])
        await ours.receive()
        (connection,) = host.connections
        connection.outbox.hold()
        connection.send(b'"behind"')
        await host.core.writer.ledger.settle()
        ours.write([Encoded(PING)])
        assert loads(await ours.receive())["id"] == 1
        assert loads(await ours.receive()) == "behind"
        await ours.close()
        await task
