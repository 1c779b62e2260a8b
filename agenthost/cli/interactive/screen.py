"""The terminal screen: scrolled output, live lines, input line.

Owns prompt_toolkit and nothing else; it knows neither chats nor hosts. Each ``Frame`` is drawn in
one write, so that nothing flickers.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, TextIO

from prompt_toolkit.application import Application, in_terminal
from prompt_toolkit.application.current import set_app
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.data_structures import Size
from prompt_toolkit.document import Document
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.history import InMemoryHistory
from prompt_toolkit.input import Input
from prompt_toolkit.layout import BufferControl, FormattedTextControl, HSplit, Layout, Window
from prompt_toolkit.layout.dimension import Dimension
from prompt_toolkit.layout.processors import BeforeInput
from prompt_toolkit.output import ColorDepth
from prompt_toolkit.output.vt100 import Vt100_Output
from prompt_toolkit.renderer import print_formatted_text
from prompt_toolkit.styles import Style
from prompt_toolkit.widgets import SearchToolbar

from agenthost.cli.interactive.completion_menu import Menu, MenuItem
from agenthost.cli.interactive.display.styled_text import EMPTY, StyledLine
from agenthost.cli.interactive.screen_keys import Listener, screen_keys

STYLE = Style.from_dict(
    {
        "dim": "dim",
        "bold": "bold",
        "italic": "italic",
        "strike": "strike",
        "heading": "bold underline",
        "code": "ansicyan",
        "link": "underline",
        "quote": "italic",
        "user": "bold ansigreen",
        "other": "bold ansimagenta",
        "good": "ansigreen",
        "bad": "ansired",
        "ask": "bold ansiyellow",
        "busy": "ansiyellow",
        "key": "bold ansiyellow",
        "bar": "dim",
        "chosen": "reverse",
        "search-toolbar": "ansiyellow",
        # Within a changed line, the words that differ.
        "marked": "reverse",
        # Code, in the words of ``code_colours``: the sixteen colours that every theme has.
        "keyword": "ansimagenta",
        "string": "ansigreen",
        "comment": "dim italic",
        "number": "ansicyan",
        "name": "ansiblue",
        "type": "ansiyellow",
        "tag": "ansiblue",
    }
)

MOST_INPUT_ROWS = 8
LEAST_ROWS = 4

MOST_PRINTED = 200
"""Lines that are printed with one drawing; keys are heard between two."""


@dataclass(frozen=True, slots=True)
class Frame:
    """One drawing of the screen: lines to print, live lines, input label, status bar."""

    printed: Sequence[StyledLine] = ()
    live: Sequence[StyledLine] = ()
    # In front of what is typed.
    label: StyledLine = (("user", "› "),)
    # The last row.
    bar: StyledLine = field(default=())


class BufferedTerminalOutput(Vt100_Output):
    """Terminal output that is buffered until a frame is complete."""

    # Whether to keep it back.
    held = False

    @property
    def responds_to_cpr(self) -> bool:
        """Whether to ask for the cursor's position: no, frames are drawn where the cursor is."""
        return False

    def flush(self) -> None:
        """Write the buffer to the terminal, unless it is held back."""
        if not self.held:
            super().flush()


def terminal_output(stream: TextIO | None = None) -> BufferedTerminalOutput:
    """Return the terminal behind standard output."""
    stdout = stream or sys.stdout

    def size() -> Size:
        try:
            columns, rows = os.get_terminal_size(stdout.fileno())
        except OSError:
            columns, rows = 80, 24
        return Size(rows=rows or 24, columns=columns or 80)

    return BufferedTerminalOutput(stdout, size, term=os.environ.get("TERM"))


