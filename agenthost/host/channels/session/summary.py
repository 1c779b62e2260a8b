"""What a session shows of its chats, and its line in the catalogue: pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agenthost.protocol.status import (
    ACTIVITY_MASK,
    ERROR,
    IDLE,
    IN_PROGRESS,
    INPUT_NEEDED,
    with_activity,
)
from agenthost.protocol.uris import annotations_uri

State = Mapping[str, Any]

# What a summary may never tell in an update: it identifies the session.
_IDENTITY = frozenset({"resource", "provider", "createdAt"})
# Partial updates cannot clear a field, so these say "nothing" by an empty value.
_EMPTY: dict[str, Any] = {"activity": "", "workingDirectories": [], "changes": {}, "_meta": {}}


def summarize(session: str, state: State, facts: Mapping[str, Any]) -> dict[str, Any]:
    """Build the SessionSummary of a session.

    ``facts`` are what its state does not hold: ``createdAt``, the counts of annotations and of
    their entries, ``changes`` and the summary's own ``_meta``.
    """
    chats = state["chats"]
    lead = leading_chat(state)
    summary: dict[str, Any] = {
        "resource": session,
        "provider": state["provider"],
        "title": state["title"],
        "status": aggregated_status(state),
        "createdAt": facts["createdAt"],
        "modifiedAt": max([facts["createdAt"], *(chat["modifiedAt"] for chat in chats)]),
    }
    activity = state.get("activity") or (lead or {}).get("activity")
    if activity:
        summary["activity"] = activity
    for key in ("project", "workingDirectories"):
        if key in state:
            summary[key] = state[key]
    summary["annotations"] = annotations_summary(session, facts)
    for key in ("changes", "_meta"):
        if key in facts:
            summary[key] = facts[key]
    return summary


def annotations_summary(session: str, facts: Mapping[str, Any]) -> dict[str, Any]:
    """Say where a session's annotations are, and how many."""
    return {
        "resource": annotations_uri(session),
        "annotationCount": facts.get("annotationCount", 0),
        "entryCount": facts.get("entryCount", 0),
    }


def aggregated_status(state: State) -> int:
    """Return a session's status with the activity of its chats, which no action tells it."""
    if state.get("inputNeeded"):
        activity = INPUT_NEEDED
    else:
        lead = leading_chat(state)
        activity = lead["status"] & ACTIVITY_MASK if lead is not None else IDLE
    return with_activity(state["status"], activity)


def all_fields(summary: State) -> dict[str, Any]:
    """Return what ``root/sessionSummaryChanged`` must carry to who holds any former summary."""
    return {**_EMPTY, **{key: value for key, value in summary.items() if key not in _IDENTITY}}


def changed_fields(before: State, after: State) -> dict[str, Any]:
    """Return what ``root/sessionSummaryChanged`` must carry to lead from one to the other."""
    changes = {
        key: value
        for key, value in after.items()
        if key not in _IDENTITY and before.get(key) != value
    }
    for key, empty in _EMPTY.items():
        if key in before and key not in after and before[key] != empty:
            changes[key] = empty
    return changes


def leading_chat(state: State) -> State | None:
    """Pick the chat whose activity a session shows.

    One that needs somebody, else one that failed, else one that works, else the default.
    """
    chats = state["chats"]
    # A prompt counts even where its chat does not show it, as for a tool that a client runs.
    prompted = {entry["chat"] for entry in state.get("inputNeeded") or ()}
    for bits in (INPUT_NEEDED, ERROR, IN_PROGRESS):
        for chat in chats:
            waited_for = bits == INPUT_NEEDED and chat["resource"] in prompted
            if waited_for or chat["status"] & ACTIVITY_MASK == bits:
                found: State = chat
                return found
    default = state.get("defaultChat")
    for chat in chats:
        if chat["resource"] == default:
            return chat  # type: ignore[no-any-return]
    return max(chats, key=lambda chat: str(chat["modifiedAt"]), default=None)
