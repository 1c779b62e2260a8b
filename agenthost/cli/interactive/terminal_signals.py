"""Signals to whatever has the terminal, which ends so that the terminal is left as it was."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Callable, Iterator

Handlers = tuple[Callable[[], None], Callable[[], None]]

# Who has the terminal now is the last; those before have it again after that.
_handlers: list[Handlers] = []


@contextlib.contextmanager
def terminal_signals(end: Callable[[], None], interrupt: Callable[[], None]) -> Iterator[None]:
    """Handle signals for the length of a block; one within another comes first.

    Args:
        end: is called when the process or its terminal is to end.
        interrupt: is called for a Ctrl-C that does not come as a key.
    """
    _handlers.append((end, interrupt))
    _install()
    try:
        yield
    finally:
        _handlers.pop()
        _install()


def _install() -> None:
    loop = asyncio.get_running_loop()
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    if not _handlers:
        for number in numbers:
            loop.remove_signal_handler(number)
        return
    end, interrupt = _handlers[-1]
    for number in numbers:
        loop.add_signal_handler(number, interrupt if number == signal.SIGINT else end)
