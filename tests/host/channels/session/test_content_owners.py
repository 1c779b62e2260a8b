"""What becomes of content when the chats that refer to it move, and when their sessions go."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agenthost.host.channels.session.content_owners import SHARED, ContentOwners
from agenthost.host.log.ledger import Ledger
from agenthost.host.store import MemoryBacking, MemoryStore, PutBlob, Write
from tests.thoroughness import examples

BLOBS = ("own", "common", "left")


@asynccontextmanager
async def opened(backing: MemoryBacking) -> AsyncIterator[tuple[Ledger[object], ContentOwners]]:
    async with MemoryStore(backing) as store:
        ledger: Ledger[object] = Ledger(
            store, release=lambda _: None, on_failure=lambda error: pytest.fail(str(error))
        )
        owners = ContentOwners(store, ledger)  # type: ignore[arg-type]
        await owners.open()
        yield ledger, owners
        await ledger.settle()


async def filled(backing: MemoryBacking) -> None:
    async with MemoryStore(backing) as store:
        await store.write(*(PutBlob(name, "s", None, name.encode()) for name in BLOBS))


def left(backing: MemoryBacking) -> set[str]:
    return set(backing.blobs)


async def moved(backing: MemoryBacking) -> None:
    """A chat with content of its own, and some that another has as well, goes from s to t."""
    await filled(backing)
    async with opened(backing) as (_, owners):
        owners.move("s", "t", moved={"own", "common"}, staying={"common", "left"})


async def test_what_a_chat_alone_refers_to_goes_along_and_the_rest_stays() -> None:
    backing = MemoryBacking()
    await moved(backing)
    async with opened(backing) as (_, owners):
        owners.drop("s")
    assert left(backing) == {"own", "common"}
    async with opened(backing) as (_, owners):
        owners.drop("t")
    assert left(backing) == set()
    assert backing.records.get(SHARED) == {}


async def test_what_two_refer_to_is_there_until_the_last_of_them_goes() -> None:
    backing = MemoryBacking()
    await moved(backing)
    async with opened(backing) as (_, owners):
        owners.drop("t")
    assert left(backing) == {"common", "left"}
    async with opened(backing) as (_, owners):
        owners.drop("s")
    assert left(backing) == set()


async def test_content_follows_a_chat_from_session_to_session_and_back() -> None:
    backing = MemoryBacking()
    await moved(backing)
    async with opened(backing) as (_, owners):
        owners.move("t", "u", moved={"own", "common"}, staying=set())
        owners.drop("t")
    assert left(backing) == set(BLOBS)
    async with opened(backing) as (_, owners):
        owners.move("u", "s", moved={"own", "common"}, staying={"common", "left"})
        owners.drop("u")
    assert left(backing) == set(BLOBS)
    assert {blob.owner for blob in backing.blobs.values()} == {"s"}


async def test_three_sessions_share_what_three_chats_refer_to() -> None:
    backing = MemoryBacking()
    await filled(backing)
    async with opened(backing) as (_, owners):
        owners.move("s", "t", moved={"common"}, staying={"common"})
        owners.move("s", "u", moved={"common"}, staying={"common"})
    for session, rest in (("t", set(BLOBS)), ("s", {"common"}), ("u", set())):
        async with opened(backing) as (_, owners):
            owners.drop(session)
        assert left(backing) == rest


async def test_nobody_takes_along_what_belongs_to_a_session_that_it_is_not_in() -> None:
    backing = MemoryBacking()
    await filled(backing)
    async with opened(backing) as (_, owners):
        owners.move("mine", "also mine", moved={"own"}, staying=set())
        owners.move("mine", "also mine", moved={"common"}, staying={"common"})
        owners.drop("also mine")
        owners.drop("mine")
    assert left(backing) == set(BLOBS)


SESSIONS = ("s", "t", "u")
steps = st.lists(
    st.one_of(
        st.tuples(st.just("say"), st.integers(0, 5)),
        st.tuples(st.just("fork"), st.integers(0, 5)),
        st.tuples(st.just("move"), st.integers(0, 5), st.sampled_from(SESSIONS)),
        st.tuples(st.just("drop"), st.sampled_from(SESSIONS)),
        st.just(("restart",)),
    ),
    max_size=25,
)


class World:
    """Chats in sessions, each with the content that it refers to."""

    def __init__(self, backing: MemoryBacking) -> None:
        self.backing = backing
        # Chat -> its session and its content.
        self.chats: list[tuple[str, set[str]]] = [(session, set()) for session in SESSIONS]
        self._made = 0

    def do(self, owners: ContentOwners, step: tuple[Any, ...]) -> Write | None:
        match step:
            case ("say", int(n)) if n < len(self.chats):
                session, content = self.chats[n]
                self._made += 1
                content.add(f"blob {self._made}")
                return PutBlob(f"blob {self._made}", session, None, b"")
            case ("fork", int(n)) if n < len(self.chats):
                session, content = self.chats[n]
                self.chats.append((session, set(content)))
            case ("move", int(n), str(to)) if n < len(self.chats) and self.chats[n][0] != to:
                session, content = self.chats[n]
                others = [c for m, (s, c) in enumerate(self.chats) if s == session and m != n]
                owners.move(session, to, moved=content, staying=set().union(*others))
                self.chats[n] = (to, content)
            case ("drop", str(gone)):
                owners.drop(gone)
                self.chats = [(s, content) for s, content in self.chats if s != gone]
        return None

    def check(self) -> None:
        referred = set().union(*(content for _, content in self.chats))
        assert referred <= left(self.backing)


async def live(history: list[tuple[Any, ...]]) -> None:
    backing = MemoryBacking()
    world, remaining = World(backing), list(history)
    while remaining:
        async with opened(backing) as (ledger, owners):
            while remaining and (step := remaining.pop(0)) != ("restart",):
                write = world.do(owners, step)
                if write is not None:
                    ledger.write(write)
        world.check()
    async with opened(backing) as (_, owners):
        for session in SESSIONS:
            owners.drop(session)
    assert left(backing) == set()
    assert not backing.records.get(SHARED)


@examples(300)
@given(steps)
def test_no_chat_ever_loses_content_and_none_outlives_all_sessions(
    history: list[tuple[Any, ...]],
) -> None:
    asyncio.run(live(history))
