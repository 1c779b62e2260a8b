"""The customizations of folders, each read once for all sessions that work there, and watched.

A folder is watched before it is read, so nothing that happens meanwhile is missed. Of a storm of
changes only the end is read, and the longer a folder takes the less often it is looked at. What
cannot be watched is read again when a turn begins.
"""

from __future__ import annotations

import asyncio
import logging
import os
import stat
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias

from msgspec import Struct

from agenthost.customizations import (
    CustomizationSource,
    FolderTree,
    ReadLimits,
    WatchRule,
    read_plugin,
    read_user_folder,
    read_workspace,
    user_watch_plan,
    watch_plan,
)
from agenthost.errors import AgentHostError
from agenthost.tasks import Tasks
from agenthost.workspace.paths import file_path
from agenthost.workspace.roots import Place, Roots

if TYPE_CHECKING:
    from agenthost.workspace.change_batches import FileChange
    from agenthost.workspace.tree_watch import TreeWatch
    from agenthost.workspace.watching import FileWatcher

log = logging.getLogger(__name__)

# Seconds between the first change and the look at it: programs write several files at a time.
GATHER = 0.2
# Between two looks there is twice the time that the last one took, but no more seconds than this.
LONGEST_REST = 2.0
# Seconds after which a watched folder is read again when a turn begins: not everything is watched.
STALE = 10.0
# All watches together take at most half of the folders that the host may watch.
_HOLDER = "customizations"
# Nobody waits for the end of a look, so a folder with a great many files on a busy machine may take
# its time: what is found last counts as much as what is found first.
_LIMITS = ReadLimits(seconds=20.0)

FolderUse: TypeAlias = Literal["workspace", "user", "plugin"]
WhatIsThere: TypeAlias = Literal["folder", "nothing", "other"]


class FolderKey(Struct, frozen=True):
    """A folder, and as what it is read."""

    use: FolderUse
    uri: str
    # Whether it has to lie in the host's own folders, for somebody else than an owner chose it.
    confined: bool = False
    # Of a plugin: whether it comes with the agent.
    builtin: bool = False


class FolderReadings:
    """Reads folders for sessions, and tells of those that have changed."""

    def __init__(
        self,
        tasks: Tasks,
        watcher: Callable[[], FileWatcher],
        changed: Callable[[FolderReading], None],
        *,
        roots: Sequence[str],
        denied: Sequence[str | os.PathLike[str]],
    ) -> None:
        self.tasks = tasks
        self.watcher = watcher
        self.changed = changed
        self._roots = tuple(roots)
        self._denied = tuple(denied)
        self._readings: dict[FolderKey, FolderReading] = {}

    def __len__(self) -> int:
        return len(self._readings)

    def use(self, key: FolderKey, session: str) -> FolderReading:
        """Return the reading of a folder, which goes on as long as some session uses it."""
        reading = self._readings.get(key)
        if reading is None:
            reading = self._readings[key] = FolderReading(self, key)
            reading.look()
        reading.users.add(session)
        return reading

    def leave(self, reading: FolderReading, session: str) -> None:
        """Let go of a folder for a session."""
        reading.users.discard(session)
        if not reading.users and self._readings.get(reading.key) is reading:
            del self._readings[reading.key]
            reading.close()

    def close(self) -> None:
        """End all watches."""
        for reading in self._readings.values():
            reading.close()
        self._readings.clear()

    def what_is_there(self, key: FolderKey) -> WhatIsThere:
        """Say what is under the name of a folder, as far as it may be reached."""
        if not os.path.lexists(str(file_path(key.uri))):
            return "nothing"
        try:
            with self.opened(key) as place:
                is_folder = place.info is not None and stat.S_ISDIR(place.info.st_mode)
        except (OSError, AgentHostError):
            return "other"
        return "folder" if is_folder else "other"

    def opened(self, key: FolderKey, below: str = "") -> Place:
        """Return where something of a folder is; in a thread of its own.

        Raises OSError or OutsideRoots.
        """
        folder = str(file_path(key.uri))
        within = Roots(self._roots, self._denied) if key.confined else None
        roots = Roots([folder], self._denied, within=within)
        return roots.walk(os.path.join(folder, below) if below else folder, follow=not below)

    def tree(self, key: FolderKey) -> FolderTree:
        """Return a folder to be read."""
        folder = str(file_path(key.uri))
        within = Roots(self._roots, self._denied) if key.confined else None
        return FolderTree(folder, self._denied, within=within)


