"""The feed gives every message once, in order, over pauses and kills of servers."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest

from agenthost.cluster.commits import Commit, encode_commit
from agenthost.cluster.realm import Appender, FellBehind, RealmFeed, RealmLink, RealmReplaced, feed
from agenthost.host.store.contract import PutBlob
from tests.cluster.servers import known_to_servers, one_server, realm_link, three_servers, until

pytestmark = [pytest.mark.timeout(240)]
SOON = 60.0
LONG_UNIT = "ahp-session:/" + "ü" * 1000


async def append(link: RealmLink, count: int, unit: str = "unit", last: int = 0) -> int:
    appender = Appender(link)
    for index in range(count):
        id = f"{unit[:20]}-{last}-{index}"
        last = await appender.append(unit, encode_commit(Commit(id, unit, "n", ())), id, last)
    return last


async def take(feed: RealmFeed, count: int) -> list[int]:
    async with asyncio.timeout(SOON):
        return [(await anext(feed)).seq for _ in range(count)]


async def test_it_begins_where_it_is_told_and_goes_on(tmp_path: Path) -> None:
    async with one_server(tmp_path) as servers, realm_link(servers) as link:
        last = await append(link, 5)
        feed = RealmFeed(link, 2)
        assert await take(feed, 3) == [3, 4, 5]
        assert feed.last == feed.position == 5
        waiting = asyncio.create_task(anext(feed))
        await append(link, 1, last=last)
        message = await asyncio.wait_for(waiting, SOON)
        assert (message.seq, message.unit) == (6, "unit")
        await append(link, 1, LONG_UNIT)
        assert (await asyncio.wait_for(anext(feed), SOON)).unit == LONG_UNIT
        await feed.close()


async def test_heartbeats_tell_that_nothing_was_missed(tmp_path: Path) -> None:
    async with one_server(tmp_path) as servers, realm_link(servers) as link:
        feed = RealmFeed(link, 0)
        assert feed.heard_at < time.monotonic() - 3
        waiting = asyncio.create_task(anext(feed))
        for _ in range(3):
            before = feed.heard_at
            await until(lambda before=before: feed.heard_at > before)  # type: ignore[misc]
        waiting.cancel()


async def test_a_slow_reader_holds_little_and_misses_nothing(tmp_path: Path) -> None:
    async with one_server(tmp_path) as servers, realm_link(servers) as link:
        body = encode_commit(Commit("id", "u", "n", (PutBlob("b", "o", None, bytes(400_000)),)))
        appender = Appender(link)
        count = 300
        for index in range(count):
            await appender.append("u", body, str(index), index)
        feed = RealmFeed(link, 0)
        assert await take(feed, 1) == [1]
        # By now the server would have sent all of it, if it were not held back.
        for _ in range(20):
            await known_to_servers(link)
            await asyncio.sleep(0.05)
        assert sum(len(message.data) for message in feed._arrived) < 64_000_000
        assert await take(feed, count - 1) == list(range(2, count + 1))
        await feed.close()


async def test_a_lost_message_is_fetched_again(tmp_path: Path) -> None:
    async with one_server(tmp_path) as servers, realm_link(servers) as link:
        last = await append(link, 2)
        feed = RealmFeed(link, 0)
        assert await take(feed, 2) == [1, 2]
        for lost_at_the_end in (False, True):
            heard = len(feed._arrived)
            last = await append(link, 3, last=last)
            await until(lambda: sum(1 for m in feed._arrived if m.reply) == 3)
            data = [message for message in feed._arrived if message.reply]
            feed._arrived.remove(data[-1 if lost_at_the_end else 0])
            assert await take(feed, 3) == [last - 2, last - 1, last], heard
        await feed.close()


async def test_every_message_comes_once_over_kills_and_pauses(tmp_path: Path) -> None:
    async with three_servers(tmp_path) as servers, realm_link(servers) as link:
        feed = RealmFeed(link, 0)
        seen: list[int] = []

        async def follow() -> None:
            async for message in feed:
                seen.append(message.seq)

        following = asyncio.create_task(follow())
        last = 0
        for server, fault in zip(servers.all, ("kill", "pause", "kill"), strict=True):
            last = await asyncio.wait_for(append(link, 50, last=last), SOON)
            getattr(server, fault)()
            last = await asyncio.wait_for(append(link, 50, last=last), SOON)
            server.resume() if fault == "pause" else server.start()
        await until(lambda: len(seen) >= 300)
        following.cancel()
        assert seen == list(range(1, 301))
        await feed.close()


async def test_all_servers_are_killed_and_come_back(tmp_path: Path) -> None:
    async with one_server(tmp_path) as servers, realm_link(servers) as link:
        last = await append(link, 3)
        feed = RealmFeed(link, 0)
        await take(feed, 3)
        waiting = asyncio.create_task(anext(feed))
        servers[0].kill()
        servers[0].start()
        await asyncio.wait_for(append(link, 1, last=last), SOON)
        assert (await asyncio.wait_for(waiting, SOON)).seq == 4


async def test_what_was_purged_is_not_passed_over(tmp_path: Path) -> None:
    async with one_server(tmp_path) as servers, realm_link(servers) as link:
        await append(link, 5)
        await link.purge_before(4)
        state = await link.stream_state()
        assert (state.first, state.last, state.messages) == (4, 5, 2)
        assert await take(RealmFeed(link, 3), 2) == [4, 5]
        with pytest.raises(FellBehind, match="begins at 4"):
            await take(RealmFeed(link, 2), 1)


@pytest.mark.parametrize("again", [False, True])
async def test_another_stream_or_none_is_noticed(
    again: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feed, "_STALE", 0.5)
    async with one_server(tmp_path) as servers, realm_link(servers) as link:
        await append(link, 3)
        following = RealmFeed(link, 0)
        await take(following, 3)
        await link.jetstream.delete_stream(link.stream)
        if again:
            async with realm_link(servers, "other") as other:
                await append(other, 5)
        with pytest.raises(RealmReplaced, match="another one" if again else "is gone"):
            await take(following, 1)
