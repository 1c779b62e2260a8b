"""Channels that come and go: what is kept of them, and what is not."""

from __future__ import annotations

from typing import Any

import pytest

from agenthost.host import Host
from agenthost.host import directory as directory_module
from agenthost.host.directory import Directory

STATE: dict[str, Any] = {"annotations": []}


def names(count: int) -> list[str]:
    return [f"notes:/{number}" for number in range(count)]


def fill(directory: Directory, count: int) -> None:
    for name in names(count):
        directory.create(name, "annotations", dict(STATE))


async def test_whoever_left_before_the_subscriptions_ended_is_told_from_those_who_came_later() -> (
    None
):
    async with Host() as host:
        directory, ledger = host.core.directory, host.core.writer.ledger
        channel = directory.create("notes:/0", "annotations", dict(STATE))
        before = ledger.last_seq
        directory.end_subscriptions(channel)
        assert directory.ended_after("notes:/0", before)
        assert not directory.ended_after("notes:/0", ledger.last_seq)


async def test_of_many_ended_subscriptions_the_latest_are_remembered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(directory_module, "MOST_ENDED", 2)
    async with Host() as host:
        directory = host.core.directory
        fill(directory, 3)
        for name in ("notes:/0", "notes:/1", "notes:/0", "notes:/2"):
            channel = directory.get(name)
            assert channel is not None
            directory.end_subscriptions(channel)
        assert [directory.ended_after(name, 0) for name in names(3)] == [True, False, True]


async def test_nothing_is_remembered_of_channels_that_were_dropped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(directory_module, "MOST_ENDED", 1)
    async with Host() as host:
        directory = host.core.directory
        fill(directory, 3)
        kept, *dropped = directory.loaded("annotations")
        directory.end_subscriptions(kept)
        for channel in dropped:
            directory.drop(channel)
        assert [directory.ended_after(name, 0) for name in names(3)] == [True, False, False]


async def test_a_channel_that_comes_back_under_its_name_does_not_continue_its_former_self() -> None:
    async with Host() as host:
        directory, core = host.core.directory, host.core
        former = directory.create("notes:/0", "annotations", dict(STATE))
        seen = core.writer.ledger.last_seq
        directory.drop(former)
        directory.create("notes:/0", "annotations", dict(STATE))
        await core.writer.ledger.settle()
        assert (await core.store.channel_positions(["notes:/0"]))["notes:/0"] > seen


async def test_the_log_of_a_channel_is_cut_to_a_length(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(directory_module, "REPLAY_BYTES", 400_000)
    monkeypatch.setattr(directory_module, "SMALLEST_TAIL", 20_000)
    async with Host() as host:
        writer, store = host.core.writer, host.core.store
        channel = host.core.directory.create("notes:/0", "annotations", dict(STATE))
        entries = [{"id": "e", "text": "x" * 10_000, "author": "me", "createdAt": "now"}]
        for number in range(300):
            annotation = {"id": "a", "entries": entries, "turnId": str(number)}
            writer.apply(channel, {"type": "annotations/set", "annotation": annotation})
        await writer.ledger.settle()
        kept = await store.read_after(0, ["notes:/0"])
        # What was measured last, what came until the next time, and what no snapshot holds yet.
        assert 400_000 * 0.9 < sum(len(entry.action) for entry in kept) < 400_000 * 1.25 + 50_000
        assert kept[-1].seq == channel.seq
        trimmed = (await store.channel_positions(["notes:/0"]))["notes:/0"]
        assert trimmed < kept[0].seq
