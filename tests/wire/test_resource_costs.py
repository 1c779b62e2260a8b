"""What files may cost: a full disk, a huge file, and clients that do not read their answers."""

from __future__ import annotations

import asyncio
import os
import re
import resource
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from agenthost.host import Host, Limits
from agenthost.host.channels.chat.kind import CHAT
from agenthost.host.delivery.budget import EXPECTED_BYTES
from agenthost.tokens import BOOK_FILE, Role, TokenBook
from tests.flags import eventually
from tests.wire.client import WireClient, open_client
from tests.wire.hosting import ServedHost, serve
from tests.wire.people import peopled

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc, mounts a disk")

INTERNAL, INVALID, CONFLICT = -32603, -32602, -32011
MIB = 1024 * 1024
MODES = ("truncate", "append", "insert")


def memory(host: ServedHost, field: str = "VmRSS") -> int:
    """Return one of the sizes that the kernel knows of the host's process, in bytes."""
    found = re.search(rf"{field}:\s+(\d+) kB", Path(f"/proc/{host.pid}/status").read_text())
    assert found is not None
    return int(found[1]) * 1024


def everything(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def text(data: str) -> dict[str, Any]:
    return {"data": data, "encoding": "utf-8"}


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A real file system with room for a quarter of a megabyte."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(disk)], capture_output=True
    )
    if mounted.returncode:
        pytest.skip(f"nothing can be mounted here: {mounted.stderr.decode().strip()}")
    yield disk
    subprocess.run(["umount", "--lazy", str(disk)], check=True)


async def test_a_full_disk_is_told_and_changes_nothing(small_disk: Path, tmp_path: Path) -> None:
    (small_disk / "a").write_text("old")
    (tmp_path / "large").write_bytes(b"x" * MIB)
    host = Host(roots=[tmp_path], default_directory=small_disk)
    async with host, open_client(await host.listen(port=0)) as client:
        await client.initialize()
        for name in ("a", "new"):
            uri = (small_disk / name).as_uri()
            for mode in MODES:
                write = {"uri": uri, "mode": mode, **text("x" * MIB)}
                refusal = await client.refusal("resourceWrite", **write)
                assert (refusal.code, "No space left" in refusal.message) == (INTERNAL, True)
            for method in ("resourceCopy", "resourceMove"):
                ends = {"source": (tmp_path / "large").as_uri(), "destination": uri}
                assert (await client.refusal(method, **ends)).code == INTERNAL
            assert everything(small_disk) == {"a": b"old"}
        assert (tmp_path / "large").stat().st_size == MIB
        # There is room for less, so nothing was left behind that takes it.
        await client.request("resourceWrite", uri=uri, **text("x" * 200_000))


@asynccontextmanager
async def serving(tmp_path: Path, *options: str) -> AsyncIterator[tuple[ServedHost, WireClient]]:
    """A host in its own process that works in a folder, and its owner's client."""
    root = tmp_path / "root"
    async with (
        serve(tmp_path / "data", *options, cwd=root) as host,
        open_client(host.url, "owner") as client,
    ):
        await client.initialize()
        yield host, client


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    root.mkdir()
    return root


async def test_a_file_that_may_not_grow_stays_what_it_was(root: Path) -> None:
    old = b"old!" * MIB
    (root / "a").write_bytes(old)
    async with serving(root.parent) as (host, client):
        resource.prlimit(host.pid, resource.RLIMIT_FSIZE, (5 * MIB, 5 * MIB))
        uri = (root / "a").as_uri()
        for mode in MODES:
            write = {"uri": uri, "mode": mode, **text("x" * 6 * MIB)}
            refusal = await client.refusal("resourceWrite", **write)
            assert (refusal.code, "too large" in refusal.message.lower()) == (INTERNAL, True)
        seen = await client.request("resourceResolve", uri=uri)
        stale = {"uri": uri, "ifMatch": seen["etag"] + "0", **text("x")}
        assert (await client.refusal("resourceWrite", **stale)).code == CONFLICT
        for wrong in (
            {"mode": "overwrite"},
            {"mode": "append", "position": -1},
            {"mode": "insert", "position": 1 << 60},
            {"mode": "truncate", "position": len(old) + 1},
            {"createOnly": "yes"},
        ):
            refusal = await client.refusal("resourceWrite", uri=uri, **wrong, **text("x"))
            assert refusal.code == INVALID, wrong
        assert await client.request("resourceResolve", uri=uri) == seen
    assert everything(root) == {"a": old}


async def test_a_gigabyte_costs_no_memory(root: Path) -> None:
    (root / "large").touch()
    os.truncate(root / "large", 1 << 30)
    async with serving(root.parent) as (host, client):
        uri = (root / "large").as_uri()
        before = memory(host)
        for method in ("resourceRead", "resourceResolve"):
            for _ in range(20):
                if method == "resourceRead":
                    refusal = await client.refusal(method, uri=uri)
                    assert (refusal.code, "1.0 GiB" in refusal.message) == (INVALID, True)
                else:
                    assert (await client.request(method, uri=uri))["size"] == 1 << 30
        # Nor does what must copy all of it: a letter behind its end.
        insert = {"uri": uri, "mode": "insert", "position": 1, **text("x")}
        assert (await client.refusal("resourceWrite", **insert)).code == INVALID
        await client.request("resourceWrite", uri=uri, mode="append", **text("x"))
        assert (root / "large").stat().st_size == (1 << 30) + 1
        assert memory(host, "VmHWM") - before < 32 * MIB


