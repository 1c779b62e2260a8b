"""What every store promises about writes, blobs and records."""

from __future__ import annotations

import asyncio

import pytest

from agenthost.host.store import (
    Append,
    Blob,
    DropBlobs,
    DropRecord,
    MoveBlobs,
    PutBlob,
    PutRecord,
    PutSession,
    Store,
    StoreBusy,
    StoreError,
    StoreMisuse,
)
from tests.host.store.conftest import MemorySite, Site, entry


async def test_a_write_is_read_back_once_it_is_acknowledged(store: Store) -> None:
    whole = Append(7, "chat:/ü", "2026-01-01T00:00:00.000Z", b'{"a":1}', b'{"clientId":"c"}')
    await store.write(whole)
    assert await store.read_after(0, ["chat:/ü"]) == [whole]


async def test_bytes_are_kept_as_they_are(store: Store) -> None:
    every = bytes(range(256))
    await store.write(Append(1, "chat:/a", "now", every, b""), PutRecord("b", "k", every))
    (stored,) = await store.read_after(0, ["chat:/a"])
    assert (stored.action, stored.origin) == (every, b"")
    assert await store.record("b", "k") == every


@pytest.mark.parametrize("value", [b"", b"\0", b"\1", b"\1{}" * 1000, b"{}" * 1000])
async def test_records_come_back_whatever_they_begin_with_and_however_long(
    store: Store, value: bytes
) -> None:
    await store.write(PutRecord("b", "k", value))
    assert await store.record("b", "k") == value
    assert await store.records("b") == {"k": value}


async def test_units_are_acknowledged_in_the_order_of_the_calls(store: Store) -> None:
    order: list[int] = []
    futures = []
    for seq in range(1, 301):
        future = store.write(entry(seq))
        future.add_done_callback(lambda _, seq=seq: order.append(seq))  # type: ignore[misc]
        futures.append(future)
        if seq % 50 == 0:
            await asyncio.sleep(0)
    await asyncio.gather(*futures)
    assert order == list(range(1, 301))


async def test_later_writes_win_within_a_unit_and_between_units(store: Store) -> None:
    store.write(PutRecord("b", "k", b"1"), PutRecord("b", "k", b"2"), DropRecord("b", "k"))
    store.write(DropRecord("b", "k"), PutRecord("b", "k", b"3"))
    await store.write(PutRecord("b", "k", b"4"), PutRecord("b", "k", b"5"))
    assert await store.record("b", "k") == b"5"


async def test_pending_counts_units_until_they_are_durable(store: Store) -> None:
    # Not entries alone, which may be durable at once.
    store.write(entry(1), PutRecord("b", "k", b"1"))
    last = store.write(entry(2), PutRecord("b", "k", b"2"))
    assert store.pending == 2
    await last
    assert store.pending == 0


async def test_a_write_of_nothing_is_a_barrier(store: Store) -> None:
    first = store.write(entry(1))
    await store.write()
    assert first.done()


async def test_cancelling_the_wait_takes_nothing_back(store: Store) -> None:
    store.write(entry(1)).cancel()
    await store.write()
    assert await store.read_after(0, ["chat:/a"]) == [entry(1)]


async def test_leaving_the_store_makes_everything_durable(site: Site) -> None:
    async with site.new() as store:
        await store.reserve(1000)
        future = store.write(*map(entry, range(1, 401)))
        store.write(PutRecord("b", "k", b"v"))
    assert future.done()
    async with site.new() as store:
        assert len(await store.read_after(0, ["chat:/a"])) == 400
        assert await store.record("b", "k") == b"v"


async def test_what_was_acknowledged_survives_a_crash(site: Site) -> None:
    async with site.new() as store:
        await store.reserve(1000)
        await store.write(entry(1), PutSession("s", "k", b"{}"))
        site.crash()
    async with site.new() as store:
        assert await store.read_after(0, ["chat:/a"]) == [entry(1)]
        assert await store.session_summary("s") == b"{}"


async def test_a_store_has_one_owner(site: Site) -> None:
    async with site.new():
        with pytest.raises(StoreBusy):
            await site.new().__aenter__()
    async with site.new() as next_owner:
        await next_owner.write(PutRecord("b", "k", b"v"))


