"""A host in a process of its own and its terminals: floods, its end, and what is left of them."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.children import gone, is_alive
from tests.wire.client import WireClient, open_client
from tests.wire.hosting import ServedHost, serve
from tests.wire.shells import ROOT, TERMINAL, create, listed, shows, types
from tests.workspace.pty.running import shell

# One in the background, one in a session of its own, and one that took all precautions.
LEFT_BEHIND = """
sleep 300 & echo $! > a.pid
setsid sh -c 'echo $$ > b.pid; exec sleep 301' &
(trap '' HUP TERM INT; exec setsid nohup sh -c 'echo $$ > c.pid; exec sleep 302') >/dev/null 2>&1 &
echo $$ > d.pid
while ! [ -s a.pid -a -s b.pid -a -s c.pid ]; do sleep 0.02; done
echo all of them are $((40+2))
exec sleep 303
"""


@pytest.fixture(params=["bash", "zsh"])
def shell_name(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    name: str = request.param
    monkeypatch.setenv("SHELL", shell(name))
    return name


@pytest.fixture
async def host(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[ServedHost]:
    """A host that works in a folder of its own."""
    if "shell_name" not in request.fixturenames:
        monkeypatch.setenv("SHELL", shell("bash"))
    (tmp_path / "work").mkdir()
    # Without one, zsh asks a new user what is wanted.
    (tmp_path / "work" / ".zshrc").touch()
    monkeypatch.setenv("HOME", str(tmp_path / "work"))
    async with serve(tmp_path / "data", cwd=tmp_path / "work") as served:
        yield served


async def children(client: WireClient, folder: Path) -> list[int]:
    """Start what does not want to end, and return the ids of all of it."""
    (folder / "leave").write_text(LEFT_BEHIND)
    await types(client, ". ./leave\r")
    await shows(client, "all of them are 42")
    found = [int((folder / f"{name}.pid").read_text()) for name in "abcd"]
    assert all(map(is_alive, found))
    return found


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
async def test_the_host_leaves_no_child(
    number: signal.Signals, shell_name: str, host: ServedHost, tmp_path: Path
) -> None:
    async with open_client(host.url) as client:
        await client.initialize(ROOT)
        await create(client)
        processes = await children(client, tmp_path / "work")
        await host.stop(number)
    await gone(*processes)
    assert not any(map(is_alive, processes))
    await host.start()
    async with open_client(host.url) as client:
        await client.initialize()
        assert await listed(client, lambda all: not all) == []
        assert (await client.refusal("subscribe", channel=TERMINAL)).code == -32008


async def test_a_flood_harms_nobody_else_and_is_not_stored(
    host: ServedHost, tmp_path: Path
) -> None:
    async with open_client(host.url, "user") as user, open_client(host.url, "other") as other:
        for client in (user, other):
            await client.initialize(ROOT)
        chat = await other.used_session("ahp-session:/s")
        await create(user)
        # Without a mirror, which would take the square of the flood's length.
        del user.states[TERMINAL]
        before, memory = stored(tmp_path / "data"), resident(host.pid)
        await user.dispatch(
            TERMINAL, {"type": "terminal/input", "data": "yes $(seq 99) | head -c 50M; exit 6\r"}
        )
        flooding = asyncio.create_task(exited(user))
        await user.action(TERMINAL, "terminal/commandExecuted")
        turns = 0
        while not flooding.done():
            # Not without end: a long chat's snapshots would outweigh what must not be stored.
            if turns < 20:
                turns += 1
                await other.run_turn(chat, f"flood{turns}", "hello")
            await other.ping()
        assert await flooding == 6
        assert turns > 1
        received = sum(len(e["action"].get("data", "")) for e in user.envelopes[TERMINAL])
        assert received > 50 * 1024 * 1024
        state = await user.fresh(TERMINAL)
        kept = sum(len(part.get("output", part.get("value", ""))) for part in state["content"])
        assert 50_000 < kept <= 100_000
        # The other's turns are stored; of the flood there is nothing.
        assert stored(tmp_path / "data") - before < 1024 * 1024 + turns * 16 * 1024
        assert resident(host.pid) - memory < 100 * 1024 * 1024
        text = b"".join(path.read_bytes() for path in files(tmp_path / "data"))
        assert b"97 98 99" not in text


async def test_who_does_not_read_holds_nobody_up(host: ServedHost) -> None:
    async with open_client(host.url, "user") as user, open_client(host.url, "stuck") as stuck:
        for client in (user, stuck):
            await client.initialize(ROOT)
        await create(user)
        await stuck.subscribe(TERMINAL)
        stuck.socket.transport.pause_reading()
        # Without a mirror, which would take the square of the flood's length.
        del user.states[TERMINAL]
        data = "yes $(seq 99) | head -c 30M; exit 6\r"
        await user.dispatch(TERMINAL, {"type": "terminal/input", "data": data})
        assert await exited(user) == 6
        # It was sent away, and may come back for what it missed.
        stuck.socket.transport.resume_reading()
        code, reason = await asyncio.wait_for(asyncio.shield(stuck.closed), 30)
        assert (code, "reconnect to resume" in reason) == (1013, True)


async def exited(client: WireClient) -> object:
    # It takes as long as it takes, as long as something comes.
    while True:
        seen = len(client.received)
        with contextlib.suppress(TimeoutError):
            return (await client.action(TERMINAL, "terminal/exited"))["exitCode"]
        assert len(client.received) > seen, "the flood has stopped"


def resident(process: int) -> int:
    """Return the bytes of memory that a process has."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmRSS"))


def files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def stored(folder: Path) -> int:
    return sum(path.stat().st_size for path in files(folder))
