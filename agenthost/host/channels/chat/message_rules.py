"""Rules for messages: who speaks, which model is asked for, what is attached (pure)."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from agenthost.errors import shortened
from agenthost.host.channels.ranges import is_range, lies_inside, line_lengths
from agenthost.host.channels.session.shown_customizations import offered_customizations
from agenthost.host.channels.settings import check_complete

if TYPE_CHECKING:
    from agenthost.host.channels.rule_context import RuleContext
    from agenthost.protocol.chat.messages import (
        Message,
        MessageAttachment,
        MessageChatAttachment,
        MessageEmbeddedResourceAttachment,
    )
    from agenthost.protocol.chat.state import ChatState, ToolChatOrigin
    from agenthost.protocol.chat.tool_state import (
        ToolResultContent,
        ToolResultEmbeddedResourceContent,
    )

# Where in a longer text something is mentioned is not worth what looking for the line costs.
LONGEST_LOOKED_INTO = 100_000
# Characters of a URI whose end is what tells it from others, and of what could be chosen instead.
LONGEST_URI = 200
LONGEST_LIST = 500


def check_message(state: ChatState, message: Message, context: RuleContext) -> str | None:
    """Check a message that a client wants to put into this chat."""
    if message["origin"]["kind"] != "user":
        return "a client may only send messages of origin user"
    if state.get("interactivity", "full") != "full":
        return f"this chat is {state['interactivity']}: it takes no messages"
    return (
        _check_model(message, context)
        or _check_agent(message, context)
        or check_attachments(message, context)
    )


def check_automation_message(message: Message, context: RuleContext) -> str | None:
    """Check the message that an automation begins its sessions with."""
    return _check_model(message, context) or check_attachments(message, context)


def check_suggestion(message: Message, context: RuleContext) -> str | None:
    """Check what a user suggests instead of a tool call, also where only this may be said."""
    if message["origin"]["kind"] != "user":
        return "a suggestion is of origin user"
    return check_attachments(message, context)


def _check_model(message: Message, context: RuleContext) -> str | None:
    """Check the model that a message asks for, where the agent says which it has."""
    chosen = message.get("model")
    if chosen is None or not context.models:
        return None
    model = next((model for model in context.models if model["id"] == chosen["id"]), None)
    if model is None:
        offered = ", ".join(str(model["id"]) for model in context.models)
        return f"there is no model {shortened(chosen['id'])}; there is {shortened(offered)}"
    schema = model.get("configSchema") or {"type": "object", "properties": {}}
    refusal = check_complete(schema, chosen.get("config") or {}, complete=False)
    return f"model {chosen['id']}: {refusal}" if refusal is not None else None


def _check_agent(message: Message, context: RuleContext) -> str | None:
    """Check the custom agent that a message asks for: one of the session's that people may use."""
    chosen = message.get("agent")
    if chosen is None:
        return None
    agents = offered_customizations(context.session, "agent")
    offered = {each.entry["uri"]: each.name for each in agents}
    if chosen["uri"] in offered:
        return None
    missing = f"there is no agent {_cut(chosen['uri'], LONGEST_URI)} in this session"
    if not offered:
        return f"{missing}; there is none to choose"
    named = ", ".join(f"{name} ({uri})" for uri, name in offered.items())
    return f"{missing}; there is {_cut(named, LONGEST_LIST)}"


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else text[:longest] + "..."


def check_attachments(message: Message, context: RuleContext) -> str | None:
    """Check that everything a message attaches can be read as it asks."""
    attachments = message.get("attachments", ())
    lines: Sequence[int] | None = None
    for attachment in attachments:
        mention = attachment.get("range")
        if mention is not None and len(message["text"]) <= LONGEST_LOOKED_INTO:
            lines = lines or line_lengths(message["text"])
            if not lies_inside(mention, lines):
                label = shortened(attachment["label"])
                return f"the range of the attachment {label} lies outside the message's text"
        refusal = _check_attachment(attachment, context)
        if refusal is not None:
            return refusal
    return None


def _check_attachment(attachment: MessageAttachment, context: RuleContext) -> str | None:
    if attachment["type"] == "embeddedResource" or attachment["type"] == "resource":
        selection = attachment.get("selection")
        if selection is not None and not is_range(selection["range"]):
            return f"the selection of the attachment {shortened(attachment['label'])} is no range"
    if attachment["type"] == "simple":
        # What the host completed is known by its metadata, which comes back with it.
        if "modelRepresentation" not in attachment and not attachment.get("_meta"):
            label = shortened(attachment["label"])
            return f"the attachment {label} has no modelRepresentation: nobody could read it"
    elif attachment["type"] == "embeddedResource":
        return _check_data(attachment, f"the attachment {shortened(attachment['label'])}")
    elif attachment["type"] == "annotations":
        # Some of those that it lists may have been removed while it was written.
        if attachment["resource"] not in context.notes:
            return f"there are no annotations {shortened(attachment['resource'])}"
    elif attachment["type"] == "chat":
        return _check_chat(attachment, context)
    return None


def _check_chat(attachment: MessageChatAttachment, context: RuleContext) -> str | None:
    chat = context.chats.get(attachment["resource"])
    if chat is None:
        return f"the attached chat {attachment['resource']} does not exist"
    end = attachment.get("endTurn")
    if end is not None and all(turn["id"] != end for turn in chat["turns"]):
        return f"the attached chat has no completed turn {end}"
    return None


def check_content(
    chat: ChatState, call_id: str, blocks: Iterable[ToolResultContent], context: RuleContext
) -> str | None:
    """Check what a client shows as the content of its tool call."""
    workers: set[str] | None = None
    for block in blocks:
        if block["type"] == "embeddedResource":
            refusal = _check_data(block, "the embedded resource")
            if refusal is not None:
                return refusal
        elif block["type"] == "subagent":
            workers = _workers(chat, call_id, context) if workers is None else workers
            if block["resource"] not in workers:
                return f"the chat {shortened(block['resource'])} is no worker of this tool call"
    return None


def _workers(chat: ChatState, call_id: str, context: RuleContext) -> set[str]:
    """Return the chats that a tool call has started, as they say themselves."""
    origin: ToolChatOrigin = {"kind": "tool", "chat": chat["resource"], "toolCallId": call_id}
    chats = context.session.get("chats") if context.session is not None else None
    return {entry["resource"] for entry in chats or () if entry.get("origin") == origin}


def _check_data(
    holder: MessageEmbeddedResourceAttachment | ToolResultEmbeddedResourceContent, what: str
) -> str | None:
    try:
        base64.b64decode(holder["data"], validate=True)
    except (binascii.Error, ValueError):
        return f"the data of {what} is not valid base64"
    return None
