"""Chats are read and archived one by one, and everybody who lists them is told the same."""

from __future__ import annotations

from typing import Any

import pytest

from agenthost.host.store import MemoryBacking, MemoryStore
from agenthost.protocol import SUPPORTED_VERSIONS
from tests.wire.agents import Puppet
from tests.wire.client import ROOT, WireClient, open_client
from tests.wire.hosting import embed
from tests.wire.mirrors import assert_mirrors

Json = dict[str, Any]
SESSION, OTHER = "ahp-session:/s", "ahp-chat:/other"
NEWEST = SUPPORTED_VERSIONS[0]
IS_READ, IS_ARCHIVED = 32, 64


def read(is_read: bool = True) -> Json:
    return {"type": "chat/isReadChanged", "isRead": is_read}


def archived(is_archived: bool = True) -> Json:
    return {"type": "chat/isArchivedChanged", "isArchived": is_archived}


async def two_chats(client: WireClient) -> str:
    """Make a session of two chats with a turn each, and follow everything; give the default."""
    await client.initialize(ROOT)
    chat = await client.ready_session(SESSION, config={"mode": "ask"})
    await client.request("createChat", channel=SESSION, chat=OTHER)
    for uri in (chat, OTHER):
        await client.subscribe(uri)
        await client.run_turn(uri, f"t of {uri}", "hi")
    return chat


async def listed(client: WireClient) -> dict[str, int]:
    """Return the status of each chat as the list of sessions has it."""
    (summary,) = (await client.request("listSessions"))["items"]
    return {chat["resource"]: chat["status"] for chat in summary["chats"]}


def told(client: WireClient) -> dict[str, int]:
    """Return the status of each chat as the list has it for who only follows its changes."""
    chats: list[Json] = []
    for message in client.received:
        if message.get("method") == "root/sessionSummaryChanged":
            chats = message["params"]["changes"].get("chats", chats)
    return {chat["resource"]: chat["status"] for chat in chats}


def in_session(client: WireClient) -> dict[str, int]:
    chats = client.states[SESSION]["chats"]
    return {chat["resource"]: chat["status"] for chat in chats}


@pytest.mark.parametrize(("action", "bit"), [(read, IS_READ), (archived, IS_ARCHIVED)])
async def test_one_chat_changes_and_every_list_says_so(action: Any, bit: int) -> None:
    backing = MemoryBacking()
    async with (
        embed(Puppet(), store=MemoryStore(backing)) as url,
        open_client(url, "c", NEWEST) as client,
    ):
        chat = await two_chats(client)
        before = client.states[SESSION]["status"]
        for is_set in (True, False, True):
            await client.accepted(OTHER, action(is_set))
            await client.ping()
            assert bool(client.states[OTHER]["status"] & bit) is is_set
            expected = {chat: client.states[chat]["status"], OTHER: client.states[OTHER]["status"]}
            assert in_session(client) == told(client) == await listed(client) == expected
            assert not client.states[chat]["status"] & bit
            assert client.states[SESSION]["status"] == before
        await assert_mirrors(client)
    async with (
        embed(Puppet(), store=MemoryStore(backing)) as url,
        open_client(url, "d", NEWEST) as later,
    ):
        await later.initialize(OTHER)
        assert later.states[OTHER]["status"] & bit
        assert (await listed(later))[OTHER] & bit


async def test_what_is_new_in_a_chat_makes_it_unread_and_no_other() -> None:
    async with embed(Puppet()) as url, open_client(url, "c", NEWEST) as client:
        chat = await two_chats(client)
        for uri in (chat, OTHER):
            await client.accepted(uri, read())
        await client.run_turn(OTHER, "t2", "more")
        await client.ping()
        shown = await listed(client)
        assert (shown[chat] & IS_READ, shown[OTHER] & IS_READ) == (IS_READ, 0)


async def test_a_session_is_archived_as_a_session() -> None:
    async with embed(Puppet()) as url, open_client(url, "c", NEWEST) as client:
        chat = await two_chats(client)
        reason = await client.rejected(chat, archived())
        assert reason == "archive the session: this is its default chat"


@pytest.mark.parametrize("version", SUPPORTED_VERSIONS)
async def test_who_reads_a_session_and_knows_no_chats_of_its_own_reads_its_chat(
    version: str,
) -> None:
    async with embed(Puppet()) as url, open_client(url, "c", NEWEST) as client:
        chat = await two_chats(client)
        async with open_client(url, "reader", version) as reader:
            await reader.initialize(SESSION)
            await reader.accepted(SESSION, {"type": "session/isReadChanged", "isRead": True})
            await client.ping()
            assert client.states[SESSION]["status"] & IS_READ
            shown = await listed(client)
            # A client that can say it of a chat says it of the session alone.
            assert bool(shown[chat] & IS_READ) is (version != NEWEST)
            assert not shown[OTHER] & IS_READ
            assert client.states[chat]["status"] == shown[chat]
            await reader.accepted(SESSION, {"type": "session/isReadChanged", "isRead": False})
            await client.ping()
            assert await listed(client) == shown


async def test_an_editor_that_announces_less_than_it_says_is_understood() -> None:
    async with embed(Puppet()) as url, open_client(url, "c", NEWEST) as client:
        await two_chats(client)
        async with open_client(url, "editor", "0.9.0") as editor:
            await editor.initialize(SESSION, OTHER)
            for action in (read(), archived()):
                assert (await editor.accepted(OTHER, action))["action"] == action
            await client.ping()
            flags = IS_READ | IS_ARCHIVED
            assert client.states[OTHER]["status"] & flags == flags
            # What its version has no action for, the session tells it.
            await editor.ping()
            assert in_session(editor)[OTHER] & flags == flags
