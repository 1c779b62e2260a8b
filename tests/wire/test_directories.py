"""Working directories of sessions: said twice, and put in the place of another."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from agenthost.agents import AgentError
from tests.flags import Flag
from tests.wire.agents import Puppet
from tests.wire.client import WireClient, open_client
from tests.wire.hosting import embed
from tests.wire.mirrors import assert_mirrors

pytestmark = pytest.mark.asyncio(loop_scope="module")

A, B, C, D = (f"file:///{name}" for name in "abcd")
NEWEST, BEFORE = "1.0.0", "0.7.0"

Json = dict[str, Any]


class Mover(Puppet):
    """Changes its directory when it is let, and remembers how."""

    provider, display_name = "mover", "Mover"
    capabilities: Mapping[str, Any] = {
        "multipleChats": {"fork": True, "sideChat": True},
        "multipleWorkingDirectories": {"primaryReplacement": True},
    }

    def __init__(self) -> None:
        super().__init__()
        self.may_change = Flag(is_set=True)
        self.changes: list[tuple[str, str, str]] = []

    async def change_directory(self, session: str, directory: str, replacement: str) -> None:
        self.changes.append((session, directory, replacement))
        await self.may_change.wait()
        if self.trouble is not None:
            raise self.trouble


def replaced(directory: str, replacement: str) -> Json:
    return {
        "type": "session/workingDirectoryReplaced",
        "directory": directory,
        "replacement": replacement,
    }


async def begin(client: WireClient, *directories: str) -> str:
    await client.initialize()
    return await client.ready_session(
        "s:/1", workingDirectories=list(directories), config={"mode": "ask"}
    )


def folders(client: WireClient, channel: str = "s:/1") -> list[str]:
    found: list[str] = client.states[channel]["workingDirectories"]
    return found


async def test_a_directory_that_is_said_twice_is_there_once() -> None:
    async with embed(Mover()) as url, open_client(url, version=NEWEST) as client:
        await begin(client, A, B, A, B, C)
        assert folders(client) == [A, B, C]


async def test_the_agent_changes_before_anybody_hears_of_it() -> None:
    agent = Mover()
    async with (
        embed(agent) as url,
        open_client(url, "one", NEWEST) as client,
        open_client(url, "old", BEFORE) as old,
    ):
        await begin(client, A, B)
        await old.initialize("s:/1")
        agent.may_change.clear()
        answer = asyncio.ensure_future(client.dispatched("s:/1", replaced(A, C)))
        while not agent.changes:
            await old.ping()
        assert agent.changes == [("s:/1", A, C)]
        assert folders(old) == [A, B]
        # One after the other.
        reason = await reason_of_another(url, B, D)
        assert reason == "another working directory of this session is being replaced"
        agent.may_change.set()
        assert "rejectionReason" not in await answer
        assert folders(client) == [C, B]
        await old.ping()
        assert folders(old) == [C, B]
        await assert_mirrors(client)
        await assert_mirrors(old)


async def reason_of_another(url: str, directory: str, replacement: str) -> str:
    async with open_client(url, "another", NEWEST) as another:
        await another.initialize("s:/1")
        return await another.rejected("s:/1", replaced(directory, replacement))


@pytest.mark.parametrize(
    ("trouble", "reason"),
    [
        (AgentError("that folder is not mine"), "that folder is not mine"),
        (RuntimeError("oops"), "the agent could not change its directory"),
    ],
)
async def test_what_the_agent_cannot_do_is_refused_and_nothing_has_changed(
    trouble: Exception, reason: str
) -> None:
    agent = Mover()
    agent.trouble = trouble
    async with embed(agent) as url, open_client(url, version=NEWEST) as client:
        await begin(client, A, B)
        assert await client.rejected("s:/1", replaced(A, C)) == reason
        assert folders(client) == [A, B]
        await assert_mirrors(client)


async def test_a_directory_that_goes_while_the_agent_changes_is_not_replaced() -> None:
    agent = Mover()
    async with (
        embed(agent) as url,
        open_client(url, "one", NEWEST) as client,
        open_client(url, "two", NEWEST) as other,
    ):
        await begin(client, A, B)
        await other.initialize("s:/1")
        agent.may_change.clear()
        answer = asyncio.ensure_future(client.dispatched("s:/1", replaced(B, C)))
        while not agent.changes:
            await other.ping()
        await other.accepted("s:/1", {"type": "session/workingDirectoryRemoved", "directory": B})
        agent.may_change.set()
        assert (await answer)["rejectionReason"] == "the session has no such working directory"
        assert folders(client) == [A]


async def test_chats_follow_their_session_to_another_directory() -> None:
    async with embed(Mover()) as url, open_client(url, version=NEWEST) as client:
        default = await begin(client, A, B, C)
        await client.subscribe(default)
        for chat, chosen in (("c:/ab", [A, B]), ("c:/b", [B]), ("c:/none", None)):
            params: Json = {"workingDirectories": chosen} if chosen is not None else {}
            await client.request("createChat", channel="s:/1", chat=chat, **params)
            await client.subscribe(chat)
        await client.accepted("s:/1", replaced(A, D))
        await client.ping()
        assert folders(client) == [D, B, C]
        assert folders(client, "c:/ab") == [D, B]
        assert folders(client, "c:/b") == [B]
        assert "workingDirectories" not in client.states["c:/none"]
        # One that is there already: it comes to the place of the one that goes.
        await client.accepted("s:/1", replaced(D, B))
        await client.ping()
        assert folders(client) == [B, C]
        assert folders(client, "c:/ab") == [B]
        entries = {chat["resource"]: chat for chat in client.states["s:/1"]["chats"]}
        assert entries["c:/ab"]["workingDirectories"] == [B]
        await assert_mirrors(client)


async def test_a_replacement_by_itself_changes_nothing_and_asks_nobody() -> None:
    agent = Mover()
    async with embed(agent) as url, open_client(url, version=NEWEST) as client:
        await begin(client, A, B)
        await client.accepted("s:/1", replaced(A, A))
        assert (folders(client), agent.changes) == ([A, B], [])
        reason = await client.rejected("s:/1", replaced(C, D))
        assert reason == "the session has no such working directory"
        assert agent.changes == []
