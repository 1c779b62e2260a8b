"""Rows of the store that somebody has damaged: told as what they are, and the rest works on."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from tests.wire.client import open_client
from tests.wire.hosting import serve

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
