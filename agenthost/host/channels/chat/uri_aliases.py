"""Finds chats by the URIs that editors make up: a session's default chat, a tool call's worker.

Editors make these names themselves, before or instead of being told: for a session that was stored
under older names, and for the worker of a turn that a fork has copied. A chat that is registered
under such a name is found without this module; it is asked for the others.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, cast

from agenthost.host.channels.session.kind import SESSION, SessionChannel
from agenthost.host.log.channel import AnyChannel
from agenthost.host.log.kind import Find
from agenthost.protocol.chat.parts import tool_calls, turns_of
from agenthost.protocol.uris import session_of_default_chat, worker_of

if TYPE_CHECKING:
    from agenthost.protocol.chat.state import ChatState
    from agenthost.protocol.chat.tool_state import ToolResultContent


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
        origin = entry.get("origin")
        if origin and origin["kind"] == "tool" and origin["toolCallId"] == call_id:
            return await find(entry["resource"])
    for entry in entries:
        chat = await find(entry["resource"])
        for resource in _workers_shown(chat.state, call_id) if chat is not None else ():
            if resource != uri:
                return await find(resource)
    return None


def _workers_shown(chat: ChatState, call_id: str) -> Iterator[str]:
    """Yield the worker chats that a tool call of a chat points to."""
    for turn in turns_of(chat):
        for call in tool_calls(turn):
            if call["toolCallId"] == call_id:
                content = cast("list[ToolResultContent] | None", call.get("content"))
                for block in content or ():
                    if block["type"] == "subagent":
                        yield block["resource"]
