"""The session actions that follow from a change of one of its chats (pure).

A chat's summary fields are repeated in its session's catalogue, and everything that blocks a turn
is mirrored in ``inputNeeded``, so that a client watching only the session can act. This module
works out the session actions that keep both true; it applies nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, cast

from agenthost.host.channels.titles import clipped
from agenthost.protocol.chat.parts import tool_calls
from agenthost.protocol.json_edits import carry, without
from agenthost.protocol.markdown import markdown_of
from agenthost.protocol.session.input_needed import input_needed_in
from agenthost.protocol.status import IS_READ

if TYPE_CHECKING:
    from agenthost.protocol.chat.state import ChatState, ChatSummary
    from agenthost.protocol.common import Action
    from agenthost.protocol.session.state import SessionState

# What a chat's own actions can change of its catalogue entry; title, origin and interactivity
# are only ever set by the host, in the catalogue itself.
_LIVE_FIELDS = ("status", "activity", "modifiedAt", "workingDirectories", "movable")
_SUMMARY_FIELDS = ("resource", "title", *_LIVE_FIELDS, "origin", "interactivity", "changes")

# Actions after which something may have started or stopped to block the turn.
_MAY_BLOCK = frozenset(
    {
        "chat/turnStarted",
        "chat/turnResume",
        "chat/turnComplete",
        "chat/turnCancelled",
        "chat/error",
        "chat/truncated",
        "chat/toolCallReady",
        "chat/toolCallConfirmed",
        "chat/toolCallComplete",
        "chat/toolCallResultConfirmed",
        "chat/toolCallContentChanged",
        "chat/toolCallAuthRequired",
        "chat/toolCallAuthResolved",
        "chat/inputRequested",
        "chat/inputAnswerChanged",
        "chat/inputCompleted",
        "chat/responsePart",
    }
)
# Characters of a tool's own words that fit into a line of a list.
LONGEST_ACTIVITY = 120
_MARKS_UNREAD = frozenset({"chat/turnStarted", "chat/turnResume", "chat/inputRequested"})


def chat_summary(chat: ChatState) -> ChatSummary:
    """Return the catalogue entry of a chat."""
    return cast("ChatSummary", carry(chat, *_SUMMARY_FIELDS))


def shown_activity(chat: ChatState) -> str | None:
    """Say what a chat is doing: in its agent's words, else by the tool that is running."""
    active = chat.get("activeTurn")
    if chat.get("activity") or active is None:
        return chat.get("activity") or None
    for call in reversed([*tool_calls(active)]):
        if call["status"] == "running":
            return clipped(markdown_of(call["invocationMessage"]), LONGEST_ACTIVITY)
    return None


def session_actions(action: Action, chat: ChatState, session: SessionState) -> list[Action]:
    """Plan the session's actions after ``action`` made a chat what it is now."""
    actions = [*_catalogue_actions(action, chat, session)]
    if action["type"] in _MAY_BLOCK:
        actions.extend(_input_needed_actions(chat, session))
    if action["type"] in _MARKS_UNREAD and session["status"] & IS_READ:
        actions.append({"type": "session/isReadChanged", "isRead": False})
    return actions


def _catalogue_actions(action: Action, chat: ChatState, session: SessionState) -> Iterator[Action]:
    uri = chat["resource"]
    entry = next((entry for entry in session["chats"] if entry["resource"] == uri), None)
    if entry is None:
        return
    live = carry(chat, *_LIVE_FIELDS)
    live.pop("activity", None)
    # Looking for the running tool takes as long as the turn has parts.
    looks = action["type"] in _MAY_BLOCK or action["type"] == "chat/activityChanged"
    activity = shown_activity(chat) if looks else entry.get("activity")
    if activity:
        live["activity"] = activity
    if any(key in entry and key not in live for key in _LIVE_FIELDS):
        # A partial update cannot clear a field; the whole entry can.
        fixed = without(entry, *_LIVE_FIELDS)
        yield {"type": "session/chatAdded", "summary": {**fixed, **live}}
        return
    changes = {key: value for key, value in live.items() if value != entry.get(key)}
    if changes:
        yield {"type": "session/chatUpdated", "chat": uri, "changes": changes}


def _input_needed_actions(chat: ChatState, session: SessionState) -> Iterator[Action]:
    uri = chat["resource"]
    wanted = {entry["id"]: entry for entry in input_needed_in(uri, chat)}
    present = {
        entry["id"]: entry for entry in session.get("inputNeeded") or () if entry["chat"] == uri
    }
    for id in present:
        if id not in wanted:
            yield {"type": "session/inputNeededRemoved", "id": id}
    for id, entry in wanted.items():
        if present.get(id) != entry:
            yield {"type": "session/inputNeededSet", "request": entry}
