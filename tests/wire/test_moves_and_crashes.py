"""Chats that move while hosts die and restart, clients are away, and others move them as well."""

from __future__ import annotations

import asyncio
import copy
from pathlib import Path
from typing import Any

import pytest

from agenthost.host import Host, SqliteStore
from agenthost.host.channels.session.kind import SESSION
from agenthost.host.store import MemoryBacking, MemoryStore, Write
from agenthost.protocol.chat.state import ToolChatOrigin
from tests.wire.client import ROOT, WireClient, open_client
from tests.wire.hosting import embed, serve
from tests.wire.mirrors import assert_mirrors
from tests.wire.moving import (
    BEFORE,
    BUSY,
    DENIED,
    NEWEST,
    NOT_FOUND,
    everywhere,
    listed,
    make,
    move,
    newest,
    workers,
)
from tests.wire.on_cluster import ON_CLUSTER

pytestmark = pytest.mark.asyncio(loop_scope="module")

Json = dict[str, Any]


async def test_a_moved_chat_is_where_it_went_after_a_restart(tmp_path: Path) -> None:
    path = tmp_path / "host.db"
    async with (
        Host(store=SqliteStore(path)) as host,
        newest(await host.listen(port=0)) as client,
    ):
        await client.initialize(ROOT)
        await make(client, "s:/1", "c:/1", "c:/2")
        there = await make(client, "s:/2")
        await client.run_turn("c:/1", "t1", "/subagent hello")
        await move(client, "c:/1", "s:/2", after=there)
        session = await move(client, "c:/2")
        channels = ("s:/1", "s:/2", "c:/1", "c:/2", session)
        before = [await client.fresh(channel) for channel in channels]
        seen = client.last_seen
    async with (
        Host(store=SqliteStore(path)) as host,
        newest(await host.listen(port=0)) as again,
    ):
        again.inherit(client)
        result = await again.reconnect(seen, *again.states)
        assert result.get("missing", []) == []
        assert [await again.fresh(channel) for channel in channels] == before
        # The chat is loaded by its own name, and with it the session that it is in now.
        await again.subscribe("c:/1")
        await again.run_turn("c:/1", "t2", "and on it goes")
        await again.subscribe("s:/2")
        assert len(again.states["c:/1"]["turns"]) == 2
        assert await everywhere(again, "c:/1") == ["s:/2"]
        await assert_mirrors(again)


async def test_who_was_away_over_a_move_is_told_all_of_it() -> None:
    async with embed() as url, newest(url, "stays") as client:
        await client.initialize(ROOT)
        await make(client, "s:/1", "c:/1")
        there = await make(client, "s:/2")
        formers: list[WireClient] = []
        for version in (NEWEST, BEFORE, "0.5.0"):
            async with open_client(url, f"away {version}", version) as former:
                await former.initialize(ROOT)
                for channel in ("s:/1", "s:/2", "c:/1"):
                    await former.subscribe(channel)
                formers.append(former)
        # To the end, for what was added there is where older clients put it.
        await move(client, "c:/1", "s:/2", after=there)
        await client.run_turn("c:/1", "t1", "moved")
        for former in formers:
            async with open_client(url, former.client_id, former.version) as again:
                result = await again.resume(former)
                assert result["type"] == "replay"
                assert "c:/1" in listed(again, "s:/2")
                assert "c:/1" not in listed(again, "s:/1")
                assert len(again.states["c:/1"]["turns"]) == 1
                await assert_mirrors(again)


WRITTEN_BY = (
    {"module": "agenthost.cluster.owner.store", "store": "OwnerStore"}
    if ON_CLUSTER
    else {"module": "agenthost.host.store", "store": "SqliteStore"}
)
KILLER = """
import os, signal
from agenthost.agents.demo import Demo
from agenthost.host.store import PutRecord
from {module} import {store} as Store

WHEN = {when!r}
write = Store.write


def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)


def writing(self, *writes):
    moves = any(
        isinstance(w, PutRecord) and (w.bucket, w.key, w.value) == ("owners", "c:/1", {to!r})
        for w in writes
    )
    if moves and WHEN == "before":
        die()
    done = write(self, *writes)
    if moves and WHEN == "after":
        # Durable, and nobody has been told yet.
        done.add_done_callback(die)
    return done


Store.write = writing
"""


