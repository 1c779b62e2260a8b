"""Lets commands clean up when a signal ends them."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType

_SIGNALS = (signal.SIGTERM, signal.SIGHUP)
# What shells add to the number of a signal.
_ENDED_BY = 128


@contextlib.contextmanager
def cleanup_on_signal() -> Iterator[None]:
    """Have signals that would end the process end the block instead, with all that it cleans up.

    For blocks that have scratch files with secrets in them. Ctrl-C does so anyway.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in _SIGNALS}
    # What ``nohup`` has a command ignore stays so.
    heeded = [number for number, handler in before.items() if handler is signal.SIG_DFL]

    def end(number: int, _: FrameType | None) -> None:
        for each in heeded:
            signal.signal(each, signal.SIG_IGN)
        raise SystemExit(_ENDED_BY + number)

    for number in heeded:
        signal.signal(number, end)
    try:
        yield
    finally:
        for number in heeded:
            signal.signal(number, signal.SIG_DFL)
