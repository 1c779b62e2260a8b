"""All watches of the host: made for clients, told to those who follow them, and let go.

A watch ends with the last who follows it, or if nobody follows it soon after it was made. It also
ends when its maker may not reach what it watches any more, because the session that worked there
is gone, or its maker no longer takes part in it: that is asked before anything is told.
"""

from __future__ import annotations

import asyncio
import os
import sys
import uuid
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from msgspec import Struct, field

from agenthost.errors import InvalidParams, MethodNotFound, PermissionDenied
from agenthost.host.channels.resource_watch.kind import (
    RESOURCE_WATCH,
    ReleaseWatch,
    WatchChannel,
    WatchExtra,
)
from agenthost.host.channels.session.consequences import EndUnreachableWatches
from agenthost.host.channels.session.kind import SESSION, SessionChannel
from agenthost.host.log.directory import Directory
from agenthost.host.log.effects import Effects
from agenthost.host.log.writer import Writer
from agenthost.host.trust import Limits, Principal
from agenthost.protocol.uris import resource_watch_uri
from agenthost.workspace import file_path
from agenthost.workspace.globs import BadGlob, Globs
from agenthost.workspace.roots import Place, Roots, identity
from agenthost.workspace.tree_watch import ALWAYS_EXCLUDED, IsHidden

if TYPE_CHECKING:
    from agenthost.protocol.common import JsonObject
    from agenthost.protocol.resource_watch import ResourceChange, ResourceWatchState
    from agenthost.workspace.change_batches import FileChange
    from agenthost.workspace.tree_watch import TreeWatch
    from agenthost.workspace.watching import FileWatcher

# Seconds after which a watch ends that nobody has followed.
UNFOLLOWED_SECONDS = 30.0
# Bytes of names in one action: tunnels cut clients off for larger messages.
MOST_BATCH_BYTES = 256 * 1024


class WatchedPlace(Struct, frozen=True):
    """What is to be watched, and where somebody may reach it."""

    place: Place
    # Says what nobody is told of. Lives as long as the watch, so it must not be the folders of its
    # maker: each set of them holds hundreds of descriptors.
    is_hidden: IsHidden
    # The folders of theirs that it lies in.
    grounds: frozenset[str]


def check_patterns(params: JsonObject) -> None:
    """Raise InvalidParams for patterns that cannot be used; blocks, and makes the later use quick.

    Python keeps the expressions that they become.
    """
    for member, always in (("excludes", ALWAYS_EXCLUDED), ("includes", ())):
        try:
            Globs((*always, *params.get(member, {}).get("items", ())))
        except BadGlob as error:
            raise InvalidParams(str(error), path=member) from error


def find_place(
    roots: Roots, folders: Collection[str], path: Path, is_hidden: IsHidden
) -> WatchedPlace:
    """Walk to what is to be watched; blocks, and the caller closes the place.

    Raises:
        OutsideRoots: it is outside.
        OSError: it is not there, or cannot be reached.
    """
    place = roots.walk(path)
    grounds = frozenset(folder for folder in folders if _is_passed(folder, place))
    return WatchedPlace(place, is_hidden, grounds)


def _is_passed(folder: str, place: Place) -> bool:
    try:
        return identity(os.stat(folder)) in place.passed
    except OSError:
        return False


class _Watch(Struct, eq=False):
    """One watch, and on what grounds it is allowed."""

    channel: WatchChannel
    maker: Principal
    # The name of the connection that asked for it.
    connection: str
    # How its maker calls what is watched: changes are told below that.
    base: str
    # Folders of its maker's that it lies in; without any of them it ends.
    grounds: frozenset[str]
    # Sessions that work there: out of memory they would not count.
    held: list[SessionChannel] = field(default_factory=list)
    tree: TreeWatch | None = None
    timer: asyncio.TimerHandle | None = None


