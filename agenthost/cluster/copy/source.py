"""What a copy needs of the realm: its log in order, and a place for bases."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from agenthost.errors import AgentHostError


class CopyFailed(AgentHostError):
    """The copy of the realm cannot be kept up; the message says why, and what to do."""


@dataclass(frozen=True, slots=True)
class LogState:
    """Where the realm's log stands, as its leader says."""

    # Its first message and its last; without messages the last is the one before the first.
    first: int
    last: int
    # Which log it is: no other one has the same.
    identity: str
    # Where it began when it was made; what lies between that and ``first`` was purged.
    began: int = 1
    # Bytes.
    size: int = 0


class LogMessage(Protocol):
    """A message of the log."""

    @property
    def seq(self) -> int:
        """Its place."""
        ...

    @property
    def body(self) -> bytes:
        """What it says."""
        ...


class LogFeed(Protocol):
    """Every message once, in order, for ever."""

    @property
    def heard_at(self) -> float:
        """When something of it was last heard, by the monotonic clock."""
        ...

    def __aiter__(self) -> AsyncIterator[LogMessage]: ...

    async def close(self) -> None:
        """Hear no more."""
        ...


class CopySource(Protocol):
    """The realm as a copy sees it; everything may raise RealmError."""

    def feed(self, after: int) -> LogFeed:
        """Return the messages behind one."""
        ...

    async def state(self) -> LogState:
        """Ask the log's leader where it stands."""
        ...

    async def purge_before(self, message: int) -> None:
        """Forget the messages before one."""
        ...

    async def put_base(self, name: str, file: Path) -> None:
        """Keep a file under a name that was never used before."""
        ...

    async def base_names(self) -> Sequence[str]:
        """Return the names of all bases."""
        ...

    async def fetch_base(self, name: str, file: Path) -> None:
        """Write a base to a file."""
        ...

    async def drop_base(self, name: str) -> None:
        """Forget a base; it need not be there."""
        ...
