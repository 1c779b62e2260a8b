"""Which changesets a session or a chat offers, and what their names mean (pure)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, get_args
from urllib.parse import quote, unquote

from msgspec import Struct

if TYPE_CHECKING:
    from agenthost.protocol.changeset import Changeset

ChangeKind = Literal["branch", "uncommitted", "session", "turn", "compare"]
_KINDS: tuple[ChangeKind, ...] = get_args(ChangeKind)
# How many turns a name of each kind has at its end.
_TURNS = {"turn": 1, "compare": 2}
_OF_CHATS = frozenset({"session", "turn", "compare"})
REVIEWABLE = frozenset({"branch", "uncommitted", "session"})
_BETWEEN = "/changeset/"
_LABELS: dict[ChangeKind, str] = {
    "branch": "Branch Changes",
    "uncommitted": "Uncommitted Changes",
    "session": "Session Changes",
    "turn": "This Turn",
    "compare": "Compare Turns",
}
_TEMPLATES = {"turn": "turn/{turnId}", "compare": "compare/{originalTurnId}/{modifiedTurnId}"}
_CHANGE_KINDS = {"compare": "compare-turns"}


class ChangesetName(Struct, frozen=True):
    """What a changeset's URI says."""

    # The session or chat that it is of.
    owner: str
    kind: ChangeKind
    turns: tuple[str, ...] = ()

    @property
    def uri(self) -> str:
        """The one spelling under which it is registered."""
        return "/".join(
            (f"{self.owner}{_BETWEEN}{self.kind}", *(quote(turn, safe="") for turn in self.turns))
        )

    @property
    def is_of_turns(self) -> bool:
        """Whether it shows certain turns alone."""
        return self.kind in _TURNS


def changeset_owner(uri: str) -> str | None:
    """Return whose changeset a URI names, if it names one at all."""
    owner, between, _ = uri.rpartition(_BETWEEN)
    return owner if between and owner and _BETWEEN not in owner else None


def read_name(uri: str) -> ChangesetName | None:
    """Read a changeset's URI; None for a name that no session and no chat offers."""
    owner = changeset_owner(uri)
    if owner is None:
        return None
    kind, *turns = uri[len(owner) + len(_BETWEEN) :].split("/")
    if kind not in _KINDS or len(turns) != _TURNS.get(kind, 0):
        return None
    # A template that nobody has filled in.
    if not all(turns) or any("{" in turn for turn in turns):
        return None
    return ChangesetName(owner, kind, tuple(map(unquote, turns)))


def is_of_chats(kind: ChangeKind) -> bool:
    """Say whether a chat has such a changeset of its own."""
    return kind in _OF_CHATS


def fixed_uris(session: str) -> list[str]:
    """Return the changesets of a session that it has once, and that people review."""
    return [ChangesetName(session, kind).uri for kind in _KINDS if kind in REVIEWABLE]


class Offer(Struct, frozen=True):
    """What there is to compare."""

    # Whether any of the folders is in a repository.
    has_git: bool = False
    # Whether there may be changes yet.
    is_used: bool = True
    # The current branch, and the one to compare it with.
    branch: str | None = None
    base: str | None = None


def session_entries(session: str, offer: Offer) -> list[Changeset]:
    """Return a session's catalogue, in the order in which editors show it."""
    kinds: list[ChangeKind] = []
    if offer.has_git and offer.is_used:
        kinds += ["branch"] if offer.base else []
    # Where there is no branch to show, editors show the first: what the session did, not what else
    # has not been committed.
    kinds += ["session"] if offer.is_used else []
    kinds += ["uncommitted"] if offer.has_git else []
    if offer.is_used:
        kinds.append("turn")
        kinds += ["compare"] if offer.has_git else []
    entries = [_entry(session, kind, review=kind in REVIEWABLE) for kind in kinds]
    if "branch" in kinds:
        entries[0]["description"] = f"{offer.branch or 'HEAD'} → {offer.base}"
    return entries


def chat_entries(chat: str, offer: Offer) -> list[Changeset]:
    """Return a chat's catalogue."""
    kinds: list[ChangeKind] = ["session", "turn"] if offer.is_used else []
    kinds += ["compare"] if offer.is_used and offer.has_git else []
    return [_entry(chat, kind, review=False) for kind in kinds]


def _entry(owner: str, kind: ChangeKind, *, review: bool) -> Changeset:
    entry: Changeset = {
        "label": _LABELS[kind],
        "uriTemplate": f"{owner}{_BETWEEN}{_TEMPLATES.get(kind, kind)}",
        "changeKind": _CHANGE_KINDS.get(kind, kind),
    }
    if review:
        entry["capabilities"] = {"review": {}}
    return entry
