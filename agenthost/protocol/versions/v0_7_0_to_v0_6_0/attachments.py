"""Chat attachments, which 0.6.0 lacks: shown as simple ones there, and recognised when they return.

The original travels in the simple attachment's ``_meta``. Clients send back what they got there, so
an old client that edits a message keeps the attachment without knowing of it. What returns is
validated like any attachment: the stash grants nothing.
"""

from __future__ import annotations

from typing import Final

from agenthost.protocol.versions.node_edits import Json, put, without

# The private ``_meta`` member under which the original is kept.
STASH: Final = "agenthost/chatAttachment"

# What both kinds of attachment have; the stash holds the rest.
_SHARED: Final = ("type", "label", "range", "displayKind", "_meta")


def chat_attachment_down(attachment: Json) -> Json:
    """Return a chat attachment as a simple one that names the chat; others as they are."""
    if attachment.get("type") != "chat":
        return attachment
    shared: Json = {key: attachment[key] for key in _SHARED if key in attachment}
    return {
        **shared,
        "type": "simple",
        "modelRepresentation": _description(attachment),
        "_meta": {**(attachment.get("_meta") or {}), STASH: without(attachment, *_SHARED)},
    }


def chat_attachment_up(attachment: Json) -> Json:
    """Return the chat attachment that a simple one carries; others as they are."""
    meta = attachment.get("_meta")
    if attachment.get("type") != "simple" or not isinstance(meta, dict):
        return attachment
    stash = meta.get(STASH)
    if not isinstance(stash, dict):
        return attachment
    shared = without(attachment, "modelRepresentation")
    return {**put(shared, "_meta", without(meta, STASH) or None), **stash, "type": "chat"}


def _description(attachment: Json) -> str:
    until = attachment.get("endTurn")
    extent = "its latest completed turn" if until is None else f"turn {until}"
    return f"The chat {attachment.get('resource')}, up to {extent}."
