"""The realm's stream and object store as the source of a copy."""

from __future__ import annotations

from pathlib import Path

from agenthost.cluster.copy.source import LogState
from agenthost.cluster.realm import Feed, RealmInfo, RealmLink
from agenthost.cluster.realm.objects import RealmObjects


class RealmSource:
    """Everything over one link."""

    def __init__(self, link: RealmLink, info: RealmInfo) -> None:
        self._link = link
        self._info = info
        self._objects = RealmObjects(link, info.replicas)

    def feed(self, after: int) -> Feed:
        """Return the messages behind one."""
        return Feed(self._link, after)

    async def state(self) -> LogState:
        """Ask the log's leader where it stands."""
        now = await self._link.stream_state()
        return LogState(now.first, now.last, now.created, self._info.begins, now.bytes)

    async def purge_before(self, message: int) -> None:
        """Forget the messages before one."""
        await self._link.purge_before(message)

    async def put_base(self, name: str, file: Path) -> None:
        """Keep a file under a name that was never used before."""
        await self._objects.put(name, file)

    async def base_names(self) -> list[str]:
        """Return the names of all bases."""
        return await self._objects.names()

    async def fetch_base(self, name: str, file: Path) -> None:
        """Write a base to a file."""
        await self._objects.fetch(name, file)

    async def drop_base(self, name: str) -> None:
        """Forget a base; it need not be there."""
        await self._objects.drop(name)
