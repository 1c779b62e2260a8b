"""One watch on a file or a tree: what is wanted of it, and what is known of its folders.

``watching`` fills it in from the kernel's events. Belongs to one event loop.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from agenthost.workspace.change_batches import ChangeBatches, ChangeKind, FileChange
from agenthost.workspace.file_trees import is_unfinished
from agenthost.workspace.globs import Globs
from agenthost.workspace.roots import Identity, Place, identity

if TYPE_CHECKING:
    from agenthost.workspace.watching import FileWatcher

# What nobody wants to be told of, and what changes in great numbers.
ALWAYS_EXCLUDED = ("**/.git/objects", "**/.git/lfs")

_FOLDER = getattr(os, "O_PATH", 0) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_LISTED = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Whether an entry of a folder is told to nobody: the folder, the name, and what it is if known.
IsHidden = Callable[[Identity, str, Identity | None], bool]


def _nothing_hidden(folder: Identity, name: str, entry: Identity | None) -> bool:
    return False


class WatchedFolder:
    """A folder that a watch looks at."""

    __slots__ = ("children", "depth", "gone", "identity", "name", "names", "parent", "watch", "wd")

    def __init__(self, watch: TreeWatch, parent: WatchedFolder | None, name: str) -> None:
        self.watch = watch
        self.parent = parent
        self.name = name
        self.depth: int = 0 if parent is None else parent.depth + 1
        self.wd: int | None = None
        # What it is; known once it was looked into.
        self.identity: Identity = (-1, -1)
        # Another one may have its name by now.
        self.gone = False
        self.children: dict[str, WatchedFolder] = {}
        # What was there, of what is told.
        self.names: set[str] = set()

    def parts(self) -> list[str]:
        """Return the names that lead here from what is watched."""
        parts: list[str] = []
        folder = self
        while folder.parent is not None:
            parts.append(folder.name)
            folder = folder.parent
        return parts[::-1]


class TreeWatch:
    """One watch: on a file, on a folder, or on a folder with all that is below it."""

    def __init__(
        self,
        watcher: FileWatcher,
        place: Place,
        on_batch: Callable[[Sequence[FileChange]], None],
        recursive: bool,
        excludes: Iterable[str],
        includes: Iterable[str] | None,
        is_hidden: IsHidden | None,
        holder: str | None,
    ) -> None:
        assert place.info is not None
        self._watcher = watcher
        self._excludes = Globs((*ALWAYS_EXCLUDED, *excludes))
        self._includes = Globs(includes) if includes is not None else None
        self._is_hidden = is_hidden or _nothing_hidden
        # Whose share of the folders it takes.
        self.holder = holder
        self.recursive = recursive
        self.real = str(place.real)
        self.name = place.name
        self.is_folder = stat.S_ISDIR(place.info.st_mode)
        self.identity: Identity = identity(place.info)
        self.ended = False
        # Of a file: whether it is there, for it may come again.
        self.exists = True
        # What is watched, if it is a folder, and the folder that holds it.
        self.top = WatchedFolder(self, None, "")
        self.above = WatchedFolder(self, None, "")
        # Folders that are still to be looked into.
        self.unseen = 0
        self.ready: asyncio.Future[None] = watcher.loop.create_future()
        # Folders that were entered.
        self.entered = 0
        # How many names it remembers, and whether these are all: once too many, never again.
        self.remembered = 0
        self.remembers = True
        # Whether some of its folders are not watched, because they are too many.
        self.is_partial = False
        self._batches = ChangeBatches(watcher.loop, on_batch)

    def close(self) -> None:
        """Tell nothing any more."""
        self._watcher.forget(self)
        self._batches.close()
        if not self.ready.done():
            self.ready.cancel()

    def excludes(self, folder: WatchedFolder, path: str, name: str) -> bool:
        """Say whether something in a folder is neither told nor looked into."""
        if is_unfinished(name) or self._excludes.match(path):
            return True
        return self._is_hidden(folder.identity, name, None)

    def hides(self, folder: WatchedFolder) -> bool:
        """Say whether nothing in a folder is told, whatever it is called."""
        above = folder.parent.identity if folder.parent is not None else (-1, -1)
        return self._is_hidden(above, folder.name, folder.identity)

    def includes(self, path: str) -> bool:
        """Say whether something is told that is not excluded."""
        return self._includes is None or self._includes.match(path)

    def note(self, path: str, kind: ChangeKind) -> None:
        """Gather a change of something that is told with those before it."""
        if not self.ended:
            self._batches.add(path, kind)

    def end(self) -> None:
        """Tell that what was watched is gone; nothing comes after that."""
        if not self.ended:
            self.note("", "deleted")
            self._watcher.forget(self)

    @contextlib.contextmanager
    def opened(self, parts: Sequence[str]) -> Iterator[int]:
        """Open a folder below the one that is watched, through no link, to list it.

        Raises:
            OSError: it is not there, or what is there is not what was watched.
        """
        descriptor = os.open(self.real, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            # Whatever the path leads to now: it must be the folder that we were given.
            if identity(os.fstat(descriptor)) != self.identity:
                raise OSError(errno.ESTALE, os.strerror(errno.ESTALE))
            for part in parts:
                below = os.open(part, _FOLDER, dir_fd=descriptor)
                os.close(descriptor)
                descriptor = below
            listed = os.open(".", _LISTED, dir_fd=descriptor)
        finally:
            os.close(descriptor)
        try:
            yield listed
        finally:
            os.close(listed)
