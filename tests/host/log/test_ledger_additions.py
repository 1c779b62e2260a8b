"""What joins a commit at the last moment, when it is known what else is in it."""

from __future__ import annotations

from typing import Any

from agenthost.host.log.ledger import Ledger
from agenthost.host.store import Append, MemoryBacking, MemoryStore, StoreError

CHAT = "ahp-chat:/1"


def append(seq: int) -> Append:
    return Append(seq, CHAT, "2026", b"{}")


async def test_what_is_added_before_a_commit_is_in_it_and_leaves_behind_it() -> None:
    backing = MemoryBacking()
    released: list[Any] = []
    failures: list[StoreError] = []
    async with MemoryStore(backing) as store:
        ledger = Ledger(store, release=released.extend, on_failure=failures.append)
        await ledger.open()
        changes: list[int] = []

        def add() -> None:
            if changes:
                ledger.write(append(ledger.take_seq()))
                ledger.deliver(f"{len(changes)} changes")
                changes.clear()

        ledger.before_commit(add)
        for number in range(3):
            changes.append(number)
            ledger.write(append(ledger.take_seq()))
            ledger.deliver(number)
        assert released == []
        await ledger.settle()
        assert released == [0, 1, 2, "3 changes"]
        assert len(backing.channels[CHAT].log) == 4
        # Nothing is added where nothing changed.
        ledger.deliver("more")
        assert released == [0, 1, 2, "3 changes", "more"]
        await ledger.close()
    assert failures == []
