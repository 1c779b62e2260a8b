"""What asking the user has in common, whatever is asked: cards, and what a reply leads to.

Pure. A dialogue is a value: replying to it gives the next one, an action to dispatch, or a hint.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from agenthost.cli.interactive.display.styled_text import StyledLine, clip_line, indented, line
from agenthost.cli.interactive.prompts.pending import Pending

Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Act:
    """The answer is complete: dispatch this on the chat that waits."""

    action: Json
    # What was asked, with all that was answered.
    asked: Dialogue


@dataclass(frozen=True, slots=True)
class Hint:
    """The reply does not answer; tell the user what would."""

    text: str


class Dialogue(Protocol):
    """Something that is being asked of the user."""

    @property
    def pending(self) -> Pending:
        """What waits for the answer."""

    @property
    def label(self) -> str:
        """What stands in front of the line to type into."""

    @property
    def prefill(self) -> str:
        """What that line holds to begin with."""

    @property
    def is_literal(self) -> bool:
        """Whether whatever is typed is meant as it is, even if it looks like a command."""

    def respond(self, text: str) -> Reply:
        """Take a reply."""

    def back(self) -> Dialogue | None:
        """Return to what was asked before; None when this is the beginning."""

    def with_pending(self, pending: Pending) -> Dialogue:
        """Go on asking about something that has changed meanwhile."""

    def card(self, width: int, rows: int, preview: Sequence[StyledLine] = ()) -> list[StyledLine]:
        """Return the question in at most about as many rows."""


Reply: TypeAlias = "Dialogue | Act | Hint"


def card(lines: Iterable[StyledLine], width: int) -> list[StyledLine]:
    """Return lines with a bar down their side, so that a question stands out."""
    return indented((clip_line(item, width - 2) for item in lines), ("ask", "▌ "), ("ask", "▌ "))


def choices(options: Sequence[tuple[str, str, int]]) -> list[StyledLine]:
    """Return numbered choices of (label, remark, group); another group is set apart."""
    lines: list[StyledLine] = []
    for number, (label, remark, group) in enumerate(options, 1):
        if lines and group != options[number - 2][2]:
            lines.append(line(("dim", "──")))
        told = ("dim", f"  {remark}") if remark else ("", "")
        lines.append(line(("key", f"{number:>2}"), "  ", label, told))
    return lines
