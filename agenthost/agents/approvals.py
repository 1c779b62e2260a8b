"""An approval as a tool call asks for it, the usual options for it, and the decision on it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from agenthost.agents.inputs import check_unique

ALLOW_ONCE: Final = "allow-once"
ALLOW_IN_SESSION: Final = "allow-in-session"
DENY: Final = "deny"
DENY_WITH_REASON: Final = "deny-with-reason"

_KINDS: Final = {
    ALLOW_ONCE: ("approve", 0),
    ALLOW_IN_SESSION: ("approve", 0),
    DENY: ("deny", 1),
    DENY_WITH_REASON: ("deny", 1),
}
# By primary language subtag, in the order of `_KINDS`.
_LABELS: Final[dict[str, tuple[str, str, str, str]]] = {
    "en": ("Allow once", "Allow in this session", "Deny", "Deny with a reason"),
    "de": (
        "Einmal erlauben",
        "In dieser Sitzung erlauben",
        "Ablehnen",
        "Mit Begründung ablehnen",
    ),
    "es": ("Permitir una vez", "Permitir en esta sesión", "Denegar", "Denegar con un motivo"),
    "fr": (
        "Autoriser une fois",
        "Autoriser pour cette session",
        "Refuser",
        "Refuser avec un motif",
    ),
    "ja": ("一度だけ許可", "このセッションで許可", "拒否", "理由を付けて拒否"),
}


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


def option(id: str, label: str, *, approve: bool, group: int | None = None) -> dict[str, Any]:
    """Make one choice of your own; options of different groups are set apart."""
    made: dict[str, Any] = {"id": id, "label": label, "kind": "approve" if approve else "deny"}
    return made if group is None else {**made, "group": group}


def standard_options(locale: str | None) -> list[dict[str, Any]]:
    """Return allow once, allow in this session, deny, deny with a reason."""
    language = (locale or "en").replace("_", "-").split("-")[0].lower()
    labels = _LABELS.get(language, _LABELS["en"])
    return [
        {"id": id, "label": label, "kind": kind, "group": group}
        for (id, (kind, group)), label in zip(_KINDS.items(), labels, strict=True)
    ]


def without_remembering(options: Iterable[Any]) -> list[Any]:
    """Return the options without "allow in this session"."""
    # What is no option at all is left in, for the protocol's check to say what is wrong with it.
    return [
        item
        for item in options
        if not isinstance(item, Mapping) or item.get("id") != ALLOW_IN_SESSION
    ]


def check_options(options: Iterable[Any]) -> None:
    """Check that the options of an approval have different ids; AgentError if not."""
    ids = [item.get("id") for item in options if isinstance(item, Mapping)]
    check_unique((id for id in ids if isinstance(id, str)), "options of an approval")
