"""Turns a user's message into one for the remote host, with its attachments."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any

from agenthost.agents.api import AgentError
from agenthost.agents.turn import Turn

# Bytes of all that is attached to one message; hosts take no larger ones.
MOST_ATTACHED = 4 * 1024 * 1024
# The entry of a message's metadata that names the hosts it has come through.
HOPS = "agenthost/hops"
# Hosts in a row through which a message may go.
MOST_HOPS = 4

Json = Mapping[str, Any]


def hops_of(message: Json) -> list[str]:
    """Return the marks of the hosts that a message has come through."""
    found = (message.get("_meta") or {}).get(HOPS)
    return [hop for hop in found if isinstance(hop, str)] if isinstance(found, list) else []


def check_hops(message: Json, own: str, host: str) -> list[str]:
    """Return where a message will have come through; AgentError if it goes round in circles."""
    hops = hops_of(message)
    if own in hops:
        raise AgentError(
            f"this would go round in circles: the message came through here on its way to {host}",
            "farLoop",
        )
    if len(hops) >= MOST_HOPS:
        raise AgentError(f"{host} is more than {MOST_HOPS} hosts away", "farLoop")
    return [*hops, own]


async def far_message(
    turn: Turn,
    message: Json,
    *,
    hops: Sequence[str],
    shares_files: bool,
    command_prefix: object = None,
    introduction: str = "",
) -> dict[str, Any]:
    """Return a message as it is sent to a far host, which runs one with its prefix as a command.

    Raises:
        AgentError: something that is attached cannot be read, or all of it is too much.
    """
    text = f"{introduction}\n\n{message['text']}" if introduction else message["text"]
    if isinstance(command_prefix, str) and command_prefix and text.startswith(command_prefix):
        # It is none here: not a person's, or of somebody who was never told that there are any.
        text = f" {text}"
    made: dict[str, Any] = {"text": text, "origin": {"kind": "user"}}
    room = MOST_ATTACHED
    attached: list[Json] = []
    for attachment in message.get("attachments") or ():
        sent = await _attachment(turn, attachment, shares_files, room)
        room -= len(sent.get("data", "")) * 3 // 4
        attached.append(sent)
    if attached:
        made["attachments"] = attached
    if message.get("model") is not None:
        made["model"] = message["model"]
    meta: dict[str, Any] = {HOPS: list(hops)}
    if turn.trace is not None:
        meta["traceparent"] = turn.trace
    return {**made, "_meta": meta}


async def _attachment(turn: Turn, attachment: Json, shares_files: bool, room: int) -> Json:
    kind = attachment["type"]
    stays = shares_files and str(attachment.get("uri", "")).startswith("file:")
    if kind in ("simple", "embeddedResource") or (kind == "resource" and stays):
        return attachment
    # The far host cannot read what is here, so it is sent along.
    data = await turn.read_attachment(attachment, most=room)
    names = ("label", "range", "displayKind", "selection")
    kept = {name: attachment[name] for name in names if name in attachment}
    content_type = attachment.get("contentType") or "application/octet-stream"
    encoded = base64.b64encode(data).decode()
    return {"type": "embeddedResource", "data": encoded, "contentType": content_type, **kept}