class Screen:
    """The screen of one conversation, with one input line."""

    def __init__(
        self,
        listener: Listener,
        *,
        output: BufferedTerminalOutput | None = None,
        input: Input | None = None,
        colour: bool = True,
        history: Sequence[str] = (),
        keep: Callable[[str], None] | None = None,
    ) -> None:
        """Make a screen; lines that can be called up again are told to ``keep``."""
        self._listener = listener
        self._keep = keep
        self._output = output or terminal_output()
        # Without colours bold and dim are still there.
        self._depth = None if colour else ColorDepth.DEPTH_1_BIT
        self._frame = Frame()
        # Lines that wait to be printed, and whether the live part has to be drawn from scratch.
        self._printing: list[StyledLine] = []
        self._anew = False
        self._leaving = False
        # Whether another program has the terminal, and with it Ctrl-C.
        self.is_suspended = False
        # Who gave it away: that ends with us.
        self._borrower: asyncio.Task[Any] | None = None
        # Whether what is entered can be called up again: messages can, answers cannot.
        self.keeps_history = True
        # Whether ``v`` on an empty line shows something.
        self.can_view = False
        # What could be inserted, while that is shown.
        self._menu: Menu | None = None
        # Whether the text is changed by ourselves, and not by typing.
        self._changing = False
        # How long the last drawing took, and when it began.
        self.drawing_took = 0.0
        self._drawing_since = 0.0
        self._search = SearchToolbar(ignore_case=True, backward_search_prompt="search: ")
        self._buffer = Buffer(
            multiline=True,
            history=InMemoryHistory(list(history)),
            on_text_changed=lambda _: self._on_text_changed(),
        )
        self._app: Application[None] = Application(
            layout=Layout(self._container()),
            key_bindings=screen_keys(self, listener, self._buffer),
            style=STYLE,
            include_default_pygments_style=False,
            color_depth=self._depth,
            output=self._output,
            input=input,
            erase_when_done=True,
        )
        # Escape is a key of its own here; terminals send the rest of a sequence at once.
        self._app.ttimeoutlen = 0.05
        self._app.timeoutlen = 0.1
        self._app.before_render += lambda _: self._before_render()
        self._app.after_render += lambda _: self._after_render()

    async def run(self) -> None:
        """Show frames and report input to the listener, until ``leave``."""
        if not self._leaving:
            await self._app.run_async(handle_sigint=False)
        if self._printing:
            self.print(self._printing)
            self._printing = []

    def leave(self) -> None:
        """End, or do not begin; idempotent."""
        self._leaving = True
        if self._borrower is not None:
            self._borrower.cancel()
        if self._app.is_running and not self._app.is_done:
            self._app.exit()

    @asynccontextmanager
    async def suspended(self) -> AsyncIterator[None]:
        """Leave the terminal to another program; frames wait meanwhile."""
        self.is_suspended, self._borrower = True, asyncio.current_task()
        try:
            with set_app(self._app):
                async with in_terminal():
                    yield
        finally:
            self.is_suspended, self._borrower = False, None

    @property
    def size(self) -> tuple[int, int]:
        """Columns and rows of the terminal."""
        size = self._output.get_size()
        return size.columns, size.rows

    @property
    def text(self) -> str:
        """The text of the input line."""
        return self._buffer.text

    @text.setter
    def text(self, text: str) -> None:
        if text != self._buffer.text:
            self._menu = None
            self._buffer.text = text
            self._buffer.cursor_position = len(text)

    @property
    def before_cursor(self) -> str:
        """The text of the input line up to the cursor."""
        return self._buffer.document.text_before_cursor

    @before_cursor.setter
    def before_cursor(self, text: str) -> None:
        after = self._buffer.document.text_after_cursor
        self._changing = True
        try:
            self._buffer.document = Document(text + after, len(text))
        finally:
            self._changing = False

    @property
    def is_searching(self) -> bool:
        """Whether the history is being searched, and keys belong to that."""
        return self._app.layout.is_searching

    @property
    def menu(self) -> Menu | None:
        """The menu below the line; None where it is closed, or not for what is typed now."""
        menu = self._menu
        return menu if menu is not None and menu.before == self.before_cursor else None

    def open_menu(self, items: Sequence[MenuItem]) -> None:
        """Show what could be inserted before the cursor; nothing closes the menu."""
        before, was = self.before_cursor, self._menu
        self._menu = Menu(tuple(items), before) if items else None
        if self._menu is not None and was is not None and was.chosen in self._menu.items:
            self._menu = self._menu.moved(self._menu.items.index(was.chosen))
        self._app.invalidate()

    def move_in_menu(self, by: int) -> None:
        """Choose another item of the menu."""
        if self._menu is not None:
            self._menu = self._menu.moved(by)

    def close_menu(self) -> MenuItem | None:
        """Close the menu; return what was chosen in it."""
        menu, self._menu = self.menu, None
        return None if menu is None else menu.chosen

    def submit(self) -> None:
        """Enter what is typed."""
        text = self._buffer.text
        # A line that begins with a space is nobody's business later.
        if text.strip() and self.keeps_history and text[0] != " ":
            self._buffer.append_to_history()
            if self._keep is not None:
                self._keep(text)
        self._menu = None
        self._buffer.reset()
        self._listener.on_submit(text)

    def print_from_scratch(self) -> None:
        """Begin below what the terminal keeps of a screen that was cleared."""
        # Some terminals keep what is erased from the very top down.
        self._printing.append(EMPTY)

    def show(self, frame: Frame) -> None:
        """Show a frame at the next redraw."""
        self._printing += frame.printed
        # A live part that shrinks would leave empty rows behind.
        self._anew = self._anew or len(frame.live) < len(self._frame.live)
        self._frame = frame
        self._app.invalidate()

    def print(self, lines: Sequence[StyledLine]) -> None:
        """Print lines while no frames are shown, before or after ``run``."""
        print_formatted_text(self._output, _fragments(lines), STYLE, color_depth=self._depth)

    def _on_text_changed(self) -> None:
        if self._menu is not None and not self._changing:
            self._menu = self._menu.narrowed(self.before_cursor)
            self._listener.on_narrow()
        self._listener.on_edit()

    def _before_render(self) -> None:
        self._drawing_since = time.monotonic()
        if not self._printing and not self._anew:
            return
        self._output.held = True
        self._app.renderer.erase()
        if self._printing:
            self.print(self._printing[:MOST_PRINTED])
        self._printing, self._anew = self._printing[MOST_PRINTED:], False

    def _after_render(self) -> None:
        self._output.held = False
        self._output.flush()
        self.drawing_took = time.monotonic() - self._drawing_since
        if self._printing:
            self._app.invalidate()

    def _container(self) -> HSplit:
        live = Window(
            FormattedTextControl(self._live_text, focusable=False),
            height=lambda: Dimension.exact(len(self._shown())),
            dont_extend_height=True,
        )
        label = BeforeInput(lambda: _styled(self._frame.label))
        typed = Window(
            BufferControl(
                self._buffer,
                input_processors=[label],
                focus_on_click=False,
                search_buffer_control=self._search.control,
                preview_search=True,
            ),
            height=Dimension(min=1, max=MOST_INPUT_ROWS),
            wrap_lines=True,
            dont_extend_height=True,
        )
        bar = Window(
            FormattedTextControl(lambda: _styled(self._frame.bar)),
            height=1,
            style="class:bar",
        )
        menu = Window(
            FormattedTextControl(lambda: _fragments(self._menu_rows())[:-1], focusable=False),
            height=lambda: Dimension.exact(len(self._menu_rows())),
            dont_extend_height=True,
        )
        return HSplit([live, typed, self._search, menu, bar, Window()])

    def _menu_rows(self) -> Sequence[StyledLine]:
        menu = self.menu
        return () if menu is None else menu.rows(self.size[0] - 1)

    def _shown(self) -> Sequence[StyledLine]:
        """Return the end of the live lines that fits on the screen."""
        columns, rows = self.size
        typed = sum(1 + len(row) // max(columns - 4, 1) for row in self._buffer.text.split("\n"))
        below = 2 + len(self._menu_rows()) + self.is_searching
        room = max(rows - min(typed, MOST_INPUT_ROWS) - below, LEAST_ROWS)
        return self._frame.live[-room:]

    def _live_text(self) -> StyleAndTextTuples:
        fragments = _fragments(self._shown())
        # The last line's end would be one more, empty line.
        return fragments[:-1]


def _styled(line: StyledLine) -> StyleAndTextTuples:
    return [(" ".join(f"class:{word}" for word in style.split()), text) for style, text in line]


def _fragments(lines: Sequence[StyledLine]) -> StyleAndTextTuples:
    fragments: StyleAndTextTuples = []
    for item in lines:
        fragments += _styled(item)
        fragments.append(("", "\n"))
    return fragments
