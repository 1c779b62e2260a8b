"""Prints a chat incrementally: finished lines once, unfinished lines live.

Pure: a chat's states go in, lines come out. A terminal scrolls what is printed out of reach, so a
line is printed once, when it is final; everything that may still change is live, to be drawn again
and again below it. Should the host change what is printed, it is printed anew, and said so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

from agenthost.cli.interactive.display import blocks
from agenthost.cli.interactive.display.edits import EditLines, unknown_edit
from agenthost.cli.interactive.display.styled_text import EMPTY, StyledLine, line
from agenthost.cli.interactive.display.turn_printer import Look, TurnPrinter
from agenthost.client.resuming import is_resumable, was_resumed

Json = Mapping[str, Any]

NEWEST_TURNS, NEWEST_ROWS = 20, 300
"""Turns and rows of a long chat that are printed when it is opened; ``/earlier`` has the others."""


@dataclass(frozen=True, slots=True)
class Shown:
    """Lines to print now, and the live lines below them."""

    printed: list[StyledLine]
    live: list[StyledLine]
    # Whether there are more lines to print, with the next frame.
    more: bool = False


def _never(call: Json) -> bool:
    return False


class Transcript:
    """The printed transcript of one chat."""

    def __init__(
        self,
        *,
        unfold: bool = False,
        edit_lines: EditLines = unknown_edit,
        is_loading: Callable[[Json], bool] = _never,
        terminal_tail: blocks.TerminalTail = blocks.unknown_terminal,
    ) -> None:
        """Begin with nothing printed.

        Args:
            unfold: whether reasoning is shown in full.
            edit_lines: says what an edit changes.
            is_loading: says whether it will soon be known of a tool call what it changes; it is not
                printed before.
            terminal_tail: says what a running terminal printed last.
        """
        self._look = Look(edit_lines, is_loading, terminal_tail)
        # Whether reasoning is shown in full from now on.
        self.unfold = unfold
        # The turns that are printed to their end, oldest first, and the one that is not.
        self._printed: list[str] = []
        self._current: TurnPrinter | None = None
        # The last of the printed turns, as it was then: should it have failed, it may be resumed.
        self._last: tuple[TurnPrinter, Json] | None = None
        # Whether the chat was shown at all, and the first turn of which all is printed.
        self._opened = False
        self._first_whole: str | None = None

    def update(self, chat: Json, width: int, *, most: int | None = None) -> Shown:
        """Return the lines to print for a newer state of the chat, and the live lines.

        With ``most``, about so many: what an agent writes at once is not to hold up the keys.
        """
        active = chat.get("activeTurn")
        turns: Sequence[Json] = chat["turns"]
        lines = self._take_up_again(chat) or self._drop_removed(turns, active)
        printed = len(self._printed)
        opening, self._opened = not self._opened, True
        lines += self._print_newest(chat, width, opening=opening)
        for turn in turns[self._next(turns) :]:
            # For the screen it is not over while it is being learned what it changed.
            ended = not self._look.waits_for(turn)
            room = None if most is None else most - len(lines)
            lines += self._advance(turn, width, ended=ended, most=room)
            if self._current is not None:
                return self._shown(lines, turn, width)
        if active is None:
            if len(self._printed) > printed and is_resumable(turns[-1]):
                lines.append(line(("dim", "/resume goes on from here")))
            return Shown(lines, [])
        begun = self._advance(active, width, ended=False, most=None if opening else most)
        if opening and len(begun) > NEWEST_ROWS:
            begun, self._first_whole = _end_of(begun), None
        return self._shown([*lines, *begun], active, width)

    def _shown(self, lines: list[StyledLine], turn: Json, width: int) -> Shown:
        assert self._current is not None
        return Shown(lines, self._current.live(turn, width), self._current.is_behind)

    def earlier_lines(self, chat: Json, width: int) -> Iterator[StyledLine]:
        """Yield the lines of the loaded turns that were not printed, or not whole; oldest first."""
        turns: Sequence[Json] = chat["turns"]
        ids = [turn["id"] for turn in turns]
        end = ids.index(self._first_whole) if self._first_whole in ids else len(ids)
        if end and "turnsNextCursor" in chat:
            yield line(("dim", "… still earlier turns: /earlier again"))
        for turn in turns[:end]:
            yield from self._printer(turn).advance(turn, width, ended=True)

    def _print_newest(self, chat: Json, width: int, *, opening: bool) -> list[StyledLine]:
        """Print the newest turns of many, and say how many are left out."""
        turns: Sequence[Json] = chat["turns"]
        fresh = list(takewhile(self._is_ready, turns[self._next(turns) :]))
        if not opening and len(fresh) <= NEWEST_TURNS:
            return []
        shown: list[list[StyledLine]] = []
        room = NEWEST_ROWS
        for turn in reversed(fresh[-NEWEST_TURNS:]):
            printer = self._printer(turn)
            rows = printer.advance(turn, width, ended=True)
            if len(rows) > room and shown:
                break
            if not shown:
                self._last, self._current = (printer, turn), None
            if len(rows) <= room:
                self._first_whole = turn["id"]
            shown.append(rows if len(rows) <= room else _end_of(rows))
            room -= len(shown[-1])
        self._printed += [turn["id"] for turn in fresh]
        hidden, more = len(fresh) - len(shown), opening and "turnsNextCursor" in chat
        above = [EMPTY, _earlier(hidden, more)] if hidden or more else []
        return [*above, *(row for rows in reversed(shown) for row in rows)]

    def _is_ready(self, turn: Json) -> bool:
        return not self._look.waits_for(turn)

    def _printer(self, turn: Json) -> TurnPrinter:
        return TurnPrinter(turn["id"], self._look, unfold=self.unfold)

    def _take_up_again(self, chat: Json) -> list[StyledLine]:
        """Go on with the last printed turn if it was resumed since."""
        if self._last is None or self._current is not None:
            return []
        printer, failed = self._last
        if not self._printed or self._printed[-1] != failed["id"] or not was_resumed(failed, chat):
            return []
        self._printed.pop()
        self._current = printer
        return [EMPTY, line(("dim", "── resumed ──"))]

    def _drop_removed(self, turns: Sequence[Json], active: Json | None) -> list[StyledLine]:
        """Forget printed turns that were removed from the chat."""
        current = None if self._current is None else self._current.id
        runs = current is None or (active is not None and active["id"] == current)
        if not runs and all(turn["id"] != current for turn in reversed(turns)):
            self._current = None
            return [EMPTY, line(("dim", "── that turn was removed ──"))]
        if not self._printed or (turns and turns[-1]["id"] == self._printed[-1]):
            return []
        kept = {turn["id"] for turn in turns}
        gone = len(self._printed)
        while self._printed and self._printed[-1] not in kept:
            self._printed.pop()
        gone -= len(self._printed)
        what = "turn was" if gone == 1 else f"{gone} turns were"
        return [EMPTY, line(("dim", f"── the last {what} removed ──"))] if gone else []

    def _next(self, turns: Sequence[Json]) -> int:
        """Return the index of the first turn that is not printed completely."""
        if not self._printed:
            return 0
        for index in range(len(turns), 0, -1):
            if turns[index - 1]["id"] == self._printed[-1]:
                return index
        return 0

    def _advance(
        self, turn: Json, width: int, *, ended: bool, most: int | None
    ) -> list[StyledLine]:
        printer = self._current
        lines: list[StyledLine] = []
        if printer is None or printer.id != turn["id"]:
            printer = self._current = self._printer(turn)
            self._first_whole = self._first_whole or turn["id"]
        if not printer.fits(turn):
            lines += [EMPTY, line(("dim", "── this turn changed; here it is again ──"))]
            printer = self._current = self._printer(turn)
        printer.unfold = self.unfold
        lines += printer.advance(turn, width, ended=ended, most=most)
        if ended and not printer.is_behind:
            self._printed.append(turn["id"])
            self._last, self._current = (printer, turn), None
        return lines


def _earlier(hidden: int, more: bool) -> StyledLine:
    """Say how many turns stand above; ``more`` than those if not all are loaded."""
    count = f"{'more than ' * more}{hidden:,} " if hidden else ""
    return line(("dim", f"… {count}earlier turn{'' if count == '1 ' else 's'} · /earlier"))


def _end_of(rows: list[StyledLine]) -> list[StyledLine]:
    """Return the beginning of a message and the end of a turn that is too long to be printed."""
    left = line(("dim", f"… {len(rows) - NEWEST_ROWS:,} rows · /earlier"))
    return [*rows[:2], left, *rows[-NEWEST_ROWS:]]
