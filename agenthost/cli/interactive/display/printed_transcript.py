"""Prints a chat incrementally: finished lines once, unfinished lines live.

Pure: a chat's states go in, lines come out. A terminal scrolls what is printed out of reach, so a
line is printed once, when it is final; everything that may still change is live, to be drawn again
and again below it. Should the host change what is printed, it is printed anew, and said so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from agenthost.cli.interactive.display import blocks
from agenthost.cli.interactive.display.markdown import MarkdownText, render
from agenthost.cli.interactive.display.styled_text import EMPTY, StyledLine, line
from agenthost.client.resuming import is_resumable, was_resumed

Json = Mapping[str, Any]
_Key: TypeAlias = tuple[str, object]

_ENDED = ("completed", "cancelled")
# Blocks that stand close together.
_COMPACT = frozenset({"toolCall", "reasoning", "systemNotification"})


@dataclass(frozen=True, slots=True)
class Shown:
    """Lines to print now, and the live lines below them."""

    printed: list[StyledLine]
    live: list[StyledLine]


def _never(call: Json) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class _Look:
    """Content that tool calls refer to, as far as it is fetched."""

    edit_lines: blocks.EditLines
    is_loading: Callable[[Json], bool]
    terminal_tail: blocks.TerminalTail

    def waits_for(self, turn: Json) -> bool:
        """Return whether content of a turn is still being fetched."""
        return any(map(self.waits_for_part, turn["responseParts"]))

    def waits_for_part(self, part: Json) -> bool:
        """Return whether content of a part is still being fetched."""
        return part["kind"] == "toolCall" and self.is_loading(part["toolCall"])


class Transcript:
    """The printed transcript of one chat."""

    def __init__(
        self,
        *,
        unfold: bool = False,
        edit_lines: blocks.EditLines = blocks.unknown_edit,
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
        self._look = _Look(edit_lines, is_loading, terminal_tail)
        # Whether reasoning is shown in full from now on.
        self.unfold = unfold
        # The turns that are printed to their end, oldest first, and the one that is not.
        self._printed: list[str] = []
        self._current: _TurnPrinter | None = None
        # The last of the printed turns, as it was then: should it have failed, it may be resumed.
        self._last: tuple[_TurnPrinter, Json] | None = None

    def update(self, chat: Json, width: int) -> Shown:
        """Return the lines to print for a newer state of the chat, and the live lines."""
        active = chat.get("activeTurn")
        turns: Sequence[Json] = chat["turns"]
        lines = self._take_up_again(chat) or self._drop_removed(turns, active)
        printed = len(self._printed)
        for turn in turns[self._next(turns) :]:
            if self._look.waits_for(turn):
                # For the screen it is not over yet.
                lines += self._advance(turn, width, ended=False)
                assert self._current is not None
                return Shown(lines, self._current.live(turn, width))
            lines += self._advance(turn, width, ended=True)
        if active is None:
            if len(self._printed) > printed and is_resumable(turns[-1]):
                lines.append(line(("dim", "/resume goes on from here")))
            return Shown(lines, [])
        lines += self._advance(active, width, ended=False)
        assert self._current is not None
        return Shown(lines, self._current.live(active, width))

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

    def _advance(self, turn: Json, width: int, *, ended: bool) -> list[StyledLine]:
        printer = self._current
        lines: list[StyledLine] = []
        if printer is None or printer.id != turn["id"]:
            printer = self._current = _TurnPrinter(turn["id"], self._look, unfold=self.unfold)
        if not printer.fits(turn):
            lines += [EMPTY, line(("dim", "── this turn changed; here it is again ──"))]
            printer = self._current = _TurnPrinter(turn["id"], self._look, unfold=self.unfold)
        printer.unfold = self.unfold
        lines += printer.advance(turn, width, ended=ended)
        if ended:
            self._printed.append(turn["id"])
            self._last, self._current = (printer, turn), None
        return lines


@dataclass(slots=True)
class _PartPrinter:
    """Tracks how much of one part is printed."""

    key: _Key
    # The part as it was last looked at.
    seen: Json
    # How text is shown; None for what is not text, and for reasoning that is folded.
    text: MarkdownText | None
    # Whether it is printed to its end, or to where it was when others followed.
    done: bool = False


@dataclass(slots=True)
class _TurnPrinter:
    """Tracks how much of one turn is printed: whole parts, and the start of the next."""

    id: str
    look: _Look
    unfold: bool
    begun: bool = False
    parts: list[_PartPrinter] = field(default_factory=list)

    def fits(self, turn: Json) -> bool:
        """Return whether a turn continues what is printed of it."""
        parts = turn["responseParts"]
        if len(parts) < len(self.parts):
            return False
        pairs = zip(self.parts, parts, strict=False)
        return all(part is known.seen or _continues(known, part) for known, part in pairs)

    def advance(self, turn: Json, width: int, *, ended: bool) -> list[StyledLine]:
        """Return the lines that have become final."""
        lines: list[StyledLine] = []
        if not self.begun:
            self.begun = True
            lines += [EMPTY, *blocks.message_lines(turn["message"], width)]
        parts = turn["responseParts"]
        lines += self._late_text(parts, width)
        for index in range(self._first_open(), len(parts)):
            lines += self._settle(parts, index, width, ended=ended)
            if not self.parts[index].done:
                break
        if ended:
            lines += blocks.ending_lines(turn, width)
        return lines

    def live(self, turn: Json, width: int) -> list[StyledLine]:
        """Return the lines that may still change."""
        lines: list[StyledLine] = []
        parts = turn["responseParts"]
        for index in range(self._first_open(), len(parts)):
            known = self.parts[index] if index < len(self.parts) else None
            shown = _live_lines(parts[index], known, width, self.look)
            begun = known is not None and known.text is not None and known.text.begun
            lines += shown if begun or not shown else [*_gap(parts, index), *shown]
        return lines

    def _first_open(self) -> int:
        for index, printer in enumerate(self.parts):
            if not printer.done:
                return index
        return len(self.parts)

    def _printer(self, index: int, part: Json) -> _PartPrinter:
        if index == len(self.parts):
            self.parts.append(_PartPrinter(_key(part), part, self._text_for(part)))
        printer = self.parts[index]
        printer.seen = part
        return printer

    def _text_for(self, part: Json) -> MarkdownText | None:
        if part["kind"] == "markdown":
            return MarkdownText()
        return MarkdownText("dim") if part["kind"] == "reasoning" and self.unfold else None

    def _settle(
        self, parts: Sequence[Json], index: int, width: int, *, ended: bool
    ) -> list[StyledLine]:
        part, printer = parts[index], self._printer(index, parts[index])
        followed = ended or index < len(parts) - 1
        if printer.text is not None:
            fresh = not printer.text.begun
            lines = printer.text.settle(part["content"], width, whole=followed)
            printer.done = followed
            return [*_gap(parts, index), *lines] if fresh and lines else lines
        # Reasoning may go on until something follows; all else says itself whether it is over.
        is_over = ended or (_final(part) and not self.look.waits_for_part(part))
        printer.done = followed if part["kind"] == "reasoning" else is_over
        lines = _final_lines(part, width, self.look) if printer.done else []
        return [*_gap(parts, index), *lines] if lines else []

    def _late_text(self, parts: Sequence[Json], width: int) -> list[StyledLine]:
        """Return text added to parts that others already follow."""
        lines: list[StyledLine] = []
        for printer, part in zip(self.parts, parts, strict=False):
            if not printer.done or part is printer.seen:
                continue
            printer.seen = part
            if printer.text is not None:
                more = printer.text.settle(part["content"], width, whole=False)
                lines += (
                    [EMPTY, line(("dim", "… further above it goes on:")), *more] if more else []
                )
        return lines


def _gap(parts: Sequence[Json], index: int) -> list[StyledLine]:
    """Return the empty lines before a part."""
    before = parts[index - 1]["kind"] if index else "message"
    return [] if parts[index]["kind"] in _COMPACT and before in _COMPACT else [EMPTY]


def _key(part: Json) -> _Key:
    match part["kind"]:
        case "toolCall":
            return "toolCall", part["toolCall"]["toolCallId"]
        case "inputRequest":
            return "inputRequest", part["request"]["id"]
        case kind:
            return kind, part.get("id")


def _continues(known: _PartPrinter, part: Json) -> bool:
    """Return whether a part is a later state of one seen before."""
    if _key(part) != known.key:
        return False
    if part["kind"] in ("markdown", "reasoning"):
        same: bool = part["content"].startswith(known.seen["content"])
        return same
    if part["kind"] == "inputRequest" and known.seen.get("response") is None:
        # Left open by a turn that failed, and settled once it went on.
        return True
    return not known.done or part == known.seen


def _final(part: Json) -> bool:
    match part["kind"]:
        case "toolCall":
            return part["toolCall"]["status"] in _ENDED
        case "inputRequest":
            return part.get("response") is not None
    return True


def _final_lines(part: Json, width: int, look: _Look) -> list[StyledLine]:
    match part["kind"]:
        case "reasoning":
            return [blocks.reasoning_line(part["content"], width, live=False)]
        case "toolCall":
            call = part["toolCall"]
            return blocks.call_lines(call, width, live=False, edit_lines=look.edit_lines)
        case "inputRequest":
            return blocks.request_lines(part, width)
    return blocks.notice_lines(part, width)


def _live_lines(
    part: Json, known: _PartPrinter | None, width: int, look: _Look
) -> list[StyledLine]:
    match part["kind"]:
        case "markdown" | "reasoning" if known is not None and known.text is not None:
            return known.text.rest(part["content"], width)
        case "markdown":
            # It has to wait for something in front of it.
            return render(part["content"], width)
        case "reasoning":
            return [blocks.reasoning_line(part["content"], width, live=True)]
        case "toolCall":
            # What waits for approval is on a card of its own.
            call = part["toolCall"]
            if call["status"] == "pending-confirmation":
                return []
            return blocks.call_lines(
                call,
                width,
                live=True,
                edit_lines=look.edit_lines,
                terminal_tail=look.terminal_tail,
            )
        case "inputRequest":
            return blocks.request_lines(part, width) if part.get("response") else []
    return blocks.notice_lines(part, width)
