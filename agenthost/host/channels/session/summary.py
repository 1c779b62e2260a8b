"""The summary of a session for the session list, and what a session shows of its chats (pure)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NotRequired, TypedDict, cast

from agenthost.host.channels.timestamps import sortable
from agenthost.protocol.json_edits import carry
from agenthost.protocol.status import (
    ACTIVITY_MASK,
    ERROR,
    IDLE,
    IN_PROGRESS,
    INPUT_NEEDED,
    with_activity,
)
from agenthost.protocol.uris import annotations_uri

if TYPE_CHECKING:
    from agenthost.protocol.annotations import AnnotationsSummary
    from agenthost.protocol.chat.state import ChatSummary
    from agenthost.protocol.common import ChangesSummary, JsonObject
    from agenthost.protocol.session.state import (
        ProjectInfo,
        SessionChatSummary,
        SessionState,
        SessionSummary,
    )

# What a summary may never tell in an update: it identifies the session.
_IDENTITY = frozenset({"resource", "provider", "createdAt"})
# Partial updates cannot clear a field, so these say "nothing" by an empty value.
_EMPTY: JsonObject = {
    "activity": "",
    "workingDirectories": [],
    "changes": {},
    "chats": [],
    "defaultChat": "",
    "_meta": {},
}
# What the list of sessions says of each chat.
_OF_EACH_CHAT = ("resource", "title", "origin", "interactivity", "status", "changes")


# What a chat does, the most urgent first.
_LEADING = {INPUT_NEEDED: 0, ERROR: 1, IN_PROGRESS: 2}


class CompactChats(TypedDict):
    """The part of a summary that tells of the session's chats."""

    chats: list[SessionChatSummary]
    defaultChat: NotRequired[str]


class SummaryFacts(TypedDict):
    """What a summary tells that the session's state does not."""

    createdAt: str
    annotationCount: NotRequired[int]
    entryCount: NotRequired[int]
    changes: NotRequired[ChangesSummary]
    project: NotRequired[ProjectInfo]
    _meta: NotRequired[JsonObject]


def summarize(session: str, state: SessionState, facts: SummaryFacts) -> SessionSummary:
    """Build the summary of a session."""
    chats = state["chats"]
    lead = leading_chat(state)
    summary: SessionSummary = {
        "resource": session,
        "provider": state["provider"],
        "title": state["title"],
        "status": aggregated_status(state),
        "createdAt": facts["createdAt"],
        "modifiedAt": max(
            [facts["createdAt"], *(chat["modifiedAt"] for chat in chats)], key=sortable
        ),
    }
    activity = state.get("activity") or (lead.get("activity") if lead is not None else None)
    if activity:
        summary["activity"] = activity
    if "origin" in state:
        summary["origin"] = state["origin"]
    if "project" in facts:
        summary["project"] = facts["project"]
    if "workingDirectories" in state:
        summary["workingDirectories"] = state["workingDirectories"]
    summary["annotations"] = annotations_summary(session, facts)
    if "changes" in facts:
        summary["changes"] = facts["changes"]
    if "_meta" in facts:
        summary["_meta"] = facts["_meta"]
    compact = compact_chats(state)
    summary["chats"] = compact["chats"]
    if "defaultChat" in compact:
        summary["defaultChat"] = compact["defaultChat"]
    return summary


def annotations_summary(session: str, facts: SummaryFacts | None) -> AnnotationsSummary:
    """Say where a session's annotations are, and how many."""
    return {
        "resource": annotations_uri(session),
        "annotationCount": facts.get("annotationCount", 0) if facts is not None else 0,
        "entryCount": facts.get("entryCount", 0) if facts is not None else 0,
    }


def aggregated_status(state: SessionState) -> int:
    """Return a session's status with the activity of its chats, which no action tells it."""
    if state["lifecycle"] == "failed":
        activity = ERROR
    elif _prompted_chats(state):
        activity = INPUT_NEEDED
    else:
        lead = leading_chat(state)
        activity = lead["status"] & ACTIVITY_MASK if lead is not None else IDLE
    return with_activity(state["status"], activity)


def compact_chats(state: SessionState) -> CompactChats:
    """Return what a summary tells of a session's chats: all of them, in order, in few words."""
    chats = [carry(chat, *_OF_EACH_CHAT) for chat in state["chats"]]
    told: CompactChats = {"chats": cast("list[SessionChatSummary]", chats)}
    if "defaultChat" in state:
        told["defaultChat"] = state["defaultChat"]
    return told


def all_fields(summary: SessionSummary) -> JsonObject:
    """Return what ``root/sessionSummaryChanged`` must carry to who holds any former summary."""
    return {**_EMPTY, **{key: value for key, value in summary.items() if key not in _IDENTITY}}


def changed_fields(before: SessionSummary, after: SessionSummary) -> JsonObject:
    """Return what ``root/sessionSummaryChanged`` must carry to lead from one to the other."""
    changes: JsonObject = {
        key: value
        for key, value in after.items()
        if key not in _IDENTITY and before.get(key) != value
    }
    for key, empty in _EMPTY.items():
        if key in before and key not in after and before.get(key) != empty:
            changes[key] = empty
    return changes


def leading_chat(state: SessionState) -> ChatSummary | None:
    """Pick the chat whose activity a session shows.

    One that needs somebody, else one that failed, else one that works, else the default.
    """
    chats = state["chats"]
    prompted = _prompted_chats(state)
    lead, most = None, len(_LEADING)
    # Once through them: a session may have a thousand, and all of its actions come along here.
    for chat in chats:
        rank = _LEADING.get(chat["status"] & ACTIVITY_MASK, most)
        if prompted and chat["resource"] in prompted:
            rank = 0
        if rank < most:
            lead, most = chat, rank
    if lead is not None:
        return lead
    default = state.get("defaultChat")
    for chat in chats:
        if chat["resource"] == default:
            return chat
    return max(chats, key=lambda chat: sortable(chat["modifiedAt"]), default=None)


def _prompted_chats(state: SessionState) -> set[str]:
    """Return the chats that wait for a person; a tool that a client runs waits for nobody."""
    return {
        entry["chat"]
        for entry in state.get("inputNeeded") or ()
        if entry["kind"] != "toolClientExecution"
    }
