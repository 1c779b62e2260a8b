"""Approval of a tool call, or of its result: card, choices, replies.

Pure. One step chooses; further ones edit the input, or say why not and what to do instead.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from agenthost.cli.format.state_format import directory_text
from agenthost.cli.format.terminal_text import one_line, visible
from agenthost.cli.interactive.display.blocks import input_text
from agenthost.cli.interactive.display.inline_markdown import inline
from agenthost.cli.interactive.display.styled_text import StyledLine, hard_wrap, line, wrap
from agenthost.cli.interactive.prompts.dialogue import Act, Dialogue, Hint, Reply, card, choices
from agenthost.cli.interactive.prompts.pending import Pending
from agenthost.cli.interactive.viewers import SOMEBODY_ELSE
from agenthost.client import actions
from agenthost.protocol.markdown import markdown_of

Json = Mapping[str, Any]
Step = Literal["choose", "edit", "reason", "suggest"]

_PLAIN = (
    {"id": "", "label": "Allow", "kind": "approve"},
    {"id": "", "label": "Deny", "kind": "deny"},
)
_RESULT = (
    {"id": "", "label": "Accept the result", "kind": "approve"},
    {"id": "", "label": "Refuse it", "kind": "deny"},
)
_LABELS = {"choose": "approve? ", "edit": "edit: ", "reason": "why not? ", "suggest": "instead? "}
_FOOTERS = {
    "edit": "Enter runs it like this · Esc goes back",
    "reason": "tell the agent why, or just Enter · Esc goes back",
    "suggest": "tell it what to do instead, or just Enter · Esc goes back",
}
_READ_ONLY = f"{SOMEBODY_ELSE} · v shows it all"
_NO_CHOICE = Hint("there is no such choice here")
# Rows that a card needs besides what is to be approved, and the least that this gets.
_FRAME, _LEAST = 4, 3


@dataclass(frozen=True, slots=True)
class Approval:
    """The approval of one tool call, or of its result."""

    pending: Pending
    step: Step = "choose"
    # The choice that led to the step, and the reason given in it.
    option: Json | None = None
    reason: str = ""

    def with_pending(self, pending: Pending) -> Approval:
        """Go on asking about a call that has changed meanwhile."""
        return replace(self, pending=pending)

    @property
    def label(self) -> str:
        """The label of the input line."""
        return _LABELS[self.step]

    @property
    def prefill(self) -> str:
        """The tool's input, while it is edited."""
        return (input_text(self.pending.item) or "") if self.step == "edit" else ""

    @property
    def is_literal(self) -> bool:
        """Whether the typed text is taken literally."""
        return self.step != "choose"

    @property
    def options(self) -> Sequence[Json]:
        """The choices, in their order."""
        if self.pending.kind == "result":
            return _RESULT
        return self.pending.item.get("options") or _PLAIN

    @property
    def is_editable(self) -> bool:
        """Whether the input may be edited here."""
        call = self.pending.item
        may_be = self.pending.kind == "call" and call.get("editable") is True
        return may_be and self._has_input and self._first("approve") is not None

    @property
    def _has_input(self) -> bool:
        return input_text(self.pending.item) is not None

    def respond(self, text: str) -> Reply:
        """Handle a reply: a choice, an edited input, a reason or a suggestion."""
        match self.step:
            case "edit":
                edited = None if text == self.prefill else text
                option = self._first("approve")
                return _NO_CHOICE if option is None else self._approve(option, edited)
            case "reason":
                return replace(self, step="suggest", reason=text.strip())
            case "suggest":
                return self._deny(self.option, self.reason, text.strip())
        return self._choose(text.strip().lower())

    def back(self) -> Dialogue | None:
        """Return to the choice."""
        return None if self.step == "choose" else replace(self, step="choose", option=None)

    @property
    def is_viewable(self) -> bool:
        """Whether a key shows all of it: where keys are not an answer's letters."""
        return self.step == "choose"

    def card(
        self,
        width: int,
        rows: int,
        preview: Sequence[StyledLine] = (),
        *,
        read_only: bool = False,
    ) -> list[StyledLine]:
        """Return the call to be approved and the choices, or who must choose."""
        lines = [self._title()]
        asks = self.step == "choose" and not read_only
        options = self._choices() if asks else []
        if rows - len(options) - _FRAME < _LEAST:
            # What is asked matters more than how its answers belong together.
            options = self._choices(apart=False) if asks else []
        # At most half the screen, of which the rest of the card is no part.
        room = max(min(rows - len(options) - _FRAME, (rows + 6) // 2), _LEAST)
        lines += self._subject(width - 2, room, preview)
        footer = _READ_ONLY if read_only else self._footer(width - 2)
        return card([*lines, *options, line(("dim", footer))], width)

    def _choose(self, word: str) -> Reply:
        options = self.options
        if word.isascii() and word.isdigit() and 1 <= int(word) <= len(options):
            return self._take(options[int(word) - 1])
        named = [option for option in options if option["label"].lower() == word]
        if named:
            return self._take(named[0])
        match word:
            case "e" | "edit" if self.is_editable:
                return replace(self, step="edit")
            case "d" | "deny" if self.pending.kind == "call":
                return replace(self, step="reason", option=self._for_reason())
            case "y" | "yes":
                return self._take(self._first("approve"))
            case "n" | "no":
                return self._take(self._first("deny"))
        keys = ", ".join(["e"] * self.is_editable + ["d"] * (self.pending.kind == "call") + ["v"])
        told = f"type a number from 1 to {len(options)}, or {keys}"
        return Hint(f"{told}; /queue TEXT leaves a message")

    def _take(self, option: Json | None) -> Reply:
        if option is None:
            return _NO_CHOICE
        if option["kind"] == "approve":
            return self._approve(option, None)
        # The protocol does not say which choices want a reason, but their names do.
        if "reason" in option["id"]:
            return replace(self, step="reason", option=option)
        return self._deny(option, "", "")

    def _approve(self, option: Json | None, edited: str | None) -> Act:
        turn_id, call = self.pending.turn_id, self.pending.item
        action = actions.approval(turn_id, call, option=_id(option), edited_input=edited)
        return Act(action, self)

    def _deny(self, option: Json | None, reason: str, suggestion: str) -> Act:
        action = actions.denial(
            self.pending.turn_id,
            self.pending.item,
            option=_id(option),
            reason=reason or None,
            suggestion=suggestion or None,
        )
        return Act(action, self)

    def _first(self, kind: str) -> Json | None:
        return next((option for option in self.options if option["kind"] == kind), None)

    def _for_reason(self) -> Json | None:
        denials = [option for option in self.options if option["kind"] == "deny"]
        wanted = [option for option in denials if "reason" in option["id"]]
        return next(iter(wanted or denials), None)

    def _title(self) -> StyledLine:
        call = self.pending.item
        asked = markdown_of(call.get("confirmationTitle")) or markdown_of(
            call.get("invocationMessage")
        )
        if self.pending.kind == "result":
            asked = f"{markdown_of(call['pastTenseMessage'])}: may the result stand?"
        name = one_line(call["displayName"])
        place = [("dim", f"  in {self.pending.place}")] if self.pending.place else []
        return line(("bold", name), ("dim", " · "), *inline(one_line(asked), "bold"), *place)

    def _subject(self, width: int, room: int, preview: Sequence[StyledLine]) -> list[StyledLine]:
        """Return the input, the edits and the risk, cut to the rows there are."""
        rows = list(self._rows(width, preview))
        if len(rows) > room:
            # How many they are nobody knows here: of a long diff only the beginning is drawn.
            how = "v" if self.is_viewable else "/show"
            rows = [*rows[: room - 1], line(("dim", f"… more rows · {how}"))]
        return rows

    def _rows(self, width: int, preview: Sequence[StyledLine]) -> Iterator[StyledLine]:
        call = self.pending.item
        edits = (call.get("edits") or {}).get("items") or ()
        if preview:
            yield from preview
        elif edits:
            for edit in edits:
                side = edit.get("after") or edit.get("before") or {}
                yield line("  ", visible(directory_text(side.get("uri", ""))))
        if self.pending.kind == "call" and self.step != "edit":
            # Also below a diff: what is run is the input.
            yield from self._input_rows(width, known=bool(preview))
        risk = call.get("riskAssessment")
        if risk is not None and risk["status"] == "complete":
            safe = round(risk["safety"] * 100)
            told = f"judged {safe}% safe: {one_line(markdown_of(risk['reason']))}"
            yield from wrap(line(("ask", told)), width)
        elif risk is not None:
            yield line(("dim", "the risk is being judged…"))

    def _input_rows(self, width: int, *, known: bool) -> Iterator[StyledLine]:
        given = self.pending.item.get("toolInput")
        if isinstance(given, str):
            for source in visible(given).split("\n"):
                yield from (
                    line("  ", *row) for row in hard_wrap(line(("code", source)), width - 2)
                )
        elif given is not None and not known:
            yield line(("dim", f"  its input is kept at {given['uri']}"))

    def _choices(self, *, apart: bool = True) -> list[StyledLine]:
        groups = [option.get("group", 0) if apart else 0 for option in self.options]
        labels = [one_line(option["label"]) for option in self.options]
        return choices([(label, "", group) for label, group in zip(labels, groups, strict=True)])

    def _footer(self, width: int) -> str:
        if self.step != "choose":
            return _FOOTERS[self.step]
        told = [("type a number", "number")]
        if self.is_editable:
            told.append(("e edits it first", "e edits"))
        if self.pending.kind == "call":
            told.append(("d denies and says why", "d denies"))
        told.append(("v shows it all", "v views"))
        full, brief = (" · ".join(texts) for texts in zip(*told, strict=True))
        return full if len(full) <= width else brief


def _id(option: Json | None) -> str | None:
    return None if option is None else option["id"] or None
