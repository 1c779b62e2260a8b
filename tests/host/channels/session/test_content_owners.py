"""What becomes of content when the chats that refer to it move, and when their sessions go."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from agenthost.host.channels.session.content_owners import SHARED, ContentOwners
from agenthost.host.log.ledger import Ledger
from agenthost.host.store import MemoryBacking, MemoryStore, PutBlob

BLOBS = ("own", "common", "left")


@asynccontextmanager
async def opened(backing: MemoryBacking) -> AsyncIterator[tuple[MemoryStore, ContentOwners]]:
    async with MemoryStore(backing) as store:
        ledger: Ledger[object] = Ledger(
            store, release=lambda _: None, on_failure=lambda error: pytest.fail(str(error))
        )
        owners = ContentOwners(store, ledger)  # type: ignore[arg-type]
        await owners.open()
        yield store, owners
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
