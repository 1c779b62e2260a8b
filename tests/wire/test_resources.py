"""Files over the wire: what the resource methods do, and what they refuse."""

from __future__ import annotations

import asyncio
import base64
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from agenthost.host import Host, Limits
from tests.wire.client import WireClient, open_client

SECRET = "the safe's combination"


@asynccontextmanager
async def at(root: Path, version: str = "1.0.0", **options: Any) -> AsyncIterator[WireClient]:
    """An owner's client of a host that works in a folder."""
    options = {"roots": [root], "default_directory": root, **options}
    host = Host(**options)
    async with host, open_client(await host.listen(port=0), "c", version) as client:
        await client.initialize()
        yield client


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "root" / "sub").mkdir(parents=True)
    (tmp_path / "root" / "a.txt").write_text("hello")
    (tmp_path / "secret").write_text(SECRET)
    (tmp_path / "root" / "out").symlink_to(tmp_path / "secret")
    return tmp_path / "root"


def text(data: str) -> dict[str, Any]:
    return {"data": data, "encoding": "utf-8"}


async def test_a_file_is_written_listed_read_moved_and_deleted(root: Path) -> None:
    async with at(root) as client:
        uri = (root / "new" / "b.txt").as_uri()
        assert await client.request("resourceMkdir", uri=(root / "new").as_uri()) == {}
        assert await client.request("resourceWrite", uri=uri, **text("one")) == {}
        assert await client.request("resourceWrite", uri=uri, mode="append", **text("!")) == {}
        read = await client.request("resourceRead", uri=uri)
        assert read == {"data": "one!", "encoding": "utf-8", "contentType": "text/plain"}
        read = await client.request("resourceRead", uri=uri, encoding="base64")
        assert base64.b64decode(read["data"]) == b"one!"
        listed = await client.request("resourceList", uri=root.as_uri())
        assert listed["entries"] == [
            {"name": "a.txt", "type": "file"},
            {"name": "new", "type": "directory"},
            {"name": "out", "type": "file"},
            {"name": "sub", "type": "directory"},
        ]
        ends: dict[str, Any] = {"source": uri, "destination": (root / "c.txt").as_uri()}
        assert await client.request("resourceCopy", **ends) == {}
        assert (await client.refusal("resourceCopy", failIfExists=True, **ends)).code == -32010
        assert await client.request("resourceMove", **ends) == {}
        assert not (root / "new" / "b.txt").exists()
        await client.request("resourceDelete", uri=(root / "c.txt").as_uri())
        assert (await client.refusal("resourceRead", uri=ends["destination"])).code == -32008


async def test_of_two_ends_the_one_that_is_wrong_is_named(root: Path) -> None:
    async with at(root) as client:
        here, missing = (root / "a.txt").as_uri(), (root / "missing").as_uri()
        new, outside = (root / "new").as_uri(), (root.parent / "elsewhere").as_uri()
        for method in ("resourceCopy", "resourceMove"):
            for source, target, code, named in (
                (missing, new, -32008, missing),
                (outside, new, -32009, outside),
                (here, outside, -32009, outside),
                (here, f"{missing}/x", -32008, f"{missing}/x"),
            ):
                refusal = await client.refusal(method, source=source, destination=target)
                assert (refusal.code, named in refusal.message) == (code, True)
                if code == -32009:
                    assert refusal.data["request"]["uri"] == named


async def test_what_is_written_is_there_for_the_request_behind_it(root: Path) -> None:
    async with at(root) as client:
        uri = (root / "n").as_uri()
        for number in range(50):
            _, read = await asyncio.gather(
                client.request("resourceWrite", uri=uri, **text(f"{number}")),
                client.request("resourceRead", uri=uri),
            )
            assert read["data"] == f"{number}"


async def test_two_clients_append_and_nothing_is_lost(root: Path) -> None:
    async with Host(roots=[root]) as host:
        url = await host.listen(port=0)
        async with open_client(url, "1") as one, open_client(url, "2") as two:
            for client in (one, two):
                await client.initialize()
            uri = (root / "log").as_uri()
            (root / "log").touch()
            write = {"uri": uri, "mode": "append", **text("x\n")}
            both = [c.request("resourceWrite", **write) for c in (one, two) for _ in range(100)]
            await asyncio.gather(*both)
    assert (root / "log").read_text() == "x\n" * 200


