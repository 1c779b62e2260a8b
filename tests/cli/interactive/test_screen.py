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

from agenthost.cli.interactive.completion_menu import MenuItem
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

    def on_complete(self) -> None:
        self.told.put_nowait("complete")

    def on_narrow(self) -> None:
        self.told.put_nowait("narrow")

    def on_taken(self, item: MenuItem) -> None:
        self.told.put_nowait(f"taken {item.label}")

    def on_view(self) -> None:
        self.told.put_nowait("view")

    def on_edit_text(self) -> None:
        self.told.put_nowait("edit text")

    def keep(self, text: str) -> None:
        self.told.put_nowait(f"keep {text!r}")

    async def next(self) -> str:
        async with asyncio.timeout(60):
            return await self.told.get()


@asynccontextmanager
async def running(
    *, keeps: bool = False
) -> AsyncIterator[tuple[Screen, FakeTerminal, Listener, PipeInput]]:
    terminal, listener = FakeTerminal(), Listener()
    output = BufferedTerminalOutput(terminal, lambda: Size(rows=24, columns=80), term="xterm")
    with create_pipe_input() as keys:
        screen = Screen(
            listener,
            output=output,
            input=keys,
            history=["deploy it", "earlier"],
            keep=listener.keep,
        )
        screen.keeps_history = keeps
        task = asyncio.create_task(screen.run())
        try:
            async with asyncio.timeout(60):
                await terminal.written.wait()
            yield screen, terminal, listener, keys
        finally:
            screen.leave()
            await task


async def until_written(terminal: FakeTerminal, text: str) -> list[str]:
    """Wait until a text was written; return all writes since the last time."""
    async with asyncio.timeout(60):
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
        keys.send_text("/he\t")
        assert await listener.next() == "complete"
        keys.send_text("\x15\x03")
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
        async with asyncio.timeout(60):
            await screen.run()


async def test_a_line_is_kept_unless_it_begins_with_a_space_or_is_an_answer() -> None:
    async with running(keeps=True) as (screen, _, listener, keys):
        keys.send_text("said\r")
        assert await listener.next() == "keep 'said'"
        assert await listener.next() == "submit 'said'"
        keys.send_text(" secret\r")
        assert await listener.next() == "submit ' secret'"
        screen.keeps_history = False
        keys.send_text("an answer\r")
        assert await listener.next() == "submit 'an answer'"


async def test_ctrl_r_searches_backwards_and_enter_first_takes_what_was_found() -> None:
    async with running(keeps=True) as (screen, terminal, listener, keys):
        keys.send_text("\x12DEPL")
        await until_written(terminal, "search: ")
        assert screen.is_searching
        keys.send_text("\r")
        keys.send_text("\x05 now\r")
        assert await listener.next() == "keep 'deploy it now'"
        assert await listener.next() == "submit 'deploy it now'"
        keys.send_text("\x12earl\x03mine\r")
        assert await listener.next() == "keep 'mine'"


async def test_an_answer_is_not_looked_for_among_messages() -> None:
    async with running() as (screen, _, listener, keys):
        keys.send_text("\x12earl\r")
        assert await listener.next() == "submit 'earl'"
        assert not screen.is_searching


async def test_ctrl_x_ctrl_e_asks_for_the_editor_and_ctrl_e_alone_does_not() -> None:
    async with running() as (_, _, listener, keys):
        keys.send_text("a\x01\x05b\x18")
        keys.send_text("\x05")
        assert await listener.next() == "edit text"
        keys.send_text("\x01\x05c\r")
        assert await listener.next() == "submit 'abc'"


async def test_v_views_only_where_something_is_asked_and_nothing_is_typed() -> None:
    async with running() as (screen, _, listener, keys):
        keys.send_text("v\r")
        assert await listener.next() == "submit 'v'"
        screen.can_view = True
        keys.send_text("v")
        assert await listener.next() == "view"
        keys.send_text("never\r")
        assert await listener.next() == "submit 'never'"


MENU = [MenuItem(f"/{name} ", f"/{name}", "told") for name in ("mode", "model", "more")]


async def test_the_menu_is_moved_in_and_taken_from_and_the_rest_of_the_line_stays() -> None:
    async with running() as (screen, terminal, listener, keys):
        keys.send_text("/mo gpt\x1bb\x1b[D")
        keys.send_text("\t")
        assert await listener.next() == "complete"
        screen.open_menu(MENU)
        await until_written(terminal, "/model")
        keys.send_text("\t\x1b[B\x1b[A\r")
        assert await listener.next() == "taken /model"
        assert screen.text == "/model  gpt"
        keys.send_text("\r")
        assert await listener.next() == "submit '/model  gpt'"


async def test_typing_on_narrows_the_menu_and_escape_closes_it() -> None:
    async with running() as (screen, _, listener, keys):
        keys.send_text("/mo\t")
        assert await listener.next() == "complete"
        screen.open_menu(MENU)
        keys.send_text("r")
        assert await listener.next() == "narrow"
        assert screen.menu is not None
        assert [item.label for item in screen.menu.items] == ["/more"]
        keys.send_text("\x1b")
        keys.send_text("\x1b\r")
        keys.send_text("\x7f\r")
        assert await listener.next() == "submit '/mor'"


async def test_many_lines_are_printed_with_several_drawings_and_none_is_lost() -> None:
    async with running() as (screen, terminal, _, _):
        screen.show(Frame([line(f"printed {number:04}") for number in range(1_000)]))
        writes = await until_written(terminal, "printed 0999")
        assert max(piece.count("printed") for piece in writes) <= 200
        assert "".join(writes).count("printed") == 1_000
