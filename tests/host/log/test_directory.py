"""Channels that come and go: what is kept of them, and what is not."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from pathlib import Path
from typing import Any

import pytest

from agenthost.client import connect
from agenthost.host import Host
from agenthost.host.channels.annotations_kind import ANNOTATIONS
from agenthost.host.log import directory as directory_module
from agenthost.host.log.directory import LEAST_AT_REST
from agenthost.host.store import MemoryBacking, MemoryStore, SqliteStore, WholeChannel
from agenthost.host.store.reader_threads import ReaderThreads
from agenthost.protocol.annotations import AnnotationsState

STATE: AnnotationsState = {"annotations": []}


async def test_a_channel_that_comes_back_under_its_name_does_not_continue_its_former_self() -> None:
    async with Host() as host:
        directory, core = host.core.directory, host.core
        former = directory.create("notes:/0", ANNOTATIONS, STATE.copy())
        seen = core.writer.ledger.last_seq
        directory.drop(former)
        directory.create("notes:/0", ANNOTATIONS, STATE.copy())
        await core.writer.ledger.settle()
        assert (await core.store.channel_positions(["notes:/0"]))["notes:/0"] > seen


async def test_the_log_of_a_channel_is_cut_to_a_length(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(directory_module, "REPLAY_BYTES", 400_000)
    monkeypatch.setattr(directory_module, "SMALLEST_TAIL", 20_000)
    async with Host() as host:
        writer, store = host.core.writer, host.core.store
        channel = host.core.directory.create("notes:/0", ANNOTATIONS, STATE.copy())
        entries = [{"id": "e", "text": "x" * 10_000, "author": "me", "createdAt": "now"}]
        for number in range(300):
            annotation = {"id": "a", "entries": entries, "turnId": str(number)}
            writer.apply(channel, {"type": "annotations/set", "annotation": annotation})
        await writer.ledger.settle()
        kept = await store.read_after(0, ["notes:/0"])
        # What was measured last, what came until the next time, and what no snapshot holds yet.
        assert 400_000 * 0.9 < sum(len(entry.action) for entry in kept) < 400_000 * 1.25 + 50_000
        assert kept[-1].seq == channel.seq
        trimmed = (await store.channel_positions(["notes:/0"]))["notes:/0"]
        assert trimmed < kept[0].seq


async def test_the_log_of_a_channel_is_cut_to_a_number_of_actions(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(directory_module, "REPLAY_WINDOW", 100)
    async with Host() as host:
        directory, writer, store = host.core.directory, host.core.writer, host.core.store
        channels = [directory.create(f"notes:/{n}", ANNOTATIONS, STATE.copy()) for n in range(2)]
        busy, quiet = channels
        for number in range(300):
            annotation = {"id": "a", "entries": [], "turnId": str(number)}
            for channel in channels if number < 10 else [busy]:
                writer.apply(channel, {"type": "annotations/set", "annotation": annotation})
        last = writer.ledger.last_seq
        await writer.ledger.settle()
        uris = [channel.uri for channel in channels]
        # So little is nothing that its length in bytes would cut.
        before = await store.read_after(0, uris)
        assert len(before) == 310
        for channel in channels:
            directory.save(channel)
        await writer.ledger.settle()
        # The newest numbers of the whole host: nobody who was away for longer gets a replay.
        assert await store.read_after(0, uris) == before[-100:]
        trimmed = await store.channel_positions(uris)
        assert trimmed == {busy.uri: last - 100, quiet.uri: quiet.seq}


async def test_a_channel_at_rest_keeps_no_more_log_than_state(tmp_path: Path) -> None:
    async with Host(store=SqliteStore(tmp_path / "store.sqlite")) as host:
        writer, store, directory = host.core.writer, host.core.store, host.core.directory
        channel = directory.create("notes:/0", ANNOTATIONS, STATE.copy())
        for number in range(1_000):
            annotation = {"id": "a", "entries": [], "turnId": str(number)}
            writer.apply(channel, {"type": "annotations/set", "annotation": annotation})
        await writer.ledger.settle()
        before = await store.read_after(0, ["notes:/0"])
        directory.sweep(0.0)
        await writer.ledger.settle()
        kept = await store.read_after(0, ["notes:/0"])
        size = sum(len(entry.action) for entry in kept)
        assert 0.9 * LEAST_AT_REST < size <= LEAST_AT_REST
        assert kept == before[-len(kept) :], "the newest stay, for those who missed little"
        assert (await store.channel_positions(["notes:/0"]))["notes:/0"] < kept[0].seq
        again = await directory.find("notes:/0")
        assert again is not None
        assert again.state == channel.state


async def test_a_cold_chat_and_its_session_take_one_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "store.sqlite"
    async with Host(store=SqliteStore(path)) as host, connect(await host.listen(port=0)) as client:
        session = await client.sessions.create()
        chat = await session.chat()
        await chat.ask("say hello")
        uri, owner, turns = chat.uri, session.uri, chat.state["turns"]
    async with Host(store=SqliteStore(path)) as host:
        asked: list[str] = []
        ask = ReaderThreads.ask

        async def count(self: ReaderThreads, question: Any, *args: Any, **kwargs: Any) -> Any:
            # Others are asked while a host starts.
            if {uri, owner} & set(map(str, args)):
                asked.append(question.__name__)
            return await ask(self, question, *args, **kwargs)

        monkeypatch.setattr(ReaderThreads, "ask", count)
        found = await host.core.directory.find(uri)
        assert found is not None
        assert found.state["turns"] == turns
        held = host.core.directory.get(owner)
        assert held is not None
        assert held.holds == 1
        assert host.core.catalogue.created_at(held)
        assert asked == ["load_whole"]


class Slow(MemoryStore):
    """Answers about the channels that a test names only when it is let."""

    def __init__(self, backing: MemoryBacking) -> None:
        super().__init__(backing)
        self.held: set[str] = set()
        self.read, self.may_answer = asyncio.Event(), asyncio.Event()

    async def load_whole(
        self, channel: str, buckets: Collection[str], owners: str
    ) -> WholeChannel | None:
        whole = await super().load_whole(channel, buckets, owners)
        if channel in self.held:
            self.read.set()
            await self.may_answer.wait()
        return whole


async def test_a_session_that_changed_while_its_chat_was_read_is_not_taken_back_in_time() -> None:
    backing = MemoryBacking()
    async with Host(store=Slow(backing)) as host, connect(await host.listen(port=0)) as client:
        session = await client.sessions.create()
        chat = await session.chat()
        await chat.ask("say hello")
    store = Slow(backing)
    async with Host(store=store) as host:
        core = host.core
        store.held = {chat.uri}
        loading = asyncio.create_task(core.directory.find(chat.uri))
        await store.read.wait()
        owner = await core.directory.find(session.uri)
        assert owner is not None
        core.writer.apply(owner, {"type": "session/titleChanged", "title": "newer"})
        core.directory.sweep(-1.0)
        assert core.directory.get(session.uri) is None
        store.may_answer.set()
        assert await loading is not None
        after = core.directory.get(session.uri)
        assert after is not None
        assert after.state["title"] == "newer"
