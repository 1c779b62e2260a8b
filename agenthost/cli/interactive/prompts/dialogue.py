"""Base of approvals and questions: prompt cards and replies.

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
    """The reply is complete: dispatch this action."""

    action: Json
    # What was asked, with all that was answered.
    asked: Dialogue


@dataclass(frozen=True, slots=True)
class Hint:
    """The reply is not an answer; show this hint."""

    text: str


class Dialogue(Protocol):
    """An approval or a set of questions that the user is asked."""

    @property
    def pending(self) -> Pending:
        """The approval or request that waits."""

    @property
    def label(self) -> str:
        """The label of the input line."""

    @property
    def prefill(self) -> str:
        """The initial text of the input line."""

    @property
    def is_literal(self) -> bool:
        """Whether the typed text is taken literally, even if it looks like a command."""

    def respond(self, text: str) -> Reply:
        """Handle a reply."""

    def back(self) -> Dialogue | None:
        """Return the dialogue one step before; None at the first step."""

    def with_pending(self, pending: Pending) -> Dialogue:
        """Return the dialogue for a newer state of what is pending."""

    def card(
        self,
        width: int,
        rows: int,
        preview: Sequence[StyledLine] = (),
        *,
        read_only: bool = False,
    ) -> list[StyledLine]:
        """Return the prompt as a card of about as many rows; without choices if read-only."""


Reply: TypeAlias = "Dialogue | Act | Hint"


def card(lines: Iterable[StyledLine], width: int) -> list[StyledLine]:
    """Return lines with a bar down their left side."""
    return indented((clip_line(item, width - 2) for item in lines), ("ask", "▌ "), ("ask", "▌ "))


def choices(options: Sequence[tuple[str, str, int]]) -> list[StyledLine]:
    """Return numbered choices of (label, remark, group), groups separated."""
    lines: list[StyledLine] = []
    for number, (label, remark, group) in enumerate(options, 1):
        if lines and group != options[number - 2][2]:
            lines.append(line(("dim", "──")))
        told = ("dim", f"  {remark}") if remark else ("", "")
        lines.append(line(("key", f"{number:>2}"), "  ", label, told))
    return lines
