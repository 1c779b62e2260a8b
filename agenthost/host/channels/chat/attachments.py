"""Attachments: chats and annotations that a message refers to, written out for the agent.

Resolved when the message is accepted, and kept: an agent that looks at its history finds what it
was given, whatever has become of the attached chat since. What a chat attaches itself is named and
not written out. Does not refuse anything: ``rules`` do. Clients see the message as it was sent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, cast

from agenthost.host.channels.chat.extra import ATTACHED, ChatChannel, extra_of
from agenthost.host.channels.chat.shell_turns import is_shell_turn
from agenthost.host.log.channel import AnyChannel
from agenthost.host.store import PutRecord
from agenthost.protocol.jsonrpc import dumps
from agenthost.protocol.markdown import markdown_of

if TYPE_CHECKING:
    from agenthost.protocol.annotations import Annotation, AnnotationsState
    from agenthost.protocol.chat.messages import (
        Message,
        MessageAnnotationsAttachment,
        MessageAttachment,
        MessageChatAttachment,
    )
    from agenthost.protocol.chat.state import ChatState, CompletedTurn, ResponsePart
    from agenthost.protocol.common import Action

Find = Callable[[str], AnyChannel | None]

# Attached URIs of a chat whose senders are remembered, the newest, and senders of each.
MOST_SENT = 200
MOST_SENDERS = 3


def references(message: Message | None) -> Iterator[tuple[str, str, str | None]]:
    """Yield what a message refers to: its kind, its channel, and the turn at which it ends."""
    for item in message.get("attachments", ()) if message is not None else ():
        if item["type"] == "chat":
            yield item["type"], item["resource"], item.get("endTurn")
        elif item["type"] == "annotations":
            yield item["type"], item["resource"], None


def write_out_attachments(chat: ChatChannel, action: Action, find: Find) -> bool:
    """Write out what a message refers to that a chat has just accepted; say if there was any."""
    if action["type"] == "chat/turnStarted":
        key, pending = action["turnId"], _pending(action.get("queuedMessageId") or "")
    elif action["type"] == "chat/pendingMessageSet":
        key, pending = _pending(action["id"]), None
    else:
        return False
    extra = extra_of(chat)
    given = extra.attached.get(pending) if pending is not None else None
    if given is None:
        given = _write_out(action["message"], find)
    if given is None and key not in extra.attached:
        return False
    known = {id: items for id, items in extra.attached.items() if id != key}
    if given is not None:
        known[key] = given
    extra.attached = {id: known[id] for id in _messages(chat.state) if id in known}
    return True


def attached_uris(message: Message) -> set[str]:
    """Return the URIs of the resources that are attached to a message."""
    attached = message.get("attachments", ())
    return {item["uri"] for item in attached if item["type"] == "resource"}


def remember_sender(chat: ChatChannel, message: Message, client_id: str) -> None:
    """Remember which client attached what: nobody else is asked for it."""
    uris = {uri for uri in attached_uris(message) if not uri.startswith("file:")}
    if uris:
        extra = extra_of(chat)
        senders = {uri: ids for uri, ids in extra.senders.items() if uri not in uris}
        for uri in sorted(uris):
            ids = dict.fromkeys((client_id, *extra.senders.get(uri, ())))
            senders[uri] = tuple(ids)[:MOST_SENDERS]
        extra.senders = dict(list(senders.items())[-MOST_SENT:])


def record(chat: ChatChannel) -> PutRecord:
    """Return how what was written out is stored."""
    return PutRecord(ATTACHED, chat.uri, dumps(extra_of(chat).attached))


def message_for_agent(
    chat: ChatChannel, id: str, message: Message, *, pending: bool = False
) -> Message:
    """Return a message of a chat as its agent is given it."""
    given = extra_of(chat).attached.get(_pending(id) if pending else id)
    return {**message, "attachments": given} if given is not None else message


def turn_for_agent(chat: ChatChannel, turn: CompletedTurn) -> CompletedTurn:
    """Return a turn of a chat as its agent is given it."""
    message = message_for_agent(chat, turn["id"], turn["message"])
    return turn if message is turn["message"] else {**turn, "message": message}


def history_for_agent(
    chat: ChatChannel, turns: Sequence[CompletedTurn] | None = None
) -> Sequence[CompletedTurn]:
    """Return completed turns of a chat, all or these, as its agent is given them."""
    told = [
        turn
        for turn in (chat.state["turns"] if turns is None else turns)
        if not is_shell_turn(turn)
    ]
    # Few chats attach others.
    return [turn_for_agent(chat, turn) for turn in told] if extra_of(chat).attached else told


def _pending(id: str) -> str:
    return f"pending/{id}"


def _messages(state: ChatState) -> Iterator[str]:
    for turn in state["turns"]:
        yield turn["id"]
    if "activeTurn" in state:
        yield state["activeTurn"]["id"]
    steering = state.get("steeringMessage")
    for item in (*(state.get("queuedMessages") or ()), *([steering] if steering else ())):
        yield _pending(item["id"])


def _write_out(message: Message, find: Find) -> list[MessageAttachment] | None:
    if not any(references(message)):
        return None
    return [_given(item, find) for item in message["attachments"]]


def _given(item: MessageAttachment, find: Find) -> MessageAttachment:
    if item["type"] != "chat" and item["type"] != "annotations":
        return item
    channel = find(item["resource"])
    if channel is None or channel.kind.name != item["type"]:
        return item
    if item["type"] == "chat":
        text = _transcript(item, channel.state)
    else:
        text = _notes(item, channel.state)
    return cast("MessageAttachment", {**item, "type": "simple", "modelRepresentation": text})


def _transcript(item: MessageChatAttachment, chat: ChatState) -> str:
    turns, end = chat["turns"], item.get("endTurn")
    last = next((n for n, turn in enumerate(turns, 1) if turn["id"] == end), len(turns))
    return "\n\n".join(line for turn in turns[:last] for line in _told(turn))


def _told(turn: CompletedTurn) -> Iterator[str]:
    message = turn["message"]
    labels = "".join(f"\n(attached: {item['label']})" for item in message.get("attachments", ()))
    yield f"User: {message['text']}{labels}"
    answer = "".join(map(_said, turn["responseParts"])).strip()
    if answer:
        yield f"Assistant: {answer}"


def _said(part: ResponsePart) -> str:
    if part["kind"] == "toolCall":
        return f"\n(used the tool {part['toolCall']['displayName']})\n"
    return part["content"] if part["kind"] == "markdown" else ""


def _notes(item: MessageAnnotationsAttachment, state: AnnotationsState) -> str:
    wanted = item.get("annotationIds")
    chosen = (note for note in state["annotations"] if wanted is None or note["id"] in wanted)
    return "\n\n".join(map(_note, chosen))


def _note(note: Annotation) -> str:
    place = note.get("range")
    lines = f", lines {place['start']['line'] + 1} to {place['end']['line'] + 1}" if place else ""
    entries = "\n".join(f"- {markdown_of(entry['text'])}" for entry in note["entries"])
    return f"{note['resource']}{lines}{' (resolved)' if note['resolved'] else ''}\n{entries}"
