"""The order of what a front sends: the feed's numbers, and free ones in between.

A front hands on what the log says under the numbers that the log gives it, the same on every node.
What is not in the log (refusals, turns shown late, terminals) takes free numbers behind the front's
position. Nothing is written here; what a front keeps of its clients somebody appends to the realm.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

from agenthost.cluster.numbers import MOST_ACTIONS, MOST_ROOM, MOST_WRITES, message_of, number
from agenthost.errors import AgentHostError
from agenthost.host.clients.client_records import CLIENTS
from agenthost.host.log.ledger import Ledger
from agenthost.host.store import (
    DropRecord,
    PutRecord,
    SaveSnapshot,
    Store,
    StoreError,
    StoreMisuse,
    TrimLog,
    Write,
)

if TYPE_CHECKING:
    from agenthost.host.log.deliveries import Delivery

# Seconds that whoever comes waits until everything is here that the log has, and that one waits who
# has seen more than that elsewhere. Well below what a handshake may take.
CATCH_UP_SECONDS = 3.0
END_SECONDS = 20.0
# For so many seconds a leader may deny what was seen: a server that is just starting does.
STALE_SECONDS = 10.0
_PAUSE = 0.1
# Free numbers below which the realm is asked for one more message, which brings a thousand.
FEW_NUMBERS = 256


class ReadableCopy(Protocol):
    """What the front's ledger must know of the local copy."""

    @property
    def position(self) -> int:
        """The last message that was taken from the feed."""
        ...

    async def reached(self, position: int) -> None:
        """Wait until everything up to a message can be read."""
        ...

    async def caught_up(self) -> None:
        """Wait until everything can be read that is in the realm's log at the time of the call."""
        ...


class FrontLedger(Ledger):
    """Numbers and order of a host that decides nothing."""

    most_actions = number(0, MOST_ROOM) - number(0, 0) + MOST_ACTIONS

    def __init__(
        self,
        store: Store,
        *,
        copy: ReadableCopy,
        append: Callable[[Sequence[Write]], None],
        release: Callable[[Sequence[Delivery]], None],
        on_failure: Callable[[StoreError], None],
    ) -> None:
        """``append`` adds writes that need no owner to the realm; none of them is a message too."""
        super().__init__(store, release=release, on_failure=on_failure)
        self._copy = copy
        self._append = append
        # The last message that clients were sent, and the last that can be read.
        self.position = copy.position
        self._readable = -1
        # How many writes it had is not known.
        self._seq = number(self.position, MOST_WRITES - 1)
        self._free_through = _last_free(self.position)
        self._has_asked = False
        # Set while a message is taken in: what it leads to leaves together.
        self._is_taking = False
        # How many wait for more to come.
        self._reaching = 0

    @property
    def backlog(self) -> int:
        """How many messages were shown that may not be readable yet."""
        return max(0, self.position - self._readable)

    @property
    def is_awaited(self) -> bool:
        """Whether somebody waits for more than has come here."""
        return self._reaching > 0

    async def open(self) -> None:
        """Wait until what the feed has brought so far can be read."""
        await self.settle()

    async def close(self) -> None:
        """Hand on what is left."""
        await super().settle()

    async def settle(self) -> None:
        """Wait until everything that was shown so far can be read from the copy."""
        position = self.position
        if position > self._readable:
            await self._copy.reached(position)
            self._readable = max(self._readable, position)
        await super().settle()

    async def reach(self, seq: int = 0) -> bool:
        """Wait a while for what the log has and what a client has seen, and go on above that.

        Without it a node that was paused would show who comes what is long past. False where what
        was seen does not come although it may be in the log: a server that is gone can silence the
        feed of one node for long, while others go on.
        """
        message, clock = message_of(seq), asyncio.get_running_loop().time
        start = clock()
        self._reaching += 1
        try:
            is_all = await self._catch_up(CATCH_UP_SECONDS)
            while message > self.position and clock() - start < END_SECONDS:
                if is_all and clock() - start > STALE_SECONDS:
                    # What the client has seen is not in this realm.
                    return True
                await asyncio.sleep(_PAUSE)
                is_all = await self._catch_up(END_SECONDS + start - clock())
        finally:
            self._reaching -= 1
        if message <= self.position:
            self._seq = max(self._seq, min(seq, self._free_through))
        return message <= self.position

    async def _catch_up(self, seconds: float) -> bool:
        """Wait until all is here that the log's leader says to have; False where it is not."""
        try:
            async with asyncio.timeout(seconds):
                await self._copy.caught_up()
        except (TimeoutError, AgentHostError):
            return False
        return True

    def take_seq(self, count: int = 1) -> int:
        """Hand out free numbers behind the position, and the last of them again if none is left.

        More are asked for in time, so that they run out only where the realm cannot be reached.
        """
        self._seq = max(self._seq, min(self._seq + count, self._free_through))
        is_low = self._free_through - self._seq < FEW_NUMBERS
        if is_low and not self._is_taking and not self._has_asked:
            self._has_asked = True
            self._append(())
        return self._seq

    def write(self, *writes: Write) -> None:
        """Pass on what is kept of clients; snapshots and trimming are the copy's own affair."""
        records: list[Write] = []
        for write in writes:
            match write:
                case SaveSnapshot() | TrimLog():
                    pass
                case PutRecord() | DropRecord() if write.bucket == CLIENTS:
                    records.append(write)
                case _:
                    raise StoreMisuse(f"a front decides nothing, so it cannot store {write!r:.200}")
        if records:
            self._append(records)

    def deliver(self, delivery: Delivery) -> None:  # type: ignore[override]
        """Hand something on, in order of the calls."""
        if self._is_taking:
            self._deliveries.append(delivery)
        else:
            super().deliver(delivery)

    def begin_message(self) -> None:
        """Gather what a message of the feed leads to."""
        self._is_taking = True

    def begin_write(self, seq: int) -> None:
        """Come to a write: what must be shown before it is numbered right before it."""
        self._seq = max(self._seq, seq - MOST_ACTIONS - 1)
        self._free_through = seq - MOST_ACTIONS

    def end_write(self, seq: int) -> None:
        """Leave a write behind."""
        self._seq = max(self._seq, seq)

    def end_message(self, message: int) -> None:
        """Hand on what a message has led to; this is the position now."""
        self.position = message
        self._seq = max(self._seq, number(message, 0) - 1)
        self._free_through = _last_free(message)
        self._has_asked = self._is_taking = False
        self._flush()


def _last_free(message: int) -> int:
    """Return the last number that belongs to a message, whatever comes next."""
    return number(message + 1, 0) - MOST_ACTIONS - 1
