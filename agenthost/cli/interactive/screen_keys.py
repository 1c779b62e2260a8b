"""What the keys do on the screen of a conversation.

While the history is searched, keys belong to that search and mean what they do in shells.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Protocol

from prompt_toolkit.buffer import Buffer
from prompt_toolkit.filters import Condition, Filter
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent

if TYPE_CHECKING:
    from agenthost.cli.interactive.completion_menu import MenuItem
    from agenthost.cli.interactive.screen import Screen

PREFIX = 1.5
"""Seconds in which Ctrl-E after Ctrl-X is the second half of a key."""


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

    def on_complete(self) -> None:
        """Handle the Tab key: complete what is typed."""

    def on_narrow(self) -> None:
        """Handle typing on while the menu is open: look again for what could be inserted."""

    def on_taken(self, item: MenuItem) -> None:
        """Handle an item of the menu that was inserted."""

    def on_view(self) -> None:
        """Handle the ``v`` key on an empty line, where ``can_view`` allows it."""

    def on_edit_text(self) -> None:
        """Handle Ctrl-X Ctrl-E: edit what is typed in an editor."""


def screen_keys(screen: Screen, listener: Listener, buffer: Buffer) -> KeyBindings:
    """Return what the keys of a screen do."""
    keys = KeyBindings()
    typing = Condition(lambda: not screen.is_searching)
    choosing = typing & Condition(lambda: screen.menu is not None)
    empty = typing & Condition(lambda: not buffer.text)
    _add_line_keys(keys, screen, listener, buffer, typing)
    _add_menu_keys(keys, screen, listener, choosing)
    _add_editor_keys(keys, listener, typing)

    @keys.add("v", filter=empty & Condition(lambda: screen.can_view))
    def _(event: KeyPressEvent) -> None:
        listener.on_view()

    @keys.add("c-d", filter=empty)
    def _(event: KeyPressEvent) -> None:
        listener.on_end()

    # An answer is not looked for among messages.
    @keys.add("c-r", filter=typing & Condition(lambda: not screen.keeps_history))
    @keys.add("c-s", filter=typing & Condition(lambda: not screen.keeps_history))
    def _(event: KeyPressEvent) -> None:
        pass

    @keys.add("c-z")
    def _(event: KeyPressEvent) -> None:
        event.app.suspend_to_background()

    @keys.add("c-l")
    def _(event: KeyPressEvent) -> None:
        event.app.renderer.clear()
        screen.print_from_scratch()

    return keys


def _add_line_keys(
    keys: KeyBindings, screen: Screen, listener: Listener, buffer: Buffer, typing: Filter
) -> None:
    # What was typed before this began arrives with line feeds.
    @keys.add("enter", filter=typing)
    @keys.add("c-j", filter=typing)
    def _(event: KeyPressEvent) -> None:
        screen.submit()

    @keys.add("escape", "enter", filter=typing)
    def _(event: KeyPressEvent) -> None:
        buffer.insert_text("\n")

    @keys.add("tab", filter=typing)
    def _(event: KeyPressEvent) -> None:
        listener.on_complete()

    @keys.add("c-c", filter=typing)
    @keys.add("<sigint>")
    def _(event: KeyPressEvent) -> None:
        listener.on_interrupt()

    @keys.add("escape", eager=False, filter=typing)
    def _(event: KeyPressEvent) -> None:
        listener.on_escape()


def _add_menu_keys(keys: KeyBindings, screen: Screen, listener: Listener, choosing: Filter) -> None:
    @keys.add("tab", filter=choosing)
    @keys.add("down", filter=choosing)
    @keys.add("c-n", filter=choosing)
    def _(event: KeyPressEvent) -> None:
        screen.move_in_menu(1)

    @keys.add("s-tab", filter=choosing)
    @keys.add("up", filter=choosing)
    @keys.add("c-p", filter=choosing)
    def _(event: KeyPressEvent) -> None:
        screen.move_in_menu(-1)

    @keys.add("enter", filter=choosing)
    @keys.add("c-j", filter=choosing)
    def _(event: KeyPressEvent) -> None:
        chosen = screen.close_menu()
        if chosen is not None:
            screen.before_cursor = chosen.text
            listener.on_taken(chosen)

    @keys.add("escape", filter=choosing)
    @keys.add("c-c", filter=choosing)
    @keys.add("c-g", filter=choosing)
    def _(event: KeyPressEvent) -> None:
        screen.close_menu()


def _add_editor_keys(keys: KeyBindings, listener: Listener, typing: Filter) -> None:
    # As two keys, not as a sequence: of sequences the rest is waited for very shortly, for the
    # sake of Escape.
    pressed = [float("-inf")]

    @keys.add("c-x", eager=True, filter=typing)
    def _(event: KeyPressEvent) -> None:
        pressed[0] = time.monotonic()

    @keys.add("c-e", filter=typing & Condition(lambda: time.monotonic() - pressed[0] < PREFIX))
    def _(event: KeyPressEvent) -> None:
        pressed[0] = float("-inf")
        listener.on_edit_text()
