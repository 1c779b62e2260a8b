"""What every store promises about sequence numbers across clean ends and crashes."""

from __future__ import annotations

import asyncio

import pytest

from agenthost.host.store import DropChannel, SaveSnapshot, Store, StoreMisuse, TrimLog
from tests.host.store.conftest import Site, entry


async def test_a_new_store_begins_at_one_without_gaps(site: Site) -> None:
    async with site.new() as store:
        assert (store.last_seq, store.first_seq, store.reserved, store.gaps) == (0, 1, 0, ())


async def test_nothing_is_used_before_it_is_reserved(site: Site) -> None:
    async with site.new() as store:
        with pytest.raises(StoreMisuse):
            store.write(entry(1))
        await store.reserve(1)
        await store.write(entry(1))
        with pytest.raises(StoreMisuse):
            store.write(entry(2))


async def test_a_smaller_reservation_takes_nothing_back(store: Store) -> None:
    await store.reserve(10)
    assert store.reserved == 1000


async def test_reservations_made_at_once_end_at_the_highest(store: Store) -> None:
    await asyncio.gather(*(store.reserve(through) for through in (3000, 2000, 4000, 1000)))
    assert store.reserved == 4000


async def test_a_crash_skips_everything_reserved_and_leaves_a_gap(site: Site) -> None:
    async with site.new() as store:
        await store.reserve(1000)
        await store.write(entry(7))
        site.crash()
    async with site.new() as store:
        assert (store.last_seq, store.first_seq) == (7, 1001)
        assert store.gaps == ((7, 1001),)
        assert store.reserved == 1000


async def test_a_close_without_a_seal_counts_as_a_crash(site: Site) -> None:
    async with site.new() as store:
        await store.reserve(1000)
        await store.write(entry(7))
    async with site.new() as store:
        assert (store.last_seq, store.first_seq, store.gaps) == (7, 1001, ((7, 1001),))


async def test_a_sealed_store_goes_on_right_after_the_last_number_used(site: Site) -> None:
    async with site.new() as store:
        await store.reserve(1000)
        await store.write(entry(7))
        # 8 and 9 were used for what is not logged.
        await store.seal(9)
        assert store.reserved == 9
    async with site.new() as store:
        assert (store.last_seq, store.first_seq, store.gaps) == (9, 10, ())


async def test_a_seal_can_be_followed_by_a_new_reservation_and_a_crash(site: Site) -> None:
    async with site.new() as store:
        await store.reserve(1000)
        await store.write(entry(7))
        await store.seal(9)
        with pytest.raises(StoreMisuse):
            store.write(entry(10))
        await store.reserve(500)
        site.crash()
    async with site.new() as store:
        assert (store.last_seq, store.first_seq, store.gaps) == (9, 501, ((9, 501),))


@pytest.mark.parametrize("last_used", [6, 1001])
async def test_a_seal_must_lie_between_the_last_entry_and_the_reservation(
    store: Store, last_used: int
) -> None:
    await store.write(entry(7))
    with pytest.raises(StoreMisuse):
        await store.seal(last_used)
    assert store.reserved == 1000


async def test_crashes_that_left_nothing_behind_share_one_gap(site: Site) -> None:
    async with site.new() as store:
        await store.reserve(1000)
        await store.write(entry(7))
        site.crash()
    for run in (2, 3, 4):
        async with site.new() as store:
            assert store.gaps == ((7, (run - 1) * 1000 + 1),)
            await store.reserve(run * 1000)
            site.crash()
    async with site.new() as store:
        assert store.gaps == ((7, 4001),)


async def test_every_crash_after_new_entries_has_a_gap_of_its_own(site: Site) -> None:
    for run in (1, 2, 3):
        async with site.new() as store:
            await store.reserve(run * 1000)
            await store.write(entry(store.first_seq))
            site.crash()
    async with site.new() as store:
        assert store.gaps == ((1, 1001), (1001, 2001), (2001, 3001))


async def test_a_crash_before_anything_was_reserved_changes_nothing(site: Site) -> None:
    async with site.new() as store:
        await store.reserve(1000)
        await store.seal(0)
    for _ in range(2):
        async with site.new() as store:
            assert (store.last_seq, store.first_seq, store.gaps) == (0, 1, ())
            site.crash()


async def test_dropped_entries_still_count_as_used(site: Site) -> None:
    async with site.new() as store:
        await store.reserve(1000)
        await store.write(entry(5), entry(6, "chat:/b"), SaveSnapshot("chat:/b", "chat", 6, b""))
        await store.write(TrimLog("chat:/b", 6), DropChannel("chat:/a"))
        site.crash()
    async with site.new() as store:
        assert store.last_seq == 6
        assert store.gaps == ((6, 1001),)
