"""Files of a realm: who works with them can be told to end, whatever the client of NATS does."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any, cast

import pytest

from agenthost.cluster.realm import RealmLink, RealmUnreachable, objects
from agenthost.cluster.realm.objects import RealmObjects


class DeafClient:
    """A client, a link and a store that lose the first cancellation, as those of NATS do."""

    stream = "AHP_main"

    def __init__(self) -> None:
        self.asked = asyncio.Event()

    @property
    def jetstream(self) -> DeafClient:
        return self

    async def object_store(self, bucket: str) -> DeafClient:
        return self

    async def list(self) -> list[Any]:
        self.asked.set()
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.get_running_loop().create_future()
        return []


async def test_who_is_told_to_end_while_files_are_listed_ends() -> None:
    client = DeafClient()
    files = RealmObjects(cast("RealmLink", client), 1)

    async def for_ever() -> None:
        while True:
            await files.names()
            await asyncio.sleep(0)

    working = asyncio.create_task(for_ever())
    await client.asked.wait()
    working.cancel()
    await asyncio.wait([working], timeout=20)
    assert working.cancelled()


async def test_a_list_that_does_not_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(objects, "PATIENCE", 0.05)
    files = RealmObjects(cast("RealmLink", DeafClient()), 1)
    with pytest.raises(RealmUnreachable):
        async with asyncio.timeout(20):
            await files.names()
