"""Resources that a client serves to a real host: what it offers, and nothing else."""

from __future__ import annotations

import asyncio
import base64
from typing import Any

import pytest

from agenthost.client import Client, MemoryResources, ResourceProvider
from agenthost.errors import (
    Conflict,
    InvalidParams,
    MethodNotFound,
    NotFound,
    PermissionDenied,
    WireError,
)
from agenthost.host.clients.connection import Connection
from agenthost.protocol import SUPPORTED_VERSIONS
from agenthost.protocol.resources import ResourceReadParams, ResourceReadResult
from tests.client.world import World

CONTENTS: dict[str, str | bytes] = {
    "virtual://notes/a.txt": "grün",
    "virtual://notes/sub/b": b"\xff\x00",
    "virtual://secret/c": "hidden",
}


def connection_of(world: World, name: str) -> Connection:
    """Return the host's side of a client's connection."""
    assert world.host is not None
    (found,) = (each for each in world.host.connections if each.client_id == name)
    return found


@pytest.fixture
async def client(world: World) -> Client:
    return await world.join("me")


@pytest.fixture
def host(world: World, client: Client) -> Connection:
    return connection_of(world, client.client_id)


@pytest.mark.parametrize("version", SUPPORTED_VERSIONS)
async def test_the_host_reads_lists_and_resolves_what_is_offered(
    world: World, version: str
) -> None:
    client = await world.join("old", version)
    host = connection_of(world, "old")
    client.serve_resources("virtual://notes/", MemoryResources(CONTENTS))
    read = await host.call("resourceRead", {"uri": "virtual://notes/a.txt"})
    assert (read["data"], read["encoding"]) == ("grün", "utf-8")
    read = await host.call("resourceRead", {"uri": "virtual://notes/sub/b"})
    assert (base64.b64decode(read["data"]), read["encoding"]) == (b"\xff\x00", "base64")
    listed = await host.call("resourceList", {"uri": "virtual://notes/"})
    assert {entry["name"]: entry["type"] for entry in listed["entries"]} == {
        "a.txt": "file",
        "sub": "directory",
    }
    found = await host.call("resourceResolve", {"uri": "virtual://notes/a.txt"})
    assert (found["type"], found["size"]) == ("file", 5)
    for folder in ("virtual://notes/", "virtual://notes/sub"):
        assert (await host.call("resourceResolve", {"uri": folder}))["type"] == "directory"


@pytest.mark.parametrize(
    ("method", "params", "error"),
    [
        ("resourceRead", {"uri": "virtual://notes/missing"}, NotFound),
        ("resourceRead", {"uri": "virtual://notes/sub"}, NotFound),
        ("resourceResolve", {"uri": "virtual://notes/su"}, NotFound),
        ("resourceRead", {"uri": "virtual://secret/c"}, PermissionDenied),
        ("resourceRead", {"uri": "file:///etc/passwd"}, PermissionDenied),
        ("resourceRead", {"uri": "virtual://notes/../secret/c"}, InvalidParams),
        ("resourceRead", {"uri": "virtual://notes/%2e%2e/secret/c"}, InvalidParams),
        ("resourceList", {"uri": "virtual://"}, PermissionDenied),
        (
            "resourceWrite",
            {"uri": "virtual://notes/a.txt", "data": "", "encoding": "utf-8"},
            PermissionDenied,
        ),
        ("resourceDelete", {"uri": "virtual://notes/a.txt"}, PermissionDenied),
        ("resourceMkdir", {"uri": "virtual://notes/d"}, PermissionDenied),
        (
            "resourceMove",
            {"source": "virtual://notes/a.txt", "destination": "virtual://notes/b"},
            PermissionDenied,
        ),
        ("createResourceWatch", {"uri": "virtual://notes/"}, MethodNotFound),
    ],
)
async def test_everything_else_is_refused(
    client: Client, host: Connection, method: str, params: dict[str, Any], error: type[WireError]
) -> None:
    client.serve_resources("virtual://notes/", MemoryResources(CONTENTS))
    with pytest.raises(error):
        await host.call(method, params)


