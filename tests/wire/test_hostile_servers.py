"""Servers that hang, flood, babble or ask for ever: turns end, and the host does not grow."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.wire.client import open_client
from tests.wire.hosting import ServedHost, serve
from tests.wire.serving_tools import (
    allow,
    called,
    entry_of,
    program,
    state_of,
    told_to,
    working_with,
)
from tests.wire.talking import Chat, calls_of, parts_of, said, submitted

Json = dict[str, Any]

# Of the host's own process, in MiB: what a flood of a hundred may leave behind.
MOST_GROWTH = 12

_FLOOD = "for _ in range(1600): sys.stdout.write('x' * 65536)\nsys.stdout.flush()"
SERVERS: dict[str, Json] = {
    "silent": program("for line in sys.stdin: pass"),
    "flood": program(_FLOOD),
    "lines": program("for _ in range(1600): print('y' * 65536)"),
    "babbling": program('for _ in range(1000): print(\'{"jsonrpc": 7, "what": [}\')'),
    "large": program(
        "def call(number, name, arguments, meta): send(id=number, result=text('z' * 104857600))"
    ),
    "asking": program(
        """
def ask(): send(id="q", method="elicitation/create", params={"message": "Again?",
    "requestedSchema": {"type": "object", "properties": {"a": {"type": "boolean"}}}})
def call(number, name, arguments, meta): ask()
def answered(number, result, error): ask()
"""
    ),
}


def resident(pid: int) -> float:
    """Return how much memory a process holds, in MiB."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) / 1024


@asynccontextmanager
async def hostile(tmp_path: Path) -> AsyncIterator[tuple[ServedHost, Chat]]:
    async with serve(tmp_path / "data") as host:
        async with working_with(host.url, tmp_path / "work", SERVERS) as chat:
            yield host, chat
        assert await host.stop() == 0


@pytest.mark.timeout(120)
async def test_servers_that_misbehave_harm_nobody(tmp_path: Path) -> None:
    async with (
        hostile(tmp_path) as (host, chat),
        open_client(host.url, "somebody else", "1.0.0") as other,
    ):
        await other.initialize()
        before = resident(host.pid)

        # One that never answers holds up the turn until somebody lets it.
        await chat.start("t1", "/mcp")
        for name in ("flood", "lines", "babbling"):
            await state_of(chat.client, chat.session, name, "error")
            await other.ping()
        silent = await state_of(chat.client, chat.session, "silent", "starting")
        blocking = {"kind": "starting", "blocking": True}
        await chat.client.action(
            chat.session, "session/mcpServerStateChanged", id=silent["id"], state=blocking
        )
        await told_to(chat, "silent", "Background")
        turn = await chat.end("t1")
        assert "silent" in said(turn)
        assert entry_of(chat.client, chat.session, "silent")["state"] == {"kind": "starting"}
        # What a person stops stays so.
        await told_to(chat, "silent", "Stop")
        reasons = {
            name: entry_of(chat.client, chat.session, name)["state"]["error"]["message"]
            for name in ("flood", "lines", "babbling")
        }
        assert all(reasons.values()), reasons

        # A result without an end fails its call.
        await allow(chat, "t2", await called(chat, "t2", "large", "echo"))
        (call,) = calls_of(await chat.end("t2"))
        assert call["success"] is False
        await state_of(chat.client, chat.session, "large", "error")

        # Of endless questions people see few, however they answer.
        await allow(chat, "t3", await called(chat, "t3", "asking", "echo"))
        answered: set[str] = set()
        while "activeTurn" in chat.state:
            open_ones = [
                part["request"]
                for part in parts_of(chat.state, "inputRequest")
                if "response" not in part and part["request"]["id"] not in answered
            ]
            for request in open_ones:
                answered.add(request["id"])
                action = {"type": "chat/inputCompleted", "requestId": request["id"]}
                answers = {"a": submitted("boolean", True)}
                await chat.answer({**action, "response": "accept", "answers": answers})
            await other.ping()
        (call,) = calls_of(await chat.end("t3"))
        assert call["error"]["message"].endswith("it asked too many questions")
        assert len(answered) == 8

        await other.ping()
        assert resident(host.pid) - before < MOST_GROWTH
