"""Records that others write too are read again, and what is decided meanwhile is not undone."""

from __future__ import annotations

import asyncio

from agenthost.host import MemoryStore
from agenthost.host.log.ledger import Ledger
from agenthost.host.log.shared_records import SharedRecords
from agenthost.host.store import DropRecord, MemoryBacking, PutRecord

BUCKET = "shared"


class SlowStore(MemoryStore):
    """A store whose records are handed out a while after they were read."""

    def __init__(self) -> None:
        super().__init__(MemoryBacking())
        self.was_read = asyncio.Event()
        self.may_go_on = asyncio.Event()

    async def records(self, bucket: str) -> dict[str, bytes]:
        found = await super().records(bucket)
        self.was_read.set()
        await self.may_go_on.wait()
        return found


async def test_what_is_written_while_all_is_read_is_in_what_was_read() -> None:
    async with SlowStore() as store:
        ledger = Ledger(store, release=lambda deliveries: None, on_failure=lambda error: None)
        await ledger.open()
        records = SharedRecords(store, ledger, BUCKET)
        await store.write(PutRecord(BUCKET, "theirs", b"1"))
        reading = asyncio.create_task(records.read())
        await store.was_read.wait()
        records.write(PutRecord(BUCKET, "ours", b"2"), DropRecord(BUCKET, "theirs"))
        store.may_go_on.set()
        assert await reading == {"ours": b"2"}
        await ledger.close()
