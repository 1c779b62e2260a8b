"""A terminal's output as one stream: each character once, across reconnects and slow readers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agenthost.client import ChannelGone, Client, TerminalView
from agenthost.client.state.scrollback import MOST_KEPT, cut, printed
from agenthost.client.terminal_output import ToldText, overlap
from agenthost.protocol import reduce
from tests.client.scripted import PATIENCE, ROOT, ScriptedHost, Side, snapshot

Json = dict[str, Any]

TERMINAL = "ahp-terminal:/t"
FEW = st.text("ab\n", max_size=12)


def shown(*texts: str, seq: int = 1, **changes: Any) -> Json:
    """Return a snapshot of a terminal that has printed these parts."""
    state = {
        "title": "bash",
        "content": [{"type": "unclassified", "value": text} for text in texts],
        "lifecycle": {"status": "running"},
        "claim": {"kind": "client", "clientId": "me"},
        **changes,
    }
    return {"resource": TERMINAL, "state": state, "fromSeq": seq}


def data(text: str) -> Json:
    return {"type": "terminal/data", "data": text}


class Reader:
    """Reads a terminal's output in the background."""

    def __init__(self, terminal: TerminalView) -> None:
        self.text = ""
        self._grown = asyncio.Event()
        self.task = asyncio.create_task(self._read(terminal))

    async def _read(self, terminal: TerminalView) -> None:
        async for text in terminal.output():
            assert text
            self.text += text
            self._grown.set()

    async def until(self, ending: str) -> None:
        async with asyncio.timeout(PATIENCE):
            while not self.text.endswith(ending):
                self._grown.clear()
                await self._grown.wait()

    async def end(self) -> str:
        async with asyncio.timeout(PATIENCE):
            await self.task
        return self.text


@asynccontextmanager
async def opened(first: Json) -> AsyncIterator[tuple[ScriptedHost, Client, Side, TerminalView]]:
    host = ScriptedHost()
    client = host.client()
    listed = {"resource": TERMINAL, "title": "bash", "claim": first["state"]["claim"]}
    terminals = [{**listed, "lifecycle": {"status": "running"}}]
    side = await host.welcome(client, snapshots=[snapshot(ROOT, 1, terminals=terminals)])
    try:
        opening = asyncio.create_task(client.terminals.open(TERMINAL))
        await side.subscribed(first)
        yield host, client, side, await opening
    finally:
        await client.aclose()


async def again(host: ScriptedHost, side: Side, seq: int, *snapshots: Json) -> Side:
    """Cut the connection, and let the client come back to these snapshots."""
    await side.close()
    side = await host.accept()
    request = await side.next("reconnect")
    states = [snapshot(ROOT, seq), *snapshots]
    side.answer(request, {"type": "snapshot", "snapshots": states})
    return side


async def test_what_was_printed_comes_first_and_then_what_is_printed() -> None:
    async with opened(shown("$ ", "ls\r\n")) as (_, _, side, terminal):
        reader = Reader(terminal)
        await reader.until("ls\r\n")
        side.action(TERMINAL, 2, data("a b\r\n"))
        command = {"commandId": "c", "commandLine": "x", "timestamp": 1}
        side.action(TERMINAL, 3, {"type": "terminal/commandExecuted", **command})
        side.action(TERMINAL, 4, data("out\r\n"))
        side.action(TERMINAL, 5, {"type": "terminal/exited", "exitCode": 3})
        side.action(TERMINAL, 6, data("never"))
        assert await reader.end() == "$ ls\r\na b\r\nout\r\n"
        assert await terminal.wait() == 3
        assert [part["output"] for part in terminal.commands()] == ["out\r\nnever"]


async def test_a_terminal_that_has_ended_tells_what_it_printed_and_ends() -> None:
    ended = {"status": "exited", "exitCode": 0}
    async with opened(shown("done\r\n", lifecycle=ended)) as (_, _, _, terminal):
        assert await Reader(terminal).end() == "done\r\n"
        assert terminal.exit_code == 0
        assert not terminal.running


@pytest.mark.parametrize(
    "kept",
    ["one\ntwo\nthree\n", "two\nthree\n", "three\n", "o\nthree\n"],
    ids=["all", "cut", "only what is new", "cut within"],
)
async def test_after_a_reconnect_only_what_is_new_is_told(kept: str) -> None:
    async with opened(shown("one\n")) as (host, _, side, terminal):
        reader = Reader(terminal)
        side.action(TERMINAL, 2, data("two\n"))
        await reader.until("two\n")
        side = await again(host, side, 9, shown(kept, seq=9))
        await reader.until("three\n")
        side.action(TERMINAL, 10, data("four\n"))
        side.action(TERMINAL, 11, {"type": "terminal/exited", "exitCode": 0})
        assert await reader.end() == "one\ntwo\nthree\nfour\n"


async def test_what_was_cleared_is_not_taken_for_what_comes_after_it() -> None:
    async with opened(shown("$ ")) as (host, _, side, terminal):
        reader = Reader(terminal)
        await reader.until("$ ")
        side.action(TERMINAL, 2, {"type": "terminal/cleared"})
        side.action(TERMINAL, 3, data("$ "))
        await reader.until("$ $ ")
        await again(host, side, 9, shown("$ ls\n", seq=9, lifecycle={"status": "exited"}))
        assert await reader.end() == "$ $ ls\n"


async def test_an_end_while_nobody_was_there_is_an_end() -> None:
    async with opened(shown("one\n")) as (host, _, side, terminal):
        reader = Reader(terminal)
        await reader.until("one\n")
        ended = {"status": "exited", "exitCode": 9}
        await again(host, side, 9, shown("one\ntwo\n", seq=9, lifecycle=ended))
        assert await reader.end() == "one\ntwo\n"
        assert await terminal.wait() == 9


