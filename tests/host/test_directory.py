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
