"""The SQLite store against the store in memory, under any history that a host may have."""

from __future__ import annotations

import asyncio
import tempfile
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from agenthost.host.store import (
    Append,
    DropBlobs,
    DropChannel,
    DropRecord,
    DropSession,
    MoveBlobs,
    PutBlob,
    PutRecord,
    PutSession,
    SaveSnapshot,
    Store,
    TrimLog,
    Write,
)
from tests.host.store.conftest import MemorySite, Site, SqliteSite

CHANNELS = ["chat:/a", "chat:/b", "session:/ü"]
SESSIONS = ["s1", "s2", "s3", "s4"]
KEYS = ["1", "2", "10"]
DATA = st.binary(max_size=8)
# Relative to the last number used; made absolute when the step is run.
OFFSETS = st.integers(-6, 3)

channels, sessions, keys = map(st.sampled_from, (CHANNELS, SESSIONS, KEYS))
writes = st.one_of(
    st.builds(Append, st.integers(1, 3), channels, st.just("now"), DATA, st.none() | DATA),
    st.builds(SaveSnapshot, channels, st.sampled_from(["chat", "session"]), OFFSETS, DATA),
    st.builds(DropChannel, channels),
    st.builds(TrimLog, channels, OFFSETS, st.none() | st.integers(0, 30)),
    st.builds(PutSession, sessions, keys, DATA),
    st.builds(DropSession, sessions),
    st.builds(PutBlob, sessions, channels, st.none() | keys, DATA),
    st.builds(DropBlobs, channels),
    st.builds(MoveBlobs, channels, channels, st.none() | sessions),
    st.builds(PutRecord, keys, keys, DATA),
    st.builds(DropRecord, keys, keys),
)
steps = st.one_of(
    st.lists(writes, max_size=6),
    st.sampled_from(["crash", "close", "seal"]),
)


def absolute(unit: list[Write], last: int) -> tuple[list[Write], int]:
    """Turn offsets into numbers; the second result is the last number used."""
    result: list[Write] = []
    for write in unit:
        match write:
            case Append(delta, channel, now, action, origin):
                last += delta
                result.append(Append(last, channel, now, action, origin))
            case SaveSnapshot(channel, kind, offset, state):
                result.append(SaveSnapshot(channel, kind, max(0, last + offset), state))
            case TrimLog(channel, offset, keep_bytes):
                result.append(TrimLog(channel, max(0, last + offset), keep_bytes))
            case _:
                result.append(write)
    return result, last


async def pages(store: Store) -> list[tuple[str, bytes]]:
    items: list[tuple[str, bytes]] = []
    cursor: str | None = None
    while True:
        page = await store.page_sessions(2, cursor)
        items += page.items
        cursor = page.next_cursor
        if cursor is None:
            return items


async def everything(store: Store) -> dict[str, Any]:
    """Ask a store all that it can be asked."""
    middle = (store.last_seq + store.reserved) // 2
    return {
        "numbers": (store.last_seq, store.first_seq, store.reserved, store.gaps),
        "log": await store.read_after(0, CHANNELS),
        "some of the log": await store.read_after(middle, CHANNELS[1:], limit=3),
        "channels": [await store.load_channel(channel) for channel in CHANNELS],
        "earlier": [await store.load_channel(channel, middle) for channel in CHANNELS],
        "positions": await store.channel_positions(CHANNELS),
        "pages": await pages(store),
        "summaries": [await store.session_summary(session) for session in SESSIONS],
        "count": await store.count_sessions(),
        "blobs": [await store.blob(uri) for uri in SESSIONS],
        "records": [await store.records(bucket) for bucket in KEYS],
        "record": await store.record(KEYS[0], KEYS[1]),
    }


async def run(history: list[Any], sites: list[Site]) -> None:
    remaining = list(history)
    while True:
        async with AsyncExitStack() as stack:
            stores = [await stack.enter_async_context(site.new()) for site in sites]
            last = stores[0].first_seq - 1
            ended = False
            while remaining and not ended:
                step = remaining.pop(0)
                if isinstance(step, list):
                    unit, last = absolute(step, last)
                    for store in stores:
                        await store.reserve(last + 5)
                        store.write(*unit)
                    continue
                for store in stores:
                    await store.write()
                if step == "crash":
                    for site in sites:
                        site.crash()
                elif step == "seal":
                    last = min(last + 1, stores[0].reserved)
                    for store in stores:
                        await store.seal(last)
                ended = step != "seal"
            if not ended:
                for store in stores:
                    await store.write()
                expected, found = [await everything(store) for store in stores]
                assert found == expected
                return


@settings(max_examples=60)
@given(st.lists(steps, max_size=25))
def test_both_stores_tell_the_same_story(history: list[Any]) -> None:
    with tempfile.TemporaryDirectory() as directory:
        asyncio.run(run(history, [MemorySite(), SqliteSite(Path(directory))]))
