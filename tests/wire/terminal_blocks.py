"""Terminals as a chat's tool calls show them: found, opened and read by a client."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from tests.wire.client import WireClient

__all__ = [
    "blocks_of",
    "numbers_printed",
    "opened",
    "printed",
    "shown_by",
    "text_in",
    "until_printed",
]

Json = dict[str, Any]


def blocks_of(call: Json) -> list[Json]:
    """Return the terminals that a tool call shows."""
    return [block for block in call.get("content") or () if block["type"] == "terminal"]


def shown_by(call: Json) -> str:
    """Return what a completed call tells of its command, which is the same in all its ways."""
    (terminal,) = blocks_of(call)
    texts = [block["text"] for block in call["content"] if block["type"] == "text"]
    shown = str(terminal["result"]["preview"]).replace("\r\n", "\n")
    assert texts in ([], [shown])
    return shown


async def opened(client: WireClient, chat: str) -> str:
    """Wait until a call of the running turn shows a terminal; follow it, and return its URI."""

    def find() -> Json | None:
        active = client.states[chat].get("activeTurn") or {"responseParts": []}
        parts = (part for part in active["responseParts"] if part["kind"] == "toolCall")
        found = [block for part in parts for block in blocks_of(part["toolCall"])]
        return found[-1] if found else None

    uri: str = (await client.until(find))["resource"]
    if uri not in client.states:
        await client.subscribe(uri)
    return uri


def text_in(state: Json) -> str:
    """Return all that a terminal shows."""
    parts = state["content"]
    return "".join(part.get("output", "") + part.get("value", "") for part in parts)


def printed(client: WireClient, terminal: str) -> str:
    """Return what a client sees in a terminal now."""
    return text_in(client.states[terminal])


async def until_printed(
    client: WireClient, terminal: str, matches: Callable[[str], bool] | str
) -> str:
    """Wait until a client sees something in a terminal; return all that it sees."""
    found = (lambda text: matches in text) if isinstance(matches, str) else matches

    def find() -> Json | None:
        text = printed(client, terminal)
        return {"text": text} if found(text) else None

    return str((await client.until(find))["text"])


async def numbers_printed(client: WireClient, chat: str, count: int) -> list[int]:
    """Wait until the running turn's terminal shows so many lines that are numbers."""
    terminal = await opened(client, chat)

    def numbers(text: str) -> list[str]:
        return re.findall(r"^(\d+)\r?\n", text, re.MULTILINE)

    text = await until_printed(client, terminal, lambda text: len(numbers(text)) >= count)
    return [int(number) for number in numbers(text)]
