"""What a host may ask of a client, and what it gets."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from agenthost.client import Client, MemoryResources, ResourceProvider
from agenthost.errors import Conflict
from agenthost.protocol import NEWEST
from agenthost.protocol.resources import (
    ResourceReadParams,
    ResourceReadResult,
    ResourceWriteParams,
    ResourceWriteResult,
)
from tests.client.scripted import ROOT, ScriptedHost, Side

Json = dict[str, Any]


@asynccontextmanager
async def served(version: str = NEWEST) -> AsyncIterator[tuple[Client, Side]]:
    host = ScriptedHost()
    client = host.client()
    side = await host.welcome(client, version=version)
    try:
        yield client, side
    finally:
        await client.aclose()


async def ask(side: Side, method: str, **params: Any) -> Json:
    side.send({"id": 7, "method": method, "params": {"channel": ROOT, **params}})
    reply = await side.reply()
    assert reply["id"] == 7
    return reply


async def test_a_client_that_offers_nothing_serves_nothing() -> None:
    async with served() as (_, side):
        reply = await ask(side, "resourceRead", uri="file:///etc/passwd")
        assert reply["error"]["code"] == -32601


async def test_what_is_offered_can_be_read_listed_and_resolved() -> None:
    contents: dict[str, str | bytes] = {
        "virtual://notes/a.txt": "hello",
        "virtual://notes/sub/b": b"\xff\x00",
    }
    async with served() as (client, side):
        client.serve_resources("virtual://notes/", MemoryResources(contents))
        reply = await ask(side, "resourceRead", uri="virtual://notes/a.txt")
        assert reply["result"] == {"data": "hello", "encoding": "utf-8"}
        reply = await ask(side, "resourceRead", uri="virtual://notes/sub/b")
        assert base64.b64decode(reply["result"]["data"]) == b"\xff\x00"
        reply = await ask(side, "resourceList", uri="virtual://notes/")
        assert reply["result"]["entries"] == [
            {"name": "a.txt", "type": "file"},
            {"name": "sub", "type": "directory"},
        ]
        reply = await ask(side, "resourceResolve", uri="virtual://notes/a.txt")
        assert reply["result"] == {"uri": "virtual://notes/a.txt", "type": "file", "size": 5}
        reply = await ask(side, "resourceRead", uri="virtual://notes/none")
        assert reply["error"]["code"] == -32008


@pytest.mark.parametrize("uri", ["virtual://other/a", "file:///etc/passwd", "virtual://note"])
async def test_what_is_not_offered_is_refused_with_what_could_be_asked_for(uri: str) -> None:
    async with served() as (client, side):
        client.serve_resources("virtual://notes/", MemoryResources({}))
        reply = await ask(side, "resourceRead", uri=uri)
        assert reply["error"]["code"] == -32009
        request = reply["error"]["data"]["request"]
        assert request == {"channel": ROOT, "uri": uri, "read": True}


@pytest.mark.parametrize("way", ["../secret", "%2e%2E/secret", "a/..%2fb", "./a"])
async def test_a_uri_does_not_lead_out_of_its_prefix(way: str) -> None:
    async with served() as (client, side):
        client.serve_resources("virtual://notes/", MemoryResources({}))
        reply = await ask(side, "resourceRead", uri=f"virtual://notes/{way}")
        assert reply["error"]["code"] == -32602


async def test_writing_is_refused_unless_the_policy_allows_it() -> None:
    class Notes(ResourceProvider):
        def __init__(self) -> None:
            self.written: list[ResourceWriteParams] = []

        async def write(self, params: ResourceWriteParams) -> ResourceWriteResult:
            if params.get("ifMatch") == "old":
                raise Conflict("it has changed")
            self.written.append(params)
            return {}

    async with served() as (client, side):
        notes = Notes()
        stop = client.serve_resources("virtual://notes/", notes)
        write = {"uri": "virtual://notes/a", "data": "x", "encoding": "utf-8"}
        assert (await ask(side, "resourceWrite", **write))["error"]["code"] == -32009
        stop()
        assert (await ask(side, "resourceWrite", **write))["error"]["code"] == -32601
        client.serve_resources("virtual://notes/", notes, allow=lambda method, uri: True)
        assert (await ask(side, "resourceWrite", **write))["result"] == {}
        assert notes.written[0]["data"] == "x"
        reply = await ask(side, "resourceWrite", **write, ifMatch="old")
        assert (reply["error"]["code"], reply["error"]["message"]) == (-32011, "it has changed")
        reply = await ask(side, "resourceRead", uri="virtual://notes/a")
        assert reply["error"]["code"] == -32601, "this provider does not serve it"


async def test_what_is_held_in_memory_is_read_only_whatever_the_policy_says() -> None:
    contents: dict[str, str | bytes] = {"virtual://notes/a": "mine"}
    async with served() as (client, side):
        provider = MemoryResources(contents)
        client.serve_resources("virtual://notes/", provider, allow=lambda method, uri: True)
        write = {"uri": "virtual://notes/a", "data": "theirs", "encoding": "utf-8"}
        assert (await ask(side, "resourceWrite", **write))["error"]["code"] == -32601
        contents["virtual://notes/a"] = "changed"
        reply = await ask(side, "resourceRead", uri="virtual://notes/a")
        assert reply["result"]["data"] == "changed"


async def test_the_longest_prefix_decides() -> None:
    async with served() as (client, side):
        client.serve_resources("virtual://a/", MemoryResources({"virtual://a/b/c": "outer"}))
        client.serve_resources("virtual://a/b/", MemoryResources({"virtual://a/b/c": "inner"}))
        reply = await ask(side, "resourceRead", uri="virtual://a/b/c")
        assert reply["result"]["data"] == "inner"
        reply = await ask(
            side, "resourceCopy", source="virtual://a/x", destination="virtual://a/b/y"
        )
        assert reply["error"]["code"] == -32009


async def test_access_is_granted_by_the_policy() -> None:
    async with served() as (client, side):
        client.serve_resources("virtual://a/", MemoryResources({}))
        assert (await ask(side, "resourceRequest", uri="virtual://a/b"))["result"] == {}
        reply = await ask(side, "resourceRequest", uri="virtual://a/b", write=True)
        assert reply["error"]["code"] == -32009


async def test_malformed_requests_unknown_ones_and_bugs_have_their_own_errors() -> None:
    class Broken(ResourceProvider):
        async def read(self, params: ResourceReadParams) -> ResourceReadResult:
            raise RuntimeError("the secret reason")

    async with served() as (client, side):
        client.serve_resources("virtual://a/", Broken())
        assert (await ask(side, "resourceRead"))["error"]["code"] == -32602
        assert (await ask(side, "makeCoffee"))["error"]["code"] == -32601
        reply = await ask(side, "resourceRead", uri="virtual://a/b")
        assert reply["error"] == {"code": -32603, "message": "internal error"}
        with pytest.raises(ValueError, match="prefix"):
            client.serve_resources("", Broken())


async def test_watching_is_reading_and_is_not_refused_as_if_it_changed_something() -> None:
    async with served() as (client, side):
        client.serve_resources("virtual://a/", MemoryResources({}))
        reply = await ask(side, "createResourceWatch", uri="virtual://a/b")
        assert reply["error"]["code"] == -32601, "allowed, though no client serves it"
        reply = await ask(side, "createResourceWatch", uri="virtual://other/b")
        assert reply["error"]["data"]["request"] == {
            "channel": ROOT,
            "uri": "virtual://other/b",
            "read": True,
        }


async def test_a_slow_request_holds_up_nothing_else_and_too_many_are_refused() -> None:
    started, may_end = asyncio.Event(), asyncio.Event()

    class Slow(ResourceProvider):
        async def read(self, params: ResourceReadParams) -> ResourceReadResult:
            started.set()
            await may_end.wait()
            return {"data": "", "encoding": "utf-8"}

    async with served() as (client, side):
        client.serve_resources("virtual://a/", Slow())
        params = {"channel": ROOT, "uri": "virtual://a/b"}
        for id in range(100, 164):
            side.send({"id": id, "method": "resourceRead", "params": params})
        await started.wait()
        reply = await ask(side, "resourceRead", uri="virtual://a/b")
        assert reply["error"]["code"] == -32603
        may_end.set()
        assert {(await side.reply())["id"] for _ in range(64)} == set(range(100, 164))
