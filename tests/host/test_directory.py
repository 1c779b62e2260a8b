"""Channels that come and go: what is kept of them, and what is not."""

from __future__ import annotations

from typing import Any

from agenthost.host import Host

STATE: dict[str, Any] = {"annotations": []}


async def test_a_channel_that_comes_back_under_its_name_does_not_continue_its_former_self() -> None:
    async with Host() as host:
        directory, core = host.core.directory, host.core
        former = directory.create("notes:/0", "annotations", dict(STATE))
        seen = core.writer.ledger.last_seq
        directory.drop(former)
        directory.create("notes:/0", "annotations", dict(STATE))
        await core.writer.ledger.settle()
        assert (await core.store.channel_positions(["notes:/0"]))["notes:/0"] > seen