@pytest.mark.parametrize("when", ["before", "after"])
async def test_a_host_that_is_killed_over_a_move_has_moved_the_chat_or_not(
    when: str, tmp_path: Path
) -> None:
    (tmp_path / "killer.py").write_text(KILLER.format(when=when, to=b"s:/2", **WRITTEN_BY))
    options = ("--agent", "killer:Demo")
    async with serve(tmp_path / "data", *options, cwd=tmp_path) as host:
        async with newest(host.url) as client:
            await client.initialize(ROOT)
            await make(client, "s:/1", "c:/1")
            there = await make(client, "s:/2")
            await client.run_turn("c:/1", "t1", "/subagent hello")
            await client.ping()
            (worker,) = workers(client, "s:/1")
            destination = {"kind": "session", "session": "s:/2", "after": there}
            params = {"channel": "c:/1", "destination": destination}
            await client.send({"id": 999, "method": "moveChat", "params": params})
            assert (await client.closed)[0] == 1006
        (tmp_path / "killer.py").write_text("from agenthost.agents.demo import Demo")
        await host.start()
        async with newest(host.url) as again:
            await again.resume(client)
            home = "s:/1" if when == "before" else "s:/2"
            family = ["c:/1", worker["resource"]]
            for chat in family:
                assert await everywhere(again, chat) == [home]
            # Nobody was told of what did not happen, and all of what did.
            await again.ping()
            assert [chat for chat in listed(again, home) if chat in family] == family
            # The answer was lost, so the client asks again.
            assert await move(again, "c:/1", "s:/2", after=there) == "s:/2"
            await again.ping()
            assert listed(again, "s:/2") == [there, *family]
            for chat in family:
                assert await everywhere(again, chat) == ["s:/2"]
            await again.run_turn("c:/1", "t2", "and on it goes")
            await assert_mirrors(again)


class Film(MemoryStore):
    """Keeps what a killed host would leave, after every commit."""

    def __init__(self) -> None:
        backing = MemoryBacking()
        super().__init__(backing)
        self._film = backing
        self.pictures: list[MemoryBacking] = []

    def write(self, *writes: Write) -> asyncio.Future[None]:
        commit = super().write(*writes)
        commit.add_done_callback(lambda _: self.pictures.append(self._picture()))
        return commit

    def _picture(self) -> MemoryBacking:
        taken = MemoryBacking()
        for name, value in vars(self._film).items():
            if name not in ("owner", "fail_with"):
                setattr(taken, name, copy.deepcopy(value))
        return taken


async def test_a_chat_is_in_one_session_after_every_commit_of_its_way_to_a_new_one() -> None:
    film = Film()
    async with Host(store=film) as host, newest(await host.listen(port=0)) as client:
        await client.initialize(ROOT)
        await make(client, "s:/1", "c:/1")
        await client.run_turn("c:/1", "t1", "/subagent hello")
        await client.ping()
        (worker,) = workers(client, "s:/1")
        first = len(film.pictures) - 1
        session = await move(client, "c:/1")
        await client.ping()
    homes = []
    for left in film.pictures[first:]:
        async with (
            Host(store=MemoryStore(left)) as host,
            newest(await host.listen(port=0)) as client,
        ):
            await client.initialize(ROOT)
            (home,) = await everywhere(client, "c:/1")
            assert await everywhere(client, worker["resource"]) == [home]
            state = await client.fresh(home)
            is_new = home == session
            assert state["lifecycle"] == "ready"
            assert (state["defaultChat"] == "c:/1") is is_new
            assert (await client.fresh("c:/1"))["movable"] is not is_new
            homes.append(home)
    # First there, then here, and never back.
    assert homes == sorted(homes, key=lambda home: home == session)
    assert set(homes) == {"s:/1", session}


async def test_a_chat_that_two_people_move_at_once_is_in_one_session_then() -> None:
    async with embed() as url, newest(url, "one") as one, newest(url, "two") as two:
        for each in (one, two):
            await each.initialize(ROOT)
        for round in range(5):
            here, a, b = (f"s:/{name}{round}" for name in "hab")
            chat = f"c:/{round}"
            await make(one, here, chat)
            for session in (a, b):
                await make(one, session)
            results = await asyncio.gather(move(one, chat, a), move(two, chat, b))
            (home,) = await everywhere(one, chat)
            assert home in results
            # To sessions of their own it goes once.
            answers = await asyncio.gather(move(one, chat), move(two, chat), return_exceptions=True)
            (session,) = [answer for answer in answers if isinstance(answer, str)]
            assert [getattr(a, "code", None) for a in answers if a != session] == [DENIED]
            assert await everywhere(two, chat) == [session]
        await one.ping()
        await assert_mirrors(one)


def holds(host: Host) -> dict[str, int]:
    """Return how often sessions are held in memory."""
    return {session.uri: session.holds for session in host.core.directory.loaded(SESSION)}