async def test_large_answers_wait_for_those_who_do_not_read_within_the_budget(root: Path) -> None:
    (root / "file").write_bytes(os.urandom(10 * MIB))
    uri = (root / "file").as_uri()
    async with serving(root.parent) as (host, client), AsyncExitStack() as stack:
        made = TokenBook(host.data_dir / BOOK_FILE).create(
            "sleepers", Role.OPERATOR, expires=None, now=time.time()
        )
        url = f"ws://{host.address}/?tkn={made.secret}"
        before = memory(host)
        sleepers = []
        for number in range(50):
            # By its own clock it would give the connection up.
            opening = open_client(url, f"sleeper {number}", ping_interval=None)
            sleeper = await stack.enter_async_context(opening)
            await sleeper.initialize()
            sleepers.append(sleeper)
        await sleepers[0].ready_session("ahp-session:/s", workingDirectories=[root.as_uri()])
        assert len((await sleepers[0].request("resourceRead", uri=uri))["data"]) > 10 * MIB
        for sleeper in sleepers:
            sleeper.socket.transport.pause_reading()
        asking = [
            asyncio.create_task(sleeper.request("resourceRead", uri=uri)) for sleeper in sleepers
        ]
        # Until what they are owed fills the budget, and then for as many requests of another.
        await eventually(lambda: memory(host) - before > 64 * MIB)
        for number in range(50):
            small = (root / f"n{number}").as_uri()
            await client.request("resourceWrite", uri=small, **text("x"))
            assert (await client.request("resourceRead", uri=small))["data"] == "x"
            await client.ping()
        # 96 MiB may wait, and what is being made takes as much again.
        assert memory(host, "VmHWM") - before < 256 * MIB
        for sleeper in sleepers:
            sleeper.socket.transport.resume_reading()
        for answer in await asyncio.gather(*asking):
            assert len(answer["data"]) > 10 * MIB


# Bytes that may wait in a host of little room, and a turn that holds more.
LITTLE_ROOM = MIB
LONG_TURN = "/stream 6 1000000"


class Reader:
    """One connection of a principal that asks for a long chat, in one of the ways there are."""

    def __init__(self, client: WireClient, method: str, chat: str, last_seen: int) -> None:
        self.client = client
        self._method = method
        self._chat = chat
        # Of those who come back.
        self._last_seen = last_seen

    async def prepare(self) -> None:
        """Do what comes before, whose answers are small."""
        if self._method not in ("initialize", "reconnect"):
            await self.client.initialize()
        if self._method == "fetchTurns":
            await self.client.subscribe(self._chat, view={"turns": 1})

    async def read(self) -> Any:
        """Ask, and return the answer."""
        match self._method:
            case "initialize":
                return await self.client.initialize(self._chat)
            case "reconnect":
                return await self.client.reconnect(self._last_seen, self._chat)
            case method:
                return await self.client.request(method, adopt=True, channel=self._chat)


def turns_of(host: Host, chat: str) -> int:
    channel = host.core.directory.get(chat, CHAT)
    return len(channel.state["turns"]) if channel is not None else 0


@pytest.mark.parametrize("method", ["subscribe", "fetchTurns", "reconnect", "initialize"])
async def test_who_does_not_read_a_long_chat_keeps_waiting_who_wants_it_too_and_nobody_else(
    tmp_path: Path, method: str
) -> None:
    options: dict[str, Any] = {"roots": [tmp_path], "default_directory": tmp_path}
    limits = Limits(max_waiting_bytes=LITTLE_ROOM)
    async with (
        peopled(tmp_path, limits=limits, **options) as people,
        people.client("owner", Role.OWNER) as owner,
        AsyncExitStack() as stack,
    ):
        chat = await owner.ready_session("ahp-session:/s")
        readers = []
        for name in ("sleeper", "waiter"):
            url = people.url("readers")
            async with open_client(url, name) as former:
                await former.initialize(chat)
            client = await stack.enter_async_context(open_client(url, name, ping_interval=None))
            # A goodbye that nobody reads would be waited for.
            stack.callback(client.abort)
            readers.append(Reader(client, method, chat, former.last_seen))
        # Nobody follows it: where there is so little room, falling behind ends a connection.
        for number, text in enumerate((LONG_TURN, "hello"), 1):
            await owner.dispatch(chat, owner.turn_started(f"t{number}", text))
            await eventually(lambda count=number: turns_of(people.host, chat) == count)  # type: ignore[misc]
        for reader in readers:
            await reader.prepare()
        sleeper, waiter = readers
        share = people.host.core.budget.share("readers")
        sleeper.client.socket.transport.pause_reading()
        unread = asyncio.create_task(sleeper.read())
        # Once its answer is made, it alone takes more than there is.
        await eventually(lambda: LITTLE_ROOM < share.used < EXPECTED_BYTES)
        waiting = asyncio.create_task(waiter.read())
        await eventually(lambda: share.is_wanted or waiting.done())
        # What is small is answered to the same principal as well, and to others everything.
        async with people.client("readers") as small:
            await small.request("agenthost/about")
        await owner.request("listSessions")
        assert len((await owner.snapshot(chat))["turns"]) == 2
        assert not waiting.done()
        assert not unread.done()
        sleeper.client.abort()
        answer = await waiting
        assert len(str(answer)) + len(str(waiter.client.states)) > 6 * 1000 * 1000
        if method == "reconnect":
            assert answer["type"] == "replay"
        with pytest.raises(AssertionError, match="closed"):
            await unread