async def test_a_terminal_that_is_gone_after_a_reconnect_is_an_error() -> None:
    async with opened(shown("one\n")) as (host, _, side, terminal):
        reader = Reader(terminal)
        await reader.until("one\n")
        await again(host, side, 9)
        with pytest.raises(ChannelGone):
            await reader.end()
        with pytest.raises(ChannelGone):
            await terminal.wait()


async def test_a_terminal_that_leaves_the_list_is_asked_for_and_gone_where_the_host_says_so() -> (
    None
):
    async with opened(shown("one\n")) as (_, _, side, terminal):
        reader = Reader(terminal)
        await reader.until("one\n")
        side.action(ROOT, 2, {"type": "root/terminalsChanged", "terminals": []})
        side.refuse(await side.next("subscribe"), -32008)
        with pytest.raises(ChannelGone, match="the terminal was removed"):
            await reader.end()


async def test_a_terminal_that_leaves_the_list_and_can_still_be_read_stays() -> None:
    async with opened(shown("one\n")) as (_, _, side, terminal):
        reader = Reader(terminal)
        await reader.until("one\n")
        side.action(ROOT, 2, {"type": "root/terminalsChanged", "terminals": []})
        ended = {"status": "exited", "exitCode": 0}
        await side.subscribed(shown("one\ntwo\n", seq=3, lifecycle=ended))
        assert await reader.end() == "one\ntwo\n"


async def test_a_slow_reader_gets_what_is_kept_and_the_memory_stays_flat() -> None:
    async with opened(shown("begin\n")) as (_, client, side, terminal):
        output = terminal.output()
        assert await anext(output) == "begin\n"
        line = "x" * 999 + "\n"
        for number in range(2, 2002):
            side.action(TERMINAL, number, data(line))
        side.action(TERMINAL, 2002, data("last\n"))
        asking = asyncio.create_task(client.request("ping"))
        side.answer(await side.next("ping"), None)
        await asking
        assert len(terminal.text) <= MOST_KEPT + 1000
        text = ""
        while not text.endswith("last\n"):
            text += await anext(output)
        # What waited, and then what was kept: whole lines, and not all of them.
        assert set(text.splitlines()) == {"x" * 999, "last"}
        assert MOST_KEPT / 2 < len(text) < 2_000_000
        side.action(TERMINAL, 2003, data("more\n"))
        assert await anext(output) == "more\n"


async def test_a_reader_that_keeps_pace_gets_all_of_a_flood() -> None:
    async with opened(shown("")) as (_, _, side, terminal):
        reader = Reader(terminal)
        pieces = [f"{number:05} {'x' * 994}" for number in range(3000)]
        for seq, piece in enumerate(pieces, 2):
            side.action(TERMINAL, seq, data(piece))
            if seq % 100 == 0:
                await reader.until(piece)
        side.action(TERMINAL, 9000, {"type": "terminal/exited"})
        assert await reader.end() == "".join(pieces)
        assert len(terminal.text) < MOST_KEPT + 2000


@given(FEW, FEW)
def test_the_overlap_is_the_longest(before: str, after: str) -> None:
    lengths = range(min(len(before), len(after)) + 1)
    longest = max(n for n in lengths if before[len(before) - n :] == after[:n])
    assert overlap(before, after) == longest


@given(st.lists(st.text("abcdefgh", min_size=1, max_size=6), max_size=30), st.data())
def test_what_is_told_is_what_was_printed(pieces: list[str], choices: st.DataObject) -> None:
    """Where nothing repeats, any cut that leaves some of what was told joins without a seam."""
    told = ToldText(remembered=20)
    all_text, read = "", ""
    for number, piece in enumerate(pieces):
        text = f"{number:03}{piece}"
        if choices.draw(st.booleans()):
            told.add(text)
            all_text, read = all_text + text, read + text
            continue
        all_text += text
        most = len(all_text) - len(read) + min(3, len(read))
        start = choices.draw(st.integers(0, len(all_text) - most))
        read += told.joined(all_text[start:])
        assert read == all_text


@given(
    st.lists(
        st.one_of(
            st.text("ab\n", max_size=30).map(data),
            st.sampled_from("xyz").map(
                lambda name: {
                    "type": "terminal/commandExecuted",
                    "commandId": name,
                    "commandLine": name,
                    "timestamp": 1,
                }
            ),
            st.sampled_from("xyz").map(
                lambda name: {"type": "terminal/commandFinished", "commandId": name}
            ),
        ),
        max_size=40,
    ),
    st.integers(0, 2000),
)
def test_a_cut_state_keeps_the_end_and_the_commands_that_run(
    actions: list[Json], left: int
) -> None:
    state: Json = shown()["state"]
    for action in actions:
        state = reduce("terminal", state, action, now="")
    shorter = cut(state, most=left, left=left)
    assert printed(state).endswith(printed(shorter)) or any(
        not part.get("isComplete", True) for part in state["content"]
    )
    assert len(printed(shorter)) <= left or shorter is state
    running = [part for part in state["content"] if part.get("isComplete") is False]
    kept = [part["commandId"] for part in shorter["content"] if part.get("isComplete") is False]
    assert kept == [part["commandId"] for part in running]
    # It still takes what follows in the same way.
    after = reduce("terminal", state, data("!"), now="")["content"][-1]
    assert reduce("terminal", shorter, data("!"), now="")["content"][-1]["type"] == after["type"]
