"""Terminals of a real host with real shells: made, typed into, resized, claimed, disposed of."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agenthost.client import (
    ChannelGone,
    Client,
    Rejected,
    Session,
    TerminalView,
    Unsupported,
)
from agenthost.errors import AlreadyExists, NotFound
from tests.client.scripted import ScriptedHost
from tests.client.world import World

# Slow shells on a busy machine; what is waited for comes in milliseconds otherwise.
PATIENCE = 60


@pytest.fixture
async def client(world: World) -> Client:
    return await world.join("me")


@pytest.fixture
async def session(client: Client, tmp_path: Path) -> AsyncIterator[Session]:
    async with await client.sessions.create(directories=[tmp_path.as_uri()]) as made:
        yield made


@pytest.fixture
async def terminal(session: Session) -> AsyncIterator[TerminalView]:
    async with await session.terminals.create(name="mine", cols=100, rows=30) as made:
        yield made


async def shows(terminal: TerminalView, text: str) -> None:
    """Wait until a terminal has printed something."""
    async with asyncio.timeout(PATIENCE):
        await terminal.channel.until(lambda _: text in terminal.text)


class Listener:
    """Reads a terminal's output in the background, from its beginning to its end."""

    def __init__(self, terminal: TerminalView) -> None:
        self.text = ""
        self._grown = asyncio.Event()
        self._task = asyncio.create_task(self._read(terminal))

    async def _read(self, terminal: TerminalView) -> None:
        async for text in terminal.output():
            self.text += text
            self._grown.set()

    async def hears(self, text: str) -> None:
        async with asyncio.timeout(PATIENCE):
            while text not in self.text:
                self._grown.clear()
                await self._grown.wait()

    async def end(self) -> str:
        async with asyncio.timeout(PATIENCE):
            await self._task
        return self.text


async def test_what_is_typed_runs_and_its_end_is_told(
    terminal: TerminalView, tmp_path: Path
) -> None:
    listener = Listener(terminal)
    await terminal.type("echo $((20 + 22)) > here; pwd; exit 3\r")
    async with asyncio.timeout(PATIENCE):
        assert await terminal.wait() == 3
    assert str(tmp_path) in await listener.end()
    assert (tmp_path / "here").read_text() == "42\n"
    assert terminal.exit_code == 3
    assert not terminal.running
    with pytest.raises(Rejected):
        await terminal.type("more\r")


async def test_commands_are_told_apart(terminal: TerminalView) -> None:
    await terminal.type("echo one; false\r")
    async with asyncio.timeout(PATIENCE):
        await terminal.channel.until(
            lambda _: any(part["isComplete"] for part in terminal.commands())
        )
    (command,) = terminal.commands()
    assert command["commandLine"] == "echo one; false"
    assert command["output"] == "one\r\n"
    assert command.get("exitCode") == 1


async def test_a_resize_reaches_the_program(terminal: TerminalView) -> None:
    await terminal.type("echo size $(stty size)\r")
    await shows(terminal, "size 30 100")
    await terminal.resize(50, 20)
    await terminal.type("echo size $(stty size)\r")
    await shows(terminal, "size 20 50")
    assert (terminal.state.get("cols"), terminal.state.get("rows")) == (50, 20)


async def test_a_long_text_is_pasted_whole(terminal: TerminalView, tmp_path: Path) -> None:
    await terminal.type("stty -echo; echo re''ady; cat > pasted; echo d''one\r")
    await shows(terminal, "ready")
    lines = "".join(f"{number} grün {'x' * 100}\n" for number in range(1000))
    await terminal.paste(lines + "\x04")
    await shows(terminal, "done")
    assert (tmp_path / "pasted").read_text() == lines


async def test_a_session_lists_its_own_terminals_and_the_client_all(
    client: Client, session: Session, terminal: TerminalView
) -> None:
    async with await client.terminals.create() as own:
        assert [info["resource"] for info in await session.terminals.list()] == [terminal.uri]
        everything = {info["resource"]: info for info in await client.terminals.list()}
        assert set(everything) == {terminal.uri, own.uri}
        assert everything[terminal.uri]["title"] == "mine"
        assert everything[own.uri]["claim"] == {"kind": "client", "clientId": "me"}


async def test_a_name_is_taken_once(session: Session, terminal: TerminalView) -> None:
    with pytest.raises(AlreadyExists):
        await session.terminals.create(uri=terminal.uri)


async def test_a_terminal_changes_hands(world: World, terminal: TerminalView) -> None:
    await terminal.claim()
    assert terminal.state["claim"] == {"kind": "client", "clientId": "me"}
    other = await world.join("other")
    async with await other.terminals.open(terminal.uri) as theirs:
        with pytest.raises(Rejected):
            await theirs.claim()
        await theirs.rename("ours")
        assert await terminal.channel.until(lambda state: state["title"] == "ours")
    with pytest.raises(LookupError):
        terminal.detach()


async def test_two_clients_see_the_same(world: World, terminal: TerminalView) -> None:
    old = await world.join("old", "0.5.0")
    async with await old.terminals.open(terminal.uri) as theirs:
        first, second = Listener(terminal), Listener(theirs)
        await theirs.type("echo $((20 + 22)); exit\r")
        assert await first.end() == await second.end()
        assert "42\r\n" in first.text
        assert await terminal.wait() == 0
        assert await theirs.wait() == 0


async def test_a_terminal_that_somebody_disposes_of_is_gone_for_all(
    world: World, terminal: TerminalView
) -> None:
    other = await world.join("other")
    theirs = await other.terminals.open(terminal.uri)
    waiting = asyncio.create_task(theirs.channel.until(lambda _: False))
    await terminal.dispose()
    async with asyncio.timeout(PATIENCE):
        with pytest.raises(ChannelGone):
            await waiting
    assert await other.terminals.list() == []
    with pytest.raises(NotFound):
        await other.terminals.open(terminal.uri)
    with pytest.raises(NotFound):
        await theirs.dispose()


async def test_output_goes_on_after_a_drop(world: World, terminal: TerminalView) -> None:
    """What is printed while the connection is down is told once it is back, and all of it once."""
    listener = Listener(terminal)
    other = await world.join("other")
    async with await other.terminals.open(terminal.uri) as theirs:
        seen = Listener(theirs)
        for number in range(5):
            word = f"w{number}x"
            world.wire("me").cut(0, number)
            await theirs.type(f"echo w''{number}x\r")
            await seen.hears(f"{word}\r\n")
            await listener.hears(f"{word}\r\n")
        await theirs.type("exit\r")
        assert await listener.end() == await seen.end()


async def test_drops_in_the_middle_of_output_lose_nothing_and_double_nothing(
    world: World, terminal: TerminalView
) -> None:
    listener = Listener(terminal)
    await terminal.type("for n in $(seq 1 2000); do echo line $n of it; done; exit\r")
    for number in range(50, 2000, 150):
        await listener.hears(f"line {number} of it\r\n")
        # Whatever is under way is lost, but for a few messages.
        world.wire("me").cut(0, number % 4)
    text = await listener.end()
    lines = [line for line in text.splitlines() if line.startswith("line ")]
    assert lines == [f"line {number} of it" for number in range(1, 2001)]


async def test_a_host_without_terminals_says_so() -> None:
    host = ScriptedHost()
    client = host.client()
    side = await host.welcome(client)
    try:
        assert await client.terminals.list() == []
        making = asyncio.create_task(client.terminals.create())
        side.refuse(await side.next("createTerminal"), -32601)
        with pytest.raises(Unsupported, match="this host has no terminals"):
            await making
    finally:
        await client.aclose()
