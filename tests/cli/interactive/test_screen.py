"""The screen: what reaches the terminal, and what reaches the listener."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from io import StringIO

import pytest
from prompt_toolkit.application import Application
from prompt_toolkit.data_structures import Size
from prompt_toolkit.input import PipeInput, create_pipe_input

from agenthost.cli.interactive.display.styled_text import line
from agenthost.cli.interactive.screen import BufferedTerminalOutput, Frame, Screen


class FakeTerminal(StringIO):
    """A terminal's end of the wire; remembers each write."""

    def __init__(self) -> None:
        super().__init__()
        self.writes: list[str] = []
        self.written = asyncio.Event()

    def write(self, text: str) -> int:
        self.writes.append(text)
        self.written.set()
        return len(text)

    def fileno(self) -> int:
        raise OSError


class Listener:
    """Notes what it is told."""

    def __init__(self) -> None:
        self.told: asyncio.Queue[str] = asyncio.Queue()

    def on_submit(self, text: str) -> None:
        self.told.put_nowait(f"submit {text!r}")

    def on_edit(self) -> None:
        pass

    def on_interrupt(self) -> None:
        self.told.put_nowait("interrupt")

    def on_escape(self) -> None:
        self.told.put_nowait("escape")

    def on_end(self) -> None:
        self.told.put_nowait("end")

    async def next(self) -> str:
        async with asyncio.timeout(5):
            return await self.told.get()


@asynccontextmanager
async def running() -> AsyncIterator[tuple[Screen, FakeTerminal, Listener, PipeInput]]:
    terminal, listener = FakeTerminal(), Listener()
    output = BufferedTerminalOutput(terminal, lambda: Size(rows=24, columns=80), term="xterm")
    with create_pipe_input() as keys:
        screen = Screen(listener, output=output, input=keys, history=["earlier"])
        task = asyncio.create_task(screen.run())
        try:
            async with asyncio.timeout(5):
                await terminal.written.wait()
            yield screen, terminal, listener, keys
        finally:
            screen.leave()
            await task


async def until_written(terminal: FakeTerminal, text: str) -> list[str]:
    """Wait until a text was written; return all writes since the last time."""
    async with asyncio.timeout(5):
        while True:
            if any(text in piece for piece in terminal.writes):
                writes, terminal.writes = terminal.writes, []
                return writes
            terminal.written.clear()
            await terminal.written.wait()


async def test_what_is_printed_and_what_is_live_reach_the_terminal_in_one_write() -> None:
    async with running() as (screen, terminal, _, _):
        screen.show(Frame(live=[line("live one"), line("live two")], bar=line("the bar")))
        await until_written(terminal, "the bar")
        screen.show(Frame([line(("bold", "printed"))], [line("live three")], bar=line("the bar")))
        writes = await until_written(terminal, "printed")
        assert len(writes) == 1
        assert writes[0].index("printed") < writes[0].index("live three")


async def test_only_the_end_of_a_live_part_that_is_too_long_is_shown() -> None:
    async with running() as (screen, terminal, _, _):
        screen.show(Frame(live=[line(f"row {number:03}") for number in range(100)]))
        written = "".join(await until_written(terminal, "row 099"))
        assert "row 050" not in written


async def test_keys_become_what_they_mean() -> None:
    async with running() as (screen, _, listener, keys):
        keys.send_text("hello\r")
        assert await listener.next() == "submit 'hello'"
        # What was typed before the screen was there ends in line feeds.
        keys.send_text("early\n")
        assert await listener.next() == "submit 'early'"
        keys.send_text("two\x1b\rlines\r")
        assert await listener.next() == "submit 'two\\nlines'"
        keys.send_text("\x03")
        assert await listener.next() == "interrupt"
        keys.send_text("\x1b")
        assert await listener.next() == "escape"
        keys.send_text("\x04")
        assert await listener.next() == "end"
        assert screen.text == ""


async def test_ctrl_d_within_a_line_does_not_end_anything() -> None:
    async with running() as (_, _, listener, keys):
        keys.send_text("ab\x01\x04\r")
        assert await listener.next() == "submit 'b'"


async def test_ctrl_z_hands_the_terminal_back_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    async with running() as (_, _, listener, keys):
        suspend = "suspend_to_background"
        monkeypatch.setattr(Application, suspend, lambda _: listener.told.put_nowait("suspend"))
        keys.send_text("ab\x1ac\r")
        assert await listener.next() == "suspend"
        assert await listener.next() == "submit 'abc'"


async def test_pasted_lines_are_one_message() -> None:
    async with running() as (_, _, listener, keys):
        keys.send_text("\x1b[200~one\ntwo\x1b[201~\r")
        assert await listener.next() == "submit 'one\\ntwo'"


async def test_what_was_said_before_can_be_called_up() -> None:
    async with running() as (_, _, listener, keys):
        keys.send_text("\x1b[A\r")
        assert await listener.next() == "submit 'earlier'"


async def test_the_line_can_be_filled_in() -> None:
    async with running() as (screen, _, listener, keys):
        screen.text = "prefilled"
        keys.send_text(" and more\r")
        assert await listener.next() == "submit 'prefilled and more'"


async def test_a_screen_that_was_left_before_it_began_does_not_begin() -> None:
    output = BufferedTerminalOutput(FakeTerminal(), lambda: Size(rows=24, columns=80), term="xterm")
    with create_pipe_input() as keys:
        screen = Screen(Listener(), output=output, input=keys)
        screen.leave()
        async with asyncio.timeout(5):
            await screen.run()
