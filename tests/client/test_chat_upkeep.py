"""A chat as an entry of its session: read, archived, moved."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from agenthost.client import Chat, ConnectionLost, Unsupported
from agenthost.errors import PermissionDenied
from agenthost.protocol import NEWEST, SUPPORTED_VERSIONS
from tests.client.follower import resumed
from tests.client.scripted import CHAT, PATIENCE, SESSION, ScriptedHost, Side, snapshot

Json = dict[str, Any]

OTHER = "ahp-session:/other"


@asynccontextmanager
async def opened(version: str = NEWEST) -> AsyncIterator[tuple[ScriptedHost, Side, Chat]]:
    host = ScriptedHost()
    client = host.client()
    async with asyncio.timeout(2 * PATIENCE):
        side = await host.welcome(client, version=version)
        try:
            following = asyncio.create_task(client.sessions.get(SESSION))
            await side.subscribed(snapshot(SESSION, 10))
            opening = asyncio.create_task((await following).chat())
            await side.subscribed(snapshot(CHAT, 10))
            yield host, side, await opening
        finally:
            await client.aclose()


async def test_a_chat_is_marked_read_and_archived_by_itself() -> None:
    async with opened() as (_, side, chat):
        assert chat.can_be_read
        for act, action, status in (
            (chat.mark_read, {"type": "chat/isReadChanged", "isRead": True}, 1 | 32),
            (chat.archive, {"type": "chat/isArchivedChanged", "isArchived": True}, 1 | 32 | 64),
        ):
            dispatch = act()
            assert chat.state["status"] == status, "it shows at once"
            sent = await side.next("dispatchAction")
            assert (sent["params"]["channel"], sent["params"]["action"]) == (CHAT, action)
            side.echo(sent, chat.channel.mirror.seq + 1, "me")
            await dispatch
        assert chat.state["status"] == 1 | 32 | 64
        chat.mark_read(False)
        chat.archive(False)
        assert chat.state["status"] == 1


@pytest.mark.parametrize("version", SUPPORTED_VERSIONS[1:])
async def test_older_hosts_know_neither_of_single_chats_nor_how_to_move_them(version: str) -> None:
    async with opened(version) as (_, _side, chat):
        assert not chat.can_be_read
        for act in (chat.mark_read, chat.archive):
            with pytest.raises(Unsupported, match=version):
                act()
        with pytest.raises(Unsupported, match=f"{version} has no moveChat"):
            await chat.move(session=OTHER)
        with pytest.raises(Unsupported, match=version):
            await chat.move_to_new_session()


async def answered(side: Side, session: str) -> Json:
    request = await side.next("moveChat")
    side.answer(request, {"session": session})
    params: Json = request["params"]
    return params


async def test_a_chat_is_moved_to_a_session_behind_another_chat() -> None:
    async with opened() as (_, side, chat):
        moving = asyncio.create_task(chat.move(session=OTHER, after="ahp-chat:/d"))
        params = await answered(side, OTHER)
        where = {"kind": "session", "session": OTHER, "after": "ahp-chat:/d"}
        assert params == {"channel": CHAT, "destination": where}
        assert await moving == OTHER
        moving = asyncio.create_task(chat.move())
        params = await answered(side, OTHER)
        where = {"kind": "session", "session": OTHER}
        assert params["destination"] == where, "within the session that it is in by now"
        await moving


async def test_a_chat_becomes_a_session_of_its_own() -> None:
    async with opened() as (_, side, chat):
        moving = asyncio.create_task(chat.move_to_new_session())
        assert (await answered(side, "ahp-session:/new"))["destination"] == {"kind": "newSession"}
        assert await moving == "ahp-session:/new"


async def test_a_host_that_cannot_or_will_not_move_a_chat_says_so() -> None:
    async with opened() as (_, side, chat):
        moving = asyncio.create_task(chat.move(session=OTHER))
        side.refuse(await side.next("moveChat"), -32601)
        with pytest.raises(Unsupported, match="cannot move chats"):
            await moving
        moving = asyncio.create_task(chat.move_to_new_session())
        side.refuse(await side.next("moveChat"), -32009, "this chat cannot be moved")
        with pytest.raises(PermissionDenied, match="cannot be moved"):
            await moving


async def test_a_move_whose_answer_is_lost_is_repeated_unless_it_makes_a_session() -> None:
    nothing_new: Json = {"type": "replay", "actions": [], "missing": []}
    async with opened() as (host, side, chat):
        moving = asyncio.create_task(chat.move(session=OTHER))
        await side.next("moveChat")
        await side.close()
        side = await resumed(host, nothing_new)
        await answered(side, OTHER)
        assert await moving == OTHER
        moving = asyncio.create_task(chat.move_to_new_session())
        await side.next("moveChat")
        await side.close()
        await resumed(host, nothing_new)
        with pytest.raises(ConnectionLost):
            await moving
