"""Who set the messages that wait in a chat: a queued one runs on its author's behalf.

Kept in the store, because whoever begins it may be another host than the one it was sent to.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from agenthost.host.channels.chat.extra import AUTHORS, ChatChannel, extra_of
from agenthost.host.store import DropRecord, PutRecord
from agenthost.host.trust.principals import Starter
from agenthost.protocol.jsonrpc import dumps


def set_authors(chat: ChatChannel, authors: Mapping[str, Starter]) -> PutRecord | DropRecord:
    """Remember the authors of those messages that wait; return what is to be stored."""
    pending = [*(chat.state.get("queuedMessages") or ()), chat.state.get("steeringMessage")]
    waiting = [item["id"] for item in pending if item is not None]
    extra = extra_of(chat)
    extra.authors = {id: authors[id] for id in waiting if id in authors}
    if not extra.authors:
        return DropRecord(AUTHORS, chat.uri)
    stored = {id: asdict(author) for id, author in extra.authors.items()}
    return PutRecord(AUTHORS, chat.uri, dumps(stored))


def read_authors(stored: Mapping[str, Mapping[str, Any]]) -> dict[str, Starter]:
    """Return the authors that were stored, also by a version that knows more of them."""
    return {
        id: Starter(
            author["principal"],
            author.get("locale"),
            author.get("client_id"),
            author.get("depth", 0),
            author.get("knows_commands", False),
        )
        for id, author in stored.items()
    }
