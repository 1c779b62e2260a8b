"""A commit is stored, fenced or unknown, whatever happens to the servers meanwhile."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from agenthost.cluster.commits import Commit, CommitReader, Own, RealmWrite, encode_commit
from agenthost.cluster.realm import Appender, Fenced, RealmAddress, RealmError, RealmFeed, RealmLink
from agenthost.cluster.units import MISC
from agenthost.host.store.contract import PutBlob
from tests.cluster.servers import one_server, realm_link, three_servers, until

pytestmark = [pytest.mark.timeout(240)]
SOON = 60.0
UNIT = "ahp-session:/one"


def bodies(id: str, *writes: RealmWrite, unit: str = UNIT) -> list[bytes]:
    return encode_commit(Commit(id, unit, "node", writes))


async def stored(link: RealmLink) -> list[tuple[str, str]]:
    """Return the units and commits of all messages, in order."""
    state = await link.stream_state()
    feed = RealmFeed(link, state.first - 1)
    reader = CommitReader()
    found = []
    async with asyncio.timeout(SOON):
        while feed.position < state.last:
            message = await anext(feed)
            commit = reader.feed(message.body)
            if commit is not None:
                found.append((message.unit, commit.id))
    await feed.close()
    return found


async def test_each_is_expected_to_follow_the_one_before(tmp_path: Path) -> None:
    async with one_server(tmp_path) as servers, realm_link(servers) as link:
        appender = Appender(link)
        first = await appender.append(UNIT, bodies("a"), "a", 0)
        other = await appender.append("unit/2", bodies("b", unit="unit/2"), "b", 0)
        second = await appender.append(UNIT, bodies("c"), "c", first)
        assert (first, other, second) == (1, 2, 3)
        assert await stored(link) == [(UNIT, "a"), ("unit/2", "b"), (UNIT, "c")]


@pytest.mark.parametrize("count", [1, 3])
async def test_whoever_does_not_know_the_last_one_is_fenced(tmp_path: Path, count: int) -> None:
    run = one_server if count == 1 else three_servers
    async with run(tmp_path) as servers, realm_link(servers) as link:
        old, new = Appender(link), Appender(link)
        first = await old.append(UNIT, bodies("a"), "a", 0)
        await new.append(UNIT, bodies("b", Own("new")), "b", first)
        for _ in range(2):
            with pytest.raises(Fenced, match="somebody else has written"):
                await old.append(UNIT, bodies("c"), "c", first)
        assert (old.fenced, new.fenced) == (2, 0)
        assert [id for _, id in await stored(link)] == ["a", "b"]


@pytest.mark.parametrize("count", [1, 3])
async def test_what_was_stored_without_an_answer_is_found(tmp_path: Path, count: int) -> None:
    run = one_server if count == 1 else three_servers
    async with run(tmp_path) as servers, realm_link(servers) as link:
        appender = Appender(link)
        first = await appender.append(UNIT, bodies("a"), "a", 0)
        # As after an acknowledgement that was lost: the same, with the same expectation.
        assert await appender.append(UNIT, bodies("a"), "a", 0) == first
        assert appender.fenced == 0
        assert len(await stored(link)) == 1


@pytest.mark.parametrize("count", [1, 3])
async def test_a_large_commit_is_stored_whole_or_not_at_all(tmp_path: Path, count: int) -> None:
    run = one_server if count == 1 else three_servers
    async with run(tmp_path) as servers, realm_link(servers) as link:
        appender = Appender(link)
        large = PutBlob("b", UNIT, None, bytes(5_000_000))
        last = await appender.append(UNIT, bodies("large", large), "large", 0)
        assert last == len(bodies("large", large)) > 9
        assert await appender.append(UNIT, bodies("large", large), "large", 0) == last
        with pytest.raises(Fenced):
            await appender.append(UNIT, bodies("zombie", large), "zombie", 0)
        assert await stored(link) == [(UNIT, "large")]
        assert (await link.stream_state()).last == last


async def test_several_units_are_stored_together_or_not_at_all(tmp_path: Path) -> None:
    async with three_servers(tmp_path) as servers, realm_link(servers) as link:
        appender = Appender(link)
        parts = [(unit, bodies("a", unit=unit), 0) for unit in ("x", "y")]
        last = await appender.append_together(parts, "a")
        assert last == 2
        # The answer was lost, so it is sent again.
        assert await appender.append_together(parts, "a") == last
        half_right = [("x", bodies("b", unit="x"), 1), ("y", bodies("b", unit="y"), 1)]
        with pytest.raises(Fenced, match="y, at 2 after 1"):
            await appender.append_together(half_right, "b")
        assert await stored(link) == [("x", "a"), ("y", "a")]


async def test_what_expects_nothing_is_stored_once_although_it_is_sent_again(
    tmp_path: Path,
) -> None:
    async with one_server(tmp_path) as servers, realm_link(servers) as link:
        appender = Appender(link)
        for id in ("a", "b", "a"):
            await appender.append(MISC, bodies(id, unit=MISC), id, None)
        assert await stored(link) == [(MISC, "a"), (MISC, "b")]


async def test_what_follows_on_something_purged_is_fenced(tmp_path: Path) -> None:
    async with one_server(tmp_path) as servers, realm_link(servers) as link:
        appender = Appender(link)
        first = await appender.append(UNIT, bodies("a"), "a", 0)
        await appender.append("other", bodies("b", unit="other"), "b", 0)
        await link.purge_before(first + 1)
        with pytest.raises(Fenced):
            await asyncio.wait_for(appender.append(UNIT, bodies("c"), "c", first), SOON)


async def test_of_two_who_follow_on_the_same_one_is_refused_however_late(tmp_path: Path) -> None:
    async with three_servers(tmp_path) as servers, realm_link(servers) as link:
        first = await Appender(link).append(UNIT, bodies("a"), "a", 0)
        leader = await servers.leader(link)
        others = RealmAddress(tuple(url for url in servers.urls if url != leader.url))
        async with (
            RealmLink(RealmAddress((leader.url,)), "zombie") as behind,
            RealmLink(others, "new") as ahead,
        ):
            zombie = Appender(behind)
            leader.pause()
            # It lies in the paused server's socket, and nobody knows what becomes of it.
            late = asyncio.create_task(zombie.append(UNIT, bodies("late"), "late", first))
            await until(lambda: zombie.trouble is not None or late.done())
            claim = Appender(ahead).append(UNIT, bodies("claim", Own("new")), "claim", first)
            claimed = asyncio.create_task(claim)
            await asyncio.wait((late, claimed), return_when=asyncio.FIRST_COMPLETED)
            leader.resume()
            async with asyncio.timeout(SOON):
                outcomes = await asyncio.gather(late, claimed, return_exceptions=True)
            # Sent again elsewhere it may have been the first; one of them is, and only that one.
            winner = [
                id
                for id, outcome in zip(("late", "claim"), outcomes, strict=True)
                if not isinstance(outcome, Fenced)
            ]
            assert len(winner) == 1
            assert [id for _, id in await stored(ahead)] == ["a", *winner]


async def test_an_append_waits_for_a_server_that_is_paused(tmp_path: Path) -> None:
    async with one_server(tmp_path) as servers, realm_link(servers) as link:
        appender = Appender(link)
        servers[0].pause()
        waiting = asyncio.create_task(appender.append(UNIT, bodies("a"), "a", 0))
        await until(lambda: appender.trouble is not None)
        assert not waiting.done()
        servers[0].resume()
        # What was sent to the paused server and what was sent again came to the same.
        assert await asyncio.wait_for(waiting, SOON) == 1
        assert await stored(link) == [(UNIT, "a")]


async def test_an_append_outlives_all_servers(tmp_path: Path) -> None:
    async with one_server(tmp_path) as servers, realm_link(servers) as link:
        appender = Appender(link)
        first = await appender.append(UNIT, bodies("a"), "a", 0)
        servers[0].kill()
        waiting = asyncio.create_task(appender.append(UNIT, bodies("b"), "b", first))
        await until(lambda: appender.trouble is not None)
        servers[0].start()
        assert await asyncio.wait_for(waiting, SOON) == first + 1
        assert [id for _, id in await stored(link)] == ["a", "b"]


async def test_a_cancelled_append_ends(tmp_path: Path) -> None:
    async with one_server(tmp_path) as servers, realm_link(servers) as link:
        servers[0].pause()
        waiting = asyncio.create_task(Appender(link).append(UNIT, bodies("a"), "a", 0))
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(waiting, 0.2)
        servers[0].resume()


async def test_nothing_is_lost_or_stored_twice_while_leaders_are_killed_and_paused(
    tmp_path: Path,
) -> None:
    async with three_servers(tmp_path) as servers, realm_link(servers) as link:
        done = asyncio.Event()

        async def write(unit: str) -> list[str]:
            appender, ids, last = Appender(link), list[str](), 0
            while not done.is_set() or len(ids) < 20:
                id = f"{unit}-{len(ids)}"
                last = await appender.append(unit, bodies(id, unit=unit), id, last)
                ids.append(id)
            return ids

        async with asyncio.TaskGroup() as group:
            writers = {unit: group.create_task(write(unit)) for unit in ("x", "y", "z")}
            for fault in ("kill", "pause"):
                leader = await servers.leader(link)
                before = (await link.stream_state()).last
                getattr(leader, fault)()
                await _goes_on(link, before)
                leader.start() if fault == "kill" else leader.resume()
            done.set()
        found = await stored(link)
        for unit, writer in writers.items():
            assert [id for of, id in found if of == unit] == writer.result()


async def test_a_full_server_is_waited_for_and_says_so(tmp_path: Path) -> None:
    settings = """accounts { A { users: [{user: a, password: a}]
        jetstream { max_file: 1MB } } }\n no_auth_user: a\n"""
    async with one_server(tmp_path, settings=settings) as servers, realm_link(servers) as link:
        appender = Appender(link)
        blob = PutBlob("b", UNIT, None, bytes(300_000))
        last = 0
        for id in "abc":
            last = await appender.append(UNIT, bodies(id, blob), id, last)
        waiting = asyncio.create_task(appender.append(UNIT, bodies("d", blob), "d", last))
        await until(lambda: appender.trouble is not None)
        assert "no room" in (appender.trouble or "")
        await link.purge_before(3)
        assert await asyncio.wait_for(waiting, SOON) == last + 1


async def test_what_no_server_would_take_is_an_error(tmp_path: Path) -> None:
    settings = "max_payload: 100KB\n"
    async with one_server(tmp_path, settings=settings) as servers, realm_link(servers) as link:
        appender = Appender(link)
        for size in (300_000, 3_000_000):
            blob = PutBlob("b", UNIT, None, bytes(size))
            with pytest.raises(RealmError, match="max_payload"):
                await asyncio.wait_for(appender.append(UNIT, bodies("a", blob), "a", 0), SOON)


async def _goes_on(link: RealmLink, before: int) -> None:
    """Wait until something is stored again."""
    async with asyncio.timeout(SOON):
        while True:
            try:
                if (await link.stream_state()).last > before + 10:
                    return
            except RealmError:
                pass
            await asyncio.sleep(0.1)
