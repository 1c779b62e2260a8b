"""Hosts with a real ACP agent, people at their chats, and the agent's processes by their ids."""

from __future__ import annotations

import itertools
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from agenthost.agents.acp import AcpAgent
from agenthost.host import SqliteStore
from tests.wire.client import WireClient, open_client, user_message
from tests.wire.hosting import embed
from tests.wire.talking import ACTIVITY, IDLE, NEWEST, Chat, at_chat, said
from tests.wire.terminal_blocks import numbers_printed

__all__ = [
    "EXAMPLE",
    "UNDER_TEST",
    "Json",
    "Stage",
    "acp_agent",
    "assert_quiet",
    "pids_shown",
    "read_content",
    "spoken",
    "staged",
    "stored",
    "tell",
]

Json = dict[str, Any]

EXAMPLE = [sys.executable, str(Path(__file__).with_name("example_agent.py"))]
SESSION = "ahp-session:/lasting"
UNDER_TEST = [sys.executable, str(Path(__file__).with_name("agent_under_test.py"))]
numbers = itertools.count(1)


def acp_agent(command: list[str] = UNDER_TEST, **options: Any) -> AcpAgent:
    env = {"TEST_API_KEY": "a-very-secret-value", **options.pop("env", {})}
    return AcpAgent("tester", command, display_name="Tester", env=env, **options)


class Stage:
    """One session and the folder it works in; every test takes a chat of its own."""

    def __init__(self, chat: Chat, folder: Path) -> None:
        self.default = chat
        self.folder = folder

    async def chat(self, **params: Any) -> Chat:
        """Open another chat in the session."""
        uri = f"ahp-chat:/{next(numbers)}"
        client = self.default.client
        await client.request("createChat", channel=self.default.session, chat=uri, **params)
        await client.subscribe(uri)
        return Chat(uri, self.default.session, [client])


@asynccontextmanager
async def staged(agent: AcpAgent, folder: Path, **options: Any) -> AsyncIterator[Stage]:
    """Run a host with this agent, and a session of it; ``session`` is asked for besides."""
    session = options.pop("session", {})
    async with (
        embed(agent, default_directory=folder, **options) as url,
        at_chat(url, f"acp-{next(numbers)}", **session) as chat,
    ):
        yield Stage(chat, folder)


@asynccontextmanager
async def stored(agent: AcpAgent, folder: Path, chat: str | None = None) -> AsyncIterator[Chat]:
    """Run a host on a store that lasts; give the chat of its session, which is made if need be."""
    async with (
        embed(agent, default_directory=folder, store=SqliteStore(folder / "db")) as url,
        open_client(url, "new" if chat is None else "returning", NEWEST) as client,
    ):
        await client.initialize()
        if chat is None:
            chat = await client.ready_session(SESSION)
        for channel in (SESSION, chat):
            await client.subscribe(channel)
        yield Chat(chat, SESSION, [client])


async def tell(chat: Chat, turn_id: str, text: str, **message: Any) -> Json:
    """Run a turn whose message carries more than text."""
    action = chat.client.turn_started(turn_id, text)
    await chat.answer({**action, "message": user_message(text, **message)})
    return await chat.end(turn_id)


async def spoken(chat: Chat, start: str) -> str:
    """Wait until the running turn has said a line that starts so; return the rest of it."""

    def find() -> Json | None:
        turn = chat.state.get("activeTurn") or {"responseParts": []}
        text = said(turn)
        return {"text": text.removeprefix(start).strip()} if text.startswith(start) else None

    return str((await chat.client.until(find))["text"])


async def pids_shown(chat: Chat, count: int) -> list[int]:
    """Wait until a running command has printed so many process ids in its terminal."""
    return await numbers_printed(chat.client, chat.uri, count)


async def read_content(client: WireClient, ref: Json) -> str:
    """Fetch what a reference refers to."""
    result = await client.request("resourceRead", uri=ref["uri"])
    return str(result["data"])


async def assert_quiet(chat: Chat) -> None:
    """Nothing of a chat is left over, whatever its session's other chats are doing."""
    await chat.client.ping()
    assert "activeTurn" not in chat.state
    assert "activity" not in chat.state
    assert chat.state["status"] & ACTIVITY == IDLE
    assert [needed for needed in chat.waiting if needed["chat"] == chat.uri] == []
    await chat.assert_agreed()
