"""A front shows what the log says: to who watches, who comes and who comes back."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from agenthost.cluster.copy import list_book
from agenthost.cluster.front import ledger as ledger_module
from agenthost.cluster.numbers import message_of, number
from agenthost.host.push.book import PushSubscription
from agenthost.host.store import Append, PutRecord, StoreMisuse
from agenthost.protocol import SUPPORTED_VERSIONS
from tests.cluster.front.feeding import RecordedHost, Shown, Stream, front
from tests.wire.client import ACTIVITY, ROOT, WireClient, WireFailure, open_client
from tests.wire.mirrors import assert_ascending, assert_mirrors
from tests.wire.moving import make, move

SESSION, OTHER = "ahp-session:/s", "ahp-session:/o"


@asynccontextmanager
async def realm(**settings: Any) -> AsyncIterator[tuple[Stream, WireClient, AsyncExitStack]]:
    """A host that writes to a stream, and a client of it."""
    stream = Stream()
    async with AsyncExitStack() as stack:
        host = await stack.enter_async_context(RecordedHost(stream=stream, **settings))
        url = await host.listen(port=0)
        client = await stack.enter_async_context(open_client(url, "writer"))
        await client.initialize(ROOT)
        yield stream, client, stack


async def watching(
    stack: AsyncExitStack, shown: Shown, name: str, *channels: str, version: str = ""
) -> WireClient:
    opened = open_client(shown.url, name, version or SUPPORTED_VERSIONS[0])
    client = await stack.enter_async_context(opened)
    await client.initialize(ROOT)
    for channel in channels:
        await client.subscribe(channel)
    return client


async def test_every_version_mirrors_what_happens_live_and_in_snapshots() -> None:
    async with realm() as (stream, writer, stack):
        shown = await stack.enter_async_context(front(stream))
        chat = await writer.ready_session(SESSION)
        await writer.subscribe(chat)
        watchers = [
            await watching(stack, shown, version, SESSION, chat, version=version)
            for version in SUPPORTED_VERSIONS
        ]
        await writer.run_turn(chat, "t1", "hello")
        for watcher in watchers:
            await watcher.turn_end(chat, "t1")
            await assert_mirrors(watcher)
            assert_ascending(watcher)
            assert message_of(watcher.last_seen) <= stream.last


async def test_what_comes_while_a_channel_is_read_is_neither_missed_nor_shown_twice() -> None:
    async with realm() as (stream, writer, stack):
        shown = await stack.enter_async_context(front(stream))
        chat = await writer.used_session(SESSION)
        watcher = await watching(stack, shown, "w")
        shown.copy.stores.clear()
        await writer.run_turn(chat, "t2", "before it is asked for")
        asked = asyncio.create_task(watcher.subscribe(chat))
        await shown.when(lambda core: core.directory.is_reading)
        await writer.run_turn(chat, "t3", "while it is read")
        shown.copy.stores.set()
        await asked
        await writer.run_turn(chat, "t4", "afterwards")
        await watcher.turn_end(chat, "t4")
        assert [turn["id"] for turn in watcher.states[chat]["turns"]] == ["t1", "t2", "t3", "t4"]
        await assert_mirrors(watcher)


async def test_who_was_away_is_replayed_to_on_any_node() -> None:
    async with realm() as (stream, writer, stack):
        one = await stack.enter_async_context(front(stream, "one"))
        two = await stack.enter_async_context(front(stream, "two"))
        chat = await writer.used_session(SESSION)
        for version in SUPPORTED_VERSIONS:
            former = await watching(stack, one, f"w{version}", SESSION, chat, version=version)
            former.abort()
            await writer.run_turn(chat, f"t{version}", "meanwhile")
            back = await stack.enter_async_context(open_client(two.url, f"w{version}", version))
            result = await back.resume(former)
            assert result["type"] == "replay"
            await assert_mirrors(back)
            assert_ascending(back)


async def test_who_saw_more_than_this_node_waits_for_it() -> None:
    async with realm() as (stream, writer, stack):
        one = await stack.enter_async_context(front(stream, "one"))
        two = await stack.enter_async_context(front(stream, "two"))
        chat = await writer.used_session(SESSION)
        former = await watching(stack, one, "w", SESSION, chat)
        two.copy.follows = False
        await writer.run_turn(chat, "t2", "only seen on the other")
        await former.turn_end(chat, "t2")
        former.abort()
        back = await stack.enter_async_context(open_client(two.url, "w"))
        resuming = asyncio.create_task(back.resume(former))
        await two.when(lambda core: core.writer.ledger.is_awaited)  # type: ignore[attr-defined]
        two.copy.follows = True
        two.copy.follow()
        assert (await resuming)["type"] == "replay"
        await assert_mirrors(back)


async def test_who_comes_new_to_a_node_that_is_behind_is_shown_what_there_is() -> None:
    async with realm() as (stream, writer, stack):
        shown = await stack.enter_async_context(front(stream))
        chat = await writer.used_session(SESSION)
        shown.copy.follows = False
        await writer.run_turn(chat, "t2", "while this node was paused")
        coming = await stack.enter_async_context(open_client(shown.url, "w"))
        initializing = asyncio.create_task(coming.initialize(chat))
        await shown.when(lambda core: core.writer.ledger.is_awaited)  # type: ignore[attr-defined]
        shown.copy.follows = True
        shown.copy.follow()
        await initializing
        assert [turn["id"] for turn in coming.states[chat]["turns"]] == ["t1", "t2"]


async def test_what_another_node_made_a_moment_ago_is_there() -> None:
    async with realm() as (stream, writer, stack):
        shown = await stack.enter_async_context(front(stream))
        client = await watching(stack, shown, "w")
        shown.copy.follows = False
        chat = await writer.used_session(SESSION)
        subscribing = asyncio.create_task(client.subscribe(chat))
        await shown.when(lambda core: core.writer.ledger.is_awaited)  # type: ignore[attr-defined]
        shown.copy.follows = True
        shown.copy.follow()
        assert [turn["id"] for turn in (await subscribing)["turns"]] == ["t1"]


async def test_who_comes_new_while_the_realm_is_silent_is_shown_what_is_here(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(ledger_module, "CATCH_UP_SECONDS", 0.01)
    async with realm() as (stream, writer, stack):
        shown = await stack.enter_async_context(front(stream))
        chat = await writer.used_session(SESSION)
        shown.copy.follows = False
        await writer.run_turn(chat, "t2", "never seen here")
        coming = await stack.enter_async_context(open_client(shown.url, "w"))
        await coming.initialize(chat)
        assert [turn["id"] for turn in coming.states[chat]["turns"]] == ["t1"]


async def test_who_saw_what_never_comes_gets_snapshots(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger_module, "STALE_SECONDS", 0.01)
    async with realm() as (stream, writer, stack):
        shown = await stack.enter_async_context(front(stream))
        chat = await writer.used_session(SESSION)
        former = await watching(stack, shown, "w", SESSION, chat)
        former.last_seen = number(stream.last + 100, 0)
        former.abort()
        back = await stack.enter_async_context(open_client(shown.url, "w"))
        assert (await back.resume(former))["type"] == "snapshot"


async def test_a_node_that_is_behind_takes_nothing_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger_module, "CATCH_UP_SECONDS", 0.01)
    monkeypatch.setattr(ledger_module, "END_SECONDS", 0.01)
    async with realm() as (stream, writer, stack):
        one = await stack.enter_async_context(front(stream, "one"))
        two = await stack.enter_async_context(front(stream, "two"))
        chat = await writer.used_session(SESSION)
        former = await watching(stack, one, "w", SESSION, chat)
        two.copy.follows = False
        await writer.run_turn(chat, "t2", "only seen on the other")
        await former.turn_end(chat, "t2")
        former.abort()
        back = await stack.enter_async_context(open_client(two.url, "w"))
        with pytest.raises(AssertionError, match="closed"):
            await back.resume(former)
        assert await back.end() == (1013, "this node is behind; reconnect to resume")
        assert back.received == []


async def test_the_list_is_told_live_and_to_who_was_away() -> None:
    async with realm() as (stream, writer, stack):
        shown = await stack.enter_async_context(front(stream))
        await writer.used_session(SESSION)
        watcher = await watching(stack, shown, "w")
        listed = await watcher.request("listSessions")
        assert [item["resource"] for item in listed["items"]] == [SESSION]
        watcher.abort()
        await writer.used_session(OTHER)
        await writer.request("disposeSession", channel=SESSION)
        back = await stack.enter_async_context(open_client(shown.url, "w"))
        await back.resume(watcher)
        await back.notification("root/sessionAdded", lambda p: p["summary"]["resource"] == OTHER)
        await back.notification("root/sessionRemoved", lambda p: p["session"] == SESSION)
        assert (await back.request("listSessions")) == (await writer.request("listSessions"))


async def test_the_list_is_told_by_a_front_that_was_not_there_yet() -> None:
    async with realm() as (stream, writer, stack):
        one = await stack.enter_async_context(front(stream, "one"))
        watcher = await watching(stack, one, "w")
        watcher.abort()
        await writer.used_session(SESSION)
        two = await stack.enter_async_context(front(stream, "two"))
        back = await stack.enter_async_context(open_client(two.url, "w"))
        await back.resume(watcher)
        await back.notification("root/sessionAdded", lambda p: p["summary"]["resource"] == SESSION)


async def test_who_follows_the_root_is_sent_to_list_anew_where_the_news_are_not_known(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(list_book, "MOST_REMEMBERED", 1)
    async with realm() as (stream, writer, stack):
        one = await stack.enter_async_context(front(stream, "one"))
        watcher = await watching(stack, one, "w")
        watcher.abort()
        await writer.used_session(SESSION)
        await writer.used_session(OTHER)
        two = await stack.enter_async_context(front(stream, "two"))
        back = await stack.enter_async_context(open_client(two.url, "w"))
        with pytest.raises(WireFailure, match="initialize"):
            await back.resume(watcher)
        await back.initialize(ROOT)


async def test_a_client_that_comes_to_another_node_has_left_the_first() -> None:
    async with realm() as (stream, _, stack):
        one = await stack.enter_async_context(front(stream, "one"))
        two = await stack.enter_async_context(front(stream, "two"))
        first = await watching(stack, one, "w")
        second = await stack.enter_async_context(open_client(two.url, "w"))
        await second.resume(first)
        assert "superseded" in (await first.end())[1]
        await second.ping()


async def test_a_chat_that_moves_is_shown_where_it_is() -> None:
    async with realm() as (stream, writer, stack):
        shown = await stack.enter_async_context(front(stream))
        await make(writer, SESSION, "c:/1")
        await make(writer, OTHER)
        await writer.run_turn("c:/1", "t1", "hello")
        watcher = await watching(stack, shown, "w", SESSION, "c:/1")
        await move(writer, "c:/1", OTHER)
        await writer.run_turn("c:/1", "t2", "there")
        await watcher.turn_end("c:/1", "t2")
        assert await watcher.fresh("c:/1") == await writer.fresh("c:/1")
        chat = shown.host.core.directory.get("c:/1")
        assert chat is not None
        assert chat.session == OTHER
        await assert_mirrors(watcher)


async def test_a_channel_that_goes_is_gone_and_may_come_back() -> None:
    async with realm() as (stream, writer, stack):
        shown = await stack.enter_async_context(front(stream))
        chat = await writer.used_session(SESSION)
        watcher = await watching(stack, shown, "w", SESSION, chat)
        await writer.request("disposeSession", channel=SESSION)
        await watcher.notification("root/sessionRemoved", lambda p: p["session"] == SESSION)
        assert (await watcher.refusal("subscribe", channel=chat)).code
        await writer.request("agenthost/restoreSession", channel=SESSION)
        await watcher.notification("root/sessionAdded", lambda p: True)
        assert await watcher.fresh(chat) == await writer.fresh(chat)


async def test_who_sees_the_end_of_a_chat_is_shown_what_it_is_cut_to() -> None:
    async with realm() as (stream, writer, stack):
        shown = await stack.enter_async_context(front(stream))
        chat = await writer.used_session(SESSION)
        for turn in range(2, 6):
            await writer.run_turn(chat, f"t{turn}", "more")
        watcher = await watching(stack, shown, "w", SESSION)
        await watcher.subscribe(chat, view={"turns": 1})
        assert len(watcher.states[chat]["turns"]) == 1
        await writer.accepted(chat, {"type": "chat/truncated", "turnId": "t2"})
        await watcher.action(chat, "chat/truncated")
        assert [turn["id"] for turn in watcher.states[chat]["turns"]] == ["t2"]
        assert_ascending(watcher)
        older = await watcher.request(
            "fetchTurns", channel=chat, cursor=watcher.states[chat]["turnsNextCursor"], limit=5
        )
        assert older is not None


async def test_a_front_stores_nothing_and_says_so_loudly() -> None:
    async with realm() as (stream, _, stack):
        shown = await stack.enter_async_context(front(stream))
        ledger = shown.host.core.writer.ledger
        with pytest.raises(StoreMisuse, match="decides nothing"):
            ledger.write(PutRecord("owners", "c", b"s"))
        with pytest.raises(StoreMisuse, match="decides nothing"):
            ledger.write(Append(1, "c", "now", b"{}"))


async def test_free_numbers_never_reach_the_next_message_and_more_are_asked_for() -> None:
    async with realm() as (stream, _, stack):
        shown = await stack.enter_async_context(front(stream))
        ledger = shown.host.core.writer.ledger
        shown.copy.follows = False
        position, taken = shown.copy.position, [ledger.take_seq() for _ in range(2000)]
        assert taken == sorted(taken)
        assert taken[-1] < number(position + 1, 0) - 3
        await shown.when(lambda _: stream.last > position)
        assert stream.last == position + 1, "one empty message"
        shown.copy.follows = True
        shown.copy.follow()
        assert ledger.take_seq() > number(position + 1, 0) - 4


class Watch:
    """Takes note of what a front sees for those who are away."""

    def __init__(self) -> None:
        self.seen: list[tuple[int, int]] = []
        self.gone: list[str] = []

    def changed(self, uri: str, state: Any, before: Any, after: Any) -> None:
        assert state["lifecycle"] in ("creating", "ready")
        self.seen.append((before["status"] & ACTIVITY, after["status"] & ACTIVITY))

    def removed(self, uri: str) -> None:
        self.gone.append(uri)


async def test_a_front_looks_for_those_who_asked_it_to_be_told(tmp_path: Path) -> None:
    async with realm() as (stream, writer, stack):
        shown = await stack.enter_async_context(front(stream, push_file=tmp_path / "push"))
        core, watch = shown.host.core, Watch()
        core.catalogue.observer = watch
        await writer.used_session(OTHER)
        assert watch.seen == [], "nobody asked"
        endpoint = "https://push.example/1"
        browser = PushSubscription("owner", None, endpoint, "k", "a", ("finished",), False)
        await core.push_book.add(browser)
        await writer.used_session(SESSION)
        await shown.when(lambda _: any(was != now for was, now in watch.seen))
        await writer.request("disposeSession", channel=SESSION)
        assert watch.gone == [SESSION]
