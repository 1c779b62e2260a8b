"""The table of methods, and the one place that turns exceptions into wire errors."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest

from agenthost.errors import PermissionDenied
from agenthost.host import Host
from agenthost.host.clients import methods as dispatch
from agenthost.host.store import StoreError
from agenthost.host.trust import PolicyContext, Principal, RolePolicy
from agenthost.protocol.jsonrpc import dumps, loads
from agenthost.protocol.methods import METHODS, Direction, methods
from agenthost.protocol.versions import NEWEST
from agenthost.transport import Encoded, Transport, memory_pair
from tests.protocol.wire_samples import minimal

ROOT = "ahp-root://"
OPENERS = {"initialize", "reconnect"}
REQUESTS = methods(Direction.TO_HOST, is_notification=False)
NOTIFICATIONS = methods(Direction.TO_HOST, is_notification=True)

Json = dict[str, Any]


class Line:
    """A client over a pair of transports in memory."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def send(self, message: Json) -> None:
        self._transport.write((Encoded(dumps({"jsonrpc": "2.0", **message})),))

    async def receive(self) -> Json:
        async with asyncio.timeout(60):
            message: Json = loads(await self._transport.receive())
        return message

    async def call(self, method: str, params: Mapping[str, Any]) -> Json:
        self.send({"id": method, "method": method, "params": {"channel": ROOT, **params}})
        answer = await self.receive()
        assert answer["id"] == method
        return answer

    async def initialize(self) -> Json:
        return await self.call("initialize", {"protocolVersions": [NEWEST], "clientId": "c"})


@pytest.fixture
async def line() -> AsyncIterator[Line]:
    """A client that may be anything but initialized."""
    async with serving() as line:
        yield line


@asynccontextmanager
async def serving(**options: Any) -> AsyncIterator[Line]:
    """Serve one client by a host in memory."""
    ours, theirs = memory_pair()
    async with Host(**options) as host:
        task = asyncio.create_task(host.serve(theirs))
        try:
            yield Line(ours)
        finally:
            await ours.close()
            await task


def test_every_method_of_the_protocol_is_handled_and_nothing_else_is() -> None:
    assert set(dispatch.methods()) == REQUESTS | NOTIFICATIONS


def test_notifications_are_all_handled_because_nobody_could_tell_that_they_are_not() -> None:
    assert set(dispatch.methods()) >= NOTIFICATIONS


@pytest.mark.parametrize("method", sorted(REQUESTS))
async def test_an_unexpected_exception_is_logged_whole_and_sent_bare(
    line: Line, method: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def broken(connection: object, params: object) -> None:
        raise RuntimeError("the safe's combination is 1234")

    params = minimal(METHODS[method].params)
    if method in OPENERS:
        params["protocolVersions"] = [NEWEST]
    else:
        await line.initialize()
    with monkeypatch.context() as patch:
        patch.setitem(dispatch._handlers, method, broken)
        answer = await line.call(method, params)
    assert answer["error"] == {"code": -32603, "message": "internal error"}
    (record,) = (record for record in caplog.records if record.levelno >= logging.ERROR)
    assert record.message == f"{method} failed"
    assert record.exc_info is not None
    assert "combination" in str(record.exc_info[1])
    # The connection lives on, and an opener that broke may be tried again.
    if method in OPENERS:
        assert "result" in await line.initialize()
    if method != "ping":
        assert (await line.call("ping", {}))["result"] is None


@pytest.mark.parametrize("method", sorted(NOTIFICATIONS))
async def test_an_unexpected_exception_in_a_notification_is_logged_and_not_answered(
    line: Line, method: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def broken(connection: object, params: object) -> None:
        raise KeyError("inside")

    await line.initialize()
    monkeypatch.setitem(dispatch._handlers, method, broken)
    line.send({"method": method, "params": minimal(METHODS[method].params)})
    assert (await line.call("ping", {}))["result"] is None
    assert [(record.message, bool(record.exc_info)) for record in caplog.records] == [
        (f"{method} failed", True)
    ]


async def test_a_result_that_cannot_be_encoded_is_an_internal_error(
    line: Line, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def unspeakable(connection: object, params: object) -> object:
        return {"items": [object()]}

    await line.initialize()
    monkeypatch.setitem(dispatch._handlers, "completions", unspeakable)
    params = {"channel": "x", "kind": "userMessage", "text": "", "offset": 0}
    error = (await line.call("completions", params))["error"]
    assert error == {"code": -32603, "message": "internal error"}
    assert "completions failed" in caplog.text


async def test_a_failure_of_the_store_is_told_without_its_details(
    line: Line, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def broken(connection: object, params: object) -> None:
        raise StoreError("/home/somebody/agenthost.sqlite: disk I/O error")

    await line.initialize()
    monkeypatch.setitem(dispatch._handlers, "listSessions", broken)
    error = (await line.call("listSessions", {}))["error"]
    assert error == {"code": -32603, "message": "the host's storage failed"}
    assert "disk I/O error" in caplog.text


class Nobody(RolePolicy):
    """Lets nobody do what it is told to keep from them, and remembers who asked for what."""

    def __init__(self, *forbidden: str) -> None:
        self._forbidden = forbidden
        self.asked: list[str] = []

    def command(
        self, principal: Principal, method: str, params: Mapping[str, Any], context: PolicyContext
    ) -> None:
        self.asked.append(method)
        if method in self._forbidden:
            raise PermissionDenied("not today")

    def dispatch(
        self,
        principal: Principal,
        channel_kind: str,
        action: Mapping[str, Any],
        context: PolicyContext,
    ) -> str | None:
        self.asked.append(action["type"])
        return "not today"


@pytest.mark.parametrize("method", sorted(REQUESTS))
async def test_an_embedder_s_policy_decides_on_every_command(method: str) -> None:
    policy = Nobody(method)
    async with serving(policy=policy) as line:
        params = minimal(METHODS[method].params)
        if method in OPENERS:
            params["protocolVersions"] = [NEWEST]
        else:
            await line.initialize()
        error = (await line.call(method, params))["error"]
        assert (error["code"], error["message"]) == (-32009, "not today")
        assert policy.asked[-1] == method


async def test_an_embedder_s_policy_decides_on_every_dispatch() -> None:
    policy = Nobody()
    async with serving(policy=policy) as line:
        await line.initialize()
        action = {"type": "root/configChanged", "config": {}}
        params = {"channel": ROOT, "clientSeq": 1, "action": action}
        line.send({"method": "dispatchAction", "params": params})
        envelope = (await line.receive())["params"]
        assert (envelope["rejectionReason"], envelope["action"]) == ("not today", action)
        assert policy.asked[-1] == "root/configChanged"


async def test_a_command_is_valid_before_anybody_asks_whether_it_is_allowed() -> None:
    policy = Nobody("createSession")
    async with serving(policy=policy) as line:
        await line.initialize()
        error = (await line.call("createSession", {"channel": "x", "provider": 7}))["error"]
        assert error["code"] == -32602
        assert policy.asked == ["initialize"]
