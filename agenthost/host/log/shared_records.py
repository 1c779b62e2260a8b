"""Records that a host holds in memory, and that other hosts of its realm may write as well."""

from __future__ import annotations

from agenthost.host.log.ledger import Ledger
from agenthost.host.store import Store, Write


class SharedRecords:
    """All records of one bucket."""

    def __init__(self, store: Store, ledger: Ledger, bucket: str) -> None:
        self._store = store
        self._ledger = ledger
        self._bucket = bucket
        # How often something was written here.
        self._written = 0

    def write(self, *writes: Write) -> None:
        """Add writes to this tick's commit which change some of the records, among others."""
        self._written += 1
        self._ledger.write(*writes)

    async def read(self) -> dict[str, bytes]:
        """Return what is stored, with all that was written here by now.

        What is read while somebody decides is old: taken for all that there is, it would undo that.
        """
        while True:
            written = self._written
            if written:
                await self._ledger.settle()
            stored = await self._store.records(self._bucket)
            if written == self._written:
                return stored
