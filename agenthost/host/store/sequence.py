"""The rules of sequence numbers, the same for every store: where to start, what to refuse.

It decides; how a reservation is made durable, the store that uses it knows.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import astuple

from agenthost.host.store.contract import Append, StoreMisuse, Write


class Reserve(Struct, frozen=True):
    """Numbers up to and including ``through`` may be used from now on."""

    through: int


class Seal(Struct, frozen=True):
    """``last_used`` is the last number used, and nothing above it is reserved any more."""

    last_used: int


# The largest number that SQLite can hold.
MOST = (1 << 63) - 1

# What goes through a store's queue: the host's writes, and these, durable against power loss.
NumberWrite: TypeAlias = Reserve | Seal
QueuedWrite: TypeAlias = Write | NumberWrite


class Opening(Struct, frozen=True):
    """Where a store stands when it opens."""

    last_seq: int
    first_seq: int
    gaps: tuple[tuple[int, int], ...]


def plan_opening(reserved: int, used: int, gaps: Iterable[tuple[int, int]]) -> Opening:
    """Decide where numbering goes on, from what survived of the last run.

    Everything above ``used`` up to ``reserved`` may have been seen by a client and is lost. Runs
    that left nothing durable behind share one gap, so a host that crashes over and over does not
    collect them.
    """
    first_seq = max(reserved, used) + 1
    known = dict(gaps)
    if first_seq > used + 1:
        known[used] = first_seq
    return Opening(used, first_seq, tuple(sorted(known.items())))


class Sequencer:
    """Keeps the order of numbers during one run; ``persist`` must survive power loss."""

    def __init__(self, opening: Opening, persist: Callable[[NumberWrite], Awaitable[None]]) -> None:
        self.opening = opening
        # The last number that may be used.
        self.reserved = opening.first_seq - 1
        # The last number that is known to be used: an entry's, or one from before this run.
        self.last_used = opening.first_seq - 1
        self._persist = persist
        # One change of the reservation at a time, so that ``reserved`` never runs ahead of it.
        self._changing = asyncio.Lock()

    def admit(self, writes: Iterable[Write]) -> None:
        """Check a unit, and remember its entries; a refused unit leaves no trace.

        Raises:
            StoreMisuse: with the reason.
        """
        last = self.last_used
        for write in writes:
            if isinstance(write, Append):
                if not last < write.seq <= self.reserved:
                    raise StoreMisuse(
                        f"entry {write.seq} must be above {last}, the last one, "
                        f"and at most {self.reserved}, the last one reserved"
                    )
                last = write.seq
                # Fields known to be text, and mostly ASCII: every entry comes along here.
                if not (write.channel.isascii() and write.now.isascii()):
                    _check_text(write.channel)
                    _check_text(write.now)
            else:
                for value in astuple(write):
                    _check_text(value)
        self.last_used = last

    async def reserve(self, through: int) -> None:
        """Reserve the numbers up to and including ``through``."""
        async with self._changing:
            if through > self.reserved:
                await self._persist(Reserve(through))
                self.reserved = through

    async def seal(self, last_used: int) -> None:
        """Give back what is reserved above ``last_used``.

        Raises:
            StoreMisuse: ``last_used`` is not between the last entry and the reservation.
        """
        async with self._changing:
            if not self.last_used <= last_used <= self.reserved:
                raise StoreMisuse(
                    f"cannot seal at {last_used}: {self.last_used} is used "
                    f"and {self.reserved} is the last one reserved"
                )
            # First, so that no entry above it slips in behind the seal.
            self.last_used = self.reserved = last_used
            await self._persist(Seal(last_used))


class OutsideSequencer(Sequencer):
    """Numbers that somebody else hands out: any that grow will do, and none is ever lost."""

    def __init__(self, opening: Opening) -> None:
        super().__init__(opening, _never)
        self.reserved = MOST

    async def reserve(self, through: int) -> None:
        """Do nothing: whoever hands the numbers out sees to it that none comes back."""

    async def seal(self, last_used: int) -> None:
        """Do nothing: nothing was reserved."""


async def _never(write: NumberWrite) -> None:
    raise AssertionError(f"{write} is for a store that hands out numbers")


class NumberedStore(ABC):
    """The part of a ``Store`` that hands out numbers, the same for every store."""

    @property
    @abstractmethod
    def _numbers(self) -> Sequencer:
        """The numbers of the open store; raises StoreMisuse when it is not open."""

    @property
    def last_seq(self) -> int:
        """The last number known to have been used, when the store was opened."""
        return self._numbers.opening.last_seq

    @property
    def first_seq(self) -> int:
        """The first number to use; everything ever reserved lies below it."""
        return self._numbers.opening.first_seq

    @property
    def gaps(self) -> tuple[tuple[int, int], ...]:
        """Ranges ``(last, first)`` whose inner numbers may have been used and then lost."""
        return self._numbers.opening.gaps

    @property
    def reserved(self) -> int:
        """The last number that may be used now."""
        return self._numbers.reserved

    async def reserve(self, through: int) -> None:
        """Reserve the numbers up to and including ``through``, durable against power loss."""
        await self._numbers.reserve(through)

    async def seal(self, last_used: int) -> None:
        """Give back what is reserved above ``last_used``, so that the next open has no gap."""
        await self._numbers.seal(last_used)


def _check_text(value: object) -> None:
    """Refuse text that has no UTF-8 form; in the writer it would fail the whole store."""
    if isinstance(value, str) and not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise StoreMisuse("a text with a lone surrogate cannot be stored") from error
