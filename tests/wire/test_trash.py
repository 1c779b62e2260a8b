"""Disposed sessions on the wire: everybody is told, and an owner can take them back."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from agenthost.host import Host, SqliteStore
from agenthost.host.channels.chat.extra import extra_of
from agenthost.host.channels.chat.kind import CHAT
from agenthost.host.channels.session import trash
from agenthost.tokens import BOOK_FILE, Role, TokenBook
from tests.wire.client import WireClient, open_client, user_message
from tests.wire.hosting import ServedHost, embed
from tests.wire.wording import annotated_by

pytestmark = pytest.mark.asyncio(loop_scope="module")

ROOT = "ahp-root://"
NO_SESSION, NOT_FOUND, TAKEN, DENIED = -32001, -32008, -32003, -32009

Json = dict[str, Any]


async def listed(client: WireClient) -> list[str]:
    return [item["resource"] for item in (await client.request("listSessions"))["items"]]


async def in_trash(client: WireClient) -> list[str]:
    items = (await client.request("agenthost/listTrash"))["items"]
    return [item["session"] for item in items]


async def test_who_follows_a_disposed_session_is_told_and_gets_an_answer_to_what_it_does_next(
    shared_host: ServedHost,
) -> None:
    async with (
        open_client(shared_host.url, "disposes") as client,
        open_client(shared_host.url, "follows", "0.5.0") as watcher,
    ):
        for each in (client, watcher):
            await each.initialize(ROOT)
        session = "ahp-session:/followed"
        chat = await client.ready_session(session)
        await client.subscribe(chat)
        await client.run_turn(chat, "t1", "hello")
        await client.start_turn(chat, "t2", "/slow 60")
        for channel in (session, chat):
            await watcher.subscribe(channel)
        await client.request("disposeSession", channel=session)
        for each in (client, watcher):
            await each.ping()
            assert each.states[chat]["turns"][-1]["state"] == "cancelled"
            assert each.states[session]["chats"] == []
            methods = [m.get("method") for m in each.received if session in str(m)]
            assert methods.count("root/sessionRemoved") == 1
            assert "root/sessionAdded" not in methods[methods.index("root/sessionRemoved") :]
            assert session not in await listed(each)
        assert (await watcher.refusal("subscribe", channel=session)).code == NO_SESSION
        assert (await watcher.refusal("subscribe", channel=chat)).code == NOT_FOUND
        for channel, action in (
            (chat, watcher.turn_started("t3", "anybody there?")),
            (session, {"type": "session/titleChanged", "title": "Mine"}),
        ):
            assert await watcher.rejected(channel, action) == "there is no such channel"


async def test_a_disposed_session_comes_back_whole_also_after_a_restart(tmp_path: Path) -> None:
    path, session, side = tmp_path / "host.db", "ahp-session:/back", "ahp-chat://side/back"
    async with Host(store=SqliteStore(path)) as host:
        url = await host.listen(port=0)
        async with open_client(url) as client:
            await client.initialize(ROOT)
            chat = await client.ready_session(session)
            await client.subscribe(chat)
            (tmp_path / "notes.txt").write_text("old")
            await client.run_turn(chat, "t1", "hello")
            source = {"kind": "sideChat", "chat": chat, "turnId": "t1"}
            await client.request("createChat", channel=session, chat=side, source=source)
            origin = annotated_by(client.version, session, chat, "t1")
            note = {"id": "a", **origin, "resource": "file:///x", "resolved": False}
            note["entries"] = [{"id": "e", "text": "look"}]
            await client.subscribe(f"{session}/annotations")
            action = {"type": "annotations/set", "annotation": note}
            await client.accepted(f"{session}/annotations", action)
            queued = {"type": "chat/draftChanged", "draft": user_message("not yet")}
            await client.accepted(chat, queued)
            channels = (session, chat, side, f"{session}/annotations")
            before = [await client.fresh(channel) for channel in channels]
            summary = (await client.request("listSessions"))["items"]
            await client.request("disposeSession", channel=session)
            assert await in_trash(client) == [session]
    async with Host(store=SqliteStore(path)) as host:
        url = await host.listen(port=0)
        async with open_client(url) as client:
            await client.initialize(ROOT)
            assert await listed(client) == []
            await client.request("agenthost/restoreSession", channel=session)
            assert await in_trash(client) == []
            assert [await client.fresh(channel) for channel in channels] == before
            assert (await client.request("listSessions"))["items"] == summary
            restored = host.core.directory.get(side, CHAT)
            assert restored is not None
            assert [turn["id"] for turn in extra_of(restored).context] == ["t1"]
            await client.subscribe(chat)
            await client.run_turn(chat, "t2", "and on it goes")
            failure = await client.refusal("agenthost/restoreSession", channel=session)
            assert failure.code == NO_SESSION


async def test_what_is_purged_or_too_old_is_gone_for_good(monkeypatch: pytest.MonkeyPatch) -> None:
    async with Host() as host:
        url = await host.listen(port=0)
        async with open_client(url) as client:
            await client.initialize()
            for name in ("purged", "old", "empty"):
                chat = await client.ready_session(f"s:/{name}")
                await client.subscribe(chat)
                if name != "empty":
                    await client.run_turn(chat, "t1", "hello")
                await client.request("disposeSession", channel=f"s:/{name}")
            # What held nothing is not kept.
            assert set(await in_trash(client)) == {"s:/purged", "s:/old"}
            await client.request("agenthost/purgeSession", channel="s:/purged")
            failure = await client.refusal("agenthost/purgeSession", channel="s:/purged")
            assert failure.code == NO_SESSION
            assert await host.core.trash.expired() == []
            monkeypatch.setattr(trash, "KEPT_DAYS", 0)
            assert await host.core.trash.expired() == ["s:/old"]


async def test_a_session_is_not_taken_back_over_one_of_the_same_name() -> None:
    async with embed() as url, open_client(url) as client:
        await client.initialize()
        chat = await client.ready_session("s:/1")
        await client.subscribe(chat)
        await client.run_turn(chat, "t1", "hello")
        await client.request("disposeSession", channel="s:/1")
        await client.ready_session("s:/1")
        failure = await client.refusal("agenthost/restoreSession", channel="s:/1")
        assert "in use" in failure.message
        assert await in_trash(client) == ["s:/1"]


@pytest.mark.parametrize("role", [Role.OPERATOR, Role.VIEWER])
async def test_the_trash_is_the_owners(own_host: ServedHost, role: Role) -> None:
    book = TokenBook(own_host.data_dir / BOOK_FILE)
    made = book.create(role.value, role, expires=None, now=time.time())
    url = f"ws://{own_host.address}/?tkn={made.secret}"
    async with open_client(url, f"role {role.value}") as client:
        await client.initialize()
        for method in ("listTrash", "restoreSession", "purgeSession"):
            assert (await client.refusal(f"agenthost/{method}")).code == DENIED
