"""Large files in the realm: the object store of its servers.

Nothing is overwritten: a reader of what is replaced would hang. Who hears nothing for a while is
told so, because the client of NATS waits for ever where a chunk, or a list's end, does not come.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
from collections.abc import AsyncIterator, Callable, Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import nats.errors
import nats.js.errors
from nats.js.api import ObjectMeta, ObjectMetaOptions, ObjectStoreConfig
from typing_extensions import Buffer

from agenthost.cluster.realm.errors import RealmError, RealmUnreachable

if TYPE_CHECKING:
    from nats.js.object_store import ObjectStore

    from agenthost.cluster.realm.connection import RealmLink

# Seconds without a piece of a file after which it is given up.
PATIENCE = 30.0
CHUNK = 128 * 1024

T = TypeVar("T")


class RealmObjects:
    """Files of one realm, by their names."""

    def __init__(self, link: RealmLink, replicas: int) -> None:
        self._link = link
        self._bucket = f"{link.stream}_files"
        self._replicas = replicas

    async def put(self, name: str, file: Path) -> None:
        """Keep a file under a name that is not used yet; raises RealmError."""
        async with self._store() as store:
            meta = ObjectMeta(name=name, options=ObjectMetaOptions(max_chunk_size=CHUNK))
            with _Watched(file, "rb") as watched:
                await _patiently(store.put(name, watched, meta), lambda: watched.uses)

    async def fetch(self, name: str, file: Path) -> None:
        """Write what is kept under a name to a file; raises RealmError."""
        async with self._store() as store:
            with _Watched(file, "wb") as watched:
                await _patiently(store.get(name, watched), lambda: watched.uses)

    async def names(self) -> list[str]:
        """Return all names."""
        async with self._store() as store:
            try:
                # Those that were deleted leave their names behind.
                found = await _patiently(store.list())
                return [info.name for info in found if not info.deleted]
            except nats.js.errors.NotFoundError:
                # So an empty one is told.
                return []

    async def drop(self, name: str) -> None:
        """Forget what is kept under a name; it need not be there."""
        async with self._store() as store:
            with contextlib.suppress(nats.js.errors.NotFoundError):
                await _patiently(store.delete(name))

    @contextlib.asynccontextmanager
    async def _store(self) -> AsyncIterator[ObjectStore]:
        jetstream = self._link.jetstream
        try:
            try:
                store = await _patiently(jetstream.object_store(self._bucket))
            except nats.js.errors.NotFoundError:
                # Made anew by several at once, it is the same.
                config = ObjectStoreConfig(replicas=self._replicas)
                store = await _patiently(jetstream.create_object_store(self._bucket, config))
            yield store
        except TimeoutError as error:
            raise RealmUnreachable("the realm's servers did not answer about a file") from error
        except (nats.errors.Error, nats.js.errors.Error) as error:
            raise RealmError(f"the realm's servers refused a file: {error}") from error
        except OSError as error:
            raise RealmError(f"a file of the realm: {error}") from error


class _Watched(io.BufferedIOBase):
    """A file that knows whether it is still read or written."""

    def __init__(self, file: Path, mode: str) -> None:
        self._file = io.FileIO(file, mode)
        # How often it was read or written.
        self.uses = 0

    def readinto(self, buffer: Buffer) -> int:
        """Read a chunk."""
        self.uses += 1
        return self._file.readinto(buffer) or 0

    def write(self, data: Buffer) -> int:
        """Write a chunk; a plain file takes all of it, or raises."""
        self.uses += 1
        return self._file.write(data) or 0

    def close(self) -> None:
        """Close the file."""
        self._file.close()
        super().close()


async def _patiently(work: Coroutine[Any, Any, T], progress: Callable[[], int] = lambda: 0) -> T:
    """Wait for work of the client of NATS for as long as it goes on; raises TimeoutError, or as it.

    In a task of its own: that client waits in ways that lose a cancellation, after which whoever
    was to end would go on.
    """
    task = asyncio.create_task(work)
    # Perhaps nobody is left to hear why it failed.
    task.add_done_callback(lambda done: done.cancelled() or done.exception())
    try:
        while not task.done():
            before = progress()
            await asyncio.wait([task], timeout=PATIENCE)
            if not task.done() and progress() == before:
                raise TimeoutError
        return task.result()
    finally:
        task.cancel()
