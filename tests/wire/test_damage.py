"""Rows of the store that somebody has damaged: told as what they are, and the rest works on."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from tests.wire.client import open_client
from tests.wire.hosting import serve
from tests.wire.wording import failure_of

HARMED, WHOLE = "ahp-session:/harmed", "ahp-session:/whole"
INTERNAL = -32603


def damage(data: Path, uri: str) -> None:
    """Overwrite all that is stored of a channel."""
    with closing(sqlite3.connect(data / "agenthost.sqlite")) as database, database:
        (id,) = database.execute("SELECT id FROM channel WHERE uri = ?", (uri,)).fetchone()
        database.execute("UPDATE snapshot SET state = x'00ff' WHERE channel = ?", (id,))
        database.execute("UPDATE log SET action = x'7b' WHERE channel = ?", (id,))


async def test_a_damaged_chat_is_named_as_such_and_harms_no_other(tmp_path: Path) -> None:
    data = tmp_path / "data"
    async with serve(data) as host:
        async with open_client(host.url) as client:
            await client.initialize()
            chats = [await client.ready_session(session) for session in (HARMED, WHOLE)]
            for chat in chats:
                await client.subscribe(chat)
                await client.run_turn(chat, "t1", "hello")
        assert await host.stop() == 0
        harmed, whole = chats
        damage(data, harmed)
        await host.start()
        async with open_client(host.url) as client:
            await client.initialize()
            for _ in range(2):
                failure = await client.refusal("subscribe", channel=harmed)
                assert failure.code == INTERNAL
                assert f"{harmed} is damaged" in failure.message
            await client.subscribe(whole)
            await client.run_turn(whole, "t2", "still here")
            assert len(client.states[whole]["turns"]) == 2
            seen = client.last_seen
        async with open_client(host.url) as client:
            # Whoever comes back loses the damaged one and keeps the others.
            resumed = await client.reconnect(seen, harmed, whole)
            assert resumed == {"type": "replay", "actions": [], "missing": [harmed]}
        assert f"{harmed} is damaged" in host.output.replace("'", "")


async def test_a_damaged_log_entry_is_not_replayed_and_the_state_is_sent(tmp_path: Path) -> None:
    async with serve(tmp_path / "data") as host:
        async with open_client(host.url) as client:
            await client.initialize()
            chat = await client.ready_session(WHOLE)
            await client.subscribe(chat)
            seen = client.last_seen
            await client.run_turn(chat, "t1", "hello")
            state = client.states[chat]
        with closing(sqlite3.connect(tmp_path / "data" / "agenthost.sqlite")) as database, database:
            database.execute("UPDATE log SET action = x'7b7d' WHERE seq > ?", (seen,))
        async with open_client(host.url) as client:
            resumed = await client.reconnect(seen, chat)
            assert resumed["type"] == "snapshot"
            assert client.states[chat]["turns"] == state["turns"]


async def test_a_host_starts_though_what_it_would_clean_up_is_damaged(tmp_path: Path) -> None:
    data = tmp_path / "data"
    async with serve(data) as host:
        async with open_client(host.url) as client:
            await client.initialize()
            chats = [await client.ready_session(session) for session in (HARMED, WHOLE)]
            for chat in chats:
                await client.subscribe(chat)
                await client.start_turn(chat, "t1", "/slow 60")
        await host.kill()
        damage(data, chats[0])
        damage(data, "ahp-root://")
        await host.start()
        async with open_client(host.url) as client:
            await client.initialize("ahp-root://")
            assert client.states["ahp-root://"]["agents"]
            (turn,) = (await client.subscribe(chats[1]))["turns"]
            assert failure_of(turn)["errorType"] == "hostRestarted"
            assert (await client.refusal("subscribe", channel=chats[0])).code == INTERNAL
