"""Requests that take their time: who sent one is read on, and nothing of them outlives it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from agenthost.errors import NotFound
from agenthost.host import Host, Limits
from agenthost.host.clients import methods as handlers
from agenthost.host.clients.connection import Connection
from agenthost.protocol.jsonrpc import dumps, loads
from agenthost.protocol.versions import NEWEST
from agenthost.transport import Encoded, Transport, memory_pair
from tests.flags import PATIENCE, eventually

ROOT = "ahp-root://"
Json = dict[str, Any]


class Slow:
    """A handler that is held up until it is let go, and knows who is inside."""

    def __init__(self) -> None:
        self.running: list[Json] = []
        self.done: list[Json] = []
        self.cancelled = 0
        self.most = 0
        self.may_end = asyncio.Event()

    async def __call__(self, connection: Connection, params: Json) -> Json:
        self.running.append(params)
        self.most = max(self.most, len(self.running))
        try:
            await self.may_end.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        finally:
            self.running.remove(params)
        self.done.append(params)
        return {"items": [], "entries": []}


class Line:
    """A client over a pair of transports in memory."""

    def __init__(self, transport: Transport, host: Host) -> None:
        self.transport = transport
        self.host = host

    @property
    def connection(self) -> Connection:
        (connection,) = self.host.connections
        return connection

    def send(self, *messages: Json) -> None:
        self.transport.write([Encoded(dumps({"jsonrpc": "2.0", **each})) for each in messages])

    def ask(self, id: int | str, method: str, **params: Any) -> None:
        self.send({"id": id, "method": method, "params": {"channel": ROOT, **params}})

    async def receive(self) -> Json:
        async with asyncio.timeout(PATIENCE):
            message: Json = loads(await self.transport.receive())
        return message

    async def ping(self) -> None:
        self.ask("ping", "ping")
        assert (await self.receive())["id"] == "ping"


@asynccontextmanager
async def serving(version: str = NEWEST, **options: Any) -> AsyncIterator[Line]:
    ours, theirs = memory_pair()
    async with Host(**options) as host:
        task = asyncio.create_task(host.serve(theirs))
        line = Line(ours, host)
        line.ask("open", "initialize", protocolVersions=[version], clientId="c")
        assert "result" in await line.receive()
        try:
            yield line
        finally:
            await ours.close()
            async with asyncio.timeout(PATIENCE):
                await task


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> Slow:
    """Completions and listings that take as long as the test likes."""
    handler = Slow()
    for method in ("completions", "resourceList", "resourceWrite"):
        monkeypatch.setitem(handlers._handlers, method, handler)
    return handler


def complete(line: Line, id: int) -> None:
    line.ask(id, "completions", kind="userMessage", text=f"{id}", offset=0)


async def test_a_slow_request_does_not_hold_up_the_ping_behind_it(slow: Slow) -> None:
    async with serving() as line:
        complete(line, 1)
        await line.ping()
        slow.may_end.set()
        answer = await line.receive()
        assert (answer["id"], answer["result"]["items"]) == (1, [])


async def test_free_requests_run_at_once_and_those_about_files_one_after_the_other(
    slow: Slow,
) -> None:
    async with serving() as line:
        complete(line, 1)
        complete(line, 2)
        for id in (3, 4):
            line.ask(id, "resourceList", uri=f"file:///{id}")
        # What a client must be asked for does not wait for files.
        line.ask(5, "resourceList", uri="virtual://5")
        await line.ping()
        await eventually(lambda: len(slow.running) == 4)
        assert [each.get("text") or each["uri"] for each in slow.running] == [
            "1",
            "2",
            "file:///3",
            "virtual://5",
        ]
        slow.may_end.set()
        answered = [(await line.receive())["id"] for _ in range(5)]
        assert sorted(answered) == [1, 2, 3, 4, 5]
        assert answered.index(3) < answered.index(4)


async def test_the_request_id_of_one_under_way_is_in_use(slow: Slow) -> None:
    async with serving() as line:
        complete(line, 1)
        complete(line, 1)
        assert (await line.receive())["error"]["code"] == -32600
        slow.may_end.set()
        assert "result" in await line.receive()


async def test_a_client_that_leaves_ends_its_requests(slow: Slow) -> None:
    async with serving() as line:
        for id in range(3):
            complete(line, id)
        await line.ping()
        await eventually(lambda: len(slow.running) == 3)
    assert slow.cancelled == 3
    assert slow.done == []


async def test_of_a_thousand_slow_requests_a_few_run_and_all_are_answered(slow: Slow) -> None:
    async with serving(limits=Limits(max_beside=5)) as line:
        for id in range(1000):
            complete(line, id)
        await eventually(lambda: len(slow.running) == 5)
        assert len(line.connection._beside) == 5
        slow.may_end.set()
        answered = [(await line.receive())["id"] for _ in range(1000)]
        assert sorted(answered) == list(range(1000))
        assert slow.most == 5
        await line.ping()


async def test_a_client_that_leaves_while_it_is_not_read_is_noticed(slow: Slow) -> None:
    async with serving(limits=Limits(max_beside=2)) as line:
        for id in range(100):
            complete(line, id)
        await eventually(lambda: len(slow.running) == 2)
    assert slow.cancelled == 2
    assert slow.done == []


async def test_a_request_beside_may_fail_without_harm(
    slow: Slow, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(connection: object, params: object) -> None:
        raise RuntimeError

    monkeypatch.setitem(handlers._handlers, "completions", broken)
    async with serving() as line:
        complete(line, 1)
        assert (await line.receive())["error"]["code"] == -32603
        await line.ping()


# The other way round: the host asks a client.

VIRTUAL = {"channel": ROOT, "uri": "virtual://a"}


async def asking(line: Line, **options: Any) -> tuple[asyncio.Task[Json], Json]:
    """Ask the client for something; give what comes of it, and the request as it was sent."""
    call = line.connection.call("resourceRead", {"uri": "virtual://a"}, **options)
    task = asyncio.create_task(call)
    return task, await line.receive()


async def test_a_client_answers_what_the_host_asks() -> None:
    async with serving() as line:
        task, request = await asking(line)
        assert (request["method"], request["params"]) == ("resourceRead", VIRTUAL)
        line.send({"id": request["id"], "result": {"data": "x", "encoding": "utf-8"}})
        assert await task == {"data": "x", "encoding": "utf-8"}


async def test_a_client_that_refuses_is_quoted() -> None:
    async with serving() as line:
        task, request = await asking(line)
        line.send({"id": request["id"], "error": {"code": -32009, "message": "mine"}})
        with pytest.raises(Exception, match="mine"):
            await task


@pytest.mark.parametrize("result", [None, 7, {"data": 7}, {"encoding": "utf-8"}, []])
async def test_an_answer_of_another_shape_is_none(result: Any) -> None:
    async with serving() as line:
        task, request = await asking(line)
        line.send({"id": request["id"], "result": result})
        with pytest.raises(NotFound, match="wrongly"):
            await task
        await line.ping()


async def test_a_client_that_never_answers_is_not_waited_for_and_not_asked_for_ever() -> None:
    async with serving(limits=Limits(max_reverse_calls=2)) as line:
        for _ in range(2):
            task, request = await asking(line, timeout=0.0)
            with pytest.raises(NotFound, match="in time"):
                await task
        with pytest.raises(NotFound, match="unanswered"):
            await line.connection.call("resourceRead", {"uri": "virtual://a"})
        # Late answers do no harm, and then it is asked again.
        line.send({"id": request["id"], "result": {"data": "x", "encoding": "utf-8"}})
        await line.ping()
        task, request = await asking(line)
        answer = {"id": request["id"], "result": {"data": "y", "encoding": "utf-8"}}
        # Twice: the second is nobody's.
        line.send(answer, answer)
        assert (await task)["data"] == "y"
        await line.ping()


async def test_whoever_waits_for_a_client_that_leaves_is_told() -> None:
    async with serving() as line:
        connection = line.connection
        task, _ = await asking(line)
    with pytest.raises(NotFound, match="has left"):
        await task
    with pytest.raises(NotFound, match="has left"):
        await connection.call("resourceRead", {"uri": "virtual://a"})


async def test_clients_that_ask_for_what_they_must_give_themselves_do_not_lock_the_host(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def read(connection: Connection, params: Json) -> Json:
        return await connection.call("resourceRead", {"uri": params["uri"]})

    monkeypatch.setitem(handlers._handlers, "resourceRead", read)
    async with serving(limits=Limits(max_beside=2)) as line:
        for id in range(20):
            line.ask(id, "resourceRead", uri=f"virtual://{id}")
        # More than may run at once: all are asked before the first is answered.
        requests = [await line.receive() for _ in range(20)]
        assert [each["params"]["uri"] for each in requests] == [f"virtual://{n}" for n in range(20)]
        for each in requests:
            result = {"data": each["params"]["uri"], "encoding": "utf-8"}
            line.send({"id": each["id"], "result": result})
        answers = [await line.receive() for _ in range(20)]
        assert {each["id"]: each["result"]["data"] for each in answers} == {
            n: f"virtual://{n}" for n in range(20)
        }
