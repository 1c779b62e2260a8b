"""Sessions in folders that declare MCP servers, as clients see them: states, questions, calls."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.mcp.servers import ANSWERING
from tests.wire.client import WireClient
from tests.wire.talking import Chat, at_chat, call_in, confirmed, request_in, submitted

__all__ = [
    "MARKER",
    "allow",
    "answer_trust",
    "called",
    "declare",
    "entry_of",
    "listed",
    "program",
    "state_of",
    "told_to",
    "working_with",
]

Json = dict[str, Any]

# The file that shows that a server ran.
MARKER = "it-ran"


def program(code: str = "", **more: Any) -> Json:
    """Declare a server that is a small Python program; it leaves a file where it runs."""
    text = f"{ANSWERING}\nopen({MARKER!r}, 'a').write(str(os.getpid()) + ' ')\n{code}\nserve()"
    return {"command": sys.executable, "args": ["-I", "-S", "-c", text], **more}


def declare(folder: Path, **servers: Json) -> None:
    """Declare servers in a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / ".mcp.json").write_text(json.dumps({"mcpServers": servers}))


@asynccontextmanager
async def working_with(
    url: str, folder: Path, servers: Mapping[str, Json], *versions: str, trusted: bool = True
) -> AsyncIterator[Chat]:
    """Clients at a session in a folder that declares servers, which all of them see listed."""
    declare(folder, **servers)
    directories = [folder.as_uri()]
    async with at_chat(url, folder.name, *versions, workingDirectories=directories) as chat:
        for client in chat.clients:
            for name in servers:
                await listed(client, chat.session, name)
        if trusted:
            ids = [entry_of(chat.client, chat.session, name)["id"] for name in servers]
            await chat.client.request("agenthost/trustFolder", channel=chat.session, ids=ids)
        yield chat


async def listed(client: WireClient, session: str, name: str) -> Json:
    """Wait until a client sees a server, and return its entry."""
    return await client.until(lambda: entry(client, session, name))


def entry(client: WireClient, session: str, name: str) -> Json | None:
    """Return a server's entry as a client holds it, if it does."""
    for each in client.states[session].get("customizations") or ():
        for found in (each, *each.get("children", ())):
            if found["type"] == "mcpServer" and found["name"] == name:
                shown: Json = found
                return shown
    return None


def entry_of(client: WireClient, session: str, name: str) -> Json:
    """Return a server's entry, which is there."""
    found = entry(client, session, name)
    assert found is not None, name
    return found


async def state_of(client: WireClient, session: str, name: str, kind: str) -> Json:
    """Wait until a client sees a server in a state, and return its entry."""

    def find() -> Json | None:
        found = entry(client, session, name)
        return found if found is not None and found["state"]["kind"] == kind else None

    return await client.until(find)


async def told_to(chat: Chat, name: str, request: str, client: WireClient | None = None) -> Json:
    """Ask for a server to be started, stopped or left in the background; return the envelope."""
    id = entry_of(chat.client, chat.session, name)["id"]
    action = {"type": f"session/mcpServer{request}Requested", "id": id}
    return await (client or chat.client).dispatched(chat.session, action)


async def answer_trust(chat: Chat, option: str, client: WireClient | None = None) -> Json:
    """Answer the question whether servers may start; return the question."""
    client = client or chat.client
    request = await request_in(client, chat.uri)
    assert request["id"].startswith("trust-"), request
    answers = {request["questions"][0]["id"]: submitted("selected", option)}
    action = {"type": "chat/inputCompleted", "requestId": request["id"], "response": "accept"}
    await client.accepted(chat.uri, {**action, "answers": answers})
    return request


async def called(chat: Chat, turn_id: str, server: str, tool: str, **arguments: Any) -> Json:
    """Let the demo agent call a tool, and wait until everybody sees that it asks first."""
    await chat.start(turn_id, f"/mcp call {server} {tool} {json.dumps(arguments)}")
    for client in chat.clients:
        call = await call_in(client, chat.uri, "pending-confirmation")
    return call


async def allow(chat: Chat, turn_id: str, call: Json, client: WireClient | None = None) -> None:
    """Allow a call."""
    await chat.answer(confirmed(turn_id, call, True), client)