class ResourceWatches:
    """Makes watches and ends them."""

    def __init__(
        self,
        writer: Writer,
        directory: Directory,
        effects: Effects,
        limits: Limits,
        may_reach: Callable[[Principal, Collection[str]], bool],
        *,
        unfollowed_seconds: float = UNFOLLOWED_SECONDS,
    ) -> None:
        self._writer = writer
        self._directory = directory
        self._limits = limits
        # Whether somebody may reach one of some folders now.
        self._may_reach = may_reach
        self._unfollowed_seconds = unfollowed_seconds
        self._watches: dict[WatchChannel, _Watch] = {}
        # Those that are being made.
        self._making: list[tuple[str, str]] = []
        self._watcher: FileWatcher | None = None
        effects.on(ReleaseWatch, lambda effect: self._release(effect.channel))
        effects.on(EndUnreachableWatches, lambda _: self._end_unreachable_soon())

    def __len__(self) -> int:
        return len(self._watches)

    @property
    def watcher(self) -> FileWatcher:
        """What watches files for the whole host: a user has few of the kernel's.

        Raises:
            MethodNotFound: this system has nothing to watch files with.
            PermissionDenied: the kernel has none left.
        """
        if sys.platform != "linux":
            raise MethodNotFound("this host cannot watch files")
        if self._watcher is None:
            from agenthost.workspace.watching import FileWatcher

            try:
                self._watcher = FileWatcher(most_folders=self._limits.max_watched_folders)
            except OSError as error:
                limit = "fs.inotify.max_user_instances"
                raise PermissionDenied(f"the host cannot watch files: see {limit}") from error
        return self._watcher

    async def create(
        self, connection: str, maker: Principal, params: JsonObject, found: WatchedPlace
    ) -> str:
        """Watch a place for somebody, and return the channel on which its changes arrive.

        Raises:
            BadGlob: a pattern cannot be used.
            OSError: nothing is there, or the kernel refuses it.
            PermissionDenied: there are too many watches, or folders in them.
        """
        self._check_room(connection, maker)
        making = (connection, maker.name)
        self._making.append(making)
        try:
            watch = self._begin(connection, maker, params, found)
            try:
                await self._watch(watch, found)
            except BaseException:
                self._release(watch.channel)
                raise
        finally:
            self._making.remove(making)
        loop = asyncio.get_running_loop()
        watch.timer = loop.call_later(self._unfollowed_seconds, self._expire, watch)
        return watch.channel.uri

    def session_goes(self, session: str, keep: bool) -> None:
        """End the watches that nobody may have any more without a session."""
        self._end_unreachable_soon()

    def _end_unreachable_soon(self) -> None:
        # Once it is done: others may work in the same folders.
        asyncio.get_running_loop().call_soon(self._end_unreachable)

    def _end_unreachable(self) -> None:
        for watch in list(self._watches.values()):
            if not self._is_allowed(watch):
                self._end(watch)

    def close(self) -> None:
        """End all watches."""
        for channel in list(self._watches):
            self._release(channel)
        if self._watcher is not None:
            self._watcher.close()

    def _check_room(self, connection: str, maker: Principal) -> None:
        limits = self._limits
        holders = [(each.connection, each.maker.name) for each in self._watches.values()]
        holders += self._making
        if sum(holder == connection for holder, _ in holders) >= limits.max_watches:
            raise PermissionDenied(f"a connection may have {limits.max_watches} watches at once")
        # Whoever leaves connections behind leaves half for the others.
        half = max(1, limits.max_host_watches // 2)
        if sum(name == maker.name for _, name in holders) >= half:
            raise PermissionDenied(f"you may have {half} watches at once")
        if len(holders) >= limits.max_host_watches:
            raise PermissionDenied(f"this host has {limits.max_host_watches} watches at once")

    def _begin(
        self, connection: str, maker: Principal, params: JsonObject, found: WatchedPlace
    ) -> _Watch:
        state: ResourceWatchState = {
            "root": params["uri"],
            "recursive": params.get("recursive", False),
        }
        if "excludes" in params:
            state["excludes"] = params["excludes"]
        if "includes" in params:
            state["includes"] = params["includes"]
        channel = self._directory.create(
            resource_watch_uri(str(uuid.uuid4())), RESOURCE_WATCH, state
        )
        extra = channel.extra
        assert isinstance(extra, WatchExtra)
        extra.maker = maker
        base = _spelling(params["uri"], found.place.real)
        watch = _Watch(channel, maker, connection, base, found.grounds)
        for session in self._directory.loaded(SESSION):
            if not watch.grounds.isdisjoint(_folders_of(session)):
                session.holds += 1
                watch.held.append(session)
        self._watches[channel] = watch
        return watch

    async def _watch(self, watch: _Watch, found: WatchedPlace) -> None:
        state, watcher = watch.channel.state, self.watcher
        from agenthost.workspace.watching import TooManyFolders

        try:
            watch.tree = await watcher.watch(
                found.place,
                lambda batch: self._tell(watch, batch),
                recursive=state["recursive"],
                excludes=state["excludes"]["items"] if "excludes" in state else (),
                includes=state["includes"]["items"] if "includes" in state else None,
                is_hidden=found.is_hidden,
                holder=watch.maker.name,
            )
        except TooManyFolders as error:
            raise PermissionDenied(f"{state['root']}: {error}") from error

    def _is_allowed(self, watch: _Watch) -> bool:
        return self._may_reach(watch.maker, watch.grounds)

    def _tell(self, watch: _Watch, batch: Sequence[FileChange]) -> None:
        if not self._is_allowed(watch):
            self._end(watch)
            return
        if watch.channel.subscriptions:
            for items in _parts(watch.base, batch, self._limits.max_watch_batch):
                self._apply(watch, items)

    def _end(self, watch: _Watch) -> None:
        """End a watch; those who follow it are told as if what it watches were gone.

        The protocol has no other word for it, and who looks again is told why.
        """
        if watch.channel.subscriptions:
            self._apply(watch, [{"uri": watch.channel.state["root"], "type": "deleted"}])
        self._release(watch.channel)

    def _apply(self, watch: _Watch, items: list[ResourceChange]) -> None:
        action = {"type": "resourceWatch/changed", "changes": {"items": items}}
        self._writer.apply(watch.channel, action)

    def _expire(self, watch: _Watch) -> None:
        if not watch.channel.subscriptions:
            self._release(watch.channel)

    def _release(self, channel: WatchChannel) -> None:
        watch = self._watches.pop(channel, None)
        if watch is None:
            return
        if watch.timer is not None:
            watch.timer.cancel()
        if watch.tree is not None:
            watch.tree.close()
        for session in watch.held:
            session.holds -= 1
        self._directory.drop(channel)


def _folders_of(session: SessionChannel) -> Iterator[str]:
    for directory in session.state.get("workingDirectories", ()):
        path = file_path(directory)
        if path is not None:
            yield str(path)


def _spelling(uri: str, real: Path) -> str:
    """Return the URI below which changes are told: as it was asked for, where that is plain."""
    path = file_path(uri)
    return _file_uri(str(real if path is None or ".." in path.parts else path))


def _file_uri(path: str) -> str:
    return "file://" + quote(os.fsencode(path))


def _parts(base: str, batch: Sequence[FileChange], most: int) -> Iterator[list[ResourceChange]]:
    """Cut changes into the items of actions that are not too long."""
    items: list[ResourceChange] = []
    size = 0
    for change in batch:
        uri = f"{base.rstrip('/')}/{quote(os.fsencode(change.path))}" if change.path else base
        if items and (len(items) >= most or size + len(uri) > MOST_BATCH_BYTES):
            yield items
            items, size = [], 0
        items.append({"uri": uri, "type": change.kind})
        size += len(uri)
    if items:
        yield items
