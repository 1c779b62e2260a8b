"""Prints one turn incrementally: whole parts, and the beginning of the one that is being written.

Pure. Which turns are printed is ``printed_transcript``'s to say.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from agenthost.cli.interactive.display import blocks
from agenthost.cli.interactive.display.edits import EditLines
from agenthost.cli.interactive.display.markdown import MarkdownText, render
from agenthost.cli.interactive.display.styled_text import EMPTY, StyledLine, line

Json = Mapping[str, Any]
_Key: TypeAlias = tuple[str, object]

_ENDED = ("completed", "cancelled")
# Blocks that stand close together.
_COMPACT = frozenset({"toolCall", "reasoning", "systemNotification"})


@dataclass(frozen=True, slots=True)
class Look:
    """Content that tool calls refer to, as far as it is fetched."""

    edit_lines: EditLines
    is_loading: Callable[[Json], bool]
    terminal_tail: blocks.TerminalTail

    def waits_for(self, turn: Json) -> bool:
        """Return whether content of a turn is still being fetched."""
        return any(map(self.waits_for_part, turn["responseParts"]))

    def waits_for_part(self, part: Json) -> bool:
        """Return whether content of a part is still being fetched."""
        return part["kind"] == "toolCall" and self.is_loading(part["toolCall"])


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
class TurnPrinter:
    """Tracks how much of one turn is printed: whole parts, and the start of the next."""

    id: str
    look: Look
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

    def advance(
        self, turn: Json, width: int, *, ended: bool, most: int | None = None
    ) -> list[StyledLine]:
        """Return the lines that have become final; with ``most``, about so many of them."""
        lines: list[StyledLine] = []
        if not self.begun:
            self.begun = True
            lines += [EMPTY, *blocks.message_lines(turn["message"], width)]
        parts = turn["responseParts"]
        lines += self._late_text(parts, width)
        for index in range(self._first_open(), len(parts)):
            room = None if most is None else max(most - len(lines), 1)
            lines += self._settle(parts, index, width, ended=ended, most=room)
            if not self.parts[index].done:
                break
        if ended and not self.is_behind:
            lines += blocks.ending_lines(turn, width)
        return lines

    @property
    def is_behind(self) -> bool:
        """Whether there are final lines that were not returned yet."""
        index = self._first_open()
        text = self.parts[index].text if index < len(self.parts) else None
        return text is not None and text.is_behind

    def live(self, turn: Json, width: int) -> list[StyledLine]:
        """Return the lines that may still change."""
        lines: list[StyledLine] = []
        if self.is_behind:
            return lines
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
        self, parts: Sequence[Json], index: int, width: int, *, ended: bool, most: int | None
    ) -> list[StyledLine]:
        part, printer = parts[index], self._printer(index, parts[index])
        followed = ended or index < len(parts) - 1
        if printer.text is not None:
            fresh = not printer.text.begun
            lines = printer.text.settle(part["content"], width, whole=followed, most=most)
            printer.done = followed and not printer.text.is_behind
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


def _final_lines(part: Json, width: int, look: Look) -> list[StyledLine]:
    match part["kind"]:
        case "reasoning":
            return [blocks.reasoning_line(part["content"], width, live=False)]
        case "toolCall":
            call = part["toolCall"]
            return blocks.call_lines(call, width, live=False, edit_lines=look.edit_lines)
        case "inputRequest":
            return blocks.request_lines(part, width)
    return blocks.notice_lines(part, width)


def _live_lines(part: Json, known: _PartPrinter | None, width: int, look: Look) -> list[StyledLine]:
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
