"""Joins the user's terminal to one of the host's: output, keys and size, until either ends.

Owns the joining of the two. The user's terminal is ``raw_tty``'s, how a host's is reached the
client's; what became of it is for the command to tell.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

from agenthost.cli.attach.raw_tty import RawTty
from agenthost.cli.attach.screen_modes import ScreenModes, after_last_clear
from agenthost.cli.attach.typed_keys import DETACH_KEY, QUESTION, ReplyFilter, until_detach
from agenthost.cli.format.terminal_text import one_line, safe_text
from agenthost.client import ChannelGone, Lagged, Rejected, Reset
from agenthost.errors import AgentHostError
from agenthost.tasks import Tasks

if TYPE_CHECKING:
    from agenthost.client import Channel, Dispatch
    from agenthost.protocol.terminal import TerminalState

Json = Mapping[str, Any]

ANSWERING = 1.0
"""Seconds in which a terminal must have answered; some never do."""

ASKING = 5.0
"""Seconds in which a host must have said whether the terminal takes a size from here."""

GREETING = 0.8
"""Seconds for which the greeting is there alone, where an editor is drawn over it."""

# Actions that may wait to be written; a slower terminal goes on with what the state still holds.
_MOST_WAITING = 512
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


class AttachableTerminal(Protocol):
    """What is needed of a host's terminal."""

    @property
    def channel(self) -> Channel[TerminalState]:
        """Its channel."""

    def type(self, text: str) -> Dispatch:
        """Type text into it."""

    def resize(self, cols: int, rows: int) -> Dispatch:
        """Give it a size."""


How: TypeAlias = Literal["detached", "exited", "gone", "stopped", "closed"]


@dataclass(frozen=True, slots=True)
class AttachmentEnd:
    """How an attachment ended: by the key, the program, the host, a signal, the user's terminal."""

    how: How
    # The program's exit code, if it is known, or the signal's number.
    code: int | None = None


