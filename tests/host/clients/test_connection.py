"""One connection: how fast it is read, and how much nonsense it may hold."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from agenthost.host import Host, Limits
from agenthost.host.clients import connection as connection_module
from agenthost.host.clients import connection as connections
from agenthost.host.trust import find_excess
from agenthost.protocol.jsonrpc import dumps, loads
from agenthost.transport import Encoded, Transport, TransportClosed, memory_pair
from tests.flags import eventually

# Seconds that a look at a frame is held up before the test is broken.
PATIENCE = 5.0
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


async def test_others_are_served_while_a_large_frame_is_looked_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    may_go_on = threading.Event()
    # Whether each look was let go on in time, and how many there were at once.
    ended: list[bool] = []
    under_way: set[bytes] = set()
    most = 0

    def look_slowly(frame: bytes, **limits: int) -> str | None:
        nonlocal most
        if len(frame) > connections.LARGE_FRAME:
            under_way.add(frame)
            most = max(most, len(under_way))
            # On the loop itself nothing could ever let it go on.
            ended.append(may_go_on.wait(PATIENCE))
            under_way.discard(frame)
        return find_excess(frame, **limits)

    monkeypatch.setattr(connections, "find_excess", look_slowly)
    async with Host() as host, asyncio.timeout(60), asyncio.TaskGroup() as serving:
        ends = []
        for _ in range(3):
            ours, theirs = memory_pair()
            serving.create_task(host.serve(theirs))
            ends.append(ours)
        large, next_large, other = ends
        for number, client in enumerate((large, next_large)):
            client.write([Encoded(padded_ping(number))])
        await eventually(lambda: bool(under_way))
        for _ in range(10):
            other.write([Encoded(PING)])
            assert loads(await other.receive())["result"] is None
        assert ended == []
        may_go_on.set()
        for number, client in enumerate((large, next_large)):
            answer = {"jsonrpc": "2.0", "id": number, "result": None}
            assert loads(await client.receive()) == answer
        # Looking takes several times a frame's size, so it is done one after the other.
        assert (ended, most) == ([True, True], 1)
        for client in ends:
            await client.close()


def padded_ping(id: int) -> bytes:
    """Return a ping that is larger than what is looked over on the loop."""
    params = {"channel": "ahp-root://", "padding": "x" * connections.LARGE_FRAME}
    return dumps({"jsonrpc": "2.0", "id": id, "method": "ping", "params": params})