async def test_a_store_that_is_not_open_takes_and_gives_nothing(site: Site) -> None:
    store = site.new()
    with pytest.raises(StoreMisuse):
        store.write()
    async with store:
        pass
    with pytest.raises(StoreMisuse):
        store.write(PutRecord("b", "k", b"v"))
    with pytest.raises(StoreMisuse):
        await store.record("b", "k")
    with pytest.raises(StoreMisuse):
        await store.__aenter__()


@pytest.mark.parametrize(
    "bad",
    [entry(5), entry(4), entry(1001), Append(6, "chat:/\ud800", "now", b""), entry(6, "\ud800")],
    ids=["repeated", "out of order", "not reserved", "surrogate", "surrogate channel"],
)
async def test_a_refused_unit_leaves_no_trace(store: Store, bad: Append) -> None:
    await store.write(entry(5))
    with pytest.raises(StoreMisuse):
        store.write(PutRecord("b", "k", b"v"), bad)
    await store.write(entry(6))
    assert await store.record("b", "k") is None
    assert [found.seq for found in await store.read_after(0, ["chat:/a"])] == [5, 6]


async def test_text_without_utf8_form_is_refused_wherever_it_stands(store: Store) -> None:
    for write in (PutRecord("b", "\ud800", b""), PutSession("s", "\ud800", b"")):
        with pytest.raises(StoreMisuse):
            store.write(write)


async def test_a_failed_store_refuses_everything_afterwards() -> None:
    site = MemorySite()
    store = await site.new().__aenter__()
    await store.write(PutRecord("b", "before", b"v"))
    site.backing.fail_with = StoreError("disk full")
    with pytest.raises(StoreError, match="disk full"):
        await store.write(PutRecord("b", "lost", b"v"))
    site.backing.fail_with = None
    with pytest.raises(StoreError, match="disk full"):
        await store.write(PutRecord("b", "later", b"v"))
    assert store.failure is not None
    assert await store.records("b") == {"before": b"v"}
    with pytest.raises(StoreError, match="disk full"):
        await store.__aexit__(None, None, None)


async def test_blobs_are_kept_replaced_and_dropped_with_their_owner(store: Store) -> None:
    await store.write(
        PutBlob("blob:/1", "chat:/a", "text/plain", b"one"),
        PutBlob("blob:/2", "chat:/b", None, b""),
        PutBlob("blob:/3", "chat:/a", None, b"three"),
    )
    await store.write(PutBlob("blob:/3", "chat:/b", "image/png", b"3"))
    assert await store.blob("blob:/1") == Blob("chat:/a", "text/plain", b"one")
    await store.write(DropBlobs("chat:/a"), DropBlobs("chat:/none"))
    assert await store.blob("blob:/1") is None
    assert await store.blob("blob:/2") == Blob("chat:/b", None, b"")
    assert await store.blob("blob:/3") == Blob("chat:/b", "image/png", b"3")


async def test_blobs_go_to_another_owner_and_are_dropped_with_it(store: Store) -> None:
    await store.write(
        PutBlob("blob:/1", "chat:/a", "text/plain", b"one"),
        PutBlob("blob:/2", "chat:/a", None, b"two"),
        PutBlob("blob:/3", "chat:/a", None, b"three"),
        PutBlob("blob:/4", "chat:/c", None, b"four"),
    )
    # One of them, then one that is somebody else's, then one that there is not.
    await store.write(
        MoveBlobs("chat:/a", "chat:/b", "blob:/1"),
        MoveBlobs("chat:/a", "chat:/b", "blob:/4"),
        MoveBlobs("chat:/a", "chat:/b", "blob:/none"),
    )
    assert await store.blob("blob:/1") == Blob("chat:/b", "text/plain", b"one")
    assert await store.blob("blob:/4") == Blob("chat:/c", None, b"four")
    # All that are left, and then the first owner has nothing to take along.
    await store.write(MoveBlobs("chat:/a", "chat:/ü"), DropBlobs("chat:/a"))
    assert await store.blob("blob:/2") == Blob("chat:/ü", None, b"two")
    await store.write(DropBlobs("chat:/ü"))
    assert await store.blob("blob:/3") is None
    assert await store.blob("blob:/1") is not None


async def test_records_of_a_bucket_come_in_order_of_their_keys(store: Store) -> None:
    for key in ("b", "ä", "a", "B"):
        store.write(PutRecord("bucket", key, key.encode()))
    await store.write(PutRecord("other", "x", b""), DropRecord("bucket", "none"))
    assert list(await store.records("bucket")) == ["B", "a", "b", "ä"]
    assert await store.records("empty") == {}
    assert await store.record("other", "a") is None
