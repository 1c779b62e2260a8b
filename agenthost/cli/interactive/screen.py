"""The terminal screen: scrolled output, live lines, input line.

Owns prompt_toolkit and nothing else; it knows neither chats nor hosts. Each ``Frame`` is drawn in
one write, so that nothing flickers.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol, TextIO

from prompt_toolkit.application import Application
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.data_structures import Size
from prompt_toolkit.filters import Condition
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.history import InMemoryHistory
from prompt_toolkit.input import Input
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.layout import BufferControl, FormattedTextControl, HSplit, Layout, Window
from prompt_toolkit.layout.dimension import Dimension
from prompt_toolkit.layout.processors import BeforeInput
from prompt_toolkit.output import ColorDepth
from prompt_toolkit.output.vt100 import Vt100_Output
from prompt_toolkit.renderer import print_formatted_text
from prompt_toolkit.styles import Style

from agenthost.cli.interactive.display.styled_text import EMPTY, StyledLine

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
    }
)

MOST_INPUT_ROWS = 8
LEAST_ROWS = 4


@dataclass(frozen=True, slots=True)
class Frame:
    """One drawing of the screen: lines to print, live lines, input label, status bar."""

    printed: Sequence[StyledLine] = ()
    live: Sequence[StyledLine] = ()
    # In front of what is typed.
    label: StyledLine = (("user", "› "),)
    # The last row.
    bar: StyledLine = field(default=())


class Listener(Protocol):
    """Receives what the user types and presses."""

    def on_submit(self, text: str) -> None:
        """Handle a line that was entered."""

    def on_edit(self) -> None:
        """Handle a change of what is typed."""

    def on_interrupt(self) -> None:
        """Handle Ctrl-C."""

    def on_escape(self) -> None:
        """Handle the Escape key."""

    def on_end(self) -> None:
        """Handle Ctrl-D on an empty line."""


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
    ) -> None:
        self._listener = listener
        self._output = output or terminal_output()
        # Without colours bold and dim are still there.
        self._depth = None if colour else ColorDepth.DEPTH_1_BIT
        self._frame = Frame()
        # Lines that wait to be printed, and whether the live part has to be drawn from scratch.
        self._printing: list[StyledLine] = []
        self._anew = False
        self._leaving = False
        # Whether what is entered can be called up again: messages can, answers cannot.
        self.keeps_history = True
        self._buffer = Buffer(
            multiline=True,
            history=InMemoryHistory(list(history)),
            on_text_changed=lambda _: listener.on_edit(),
        )
        self._app: Application[None] = Application(
            layout=Layout(self._container()),
            key_bindings=self._keys(),
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

    def leave(self) -> None:
        """End, or do not begin; idempotent."""
        self._leaving = True
        if self._app.is_running and not self._app.is_done:
            self._app.exit()

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
            self._buffer.text = text
            self._buffer.cursor_position = len(text)

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

    def _before_render(self) -> None:
        if not self._printing and not self._anew:
            return
        self._output.held = True
        self._app.renderer.erase()
        if self._printing:
            self.print(self._printing)
        self._printing, self._anew = [], False

    def _after_render(self) -> None:
        self._output.held = False
        self._output.flush()

    def _container(self) -> HSplit:
        live = Window(
            FormattedTextControl(self._live_text, focusable=False),
            height=lambda: Dimension.exact(len(self._shown())),
            dont_extend_height=True,
        )
        label = BeforeInput(lambda: _styled(self._frame.label))
        typed = Window(
            BufferControl(self._buffer, input_processors=[label], focus_on_click=False),
            height=Dimension(min=1, max=MOST_INPUT_ROWS),
            wrap_lines=True,
            dont_extend_height=True,
        )
        bar = Window(
            FormattedTextControl(lambda: _styled(self._frame.bar)),
            height=1,
            style="class:bar",
        )
        return HSplit([live, typed, bar, Window()])

    def _shown(self) -> Sequence[StyledLine]:
        """Return the end of the live lines that fits on the screen."""
        columns, rows = self.size
        typed = sum(1 + len(row) // max(columns - 4, 1) for row in self._buffer.text.split("\n"))
        room = max(rows - min(typed, MOST_INPUT_ROWS) - 2, LEAST_ROWS)
        return self._frame.live[-room:]

    def _live_text(self) -> StyleAndTextTuples:
        fragments = _fragments(self._shown())
        # The last line's end would be one more, empty line.
        return fragments[:-1]

    def _keys(self) -> KeyBindings:
        keys = KeyBindings()
        listener, buffer = self._listener, self._buffer

        # What was typed before this began arrives with line feeds.
        @keys.add("enter")
        @keys.add("c-j")
        def _(event: KeyPressEvent) -> None:
            text = buffer.text
            if text.strip() and self.keeps_history:
                buffer.append_to_history()
            buffer.reset()
            listener.on_submit(text)

        @keys.add("escape", "enter")
        def _(event: KeyPressEvent) -> None:
            buffer.insert_text("\n")

        @keys.add("c-c")
        @keys.add("<sigint>")
        def _(event: KeyPressEvent) -> None:
            listener.on_interrupt()

        @keys.add("escape", eager=False)
        def _(event: KeyPressEvent) -> None:
            listener.on_escape()

        @keys.add("c-d", filter=Condition(lambda: not buffer.text))
        def _(event: KeyPressEvent) -> None:
            listener.on_end()

        @keys.add("c-z")
        def _(event: KeyPressEvent) -> None:
            event.app.suspend_to_background()

        @keys.add("c-l")
        def _(event: KeyPressEvent) -> None:
            event.app.renderer.clear()
            # Some terminals keep what is erased from the very top down, so begin below it.
            self._printing.append(EMPTY)

        return keys


def _styled(line: StyledLine) -> StyleAndTextTuples:
    return [(" ".join(f"class:{word}" for word in style.split()), text) for style, text in line]


def _fragments(lines: Sequence[StyledLine]) -> StyleAndTextTuples:
    fragments: StyleAndTextTuples = []
    for item in lines:
        fragments += _styled(item)
        fragments.append(("", "\n"))
    return fragments
