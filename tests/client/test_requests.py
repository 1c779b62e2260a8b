"""Requests to a scripted host: answered, refused, repeated after a drop, or not."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from agenthost.client import (
    ConnectionLost,
)
from agenthost.errors import InternalError
from tests.client.follower import assert_quiet, followed, resumed
from tests.client.scripted import (
    CHAT,
    SESSION,
    ScriptedHost,
    snapshot,
)

Json = dict[str, Any]


async def test_a_request_that_changes_nothing_is_asked_again_after_a_drop() -> None:
    host = ScriptedHost()
    async with followed(host) as (client, side, _):
        listing = asyncio.create_task(client.sessions.list())
        await side.next("listSessions")
        await side.close()
        side = await resumed(host, {"type": "replay", "actions": [], "missing": []})
        side.answer(await side.next("listSessions"), {"items": []})
        assert await listing == []


async def test_a_request_that_changes_something_is_not_asked_again() -> None:
    host = ScriptedHost()
    async with followed(host) as (client, side, _):
        disposing = asyncio.create_task(client.request("disposeChat", {"channel": CHAT}))
        await side.next("disposeChat")
        await side.close()
        with pytest.raises(ConnectionLost):
            await disposing


async def test_a_session_is_created_once_though_the_answer_was_lost() -> None:
    host = ScriptedHost()
    async with followed(host) as (client, side, _):
        creating = asyncio.create_task(client.sessions.create(uri="ahp-session:/new"))
        await side.next("createSession")
        await side.close()
        side = await resumed(host, {"type": "replay", "actions": [], "missing": []})
        side.refuse(await side.next("createSession"), -32003, "in use")
        request = await side.next("subscribe")
        made = {**snapshot(SESSION, 11), "resource": "ahp-session:/new"}
        side.answer(request, {"snapshot": made})
        assert (await creating).uri == "ahp-session:/new"


async def test_a_request_without_an_answer_ends_after_its_time() -> None:
    host = ScriptedHost()
    async with followed(host) as (client, side, _):
        with pytest.raises(TimeoutError):
            await client.request("listSessions", timeout=0.001)
        late = await side.next("listSessions")
        side.answer(late, {"items": []})
        await assert_quiet(client, side)


async def test_an_error_of_the_host_is_raised_as_what_it_is() -> None:
    host = ScriptedHost()
    async with followed(host) as (client, side, _):
        asking = asyncio.create_task(client.request("resourceRead", {"uri": "x"}))
        side.refuse(await side.next("resourceRead"), -32603, "oh no")
        with pytest.raises(InternalError, match="oh no"):
            await asking
