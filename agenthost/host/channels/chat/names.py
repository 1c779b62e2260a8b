"""Chats under names that say what they are: a session's default chat, a tool call's worker.

Editors make these names themselves, before or instead of being told: for a session that was stored
under older names, and for the worker of a turn that a fork has copied. A chat that is registered
under such a name is found without this module; it is asked for the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from agenthost.host.channels.session.kind import SESSION, SessionChannel
from agenthost.host.log.channel import AnyChannel
from agenthost.host.log.kind import Find
from agenthost.protocol.uris import session_of_default_chat, worker_of


async def find_named_chat(uri: str, find: Find) -> AnyChannel | None:
    """Return the chat that a name describes, though none is registered under it."""
    named = session_of_default_chat(uri)
    if named is not None:
        session = await _session(named, find)
        default = session.state.get("defaultChat") if session is not None else None
        return await find(default) if default is not None and default != uri else None
    worker = worker_of(uri)
    if worker is not None:
        session = await _session(worker[0], find)
        return await _worker(uri, session, worker[1], find) if session is not None else None
    return None


async def _session(uri: str, find: Find) -> SessionChannel | None:
    session = await find(uri)
    return session if session is not None and session.kind is SESSION else None


async def _worker(uri: str, session: SessionChannel, call_id: str, find: Find) -> AnyChannel | None:
    entries = list(session.state["chats"])
    for entry in entries:
        origin: Mapping[str, Any] = entry.get("origin") or {}
        if origin.get("kind") == "tool" and origin.get("toolCallId") == call_id:
            return await find(entry["resource"])
    for entry in entries:
        chat = await find(entry["resource"])
        for resource in _workers_shown(chat.state, call_id) if chat is not None else ():
            if resource != uri:
                return await find(resource)
    return None


def _workers_shown(chat: Mapping[str, Any], call_id: str) -> Iterator[str]:
    """Yield the worker chats that a tool call of a chat points to."""
    active = chat.get("activeTurn")
    for turn in (*chat["turns"], *([active] if active is not None else [])):
        for part in turn["responseParts"]:
            call = part.get("toolCall") or {}
            if call.get("toolCallId") == call_id:
                for block in call.get("content") or ():
                    if block.get("type") == "subagent":
                        yield block["resource"]
