"""The session picker on the screen: a search line, the list and the keys, on the alternate screen.

Owns prompt_toolkit and nothing else; it knows no hosts. What it draws is ``layout``'s.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Protocol

from prompt_toolkit.application import Application
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.document import Document
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.input import Input
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.keys import Keys
from prompt_toolkit.layout import BufferControl, FormattedTextControl, HSplit, Layout, Window
from prompt_toolkit.layout.processors import BeforeInput
from prompt_toolkit.output import ColorDepth, Output
from prompt_toolkit.styles import Style, merge_styles

from agenthost.cli.format.terminal_text import one_line
from agenthost.cli.interactive.display.styled_text import EMPTY, StyledLine, clip_line, line
from agenthost.cli.interactive.picker import texts
from agenthost.cli.interactive.picker.layout import head_line, keys_line, list_lines
from agenthost.cli.interactive.picker.model import PickerModel
from agenthost.cli.interactive.screen import STYLE, terminal_output

MOST_QUERY = 200
"""Characters that are searched for; what is longer was pasted by mistake."""

FRAME = 0.05
"""Seconds between two drawings; several changes within make one."""

# Seconds after which ages are told anew though nothing has changed.
_REFRESH = 20.0

# Rows that are not the list's: what is above it, the search, a message, the keys.
_OTHER_ROWS = 4

_STYLE = merge_styles([STYLE, Style.from_dict({"selected": "reverse"})])


class PickerListener(Protocol):
    """Is told what the user does."""

    def on_open(self) -> None:
        """Handle Enter: open what is selected."""

    def on_new(self) -> None:
        """Handle Ctrl-N: start a session."""

    def on_trash(self) -> None:
        """Handle Ctrl-X: move what is selected to the trash."""

    def on_take_back(self) -> None:
        """Handle Ctrl-Z: take back what was moved to the trash last."""

    def on_leave(self) -> None:
        """Handle Escape, Ctrl-C and Ctrl-D."""

    def on_change(self) -> None:
        """Handle another search or selection."""


class PickerView:
    """Draws a model and reports keys, until ``leave``."""

    def __init__(
        self,
        model: PickerModel,
        listener: PickerListener,
        *,
        new: str,
        is_viewer: bool = False,
        colour: bool = True,
        output: Output | None = None,
        input: Input | None = None,
    ) -> None:
        self._model = model
        self._listener = listener
        self._new = new
        self._is_viewer = is_viewer
        self._leaving = False
        # What is said below the list.
        self.message: StyledLine = EMPTY
        # The selection as it was last seen.
        self.seen: str | None = model.selected
        self._buffer = Buffer(
            multiline=False,
            document=Document(one_line(model.query)[:MOST_QUERY]),
            on_text_changed=lambda _: self._on_typed(),
        )
        self._output = output or terminal_output()
        self._app: Application[None] = Application(
            layout=Layout(self._container()),
            key_bindings=self._keys(),
            style=_STYLE,
            include_default_pygments_style=False,
            color_depth=None if colour else ColorDepth.DEPTH_1_BIT,
            full_screen=True,
            output=self._output,
            input=input,
            min_redraw_interval=FRAME,
            refresh_interval=_REFRESH,
        )
        # Escape is a key of its own here; terminals send the rest of a sequence at once.
        self._app.ttimeoutlen = 0.05
        self._app.timeoutlen = 0.1

    async def run(self) -> None:
        """Draw and report until ``leave``."""
        if not self._leaving:
            await self._app.run_async(handle_sigint=False)

    def leave(self) -> None:
        """End, or do not begin; idempotent."""
        self._leaving = True
        if self._app.is_running and not self._app.is_done:
            self._app.exit()

    def redraw(self) -> None:
        """Draw the model as it is now, soon."""
        self._app.invalidate()

    def _on_typed(self) -> None:
        self._model.search(one_line(self._buffer.text[:MOST_QUERY]))
        self._listener.on_change()

    def _container(self) -> HSplit:
        def row(make: Callable[[int], StyledLine]) -> Window:
            return Window(FormattedTextControl(lambda: _styled(make(self._width))), height=1)

        label = BeforeInput([("class:user", texts.PROMPT)])
        typed = Window(
            BufferControl(self._buffer, input_processors=[label], focus_on_click=False), height=1
        )
        return HSplit(
            [
                row(lambda width: head_line(self._model, width)),
                typed,
                Window(FormattedTextControl(self._list_text, focusable=False)),
                row(lambda width: clip_line(self.message, width)),
                row(lambda width: keys_line(width, is_viewer=self._is_viewer)),
            ]
        )

    @property
    def _width(self) -> int:
        # Without the last column, where some terminals break the line.
        return max(self._output.get_size().columns - 1, 1)

    @property
    def _height(self) -> int:
        return max(self._output.get_size().rows - _OTHER_ROWS, 1)

    def _list_text(self) -> StyleAndTextTuples:
        now = datetime.now(UTC).astimezone()
        lines = list_lines(self._model, self._new, self._width, self._height, now)
        self.seen = self._model.selected
        fragments: StyleAndTextTuples = []
        for item in lines:
            fragments += [*_styled(item), ("", "\n")]
        return fragments[:-1]

    def _keys(self) -> KeyBindings:
        keys = KeyBindings()
        listener, model = self._listener, self._model

        def moving(by: Callable[[], int]) -> Callable[[KeyPressEvent], None]:
            def move(_: KeyPressEvent) -> None:
                model.move(by())
                listener.on_change()

            return move

        def telling(tell: Callable[[], None]) -> Callable[[KeyPressEvent], None]:
            return lambda _: tell()

        keys.add("up")(moving(lambda: -1))
        keys.add("c-p")(moving(lambda: -1))
        keys.add("down")(moving(lambda: 1))
        keys.add("tab")(moving(lambda: 1))
        keys.add("s-tab")(moving(lambda: -1))
        keys.add("pageup")(moving(lambda: -self._height))
        keys.add("pagedown")(moving(lambda: self._height))
        # What was typed before this began arrives with line feeds.
        for enter in ("enter", "c-j"):
            keys.add(enter, eager=True)(telling(listener.on_open))
        keys.add("c-n", eager=True)(telling(listener.on_new))
        keys.add("c-x", eager=True)(telling(listener.on_trash))
        keys.add("c-z", eager=True)(telling(listener.on_take_back))
        for end in ("escape", "c-c", "c-d", "<sigint>"):
            keys.add(end, eager=True)(telling(listener.on_leave))

        @keys.add(Keys.BracketedPaste)
        def _(event: KeyPressEvent) -> None:
            room = MOST_QUERY - len(self._buffer.text)
            self._buffer.insert_text(one_line(event.data[: MOST_QUERY * 4])[: max(room, 0)])

        return keys


def told(style: str, text: str) -> StyledLine:
    """Return a message for below the list."""
    return line((style, one_line(text)))


def _styled(item: StyledLine) -> StyleAndTextTuples:
    return [(" ".join(f"class:{word}" for word in style.split()), text) for style, text in item]