async def test_a_client_that_offers_nothing_or_no_more_serves_nothing(
    client: Client, host: Connection
) -> None:
    asked = {"uri": "virtual://notes/a.txt"}
    with pytest.raises(MethodNotFound):
        await host.call("resourceRead", asked)
    stop = client.serve_resources("virtual://notes/", MemoryResources(CONTENTS))
    assert await host.call("resourceRead", asked)
    stop()
    with pytest.raises(MethodNotFound):
        await host.call("resourceRead", asked)


async def test_what_a_provider_says_reaches_the_host_and_what_breaks_in_it_does_not(
    client: Client, host: Connection
) -> None:
    class Odd(ResourceProvider):
        """Refuses, or breaks."""

        async def read(self, params: ResourceReadParams) -> ResourceReadResult:
            if params["uri"].endswith("refused"):
                raise Conflict("it is being changed")
            raise RuntimeError("a secret of the client")

    client.serve_resources("virtual://odd/", Odd())
    with pytest.raises(Conflict, match="it is being changed"):
        await host.call("resourceRead", {"uri": "virtual://odd/refused"})
    with pytest.raises(WireError) as broken:
        await host.call("resourceRead", {"uri": "virtual://odd/broken"})
    assert "secret" not in str(broken.value)
    assert await client.sessions.list() == []


async def test_a_slow_provider_holds_nothing_else_up(client: Client, host: Connection) -> None:
    asked, may_answer = asyncio.Event(), asyncio.Event()

    class Slow(ResourceProvider):
        """Answers when it is let."""

        async def read(self, params: ResourceReadParams) -> ResourceReadResult:
            asked.set()
            await may_answer.wait()
            return {"data": "at last", "encoding": "utf-8"}

    client.serve_resources("virtual://slow/", Slow())
    reading = asyncio.create_task(host.call("resourceRead", {"uri": "virtual://slow/x"}))
    await asked.wait()
    async with await client.sessions.create() as session, await session.chat() as chat:
        assert await chat.ask("hello")
    may_answer.set()
    assert (await reading)["data"] == "at last"


async def test_what_is_attached_to_a_message_can_be_read_by_all_who_take_part(
    world: World, client: Client
) -> None:
    other = await world.join("other")
    uri = "virtual://notes/a.txt"
    client.serve_resources("virtual://notes/", MemoryResources(CONTENTS))
    async with await client.sessions.create() as session, await session.chat() as chat:
        with pytest.raises(NotFound):
            await other.files.read_text(uri)

        async def nothing(arguments: Any) -> str:
            return ""

        await client.tool(session, "nothing", nothing)
        attachment = {"type": "resource", "uri": uri, "label": "a.txt"}
        async for _ in chat.send("read this", attachments=[attachment]):
            pass
        assert await other.files.read_text(uri) == "grün"
        assert (await other.files.stat(uri))["type"] == "file"
        # Its own client asks the host, which asks it: neither waits for the other.
        assert await client.files.read_text(uri) == "grün"
        with pytest.raises(PermissionDenied):
            await other.files.write(uri, "mine")
        with pytest.raises(NotFound):
            await other.files.read_text("virtual://secret/c")


async def test_a_client_that_leaves_meanwhile_is_not_waited_for(
    world: World, client: Client, host: Connection
) -> None:
    asked = asyncio.Event()

    class Silent(ResourceProvider):
        """Never answers."""

        async def read(self, params: ResourceReadParams) -> ResourceReadResult:
            asked.set()
            await asyncio.Event().wait()
            raise AssertionError("nobody wakes it")

    client.serve_resources("virtual://silent/", Silent())
    reading = asyncio.create_task(host.call("resourceRead", {"uri": "virtual://silent/x"}, 600))
    await asked.wait()
    world.wire("me").cut(0, 0)
    with pytest.raises(NotFound):
        await reading
