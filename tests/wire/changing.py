"""Sessions that change files of a real repository, and clients that look at the changes."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agenthost.agents import Agent, Turn
from agenthost.agents.demo import Demo
from tests.flags import Flag
from tests.wire.client import Json, WireClient, open_client
from tests.wire.hosting import embed

__all__ = ["SESSION", "Changing", "Handy", "changing", "content", "open_changes", "opened"]

SESSION = "ahp-session:/changing"


class Handy(Agent):
    """Does to files what a test tells it to, by the text of the message."""

    provider, display_name = "handy", "Handy"
    capabilities: Mapping[str, Any] = {
        "multipleChats": {"fork": True, "sideChat": True},
        "multipleWorkingDirectories": {},
    }

    def __init__(self) -> None:
        self.jobs: dict[str, Callable[[], object]] = {}
        # A turn that was told to wait ends when this is set.
        self.may_finish = Flag()

    async def run(self, turn: Turn) -> None:
        if turn.text == "wait":
            await turn.write("waiting")
            await self.may_finish.wait()
        elif turn.text in self.jobs:
            self.jobs[turn.text]()
        await turn.write("done")


@dataclass(slots=True)
class Changing:
    """A host and one of its clients, which follows a session in a folder."""

    url: str
    agent: Handy
    client: WireClient
    folder: Path
    chat: str
    turns: int = 0

    def uri(self, name: str) -> str:
        return f"{SESSION}/changeset/{name}"

    async def turn(self, job: Callable[[], object]) -> str:
        """Run a turn that does something, and wait until the host has looked at the files."""
        self.turns += 1
        id = f"t{self.turns}"
        self.agent.jobs[id] = job
        await self.client.run_turn(self.chat, id, id)
        return id


@asynccontextmanager
async def changing(
    folder: Path, version: str = "", agent: Handy | None = None, **options: Any
) -> AsyncIterator[Changing]:
    """Serve a folder, with a session in it."""
    agent = agent or Handy()
    options = {"default_directory": folder, **options}
    async with embed(agent, Demo(), **options) as url:
        known = {"version": version} if version else {}
        async with open_client(url, **known) as client:
            await client.initialize("ahp-root://")
            chat = await client.ready_session(
                SESSION, provider="handy", workingDirectories=[folder.as_uri()]
            )
            await client.subscribe(chat)
            yield Changing(url, agent, client, folder, chat)


async def open_changes(client: WireClient, uri: str) -> Json:
    """Follow a changeset, and return it when it has been found out."""
    await client.subscribe(uri)
    return await opened(client, uri)


async def opened(client: WireClient, uri: str, status: str = "ready") -> Json:
    """Wait until a changeset that a client follows has a status."""
    return await client.until(
        lambda: client.states[uri] if client.states[uri]["status"] == status else None
    )


def names(state: Json, folder: Path) -> dict[str, str]:
    """Return the files of a changeset by name, and what became of them."""
    found = {}
    for file in state["files"]:
        edit = file["edit"]
        how = "edited" if "before" in edit and "after" in edit else "made"
        how = how if "after" in edit else "gone"
        if how == "edited" and edit["before"]["uri"] != edit["after"]["uri"]:
            how = "renamed from " + edit["before"]["uri"].removeprefix(folder.as_uri() + "/")
        found[file["id"].removeprefix(folder.as_uri() + "/")] = how
    return found


async def content(client: WireClient, side: Json) -> bytes:
    """Read one side of a change."""
    read = await client.request("resourceRead", uri=side["content"]["uri"], encoding="base64")
    return base64.b64decode(read["data"])
