"""Clients that move chats, and look where they are then."""

from __future__ import annotations

from typing import Any

from tests.wire.client import WireClient, open_client

__all__ = [
    "BEFORE",
    "BUSY",
    "DENIED",
    "INVALID",
    "NEWEST",
    "NOT_FOUND",
    "UNKNOWN_METHOD",
    "entry_of",
    "everywhere",
    "happened",
    "listed",
    "make",
    "move",
    "newest",
    "refused",
    "workers",
]

NEWEST, BEFORE = "1.0.0", "0.9.0"
NOT_FOUND, DENIED, INVALID, BUSY, UNKNOWN_METHOD = -32008, -32009, -32602, -32004, -32601

Json = dict[str, Any]


def newest(url: str, name: str = "c1") -> Any:
    return open_client(url, name, NEWEST)


async def move(client: WireClient, chat: str, session: str | None = None, **more: Any) -> str:
    """Move a chat to a session, or to one of its own; return where it is then."""
    destination: Json = (
        {"kind": "session", "session": session} if session else {"kind": "newSession"}
    )
    result = await client.request("moveChat", channel=chat, destination={**destination, **more})
    moved: str = result["session"]
    return moved


async def refused(client: WireClient, chat: str, **destination: Any) -> int:
    failure = await client.refusal("moveChat", channel=chat, destination=destination)
    return failure.code


async def make(client: WireClient, session: str, *chats: str, **params: Any) -> str:
    """Make a session with more chats than the default one, all of them followed."""
    default = await client.ready_session(session, **params)
    await client.subscribe(default)
    for chat in chats:
        await client.request("createChat", channel=session, chat=chat)
        await client.subscribe(chat)
    return default


def listed(client: WireClient, session: str) -> list[str]:
    return [entry["resource"] for entry in client.states[session]["chats"]]


def happened(client: WireClient, channel: str) -> list[str]:
    """Return what a client was told of a channel, but for what is found beside everything else."""
    types = [envelope["action"]["type"] for envelope in client.envelopes[channel]]
    return [each for each in types if each != "session/customizationsChanged"]


async def everywhere(client: WireClient, chat: str) -> list[str]:
    """Return the sessions that list a chat, by their own word and by the list's."""
    found = []
    for item in (await client.request("listSessions"))["items"]:
        state = await client.fresh(item["resource"])
        if chat in [entry["resource"] for entry in state["chats"]]:
            found.append(item["resource"])
    return found


def entry_of(client: WireClient, session: str, chat: str) -> Json:
    entries = client.states[session]["chats"]
    found: Json = next(entry for entry in entries if entry["resource"] == chat)
    return found


def workers(client: WireClient, session: str) -> list[Json]:
    chats = client.states[session]["chats"]
    return [chat for chat in chats if (chat.get("origin") or {}).get("kind") == "tool"]
