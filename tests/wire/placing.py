"""Sessions in real repositories: clients that follow them, and what they are told."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from agenthost.agents import Agent, Turn
from tests.wire.client import PATIENCE, WireClient, open_client
from tests.wire.hosting import embed
from tests.workspace.git.repositories import git

__all__ = [
    "NEW",
    "Roomy",
    "S",
    "begin_isolated",
    "clients",
    "git_of",
    "listed",
    "said",
    "worktrees",
]  # fmt: skip

Json = dict[str, Any]
NEW, OLD = "1.0.0", "0.5.0"
S = "ahp-session:/s"


def put(folder: str, name: str) -> None:
    Path(folder, name).write_text("work")


class Roomy(Agent):
    """Works in any number of folders, and says in which it was asked to work."""

    provider, display_name = "roomy", "Roomy"
    capabilities: Mapping[str, Any] = {
        "multipleChats": {"fork": True, "sideChat": True},
        "multipleWorkingDirectories": {"primaryReplacement": True},
    }

    async def run(self, turn: Turn) -> None:
        folder = turn.session.folder
        assert folder is not None
        if turn.text.startswith("write "):
            put(folder, turn.text.removeprefix("write "))
        await turn.write(folder)


@asynccontextmanager
async def clients(**options: Any) -> AsyncIterator[tuple[WireClient, WireClient]]:
    """A host with two clients of different versions, both at the root."""
    async with (
        embed(Roomy(), **options) as url,
        open_client(url, "new", NEW) as new,
        open_client(url, "old", OLD) as old,
    ):
        for client in (new, old):
            await client.initialize("ahp-root://")
        yield new, old


async def git_of(client: WireClient, session: str = S, **wanted: Any) -> Json:
    """Wait until a session tells this of git, and return all it tells."""

    def told() -> Json | None:
        found: Json = (client.states[session].get("_meta") or {}).get("git") or {}
        return found if found and wanted.items() <= found.items() else None

    return await client.until(told)


async def mirrored(client: WireClient) -> None:
    """Wait until a client holds of the session what who comes new is shown.

    What changed is looked at for a while after a turn, so no moment is known to be at rest.
    """
    async with asyncio.timeout(PATIENCE):
        while True:
            held, fresh = await client.compared(S)
            if held == fresh:
                return


async def listed(client: WireClient) -> Json:
    items = (await client.request("listSessions"))["items"]
    found: Json = next(item for item in items if item["resource"] == S)
    return found


def worktrees(folder: Path) -> list[str]:
    """The working trees that the user's own git knows of, without the first."""
    lines = git(folder, "worktree", "list", "--porcelain").splitlines()
    return [line.removeprefix("worktree ") for line in lines if line.startswith("worktree ")][1:]


async def begin_isolated(client: WireClient, folder: Path, **config: Any) -> str:
    await client.request(
        "createSession",
        channel=S,
        workingDirectories=[folder.as_uri()],
        config={"isolation": "worktree", **config},
    )
    state = await client.subscribe(S)
    chat: str = state["defaultChat"]
    await client.subscribe(chat)
    return chat


def said(client: WireClient, chat: str) -> str:
    parts = client.states[chat]["turns"][-1]["responseParts"]
    return "".join(part["content"] for part in parts if part["kind"] == "markdown")
