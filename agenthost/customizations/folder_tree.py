"""A folder of this machine as a tree to be read, which nothing leads out of, links neither."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import itertools
import os
import stat
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence

from agenthost.customizations.types import Tree
from agenthost.workspace.files import FileLimits, Files
from agenthost.workspace.roots import OutsideRoots, Roots, identity

# How far files of a name are looked for: the upper folders of a large repository.
MOST_SEARCHED = 1_000
DEEPEST_SEARCHED = 6
SEARCH_SECONDS = 0.5
_MOST_FOUND = 100
# Of one folder.
_MOST_ENTRIES = 5_000
# What programs put there, in great numbers.
_SKIPPED = frozenset({"__pycache__", "build", "dist", "node_modules", "target", "vendor", "venv"})


class FolderTree:
    """One folder, without what is kept from everybody.

    Each call works in a thread. Every path is walked anew by the folder's roots, so what becomes a
    link meanwhile leads nowhere else.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        denied: Iterable[str | os.PathLike[str]] = (),
        *,
        within: Roots | None = None,
    ) -> None:
        """``denied`` are paths that nobody may read; ``within`` is where the folder has to lie."""
        self._folder = os.fspath(folder)
        self._denied = tuple(denied)
        self._within: Callable[[], Roots | None] = lambda: within
        self._opened: Roots | None = None
        self._opening = threading.Lock()

    async def list(self, path: str) -> Sequence[tuple[str, bool]]:
        """Return the names in a folder, each with whether it leads to a folder."""
        return await asyncio.to_thread(self._list, path)

    async def read(self, path: str, most: int) -> bytes:
        """Return the whole of a file; one with more bytes than ``most`` is refused."""
        return await asyncio.to_thread(self._read, path, most)

    async def find(self, name: str) -> Sequence[str]:
        """Return the paths of some files of a name in folders below, the upper ones first.

        Hidden folders and links are left out, and what lies deep or behind a great many others.
        """
        return await asyncio.to_thread(lambda: list(self._find(name)))

    def below(self, path: str) -> Tree:
        """Return one of its folders as a tree, which nothing leads out of either."""
        below = FolderTree(self._at(path), self._denied)
        below._within = self._roots
        return below

    def _roots(self) -> Roots:
        # Not before there is a thread to do it in.
        with self._opening:
            if self._opened is None:
                self._opened = Roots([self._folder], self._denied, within=self._within())
            return self._opened

    def _list(self, path: str) -> Sequence[tuple[str, bool]]:
        with self._told_if_gone():
            entries = Files(self._roots()).list(self._at(path))
        return [(entry.name, entry.kind == "directory") for entry in entries]

    def _read(self, path: str, most: int) -> bytes:
        files = Files(self._roots(), limits=FileLimits(read_bytes=most))
        with self._told_if_gone():
            return files.read(self._at(path)).data

    @contextlib.contextmanager
    def _told_if_gone(self) -> Iterator[None]:
        try:
            yield
        except OutsideRoots:
            # Without the folder everything is outside; that it is gone is what is wrong then.
            if os.path.lexists(self._folder):
                raise
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT)) from None

    def _at(self, path: str) -> str:
        return os.path.join(self._folder, path) if path else self._folder

    def _find(self, name: str) -> Iterator[str]:
        until = time.monotonic() + SEARCH_SECONDS
        searched = found = 0
        folders = deque([""])
        while folders and searched < MOST_SEARCHED and time.monotonic() < until:
            folder = folders.popleft()
            searched += 1
            for entry, is_folder in self._entries(folder):
                path = f"{folder}/{entry}" if folder else entry
                if is_folder and path.count("/") < DEEPEST_SEARCHED:
                    folders.append(path)
                elif entry == name and folder and not is_folder and found < _MOST_FOUND:
                    found += 1
                    yield path

    def _entries(self, folder: str) -> Iterator[tuple[str, bool]]:
        """Return the plain files and folders of a folder that are worth a look, sorted."""
        roots = self._roots()
        try:
            with roots.walk(self._at(folder), follow=False) as place:
                if place.info is None or not stat.S_ISDIR(place.info.st_mode):
                    return
                here = identity(place.info)
                opened = place.open(os.O_RDONLY | os.O_DIRECTORY)
        except (OSError, OutsideRoots):
            return
        try:
            with os.scandir(opened) as entries:
                seen = sorted(
                    (entry.name, entry.is_dir(follow_symlinks=False))
                    for entry in itertools.islice(entries, _MOST_ENTRIES)
                    if not entry.is_symlink() and not roots.is_hidden(here, entry.name)
                )
        except OSError:
            return
        finally:
            os.close(opened)
        for name, is_folder in seen:
            if not (is_folder and (name.startswith(".") or name in _SKIPPED)):
                yield name, is_folder
