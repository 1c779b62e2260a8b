"""Which commands a terminal runs, from the marks in its output: begun, ended, how long, where.

Pure: the time is given. Whatever a program prints can look like a mark; once the shell has shown
that it knows the terminal's secret, only marks that carry it begin or end a command.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from agenthost.workspace.pty.osc import FolderMark, Mark, Printed, Segment, TitleMark


class DetectionAvailable(Struct, frozen=True):
    """The shell tells its commands; said once."""


class CommandBegan(Struct, frozen=True):
    """A command line runs; what is printed now is its output."""

    command: str
    # "" = unknown.
    line: str
    # Milliseconds of the Unix clock.
    timestamp: int


class CommandEnded(Struct, frozen=True):
    """A command line is done."""

    command: str
    # None = unknown, or it was cut off.
    exit_code: int | None
    # Milliseconds.
    duration: int


TerminalEvent = Printed | FolderMark | TitleMark | DetectionAvailable | CommandBegan | CommandEnded


class CommandTracker:
    """Follows the commands of one terminal."""

    def __init__(self, nonce: str | None = None) -> None:
        """``nonce`` is the secret that our own script was given; None = the shell has no script."""
        self._nonce = nonce
        # Whether the secret was seen, and so only marks that carry it count.
        self._proven = False
        self._dialect: str | None = None
        self._detected = False
        self._line = ""
        self._typed = ""
        self._count = 0
        # The command that runs, and since when.
        self._active: tuple[str, int] | None = None
        self._folder: str | None = None
        self._title: str | None = None

    @property
    def busy(self) -> bool:
        """Whether a command runs."""
        return self._active is not None

    @property
    def detected(self) -> bool:
        """Whether the shell tells its commands."""
        return self._detected

    def typed(self, line: str) -> None:
        """Remember what the host itself has typed, for shells that do not say what they run."""
        self._typed = line

    def feed(self, segment: Segment, now: int) -> Iterator[TerminalEvent]:
        """Tell what a piece of output means; ``now`` in milliseconds of the Unix clock."""
        if isinstance(segment, Printed):
            yield segment
        elif isinstance(segment, TitleMark):
            if segment.title != self._title:
                self._title = segment.title
                yield segment
        elif isinstance(segment, FolderMark):
            if segment.path != self._folder:
                self._folder = segment.path
                yield segment
        elif isinstance(segment, Mark):
            yield from self._marked(segment, now)

    def finish(self, now: int) -> Iterator[TerminalEvent]:
        """Close the command that was running when the terminal ended."""
        yield from self._close(None, now)

    def _marked(self, mark: Mark, now: int) -> Iterator[TerminalEvent]:
        if not self._counts(mark):
            return
        if not self._detected:
            self._detected = True
            yield DetectionAvailable()
        if mark.letter == "E":
            self._line = mark.text or "" if self._believed(mark) else ""
        elif mark.letter == "C" and self._believed(mark):
            yield from self._close(None, now)
            self._count += 1
            self._active = f"cmd-{self._count}", now
            line = mark.text or self._line or self._typed
            self._line = self._typed = ""
            yield CommandBegan(self._active[0], line, now)
        elif mark.letter == "D" and self._believed(mark):
            yield from self._close(mark.exit_code, now)
        elif mark.letter == "A" and not self._proven:
            # Its end was lost. A shell that has our script never loses it.
            yield from self._close(None, now)

    def _counts(self, mark: Mark) -> bool:
        # A theme that speaks the other dialect beside the script would count each command twice.
        if self._dialect is None or (self._nonce and mark.dialect == "633"):
            self._dialect = mark.dialect
        return mark.dialect == self._dialect

    def _believed(self, mark: Mark) -> bool:
        if self._nonce and mark.nonce == self._nonce:
            self._proven = True
        elif mark.letter == "E" and self._nonce:
            return False
        return not self._proven or mark.nonce == self._nonce

    def _close(self, exit_code: int | None, now: int) -> Iterator[TerminalEvent]:
        if self._active is not None:
            command, since = self._active
            self._active = None
            yield CommandEnded(command, exit_code, max(0, now - since))