async def test_a_stale_write_changes_nothing(root: Path) -> None:
    async with at(root) as client:
        uri = (root / "a.txt").as_uri()
        seen = await client.request("resourceResolve", uri=uri)
        assert (seen["uri"], seen["type"], seen["size"]) == (uri, "file", 5)
        write = {"uri": uri, "ifMatch": seen["etag"]}
        await client.request("resourceWrite", **write, **text("mine"))
        assert (await client.refusal("resourceWrite", **write, **text("late"))).code == -32011
        create = {"uri": uri, "createOnly": True}
        assert (await client.refusal("resourceWrite", **create, **text("new"))).code == -32010
        position = {"uri": uri, "mode": "insert", "position": 99}
        assert (await client.refusal("resourceWrite", **position, **text("far"))).code == -32602
        bad = {"uri": uri, "data": "%%%", "encoding": "base64"}
        assert (await client.refusal("resourceWrite", **bad)).code == -32602
    assert (root / "a.txt").read_text() == "mine"
    assert sorted(os.listdir(root)) == ["a.txt", "out", "sub"]


@pytest.mark.parametrize(
    ("ending", "code"),
    [
        ("/../secret", -32009),
        ("/%2e%2e/secret", -32009),
        ("/sub/../../secret", -32009),
        ("%2f..%2fsecret", -32009),
        ("/../missing", -32009),
        ("/out", -32009),
        ("/out/x", -32009),
        ("/a.txt%00", -32602),
        ("/missing/x", -32008),
        ("/sub", -32602),
    ],
)
async def test_nothing_outside_is_read_or_named(root: Path, ending: str, code: int) -> None:
    async with at(root) as client:
        refusal = await client.refusal("resourceRead", uri=root.as_uri() + ending)
        assert refusal.code == code
        assert SECRET not in str(client.received)


@pytest.mark.parametrize("uri", ["file:///etc/passwd", "FILE:///proc/self/environ", "file:///"])
async def test_what_is_outside_is_one_answer_for_every_method(root: Path, uri: str) -> None:
    async with at(root) as client:
        for method in ("Read", "List", "Resolve", "Mkdir", "Delete", "Request"):
            assert (await client.refusal(f"resource{method}", uri=uri)).code == -32009
        assert (await client.refusal("resourceWrite", uri=uri, **text("x"))).code == -32009
        inside = (root / "a.txt").as_uri()
        for method in ("resourceCopy", "resourceMove"):
            for ends in ((inside, uri), (uri, inside)):
                params = {"source": ends[0], "destination": ends[1]}
                assert (await client.refusal(method, **params)).code == -32009
    assert (root / "a.txt").read_text() == "hello"


@pytest.mark.parametrize("uri", ["file:a", "file://evil/etc/passwd", "virtual://x", "data:,x"])
async def test_what_is_no_file_here_is_refused(root: Path, uri: str) -> None:
    async with at(root) as client:
        assert (await client.refusal("resourceRead", uri=uri)).code in (-32602, -32008)


async def test_access_to_what_is_inside_is_granted_and_no_other(root: Path) -> None:
    async with at(root) as client:
        for uri in (root / "a.txt", root / "not" / "yet"):
            assert await client.request("resourceRequest", uri=uri.as_uri(), write=True) == {}
        refusal = await client.refusal("resourceRequest", uri="file:///etc/passwd", read=True)
        assert (refusal.code, refusal.data["request"]["uri"]) == (-32009, "file:///etc/passwd")


async def test_a_large_file_is_refused_and_a_pipe_is_not_waited_for(root: Path) -> None:
    (root / "large").touch()
    os.truncate(root / "large", 1 << 30)
    os.mkfifo(root / "pipe")
    async with at(root, limits=Limits(max_list_entries=4)) as client:
        refusal = await client.refusal("resourceRead", uri=(root / "large").as_uri())
        assert (refusal.code, "1.0 GiB" in refusal.message) == (-32602, True)
        assert (await client.refusal("resourceRead", uri=(root / "pipe").as_uri())).code == -32602
        assert (await client.refusal("resourceList", uri=root.as_uri())).code == -32602


async def test_what_is_the_hosts_own_is_kept_from_everybody(root: Path) -> None:
    data = root / "data"
    data.mkdir()
    (data / "token").write_text(SECRET)
    async with at(root, workspace_dir=data / "workspace", kept_away=[data]) as client:
        for uri in (data / "token", data, data / "workspace"):
            for method in ("resourceRead", "resourceList", "resourceDelete"):
                assert (await client.refusal(method, uri=uri.as_uri())).code == -32009
        listed = await client.request("resourceList", uri=root.as_uri())
        assert "data" not in [entry["name"] for entry in listed["entries"]]
    assert (data / "token").read_text() == SECRET
