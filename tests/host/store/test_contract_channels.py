"""What every store promises about the log and the snapshots of channels."""

from __future__ import annotations

import pytest

from agenthost.host.store import (
    DropChannel,
    PutRecord,
    PutSession,
    SaveSnapshot,
    Store,
    StoredChannel,
    TrimLog,
    WholeChannel,
)
from tests.host.store.conftest import Site, entry


async def test_entries_of_several_channels_come_in_one_order(store: Store) -> None:
    for seq in range(1, 31):
        store.write(entry(seq, f"chat:/{seq % 3}"))
    await store.write()
    found = await store.read_after(5, ["chat:/1", "chat:/2", "chat:/none", "chat:/1"])
    assert [e.seq for e in found] == [seq for seq in range(6, 31) if seq % 3]
    assert all(e == entry(e.seq, f"chat:/{e.seq % 3}") for e in found)


async def test_a_limit_keeps_the_first_entries(store: Store) -> None:
    await store.write(*(entry(seq, f"chat:/{seq % 2}") for seq in range(1, 11)))
    found = await store.read_after(2, ["chat:/0", "chat:/1"], limit=3)
    assert [e.seq for e in found] == [3, 4, 5]
    assert await store.read_after(0, ["chat:/0"], limit=0) == []
    assert await store.read_after(0, []) == []


async def test_a_channel_is_its_snapshot_and_the_entries_after_it(store: Store) -> None:
    await store.write(SaveSnapshot("chat:/a", "chat", 1, b"one"), entry(2), entry(3))
    await store.write(SaveSnapshot("chat:/a", "chat", 3, b"three"), entry(4), entry(5, "chat:/b"))
    loaded = await store.load_channel("chat:/a")
    assert loaded == StoredChannel("chat", 3, b"three", (entry(4),), trimmed_through=1)
    assert [e.seq for e in await store.read_after(0, ["chat:/a"])] == [2, 3, 4]


async def test_a_channel_without_a_snapshot_is_not_loaded_but_has_a_log(store: Store) -> None:
    await store.write(entry(3))
    assert await store.load_channel("chat:/a") is None
    assert await store.load_channel("chat:/none") is None
    assert await store.channel_positions(["chat:/a", "chat:/none"]) == {"chat:/a": 2}


async def test_an_older_snapshot_does_not_replace_a_newer_one(store: Store) -> None:
    await store.write(SaveSnapshot("chat:/a", "chat", 9, b"new"))
    await store.write(SaveSnapshot("chat:/a", "chat", 8, b"old"))
    loaded = await store.load_channel("chat:/a")
    assert loaded is not None
    assert (loaded.seq, loaded.state) == (9, b"new")
    await store.write(SaveSnapshot("chat:/a", "chat", 9, b"newest"))
    again = await store.load_channel("chat:/a")
    assert again is not None
    assert again.state == b"newest"


async def test_the_snapshot_before_the_last_is_kept(store: Store) -> None:
    for seq in (1, 3, 5):
        saved = SaveSnapshot("chat:/a", "chat", seq, b"%d" % seq)
        await store.write(saved, saved, entry(seq + 1))
    loaded = {at_most: await store.load_channel("chat:/a", at_most) for at_most in range(8)}
    found = {at_most: stored.seq for at_most, stored in loaded.items() if stored is not None}
    assert found == {3: 3, 4: 3, 5: 5, 6: 5, 7: 5}
    assert loaded[4] == StoredChannel("chat", 3, b"3", (entry(4), entry(6)), trimmed_through=1)
    assert loaded[7] == await store.load_channel("chat:/a")
    assert await store.load_channel("chat:/none", 9) is None


async def test_the_snapshot_before_the_last_goes_with_the_log_that_it_needs(store: Store) -> None:
    await store.write(SaveSnapshot("chat:/a", "chat", 2, b"2"), *map(entry, range(3, 9)))
    await store.write(SaveSnapshot("chat:/a", "chat", 6, b"6"), TrimLog("chat:/a", 2))
    assert await store.load_channel("chat:/a", 4) is not None
    await store.write(TrimLog("chat:/a", 3))
    assert await store.load_channel("chat:/a", 4) is None
    await store.write(SaveSnapshot("chat:/a", "chat", 8, b"8"))
    await store.write(DropChannel("chat:/a"), SaveSnapshot("chat:/a", "chat", 9, b"9"))
    assert await store.load_channel("chat:/a", 8) is None


async def test_the_snapshot_before_the_last_stays_while_no_entry_after_it_goes(
    store: Store,
) -> None:
    # A quiet channel on a busy host: everything is forgotten but what this channel needs.
    await store.write(entry(1), SaveSnapshot("chat:/a", "chat", 1, b"1"))
    await store.write(entry(900), SaveSnapshot("chat:/a", "chat", 900, b"900"))
    await store.write(TrimLog("chat:/a", 700))
    loaded = await store.load_channel("chat:/a", 800)
    assert loaded == StoredChannel("chat", 1, b"1", (entry(900),), trimmed_through=700)


async def test_trimming_forgets_entries_and_remembers_how_far(store: Store) -> None:
    await store.write(SaveSnapshot("chat:/a", "chat", 0, b"0"), *map(entry, range(1, 9)))
    await store.write(SaveSnapshot("chat:/a", "chat", 6, b"6"), TrimLog("chat:/a", 4))
    assert [e.seq for e in await store.read_after(0, ["chat:/a"])] == [5, 6, 7, 8]
    assert await store.channel_positions(["chat:/a"]) == {"chat:/a": 4}
    # Trimming less than before takes nothing back.
    await store.write(TrimLog("chat:/a", 2))
    assert await store.channel_positions(["chat:/a"]) == {"chat:/a": 4}


