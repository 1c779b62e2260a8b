"""A terminal's bytes, understood: decoded, freed of marks, its questions answered."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterator

from agenthost.workspace.pty.command_tracker import CommandTracker, TerminalEvent
from agenthost.workspace.pty.osc import OscParser, Printed, Query, Segment
from agenthost.workspace.pty.replies import Replies


class OutputInterpreter:
    """Turns what comes out of one pty into events, in order."""

    def __init__(
        self,
        answer: Callable[[str], None],
        *,
        nonce: str | None = None,
        machine: str = "",
        followed: Callable[[], bool] = lambda: False,
    ) -> None:
        """``answer`` gets what is to be written back; ``followed`` says whether anybody looks.

        By then the program may have ended: ``answer`` is not to fail because of that.
        """
        self.tracker = CommandTracker(nonce)
        self.replies = Replies()
        self._answer = answer
        self._followed = followed
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._parser = OscParser(machine)

    def feed(self, data: bytes, now: float) -> Iterator[TerminalEvent]:
        """Read on; ``now`` in seconds of the Unix clock."""
        yield from self._understood(self._parser.feed(self._decoder.decode(data)), now)

    def finish(self, now: float) -> Iterator[TerminalEvent]:
        """Give out what was held back, and close the command that was running."""
        rest = self._decoder.decode(b"", final=True)
        yield from self._understood(self._parser.feed(rest), now)
        yield from self._understood(self._parser.finish(), now)
        yield from self.tracker.finish(round(now * 1000))

    def _understood(self, segments: Iterator[Segment], now: float) -> Iterator[TerminalEvent]:
        for segment in segments:
            if not isinstance(segment, Query):
                yield from self.tracker.feed(segment, round(now * 1000))
                continue
            answer = self.replies.to(segment, now, self._followed())
            if answer is None:
                yield Printed(segment.value)
            elif answer:
                self._answer(answer)