class FolderReading:
    """One folder: what was found in it, and what watches it."""

    def __init__(self, readings: FolderReadings, key: FolderKey) -> None:
        self.key = key
        # The sessions that use it.
        self.users: set[str] = set()
        self.sources: tuple[CustomizationSource, ...] = ()
        # Its real path, links followed.
        self.real = str(file_path(key.uri))
        # Set once it was read.
        self.known = asyncio.Event()
        # Set with the end of the next look.
        self._looked = asyncio.Event()
        self._readings = readings
        self._watches: dict[WatchRule, TreeWatch] = {}
        self._is_watched = True
        self._has_told = False
        self._due = False
        self._gather = GATHER
        self._task: asyncio.Task[None] | None = None
        self._read_at = -STALE
        self._took = 0.0
        self._closed = False

    def look(self, gather: float = GATHER) -> None:
        """Read the folder, once some time was given to those who still change it."""
        self._due, self._gather = True, gather
        if self._task is None and not self._closed:
            self._task = self._readings.tasks.start(self._run(), f"read {self.key.uri}")

    async def freshen(self) -> None:
        """Return once what is known is what there is, as far as that can be known."""
        looked = self._looked
        if self._task is None and not self._is_watched:
            self.look(0)
        if self._task is not None:
            # For one look and no more: somebody may change things for ever.
            await looked.wait()
        elif time.monotonic() - self._read_at > STALE:
            # Not everything is watched; nobody waits for the rest.
            self.look(0)

    def close(self) -> None:
        """End all watches; nothing is told any more."""
        self._closed = True
        self._due = False
        self._looked.set()
        for watch in self._watches.values():
            watch.close()
        self._watches.clear()

    async def _run(self) -> None:
        try:
            while self._due and not self._closed:
                if self.known.is_set():
                    rest = self._read_at + min(2 * self._took, LONGEST_REST) - time.monotonic()
                    await asyncio.sleep(max(self._gather, rest))
                self._due = False
                await self._look()
                looked, self._looked = self._looked, asyncio.Event()
                looked.set()
        finally:
            self._task = None
            self._looked.set()
            self._looked = asyncio.Event()

    async def _look(self) -> None:
        found = await asyncio.to_thread(self._readings.what_is_there, self.key)
        if found == "folder":
            await self._watch()
        else:
            self._is_watched = False
        began, real = time.monotonic(), self.real
        sources = await self._read() if self._is_worth_reading(found) else ()
        self._read_at = time.monotonic()
        self._took = self._read_at - began
        if self._closed:
            return
        # A link that leads elsewhere changes where servers run, whatever is declared there.
        is_new = not self.known.is_set() or sources != self.sources or self.real != real
        # Also where they are equal: texts are read by the newest.
        self.sources = sources
        self.known.set()
        if is_new:
            self._readings.changed(self)

    def _is_worth_reading(self, found: WhatIsThere) -> bool:
        if found == "folder" or self.key.use == "plugin":
            # Of a plugin that somebody has named, what is wrong with it is told.
            return True
        # A person need not have a folder. One to work in that is not there can still be made.
        return found == "nothing" and self.key.use == "workspace"

    async def _read(self) -> tuple[CustomizationSource, ...]:
        use, uri = self.key.use, self.key.uri
        try:
            tree = await asyncio.to_thread(self._readings.tree, self.key)
            self.real = await asyncio.to_thread(os.path.realpath, str(file_path(uri)))
        except (OSError, AgentHostError) as error:
            log.info("%s is not read: %s", uri, error)
            return ()
        if use == "plugin":
            origin: Literal["builtin", "plugin"] = "builtin" if self.key.builtin else "plugin"
            return (await read_plugin(tree, uri, origin, limits=_LIMITS),)
        if use == "user":
            return tuple(await read_user_folder(tree, uri, limits=_LIMITS))
        return tuple(await read_workspace(tree, uri, limits=_LIMITS))

    # Watching

    async def _watch(self) -> None:
        """Watch what of the folder is there by now and is not watched."""
        self._watches = {r: watch for r, watch in self._watches.items() if not watch.ended}
        try:
            watcher = self._readings.watcher()
        except AgentHostError as error:
            self._not_watched(error)
            return
        self._is_watched = True
        for rule in self._rules():
            if rule in self._watches or self._closed:
                continue
            try:
                await self._watch_one(watcher, rule)
            except (FileNotFoundError, NotADirectoryError):
                # Told by the folder above when it comes.
                continue
            except (OSError, AgentHostError) as error:
                self._not_watched(error)
        if not self._watches:
            # Not even the folder itself is there.
            self._is_watched = False

    def _not_watched(self, why: Exception) -> None:
        if self._is_watched and not self._has_told:
            log.info("%s is not watched whole: %s", self.key.uri, why)
        self._is_watched, self._has_told = False, True

    async def _watch_one(self, watcher: FileWatcher, rule: WatchRule) -> None:
        with await asyncio.to_thread(self._readings.opened, self.key, rule.folder) as place:
            if place.leaf is None:
                raise FileNotFoundError(rule.folder)
            watch = await watcher.watch(
                place,
                self._changed,
                recursive=rule.recursive,
                includes=rule.includes,
                excludes=rule.excludes,
                holder=_HOLDER,
            )
        if self._closed:
            watch.close()
        else:
            self._watches[rule] = watch

    def _rules(self) -> Sequence[WatchRule]:
        if self.key.use == "plugin":
            return (WatchRule("", True, None, ("**/node_modules", "**/.git", "**/.venv")),)
        return watch_plan() if self.key.use == "workspace" else user_watch_plan()

    def _changed(self, changes: Sequence[FileChange]) -> None:
        self.look()
