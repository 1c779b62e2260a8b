"""Sessions in folders with customizations, and clients that publish plugins."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

from agenthost.host import Host
from agenthost.protocol import SUPPORTED_VERSIONS
from tests.wire.client import WireClient, open_client

__all__ = ["SESSION", "entries", "serving", "shown", "tree", "when", "working_in"]

Json = dict[str, Any]
SESSION = "ahp-session:/brought"
NOT_FOUND = -32008


@asynccontextmanager
async def working_in(
    folder: Path, *versions: str, **options: Any
) -> AsyncIterator[tuple[Host, list[WireClient], str]]:
    """Clients of some versions that follow a session in a folder; the newest alone if none."""
    options = {"roots": [folder], "default_directory": folder, **options}
    async with AsyncExitStack() as stack:
        host = await stack.enter_async_context(Host(**options))
        url = await host.listen(port=0)
        clients = []
        for version in versions or (SUPPORTED_VERSIONS[0],):
            opened = open_client(url, f"c{version}", version)
            client = await stack.enter_async_context(opened)
            await client.initialize()
            clients.append(client)
        chat = await clients[0].ready_session(SESSION, workingDirectories=[folder.as_uri()])
        for client in clients:
            await client.subscribe(SESSION)
        yield host, clients, chat


def shown(client: WireClient, session: str = SESSION) -> list[Json] | None:
    """Return the customizations that a client sees now; None while they are not known."""
    return client.states[session].get("customizations")


async def tree(client: WireClient, session: str = SESSION) -> list[Json]:
    """Return the customizations that a client sees, once they are known."""
    await client.until(lambda: {} if shown(client, session) is not None else None)
    return shown(client, session) or []


def entries(of: list[Json] | None) -> dict[tuple[str, str], Json]:
    """Return all entries of a tree by type and name."""
    found = {(each["type"], each["name"]): each for each in of or ()}
    for each in of or ():
        found |= {(child["type"], child["name"]): child for child in each.get("children") or ()}
    return found


async def when(
    client: WireClient,
    condition: Callable[[dict[tuple[str, str], Json]], bool],
    session: str = SESSION,
) -> dict[tuple[str, str], Json]:
    """Wait until what a client sees is so, and return all entries."""
    await client.until(lambda: {} if condition(entries(shown(client, session))) else None)
    return entries(shown(client, session))


@asynccontextmanager
async def serving(
    client: WireClient, root: str, files: Mapping[str, str | bytes]
) -> AsyncIterator[list[str]]:
    """Answer the host's questions for files below a URI; give what it has asked for so far."""
    asked: list[str] = []

    async def answer() -> None:
        while True:
            request = await client.until(lambda: _next_request(client, len(asked)))
            asked.append(f"{request['method']} {request['params']['uri']}")
            await client.send({"id": request["id"], **_answer(request, root, files)})

    task = asyncio.create_task(answer())
    try:
        yield asked
    finally:
        task.cancel()


def _next_request(client: WireClient, done: int) -> Json | None:
    requests = [each for each in client.received if "method" in each and "id" in each]
    return requests[done] if len(requests) > done else None


def _answer(request: Json, root: str, files: Mapping[str, str | bytes]) -> Json:
    path = request["params"]["uri"].removeprefix(root).lstrip("/")
    if request["method"] == "resourceRead" and path in files:
        return {"result": {"data": files[path], "encoding": "utf-8"}}
    before = f"{path}/" if path else ""
    below = [name.removeprefix(before) for name in files if name.startswith(before)]
    if request["method"] == "resourceList" and below:
        names = {name.partition("/")[0]: "/" in name for name in below}
        listed = [{"name": n, "type": "directory" if d else "file"} for n, d in names.items()]
        return {"result": {"entries": listed}}
    return {"error": {"code": NOT_FOUND, "message": "no such file"}}
