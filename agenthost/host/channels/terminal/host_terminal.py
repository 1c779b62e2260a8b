"""One terminal and the program in it: what it prints becomes actions, in order.

Output that comes at once is told at once; a mark of the shell's cuts it, so that each piece is
where it belongs.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import os
import platform
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING
from urllib.parse import quote

from msgspec import Struct

from agenthost.host.channels.terminal.claims import is_in_call, narrowed
from agenthost.workspace.pty.command_tracker import (
    CommandBegan,
    CommandEnded,
    DetectionAvailable,
    TerminalEvent,
)
from agenthost.workspace.pty.interpreter import OutputInterpreter
from agenthost.workspace.pty.osc import FolderMark, Printed, TitleMark
from agenthost.workspace.pty.replies import LATE
from agenthost.workspace.pty.tail import TextTail

if TYPE_CHECKING:
    from agenthost.host.channels.terminal.kind import TerminalChannel
    from agenthost.host.log.writer import Writer
    from agenthost.protocol.common import Action
    from agenthost.workspace.pty.process import Pty

# Characters of a command's output that its tool call is given.
MOST_OUTPUT = 256 * 1024
# Characters of a command line that are told.
LONGEST_COMMAND = 10_000
# Seconds between two titles that are told.
TITLE_SECONDS = 0.2
# Seconds of work after which a terminal lets others go first, and until it goes on: a program can
# print thousands of marks at once, and each may be an action.
WORK_SECONDS = 0.002
REST_SECONDS = 0.02
# Bytes that are understood at once.
PIECE = 2048
# The one command of a terminal that was made for it.
_ONLY_COMMAND = "cmd-1"


class TerminalOutcome(Struct, frozen=True):
    """What became of a command that ran in a terminal."""

    # 128 plus a signal's number; None where nobody knows, or it goes on.
    exit_code: int | None
    # The last of what it printed, escape sequences included.
    output: str
    truncated: bool
    # Whether it goes on in the background, because somebody said so.
    detached: bool


class HostTerminal:
    """A terminal of this host, as long as it is listed."""

    def __init__(
        self,
        writer: Writer,
        uri: str,
        *,
        command: str | None = None,
        nonce: str | None = None,
        most_input: int,
    ) -> None:
        """Describe a terminal; ``start`` begins it. ``command`` where it runs just that one."""
        self.uri = uri
        self.command = command
        self._writer = writer
        self._most_input = most_input
        self._channel: TerminalChannel | None = None
        self._pty: Pty | None = None
        self._interpreter = OutputInterpreter(
            self._answer, nonce=nonce, machine=platform.node(), followed=self._is_followed
        )
        # What was printed and has not been told; what it means, as far as it was looked at.
        self._untold = bytearray()
        self._events: Iterator[TerminalEvent | None] | None = None
        self._all_told = asyncio.Event()
        self._all_told.set()
        self._tail = TextTail(MOST_OUTPUT)
        # Characters that it has printed.
        self.printed = 0
        self._began = 0
        self._exit_code: int | None = None
        self._next_title = ""
        self._title_timer: asyncio.TimerHandle | None = None
        self._reply_timer: asyncio.TimerHandle | None = None
        # Set when something was printed or detected; when it has ended and all was told; and when
        # whoever ran a command is to wait for it no longer.
        self.ready = asyncio.Event()
        self.over = asyncio.Event()
        self._settled = asyncio.Event()
        self._is_dropped = False
        # Whether its last state is worth keeping.
        self.is_kept = command is not None

    @property
    def channel(self) -> TerminalChannel:
        """Its channel, once it has started."""
        assert self._channel is not None
        return self._channel

    @property
    def pty(self) -> Pty:
        """Its pty, once it has started."""
        assert self._pty is not None
        return self._pty

    @property
    def title(self) -> str:
        """What it is called now."""
        return self.channel.state["title"]

    @property
    def is_busy(self) -> bool:
        """Whether a command runs in it."""
        tracker = self._interpreter.tracker
        if self.over.is_set():
            return False
        return tracker.busy if tracker.detected else self.pty.is_busy

    # For tool calls.

    async def ended(self) -> TerminalOutcome:
        """Wait until the command has ended, or goes on in the background."""
        await self._settled.wait()
        over = self.over.is_set()
        return TerminalOutcome(
            self._exit_code, self.output(), self._tail.truncated, detached=not over
        )

    async def exited(self) -> int | None:
        """Wait until the program has ended, detached or not; return its exit code."""
        await self.over.wait()
        return self._exit_code

    def output(self) -> str:
        """Return the last of what was printed so far."""
        return self._tail.text()

    def type(self, text: str) -> None:
        """Type into it; what it does not take is lost."""
        self._answer(self._interpreter.replies.typed(text, time.time()))

    async def kill(self) -> None:
        """End the program and all that it started, and wait until all is told."""
        self.end()
        await self.over.wait()

    # For the room.

    def start(self, channel: TerminalChannel, pty: Pty) -> None:
        """Go on in a channel, with what was started."""
        self._channel, self._pty = channel, pty
        if self.command is not None:
            self._began = _milliseconds()
            self._apply({"type": "terminal/commandDetectionAvailable"})
            self._apply(_executed(_ONLY_COMMAND, self.command, self._began))

    def drop(self, pty: Pty) -> None:
        """End what was started for somebody who has left meanwhile; nobody sees what it prints."""
        self._is_dropped = True
        pty.end()

    def end(self) -> None:
        """Begin to end the program."""
        if self._pty is not None:
            self._pty.end()

    def detach(self) -> None:
        """Tell whoever runs a command that it goes on without them."""
        self._settled.set()

    def why_not_typed(self, text: str) -> str | None:
        """Return why a text cannot be typed now."""
        if len(text) > self._most_input:
            return f"at most {self._most_input:,} characters can be typed at once"
        if not self.pty.running:
            return "the program has ended"
        return None if self.pty.takes(len(text.encode())) else "the program does not read its input"

    def fit(self) -> None:
        """Give the pty the size that the state says."""
        state = self.channel.state
        if "cols" in state and "rows" in state:
            self.pty.resize(state["cols"], state["rows"])

    @property
    def is_telling(self) -> bool:
        """Whether there is something that was printed and has not been told."""
        return not self._all_told.is_set()

    def is_ahead_of(self, most: int) -> bool:
        """Say whether so many bytes and more wait for anybody who follows it."""
        followers = self._channel.subscriptions.values() if self._channel is not None else ()
        return any(each.connection.outbox.waiting_bytes > most for each in followers)

    def take(self, data: bytes) -> None:
        """Tell what the program printed, at once if that is little work."""
        if self._is_dropped:
            return
        self._untold += data
        if not self.is_telling:
            self._all_told.clear()
            self._events = self._understood()
            self._tell_on()

    async def all_told(self) -> None:
        """Wait until all that was printed so far has been told."""
        await self._all_told.wait()

    def finish(self, exit_code: int | None) -> None:
        """Tell that the program has ended, behind all that it printed."""
        self._exit_code = exit_code
        self._tell(self._interpreter.finish(time.time()))
        self._tell_title()
        if self._reply_timer is not None:
            self._reply_timer.cancel()
        code = {} if exit_code is None else {"exitCode": exit_code}
        if self.command is not None:
            duration = max(0, _milliseconds() - self._began)
            finished = {"type": "terminal/commandFinished", "commandId": _ONLY_COMMAND}
            self._apply({**finished, **code, "durationMs": duration})
        self._apply({"type": "terminal/exited", **code})
        claim = self.channel.state["claim"]
        if is_in_call(claim):
            self._apply({"type": "terminal/claimed", "claim": narrowed(claim)})

    def finished(self) -> None:
        """Let those go on who wait for the end."""
        self.ready.set()
        self.over.set()
        self._settled.set()

    def _understood(self) -> Iterator[TerminalEvent | None]:
        """Read on in what was printed, piece by piece; None after each."""
        while self._untold:
            piece = bytes(self._untold[:PIECE])
            del self._untold[:PIECE]
            yield from self._interpreter.feed(piece, time.time())
            yield None

    def _tell_on(self) -> None:
        """Tell some of what was printed, and the rest when others had their turn."""
        assert self._events is not None
        # By the time of this thread: on a busy machine a terminal is no slower than it must be.
        if self._tell(self._events, until=time.thread_time() + WORK_SECONDS):
            self._all_told.set()
        else:
            asyncio.get_running_loop().call_later(REST_SECONDS, self._tell_on)
        if self._interpreter.replies.is_waiting and self._reply_timer is None:
            self._await_replies()

    def _tell(self, events: Iterator[TerminalEvent | None], until: float = math.inf) -> bool:
        """Tell events, and say whether that were all of them before the time was up."""
        printed: list[str] = []
        folder: FolderMark | None = None
        for event in events:
            if isinstance(event, Printed):
                printed.append(event.text)
            elif isinstance(event, FolderMark):
                folder = event
            elif isinstance(event, TitleMark):
                # One that was made for a command is called as its tool call calls it.
                if self.command is None:
                    self._title_later(event.title)
            elif event is not None and (action := self._action(event)) is not None:
                self._print(printed)
                self._move(folder)
                printed, folder = [], None
                self._apply(action)
            if time.thread_time() > until:
                break
        else:
            until = math.inf
        self._print(printed)
        self._move(folder)
        return until == math.inf

    def _print(self, printed: list[str]) -> None:
        text = "".join(printed)
        if text:
            self._tail.add(text)
            self.printed += len(text)
            self._apply({"type": "terminal/data", "data": text})
            self.ready.set()

    def _move(self, folder: FolderMark | None) -> None:
        if folder is None:
            return
        uri = "file://" + quote(os.fsencode(folder.path))
        if uri != self.channel.state.get("cwd"):
            self._apply({"type": "terminal/cwdChanged", "cwd": uri})

    def _action(self, event: TerminalEvent) -> Action | None:
        if self.command is not None:
            # Marks of a shell inside of it are not about the command that this terminal is for.
            return None
        if isinstance(event, DetectionAvailable):
            self.ready.set()
            return {"type": "terminal/commandDetectionAvailable"}
        if isinstance(event, CommandBegan):
            return _executed(event.command, event.line[:LONGEST_COMMAND], event.timestamp)
        if isinstance(event, CommandEnded):
            code = {} if event.exit_code is None else {"exitCode": event.exit_code}
            finished = {"type": "terminal/commandFinished", "commandId": event.command}
            return {**finished, **code, "durationMs": event.duration}
        return None

    def _title_later(self, title: str) -> None:
        """Tell a title in a moment; programs change theirs many times a second."""
        self._next_title = title
        if self._title_timer is None:
            loop = asyncio.get_running_loop()
            self._title_timer = loop.call_later(TITLE_SECONDS, self._tell_title)

    def _tell_title(self) -> None:
        if self._title_timer is not None:
            self._title_timer.cancel()
            self._title_timer = None
        title, self._next_title = self._next_title, ""
        if title and title != self.channel.state["title"]:
            self._apply({"type": "terminal/titleChanged", "title": title})

    def _await_replies(self) -> None:
        """Answer what the program asks of those who look on, should none of them do so."""
        loop = asyncio.get_running_loop()
        self._reply_timer = loop.call_later(LATE, self._answer_overdue)

    def _answer_overdue(self) -> None:
        self._reply_timer = None
        replies = self._interpreter.replies
        answers = replies.overdue(time.time())
        if answers:
            self._answer(answers)
        elif replies.is_waiting:
            self._await_replies()

    def _is_followed(self) -> bool:
        return self._channel is not None and bool(self._channel.subscriptions)

    def _answer(self, text: str) -> None:
        from agenthost.workspace.pty.process import InputRefused

        with contextlib.suppress(InputRefused):
            self.pty.write(text.encode(errors="replace"))

    def _apply(self, action: Action) -> None:
        self._writer.apply(self.channel, action)


def _milliseconds() -> int:
    return time.time_ns() // 1_000_000


def _executed(command: str, line: str, timestamp: int) -> Action:
    told = {"commandId": command, "commandLine": line, "timestamp": timestamp}
    return {"type": "terminal/commandExecuted", **told}
