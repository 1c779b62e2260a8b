"""Shells of a host, as clients on the wire see them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from tests.wire.client import PATIENCE, WireClient
from tests.wire.on_cluster import ON_CLUSTER

__all__ = [
    "ROOT", "TERMINAL", "commands_of", "create", "finished", "held_by", "listed", "run", "shows",
    "text_of", "types", "wait_for_state",
]  # fmt: skip

ROOT = "ahp-root://"
TERMINAL = "ahp-terminal:/t1"

Json = dict[str, Any]


def text_of(state: Json) -> str:
    """Return all that a terminal shows."""
    return "".join(part.get("value", part.get("output", "")) for part in state["content"])


def commands_of(state: Json) -> list[Json]:
    return [part for part in state["content"] if part["type"] == "command"]


def held_by(client: WireClient) -> Json:
    return {"kind": "client", "clientId": client.client_id}


async def create(client: WireClient, uri: str = TERMINAL, **params: Any) -> Json:
    """Start a terminal that a client holds, and follow it."""
    params = {"claim": held_by(client), **params}
    assert await client.request("createTerminal", channel=uri, **params) is None
    return await client.subscribe(uri)


async def wait_for_state(client: WireClient, find: Any, uri: str = TERMINAL) -> Json:
    """Wait until a client's state of a terminal is as it should be."""
    return await client.until(lambda: client.states[uri] if find(client.states[uri]) else None)


async def shows(client: WireClient, text: str, uri: str = TERMINAL) -> Json:
    """Wait until a terminal shows a text."""
    return await wait_for_state(client, lambda state: text in text_of(state), uri)


async def types(client: WireClient, text: str, uri: str = TERMINAL) -> None:
    await client.accepted(uri, {"type": "terminal/input", "data": text})


async def finished(client: WireClient, line: str, uri: str = TERMINAL) -> Json:
    """Wait until a command has ended, and return its part."""

    def find() -> Json | None:
        parts = commands_of(client.states[uri])
        return next((p for p in parts if p["commandLine"] == line and p["isComplete"]), None)

    return await client.until(find)


async def run(client: WireClient, line: str, uri: str = TERMINAL) -> Json:
    """Type a command, and return its part once it has ended."""
    await types(client, line + "\r", uri)
    return await finished(client, line, uri)


async def listed(client: WireClient, holds: Callable[[list[Json]], object]) -> list[Json]:
    """Return the host's terminals as they are listed now, whatever should hold of them.

    On a cluster their list follows a moment later: it is asked for until that holds, for a while.
    """
    clock = asyncio.get_running_loop().time
    ends = clock() + PATIENCE
    while True:
        terminals: list[Json] = (await client.fresh(ROOT))["terminals"]
        if holds(terminals) or not ON_CLUSTER or clock() > ends:
            return terminals
