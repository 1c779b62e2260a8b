"""Two hosts, one of which offers the other's agents: started, followed on both sides, compared."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agenthost.agents import Agent
from agenthost.agents.ahp.agent import FarAgent
from agenthost.agents.ahp.spec import FarSpec, parse_far_spec
from agenthost.client import Backoff, Chat, Client, Session, connect
from agenthost.client.resuming import find_turn
from agenthost.host import Host

__all__ = ["Pair", "far_spec", "near_of", "pair", "plain", "write_place"]

PATIENCE = 60.0
Json = dict[str, Any]


@dataclass
class Pair:
    """A chat here and the same one at the far host, each followed by a client of its own."""

    near: Client
    far: Client
    session: Session
    chat: Chat
    there: Chat | None = None

    async def find_there(self) -> Chat:
        """Follow the far chat, which is named by the session here."""
        if self.there is None:
            state = await self.session.channel.until(lambda state: _place(state))
            place = _place(state)
            self.there = await (await self.far.sessions.get(place["session"])).chat()
        return self.there

    async def both(self, holds: Callable[[Any], Any]) -> None:
        """Wait until something holds of both chats."""
        async with asyncio.timeout(PATIENCE):
            await self.chat.channel.until(holds)
            await (await self.find_there()).channel.until(holds)

    async def assert_agreed(self, turn_id: str, *, since_resumed: bool = False) -> Json:
        """Both chats have the turn, ended the same way with equal parts; return the one here.

        What came before this host was interrupted may be here besides.
        """

        def ended(state: Json) -> bool:
            turn = find_turn(state, turn_id)
            return turn is not None and "state" in turn

        await self.both(ended)
        there = await self.find_there()
        here, far = find_turn(self.chat.state, turn_id), find_turn(there.state, turn_id)
        assert here is not None
        assert far is not None
        assert here["state"] == far["state"]
        here_parts, far_parts = plain(here["responseParts"]), plain(far["responseParts"])
        assert (here_parts[-len(far_parts) :] if since_resumed else here_parts) == far_parts
        return dict(here)


def _place(state: Any) -> Any:
    return (state.get("_meta") or {}).get("agenthost/far")


def plain(parts: list[Json]) -> list[Json]:
    """Return parts without what each host has names of its own for."""
    return [_plain(part) for part in parts]


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if not isinstance(value, dict):
        return value
    if value.get("type") in ("terminal", "subagent"):
        return {"type": "text"}
    if value.get("type") == "text" and str(value["text"]).startswith("Terminal at "):
        return {"type": "text"}
    # The last two are what an old version cannot say.
    own = ("id", "toolCallId", "contributor", "nonce", "intention", "resumable")
    kept = {key: each for key, each in value.items() if key not in own}
    if str(value.get("uri", "")).startswith("ahp-content:"):
        kept["uri"] = "ahp-content:"
    return {key: _plain(each) for key, each in kept.items()}


def far_spec(url: str) -> FarSpec:
    """Name a host in this process, whose files are ours."""
    return parse_far_spec(f"ahp:there={url}?shared=1")


def write_place(path: Path, url: str) -> None:
    """Say in a file where a far host is."""
    address, _, token = url.partition("/?tkn=")
    path.touch(mode=0o600)
    path.write_text(f'url = "{address}"\ntoken = "{token}"\nshared = true\n')


@asynccontextmanager
async def near_of(agent: Agent, **options: Any) -> AsyncIterator[str]:
    """Run a host with a far agent in this process; give its URL."""
    async with Host([agent], **options) as host:
        yield await host.listen(port=0)


@asynccontextmanager
async def pair(
    near_url: str, far_url: str, folder: Path, *, token: str | None = None
) -> AsyncIterator[Pair]:
    """Open a session of the far agent at the near host, and follow both hosts."""
    async with soon(near_url) as near, soon(far_url, token=token) as far:
        await near.root.until(lambda root: root["agents"][0]["models"])
        session = await near.sessions.create("there", directories=[folder.as_uri()], keep=True)
        yield Pair(near, far, session, await session.chat())


def soon(url: str, *, token: str | None = None) -> Client:
    """Return a client that does not let a host wait which comes back."""
    return connect(url, token=token, backoff=Backoff(longest=0.2))


def far_agent(spec: FarSpec, version: str) -> FarAgent:
    """Make an agent of a far host that is spoken to in one version."""
    return FarAgent(spec, versions=(version,), backoff=Backoff(longest=0.2))
