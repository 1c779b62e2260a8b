"""Files that older hosts left behind open whole: what was written before short forms stays."""

from __future__ import annotations

import gzip
import sqlite3
from contextlib import closing
from pathlib import Path

import orjson
import pytest

from agenthost.client import connect
from agenthost.host import Host
from agenthost.host.store import SqliteStore
from agenthost.host.store.inspection import inspect_store
from agenthost.host.store.schema import MIGRATIONS

STORES = Path(__file__).parent / "old_stores"


@pytest.fixture(params=[1, 3])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / "store.db"
    packed = STORES / f"version-{request.param}.sqlite.gz"
    path.write_bytes(gzip.decompress(packed.read_bytes()))
    return path


async def test_all_rows_of_an_older_host_are_read_as_it_wrote_them(path: Path) -> None:
    with closing(sqlite3.connect(path)) as plain:
        states = dict(plain.execute("SELECT uri, state FROM snapshot JOIN channel ON id = channel"))
        log = plain.execute(
            "SELECT seq, uri, now, action, origin FROM log JOIN channel ON id = channel"
            " ORDER BY seq"
        ).fetchall()
    assert len(states) == 7
    async with SqliteStore(path) as store:
        found = await store.read_after(0, list(states))
        assert [(e.seq, e.channel, e.now, e.action, e.origin) for e in found] == log
        for uri, state in states.items():
            loaded = await store.load_channel(uri)
            assert loaded is not None
            assert loaded.state == state
    assert inspect_store(path).damages == 0


async def test_the_chats_of_an_older_host_go_on(path: Path) -> None:
    for turns in (12, 13):
        async with (
            Host(store=SqliteStore(path)) as host,
            connect(await host.listen(port=0)) as client,
        ):
            for summary in await client.sessions.list():
                session = await client.sessions.get(summary["resource"])
                chat = await session.chat()
                assert len(chat.state["turns"]) == turns
                texts = [turn["message"]["text"] for turn in chat.state["turns"]]
                assert texts[:12] == [f"say hello number {number}" for number in range(12)]
                await chat.ask("and another")
    assert inspect_store(path).damages == 0
    with closing(sqlite3.connect(path)) as plain:
        assert plain.execute("PRAGMA user_version").fetchone() == (len(MIGRATIONS),)
        sizes = plain.execute(
            "SELECT uri, length(state) FROM snapshot JOIN channel ON id = channel"
        )
        written = {uri: size for uri, size in sizes if uri.startswith("ahp-chat:")}
    async with SqliteStore(path) as store:
        for uri, size in written.items():
            loaded = await store.load_channel(uri)
            assert loaded is not None
            assert len(orjson.loads(loaded.state)["turns"]) == 14
            assert size < len(loaded.state) / 2
