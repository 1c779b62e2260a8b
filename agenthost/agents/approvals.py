"""An approval as a tool call asks for it, and the decision on it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Confirmation:
    """The decision on a tool call; true when it was approved."""

    approved: bool
    # The input as it may run now: people may have edited it.
    input: str | None = None
    # The id of the option they picked.
    option: str | None = None
    # Why they did not approve: denied or skipped, in their own words, and what to do instead.
    reason: str | None = None
    reason_message: str | None = None
    suggestion: str | None = None

    def __bool__(self) -> bool:
        return self.approved


def prompt_fields(
    title: str | None, edits: Sequence[Mapping[str, Any]] | None, risk: Mapping[str, Any] | None
) -> dict[str, Any]:
    """Return the fields of an approval under the protocol's names."""
    fields = {
        "confirmationTitle": title,
        "edits": None if edits is None else {"items": list(edits)},
        "riskAssessment": risk,
    }
    return {name: value for name, value in fields.items() if value is not None}