class Attachment:
    """One attachment, from its first output to its end."""

    def __init__(
        self, terminal: AttachableTerminal, tty: RawTty, is_connected: Callable[[], bool]
    ) -> None:
        self._terminal = terminal
        self._tty = tty
        self._is_connected = is_connected
        self._modes = ScreenModes()
        tty.undo = lambda: self._modes.undo()
        self._replies = ReplyFilter()
        # Why nothing can be typed from here; empty where it can.
        self.read_only = ""
        # What was refused, to be told once.
        self._told_refusals: set[str] = set()
        self._end: asyncio.Future[AttachmentEnd] = asyncio.get_running_loop().create_future()
        self._tasks = Tasks(self._on_failure)
        self._is_fitting = False

    async def run(self) -> AttachmentEnd:
        """Join the two until one of them ends."""
        try:
            with self._listening():
                self._start(self._show(), "show")
                return await self._end
        finally:
            await self._tasks.close()

    def say(self, text: str) -> None:
        """Print a notice amidst what the program prints; on the last row of what an editor drew."""
        told = f"\r\n{_notice(text)}\r\n"
        if self._modes.is_alternate:
            told = f"\x1b7\x1b[{self._tty.size[1]};1H\x1b[2K{_notice(text)}\x1b8"
        self._start(self._tty.write(told), "say")

    # From the host.

    async def _show(self) -> None:
        await self._fit()
        channel = self._terminal.channel
        first = True
        while not self._end.done():
            # Both in one step: nothing is told between them.
            reader, state = channel.envelopes(_MOST_WAITING), channel.confirmed
            try:
                channel.check()
                await self._draw(state, first=first)
                first = False
                async for told in reader:
                    if isinstance(told, Reset):
                        await self._draw(told.state)
                    else:
                        await self._tell(told["action"])
            except Lagged:
                # The state is right, whatever was missed.
                continue
            except ChannelGone:
                self._finish("gone")

    async def _draw(self, state: TerminalState, *, first: bool = False) -> None:
        """Write all that the host keeps of the terminal's output."""
        self._replies.end()
        self._replies = ReplyFilter()
        text = content_text(state)
        before, self._modes = self._modes.undo(), ScreenModes()
        self._modes.see(text)
        if first:
            # What is on the screen scrolls away and stays; the program finds an empty one.
            before += "\r\n" * self._tty.size[1] + "\x1b[H" + self._greeting(state)
            text = after_last_clear(text)
            if self._modes.is_alternate:
                # It is drawn over; first it should be read.
                await self._tty.write(before)
                await asyncio.sleep(GREETING)
                before = ""
        else:
            before += "\x1b[H\x1b[2J"
        await self._tty.write(f"{before}{text}{QUESTION}")
        asyncio.get_running_loop().call_later(ANSWERING, self._unmute, self._replies)
        if not self._finish_if_exited(state) and self._modes.is_alternate and not self.read_only:
            # What an editor drew is only right once it draws anew, which another size makes it do.
            columns, rows = self._tty.size
            with contextlib.suppress(AgentHostError, TimeoutError):
                self._terminal.resize(columns, max(rows - 1, 2))
                self._terminal.resize(columns, rows)

    def _greeting(self, state: TerminalState) -> str:
        title = one_line(state["title"]) or "the terminal"
        told = f"attached to {title} · {DETACH_KEY} detaches"
        if self.read_only:
            told = f"watching {title}, nothing can be typed: {self.read_only} · {DETACH_KEY} leaves"
        # And a row for a prompt that takes two in a window of another width.
        return f"{_notice(told)}\r\n\r\n"

    async def _tell(self, action: Json) -> None:
        match action["type"]:
            case "terminal/data":
                text = str(action["data"])
                if self._terminal.channel.confirmed.get("isPty") is False:
                    text = _plain(text)
                self._modes.see(text)
                await self._tty.write(text)
            case "terminal/cleared":
                await self._tty.write("\x1b[H\x1b[2J")
            case "terminal/exited":
                self._finish("exited", action.get("exitCode"))

    def _finish_if_exited(self, state: TerminalState) -> bool:
        lifecycle = state["lifecycle"]
        if lifecycle["status"] == "exited":
            self._finish("exited", lifecycle.get("exitCode"))
        return lifecycle["status"] == "exited"

    # From the user.

    def _on_input(self) -> None:
        text = self._tty.read()
        if text is None:
            self._finish("closed")
            return
        typed, detached = until_detach(self._replies.take(text))
        self._type(typed)
        if detached:
            self._finish("detached")

    def _unmute(self, replies: ReplyFilter) -> None:
        if replies.mutes and replies is self._replies:
            self._type(replies.end())

    def _type(self, text: str) -> None:
        # What is typed to nobody must not be run by whoever comes.
        if not text or self.read_only or not self._is_connected() or self._end.done():
            return
        try:
            dispatch = self._terminal.type(text)
        except AgentHostError as error:
            self._tell_refusal(str(error))
            return
        self._start(self._check(dispatch), "type")

    async def _check(self, dispatch: Dispatch) -> None:
        try:
            await dispatch
        except AgentHostError as error:
            self._tell_refusal(str(error))

    def _tell_refusal(self, why: str) -> None:
        if why not in self._told_refusals and not self._end.done():
            self._told_refusals.add(why)
            self.say(f"that was not typed: {why}")

    # Sizes.

    def _on_resize(self) -> None:
        if not self._is_fitting and not self.read_only:
            self._is_fitting = True
            self._start(self._fit(), "fit")

    def _on_continue(self) -> None:
        """Take the terminal back after a shell had it."""
        self._tty.make_raw_again()
        self._start(self._draw(self._terminal.channel.confirmed), "draw")
        self._on_resize()

    async def _fit(self) -> None:
        """Give the host's terminal the size of the user's, if it takes one from here."""
        try:
            while True:
                size = self._tty.size
                async with asyncio.timeout(ASKING):
                    await self._terminal.resize(*size)
                if size == self._tty.size:
                    return
        except Rejected as error:
            self.read_only = one_line(error.reason)
        except (AgentHostError, TimeoutError):
            # The connection is lost, which is told elsewhere, or the host is busy.
            pass
        finally:
            self._is_fitting = False

    # Ending.

    @contextlib.contextmanager
    def _listening(self) -> Iterator[None]:
        loop = asyncio.get_running_loop()
        with _handlers_kept(loop, (*_SIGNALS, signal.SIGWINCH, signal.SIGCONT)):
            for number in _SIGNALS:
                loop.add_signal_handler(number, self._finish, "stopped", int(number))
            loop.add_signal_handler(signal.SIGWINCH, self._on_resize)
            loop.add_signal_handler(signal.SIGCONT, self._on_continue)
            loop.add_reader(self._tty.input, self._on_input)
            try:
                yield
            finally:
                loop.remove_reader(self._tty.input)

    def _finish(self, how: How, code: int | None = None) -> None:
        if not self._end.done():
            self._end.set_result(AttachmentEnd(how, code))

    def _on_failure(self, error: Exception) -> None:
        if not self._end.done():
            self._end.set_exception(error)

    def _start(self, work: Coroutine[Any, Any, None], name: str) -> None:
        self._tasks.start(work, name)


@contextlib.contextmanager
def _handlers_kept(
    loop: asyncio.AbstractEventLoop, numbers: Sequence[signal.Signals]
) -> Iterator[None]:
    """Give signals back to whoever handled them before, such as a chat that comes back."""
    # No loop tells who handles a signal, so that everybody looks here.
    known: dict[int, asyncio.Handle] = getattr(loop, "_signal_handlers", {})
    before = {number: known.get(number) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            loop.remove_signal_handler(number)
            if handler is not None:
                loop.add_signal_handler(number, handler._run)


def content_text(state: TerminalState) -> str:
    """Return all output that a host keeps of a terminal, as its program wrote it."""
    texts = [
        str(part.get("output" if part["type"] == "command" else "value") or "")
        for part in state["content"]
    ]
    text = "".join(texts)
    return _plain(text) if state.get("isPty") is False else text


def _plain(text: str) -> str:
    """Return the text of a terminal that no program draws on, for a raw one."""
    return safe_text(text).replace("\n", "\r\n")


def _notice(text: str) -> str:
    return f"\x1b[0m\x1b[2m[agenthost: {one_line(text)}]\x1b[0m"