async def test_a_chat_that_moves_without_end_leaves_nothing_behind() -> None:
    async with Host() as host:
        url = await host.listen(port=0)
        async with newest(url) as client:
            await client.initialize(ROOT)
            await make(client, "s:/1", "c:/1")
            await make(client, "s:/2")
            await client.run_turn("c:/1", "t1", "/subagent hello")
            await client.ping()
            before = holds(host)
            for _ in range(50):
                for session in ("s:/2", "s:/1", "s:/1"):
                    assert await move(client, "c:/1", session) == session
            await client.ping()
            await assert_mirrors(client)
            assert await everywhere(client, "c:/1") == ["s:/1"]
            await client.run_turn("c:/1", "t2", "still here")
            # Sessions that nobody uses leave memory: no chat holds one that it is not in.
            assert holds(host) == before


async def test_a_turn_that_starts_while_its_chat_moves_runs_where_the_chat_is() -> None:
    async with embed() as url, newest(url, "mover") as mover, newest(url, "speaker") as speaker:
        for each in (mover, speaker):
            await each.initialize(ROOT)
        await make(mover, "s:/1", "c:/1")
        await make(mover, "s:/2")
        await speaker.subscribe("c:/1")
        for round in range(10):
            session = ("s:/2", "s:/1")[round % 2]
            answers = await asyncio.gather(
                move(mover, "c:/1", session),
                speaker.start_turn("c:/1", f"t{round}", "hello"),
                return_exceptions=True,
            )
            assert isinstance(answers[0], str) or getattr(answers[0], "code", 0) == BUSY
            assert isinstance(answers[1], dict)
            assert "rejectionReason" not in answers[1]
            for each in (mover, speaker):
                await each.turn_end("c:/1", f"t{round}")
            if not isinstance(answers[0], str):
                await move(mover, "c:/1", session)
            assert await everywhere(mover, "c:/1") == [session]
        await mover.ping()
        assert len(mover.states["c:/1"]["turns"]) == 10
        await assert_mirrors(mover)


async def test_a_session_that_is_disposed_while_chats_move_takes_none_along_that_has_left() -> None:
    async with embed() as url, newest(url, "mover") as mover, newest(url, "ender") as ender:
        for each in (mover, ender):
            await each.initialize(ROOT)
        await make(mover, "s:/keeps")
        for round in range(6):
            session, chat = f"s:/{round}", f"c:/{round}"
            await make(mover, session, chat)
            jobs = [
                move(mover, chat, "s:/keeps"),
                ender.request("disposeSession", channel=session),
            ]
            moved, _ = await asyncio.gather(*jobs, return_exceptions=True)
            there = await everywhere(mover, chat)
            if isinstance(moved, str):
                assert there == ["s:/keeps"]
                assert (await mover.fresh(chat))["resource"] == chat
            else:
                assert there == []
                assert (await mover.refusal("subscribe", channel=chat)).code == NOT_FOUND


async def test_a_workers_name_is_not_given_again_after_it_has_moved_away() -> None:
    async with Host() as host, newest(await host.listen(port=0)) as client:
        await client.initialize(ROOT)
        core = host.core
        default = await make(client, "s:/1", "c:/1")
        session = core.directory.get("s:/1", SESSION)
        assert session is not None

        async def worker(boss: str) -> str:
            origin: ToolChatOrigin = {"kind": "tool", "chat": boss, "toolCallId": "call-1"}
            return (await core.chats.add_worker(session, origin, f"of {boss}", "read-only")).uri

        first = await worker("c:/1")
        await move(client, "c:/1")
        core.directory.sweep(idle_seconds=-1)
        assert core.directory.get(first) is None
        second = await worker(default)
        assert second != first
        assert (await client.subscribe(first))["title"] == "of c:/1"
        assert (await client.subscribe(second))["title"] == f"of {default}"


async def test_a_chat_changes_its_place_without_the_others_of_its_session() -> None:
    async with Host() as host:
        url = await host.listen(port=0)
        async with newest(url) as client:
            await client.initialize()
            default = await make(client, "s:/1", "c:/1", "c:/2")
        async with newest(url, "later") as client:
            await client.initialize()
            host.core.directory.sweep(idle_seconds=-1)
            assert host.core.directory.get("c:/2") is None
            # There may be a thousand of them, and where they stand is known without them.
            await move(client, "c:/1", "s:/1", after="c:/2")
            assert host.core.directory.get("c:/1") is not None
            assert host.core.directory.get(default) is None
            await client.subscribe("s:/1")
            assert listed(client, "s:/1") == [default, "c:/2", "c:/1"]
