"""The order of everything: nothing is handed on before its commit, and nothing out of turn."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agenthost.host.log import ledger as ledger_module
from agenthost.host.log.ledger import RESERVED_BLOCK, Ledger
from agenthost.host.store import (
    Append,
    MemoryBacking,
    MemoryStore,
    PutRecord,
    Store,
    StoreError,
    StoreMisuse,
    Write,
)

CHAT = "ahp-chat:/1"


class ManualStore:
    """A store whose commits end when the test says so."""

    def __init__(self, first_seq: int = 1) -> None:
        self.first_seq = first_seq
        self.reserved = first_seq - 1
        self.reservations: list[int] = []
        self.sealed: list[int] = []
        # Every commit in order, and what it holds.
        self.commits: list[asyncio.Future[None]] = []
        self.units: list[tuple[Write, ...]] = []
        # What the next write or reservation is refused with, if it is.
        self.refuse: StoreError | None = None
        # Cleared while reservations hang.
        self.may_reserve = asyncio.Event()
        self.may_reserve.set()

    def write(self, *writes: Write) -> asyncio.Future[None]:
        if self.refuse is not None:
            raise self.refuse
        commit: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.commits.append(commit)
        self.units.append(writes)
        return commit

    async def reserve(self, through: int) -> None:
        await self.may_reserve.wait()
        if self.refuse is not None:
            raise self.refuse
        self.reservations.append(through)
        self.reserved = max(self.reserved, through)

    async def seal(self, last_used: int) -> None:
        self.sealed.append(last_used)


class Bench:
    """A ledger on a store that the test controls, and what came out of it."""

    def __init__(self) -> None:
        self.store = ManualStore()
        self.released: list[Any] = []
        # How many deliveries came together.
        self.batches: list[int] = []
        self.failures: list[StoreError] = []
        self.on_release: Callable[[Any], None] = lambda delivery: None
        self.ledger = Ledger(
            cast(Store, self.store), release=self._release, on_failure=self.failures.append
        )

    def _release(self, deliveries: Sequence[Any]) -> None:
        self.batches.append(len(deliveries))
        for delivery in deliveries:
            self.released.append(delivery)
            self.on_release(delivery)

    def write(self, *keys: str) -> None:
        self.ledger.write(*(record(key) for key in keys))

    async def commit(self, number: int) -> None:
        self.store.commits[number].set_result(None)
        await settle()

    async def fail(self, number: int, error: BaseException) -> None:
        self.store.commits[number].set_exception(error)
        await settle()

    @property
    def stored(self) -> list[list[str]]:
        """The keys of each unit that was handed to the store."""
        return [[cast(PutRecord, write).key for write in unit] for unit in self.store.units]


def record(key: str) -> PutRecord:
    return PutRecord("bucket", key, b"")


async def settle() -> None:
    """Let everything run that is ready, and what that makes ready."""
    for _ in range(4):
        await asyncio.sleep(0)


@pytest.fixture
async def bench() -> Bench:
    bench = Bench()
    await bench.ledger.open()
    return bench


# Before and after a commit


async def test_what_has_nothing_to_wait_for_is_handed_on_at_once(bench: Bench) -> None:
    bench.ledger.deliver("a")
    bench.ledger.deliver("b")
    assert bench.released == ["a", "b"]
    assert bench.store.units == []


async def test_a_delivery_waits_for_what_was_written_before_it(bench: Bench) -> None:
    bench.write("1")
    bench.ledger.deliver("a")
    assert bench.released == []
    await settle()
    assert bench.stored == [["1"]]
    assert bench.released == []
    await bench.commit(0)
    assert bench.released == ["a"]


async def test_the_writes_of_one_tick_are_one_commit(bench: Bench) -> None:
    bench.write("1", "2")
    bench.ledger.deliver("a")
    bench.write("3")
    bench.ledger.deliver("b")
    await settle()
    bench.write("4")
    await settle()
    assert bench.stored == [["1", "2", "3"], ["4"]]
    await bench.commit(0)
    assert bench.released == ["a", "b"]
    assert bench.batches == [2]


async def test_what_is_delivered_during_a_commit_follows_it(bench: Bench) -> None:
    bench.write("1")
    await settle()
    bench.ledger.deliver("a")
    await settle()
    assert bench.released == []
    assert len(bench.store.units) == 1
    await bench.commit(0)
    assert bench.released == ["a"]


async def test_order_is_kept_across_commits(bench: Bench) -> None:
    bench.write("1")
    bench.ledger.deliver("a")
    await settle()
    bench.write("2")
    bench.ledger.deliver("b")
    await settle()
    bench.ledger.deliver("c")
    await bench.commit(0)
    assert bench.released == ["a"]
    await bench.commit(1)
    assert bench.released == ["a", "b", "c"]


async def test_a_later_commit_that_ends_first_hands_nothing_on(bench: Bench) -> None:
    for number, delivery in enumerate("abc"):
        bench.write(str(number))
        bench.ledger.deliver(delivery)
        await settle()
    await bench.commit(2)
    await bench.commit(1)
    assert bench.released == []
    await bench.commit(0)
    assert bench.released == ["a", "b", "c"]


async def test_what_comes_between_the_end_of_a_commit_and_its_release_keeps_its_place(
    bench: Bench,
) -> None:
    bench.write("1")
    bench.ledger.deliver("a")
    await settle()
    bench.store.commits[0].set_result(None)
    bench.ledger.deliver("b")
    await settle()
    assert bench.released == ["a", "b"]


async def test_what_a_delivery_decides_comes_after_its_batch(bench: Bench) -> None:
    bench.on_release = lambda delivery: bench.ledger.deliver("z") if delivery == "a" else None
    bench.write("1")
    bench.ledger.deliver("a")
    bench.ledger.deliver("b")
    await settle()
    await bench.commit(0)
    assert bench.released == ["a", "b", "z"]


async def test_the_backlog_counts_writes_that_are_not_durable(bench: Bench) -> None:
    bench.write("1", "2")
    assert bench.ledger.backlog == 2
    await settle()
    bench.write("3")
    assert bench.ledger.backlog == 3
    await settle()
    await bench.commit(0)
    assert bench.ledger.backlog == 1
    await bench.commit(1)
    assert bench.ledger.backlog == 0


# Settling


async def test_settling_waits_for_everything_so_far(bench: Bench) -> None:
    bench.write("1")
    bench.ledger.deliver("a")
    settled = asyncio.create_task(bench.ledger.settle())
    await settle()
    assert not settled.done()
    bench.write("2")
    bench.ledger.deliver("b")
    await bench.commit(0)
    assert settled.done()
    assert bench.released == ["a"]


async def test_where_nothing_is_under_way_everything_is_settled(bench: Bench) -> None:
    await bench.ledger.settle()
    assert bench.store.units == []


async def test_settling_does_not_wait_for_the_next_tick_to_write(bench: Bench) -> None:
    bench.write("1")
    settled = asyncio.create_task(bench.ledger.settle())
    await asyncio.sleep(0)
    assert bench.stored == [["1"]]
    await bench.commit(0)
    await settled


async def test_a_settling_that_is_cancelled_disturbs_nobody(bench: Bench) -> None:
    bench.write("1")
    impatient = asyncio.create_task(bench.ledger.settle())
    patient = asyncio.create_task(bench.ledger.settle())
    await settle()
    impatient.cancel()
    await settle()
    await bench.commit(0)
    await patient
    assert impatient.cancelled()


async def test_who_settles_is_not_left_waiting_by_a_delivery_that_fails(bench: Bench) -> None:
    def refuse(delivery: Any) -> None:
        raise RuntimeError("boom")

    bench.on_release = refuse
    told: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: told.append(context))
    bench.write("1")
    bench.ledger.deliver("a")
    settled = asyncio.create_task(bench.ledger.settle())
    await settle()
    await bench.commit(0)
    await settled
    assert "boom" in str(told[0]["exception"])


# Failure


async def test_a_failed_commit_is_told_once_and_hands_on_nothing(bench: Bench) -> None:
    for number, delivery in enumerate("abc"):
        bench.write(str(number))
        bench.ledger.deliver(delivery)
        await settle()
    await bench.commit(0)
    full = StoreError("the disk is full")
    await bench.fail(1, full)
    await bench.fail(2, StoreError("and still is"))
    assert bench.failures == [full]
    assert bench.ledger.backlog == 0
    assert bench.ledger.failure is full
    assert bench.released == ["a"]


async def test_nothing_is_handed_on_after_a_failure(bench: Bench) -> None:
    bench.write("1")
    await settle()
    await bench.fail(0, StoreError("full"))
    bench.ledger.deliver("a")
    bench.write("2")
    bench.ledger.deliver("b")
    await settle()
    # Even if the store itself went on.
    await bench.commit(1)
    assert bench.released == []
    assert len(bench.failures) == 1


async def test_settling_raises_the_failure(bench: Bench) -> None:
    bench.write("1")
    settled = asyncio.create_task(bench.ledger.settle())
    await settle()
    await bench.fail(0, StoreError("full"))
    with pytest.raises(StoreError, match="full"):
        await settled
    with pytest.raises(StoreError, match="full"):
        await bench.ledger.settle()
    with pytest.raises(StoreError, match="full"):
        await bench.ledger.close()
    assert bench.store.sealed == []


async def test_an_unexpected_error_of_a_commit_is_a_failure_of_the_store(bench: Bench) -> None:
    bench.write("1")
    bench.ledger.deliver("a")
    await settle()
    await bench.fail(0, OSError("gone"))
    assert [str(error) for error in bench.failures] == ["gone"]
    assert bench.released == []


async def test_a_commit_that_is_cancelled_is_not_taken_for_durable(bench: Bench) -> None:
    bench.write("1")
    bench.ledger.deliver("a")
    await settle()
    bench.store.commits[0].cancel()
    await settle()
    assert bench.released == []
    assert len(bench.failures) == 1


async def test_a_write_that_the_store_refuses_is_a_failure(bench: Bench) -> None:
    bench.store.refuse = refusal = StoreMisuse("not reserved")
    bench.write("1")
    bench.ledger.deliver("a")
    await settle()
    assert bench.failures == [refusal]
    assert bench.released == []
    assert bench.ledger.backlog == 0


async def test_who_settles_hears_that_the_store_refused(bench: Bench) -> None:
    bench.store.refuse = StoreMisuse("not reserved")
    bench.write("1")
    with pytest.raises(StoreMisuse, match="not reserved"):
        await bench.ledger.settle()
    assert len(bench.failures) == 1


# Numbers


async def test_numbers_follow_each_other_from_where_the_store_says() -> None:
    store = ManualStore(first_seq=41)
    ledger = Ledger(cast(Store, store), release=lambda _: None, on_failure=lambda _: None)
    assert ledger.last_seq == 40
    await ledger.open()
    assert store.reservations == [40 + RESERVED_BLOCK]
    assert [ledger.take_seq() for _ in range(3)] == [41, 42, 43]
    assert ledger.last_seq == 43
    await ledger.close()
    assert store.sealed == [43]


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger_module, "RESERVED_BLOCK", 10)


@pytest.mark.usefixtures("small_blocks")
async def test_numbers_are_reserved_anew_when_half_of_them_are_used() -> None:
    bench = Bench()
    await bench.ledger.open()
    for _ in range(5):
        bench.ledger.take_seq()
    await settle()
    assert bench.store.reservations == [10]
    bench.ledger.take_seq()
    await settle()
    assert bench.store.reservations == [10, 16]
    for _ in range(100):
        assert bench.ledger.take_seq() <= bench.store.reserved
        await settle()


@pytest.mark.usefixtures("small_blocks")
async def test_one_reservation_at_a_time_is_under_way() -> None:
    bench = Bench()
    await bench.ledger.open()
    bench.store.may_reserve.clear()
    for _ in range(9):
        bench.ledger.take_seq()
        await settle()
    bench.store.may_reserve.set()
    await settle()
    assert bench.store.reservations == [10, 16]


@pytest.mark.usefixtures("small_blocks")
async def test_closing_waits_for_a_reservation_that_is_under_way() -> None:
    bench = Bench()
    await bench.ledger.open()
    bench.store.may_reserve.clear()
    for _ in range(7):
        bench.ledger.take_seq()
    closing = asyncio.create_task(bench.ledger.close())
    await settle()
    assert bench.store.sealed == []
    bench.store.may_reserve.set()
    await closing
    assert bench.store.reservations == [10, 17]
    assert bench.store.sealed == [7]


@pytest.mark.usefixtures("small_blocks")
async def test_a_reservation_that_fails_is_a_failure_of_the_store() -> None:
    bench = Bench()
    await bench.ledger.open()
    bench.store.refuse = refusal = StoreError("full")
    for _ in range(6):
        bench.ledger.take_seq()
    await settle()
    assert bench.failures == [refusal]
    bench.ledger.deliver("a")
    assert bench.released == []


async def test_closing_makes_everything_durable_first(bench: Bench) -> None:
    bench.ledger.take_seq()
    bench.write("1")
    bench.ledger.deliver("a")
    closing = asyncio.create_task(bench.ledger.close())
    await settle()
    assert bench.store.sealed == []
    await bench.commit(0)
    await closing
    assert bench.released == ["a"]
    assert bench.store.sealed == [1]


# On a real store


def unexpected(error: StoreError) -> None:
    pytest.fail(f"the store failed: {error}")


def append(seq: int) -> Append:
    return Append(seq, CHAT, "2026", b"{}")


async def test_what_is_handed_on_is_in_the_store_by_then() -> None:
    backing, seen = MemoryBacking(), []

    def release(deliveries: Sequence[Any]) -> None:
        for seq in deliveries:
            assert seq in [entry.seq for entry in backing.channels[CHAT].log]
            seen.append(seq)

    async with MemoryStore(backing) as store:
        ledger = Ledger(store, release=release, on_failure=unexpected)
        await ledger.open()
        for _ in range(5):
            seq = ledger.take_seq()
            ledger.write(append(seq))
            ledger.deliver(seq)
            await asyncio.sleep(0)
        await ledger.close()
    assert seen == [1, 2, 3, 4, 5]


async def test_a_host_that_closes_leaves_no_gap_and_one_that_is_killed_does() -> None:
    backing = MemoryBacking()
    async with MemoryStore(backing) as store:
        ledger = Ledger(store, release=lambda _: None, on_failure=unexpected)
        await ledger.open()
        ledger.write(append(ledger.take_seq()))
        # A refusal takes a number and is not stored.
        ledger.take_seq()
        await ledger.close()
    async with MemoryStore(backing) as store:
        ledger = Ledger(store, release=lambda _: None, on_failure=unexpected)
        assert ledger.last_seq == 2
        assert store.gaps == ()
        await ledger.open()
        ledger.write(append(ledger.take_seq()))
        await ledger.settle()
        backing.crash()
    async with MemoryStore(backing) as store:
        ledger = Ledger(store, release=lambda _: None, on_failure=unexpected)
        assert store.gaps == ((3, 2 + RESERVED_BLOCK + 1),)
        assert ledger.take_seq() == 2 + RESERVED_BLOCK + 1
        await ledger.open()
        await ledger.close()


async def test_a_store_that_fails_stops_everything() -> None:
    failures: list[StoreError] = []
    released: list[Any] = []
    backing = MemoryBacking()
    store = await MemoryStore(backing).__aenter__()
    ledger = Ledger(store, release=released.extend, on_failure=failures.append)
    await ledger.open()
    backing.fail_with = StoreError("full")
    ledger.write(append(ledger.take_seq()))
    ledger.deliver("a")
    with pytest.raises(StoreError, match="full"):
        await ledger.settle()
    with pytest.raises(StoreError, match="full"):
        await store.__aexit__(None, None, None)
    assert len(failures) == 1
    assert released == []


# Any interleaving

steps = st.lists(
    st.one_of(
        st.sampled_from(["write", "deliver", "tick", "settle"]),
        # Which of the commits under way ends next.
        st.integers(0, 3),
    ),
    max_size=40,
)


@given(steps)
def test_every_delivery_follows_the_commits_of_all_that_was_written_before_it(
    steps: list[str | int],
) -> None:
    async def run() -> None:
        bench = Bench()
        await bench.ledger.open()
        # Deliveries carry their number and how much had been written before them.
        written, delivered = 0, 0
        waiting: list[asyncio.Task[None]] = []

        def durable() -> set[str]:
            return {
                key
                for commit, keys in zip(bench.store.commits, bench.stored, strict=True)
                if commit.done()
                for key in keys
            }

        early: list[int] = []

        def check(delivery: tuple[int, int]) -> None:
            if not {str(number) for number in range(delivery[1])} <= durable():
                early.append(delivery[0])

        bench.on_release = check
        for step in steps:
            under_way = [commit for commit in bench.store.commits if not commit.done()]
            if step == "write":
                bench.write(str(written))
                written += 1
            elif step == "deliver":
                bench.ledger.deliver((delivered, written))
                delivered += 1
            elif step == "settle":
                waiting.append(asyncio.create_task(bench.ledger.settle()))
            elif step == "tick":
                await settle()
            elif under_way:
                under_way[cast(int, step) % len(under_way)].set_result(None)
        while written and (bench.ledger.backlog or not bench.store.units):
            await settle()
            for commit in bench.store.commits:
                if not commit.done():
                    commit.set_result(None)
        await settle()
        assert early == []
        assert [number for number, _ in bench.released] == list(range(delivered))
        await asyncio.gather(*waiting)

    asyncio.run(run())