@pytest.mark.parametrize(
    ("through", "keep_bytes", "kept"),
    [
        (0, 1000, [1, 2, 3, 4, 5, 6]),
        (0, 3, [4, 5, 6]),
        # What is asked for more strictly holds.
        (4, 3, [5, 6]),
        (1, 3, [4, 5, 6]),
        # One entry is longer than all that may be kept; the last is in no snapshot.
        (0, 0, [6]),
    ],
)
async def test_trimming_to_a_length_keeps_the_newest_entries(
    store: Store, through: int, keep_bytes: int, kept: list[int]
) -> None:
    await store.write(SaveSnapshot("chat:/a", "chat", 0, b"0"), *map(entry, range(1, 6)))
    await store.write(entry(6), entry(7, "chat:/b"), SaveSnapshot("chat:/a", "chat", 5, b"5"))
    await store.write(TrimLog("chat:/a", through, keep_bytes))
    assert [e.seq for e in await store.read_after(0, ["chat:/a"])] == kept
    assert await store.channel_positions(["chat:/a"]) == {"chat:/a": kept[0] - 1}
    assert len(await store.read_after(0, ["chat:/b"])) == 1


async def test_trimming_never_forgets_what_no_snapshot_holds(store: Store) -> None:
    await store.write(SaveSnapshot("chat:/a", "chat", 0, b"0"), *map(entry, range(1, 6)))
    await store.write(SaveSnapshot("chat:/a", "chat", 3, b"3"), TrimLog("chat:/a", 100))
    await store.write(entry(6, "chat:/log"), TrimLog("chat:/log", 6), TrimLog("chat:/none", 6))
    assert [e.seq for e in await store.read_after(0, ["chat:/a", "chat:/log"])] == [4, 5, 6]
    assert await store.channel_positions(["chat:/a", "chat:/log"]) == {"chat:/a": 3, "chat:/log": 5}


async def test_dropping_forgets_one_channel_only(store: Store) -> None:
    await store.write(SaveSnapshot("chat:/a", "chat", 0, b""), entry(1), entry(2, "chat:/b"))
    await store.write(DropChannel("chat:/a"), DropChannel("chat:/none"))
    assert await store.load_channel("chat:/a") is None
    assert await store.read_after(0, ["chat:/a", "chat:/b"]) == [entry(2, "chat:/b")]
    assert await store.channel_positions(["chat:/a", "chat:/b"]) == {"chat:/b": 1}


async def test_a_channel_that_comes_back_does_not_continue_its_former_self(store: Store) -> None:
    await store.write(SaveSnapshot("chat:/a", "chat", 0, b"old"), entry(1), entry(2))
    await store.write(DropChannel("chat:/a"), SaveSnapshot("chat:/a", "chat", 5, b"new"), entry(6))
    loaded = await store.load_channel("chat:/a")
    assert loaded == StoredChannel("chat", 5, b"new", (entry(6),), trimmed_through=5)


async def test_order_within_a_unit_matters_for_dropping(store: Store) -> None:
    await store.write(entry(1), DropChannel("chat:/a"), entry(2), entry(3))
    assert await store.read_after(0, ["chat:/a"]) == [entry(2), entry(3)]


async def test_channels_survive_a_restart(site: Site) -> None:
    async with site.new() as store:
        await store.reserve(1000)
        await store.write(SaveSnapshot("chat:/a", "chat", 2, b"2"), entry(3), entry(4))
        await store.write(SaveSnapshot("chat:/a", "chat", 3, b"3"), TrimLog("chat:/a", 3))
        before = await store.load_channel("chat:/a")
        site.crash()
    async with site.new() as store:
        assert await store.load_channel("chat:/a") == before
        # Its channel is known again without having been written to in this run.
        await store.reserve(2000)
        await store.write(entry(1500))
        assert [e.seq for e in await store.read_after(0, ["chat:/a"])] == [4, 1500]


async def test_a_channel_comes_whole_with_its_records_and_the_one_it_belongs_to(
    store: Store,
) -> None:
    await store.write(
        SaveSnapshot("session:/s", "session", 0, b"session"),
        SaveSnapshot("chat:/a", "chat", 0, b"chat"),
        entry(1),
        PutSession("session:/s", "key", b"summary"),
        PutRecord("owners", "chat:/a", b"session:/s"),
        PutRecord("notes", "chat:/a", b"note"),
        PutRecord("notes", "chat:/b", b"another's"),
        PutRecord("other", "chat:/a", b"not asked for"),
    )
    session = WholeChannel(StoredChannel("session", 0, b"session", (), 0), b"summary", {})
    records = {"owners": b"session:/s", "notes": b"note"}
    chat = WholeChannel(StoredChannel("chat", 0, b"chat", (entry(1),), 0), None, records, session)
    buckets = ["owners", "notes"]
    assert await store.load_whole("chat:/a", buckets, "owners") == chat
    assert await store.load_whole("session:/s", buckets, "owners") == session
    assert await store.load_whole("chat:/none", buckets, "owners") is None
    await store.write(DropChannel("session:/s"))
    alone = await store.load_whole("chat:/a", buckets, "owners")
    assert alone is not None
    assert alone.owner is None
