"""The files of folders, kept at hand so that they can be found by some letters of their paths.

What git ignores is left out; without git, folders that hold what programs made. Answers come from
what is known, even if that is some seconds old; it is made anew in the background.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import os
import subprocess
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from msgspec import Struct

from agenthost.workspace.file_trees import is_unfinished
from agenthost.workspace.fuzzy import FuzzyPaths
from agenthost.workspace.roots import Identity, Place, identity, opened_path

log = logging.getLogger(__name__)

MOST_PATHS = 200_000
MOST_SCANNED = 100_000
MOST_FOLDERS = 8
# Paths of all indexes that are kept: some ten megabytes.
MOST_KEPT_PATHS = 400_000
# Seconds after which an index is made anew, and that git may take.
STALE = 10.0
PATIENCE = 5.0
# Seconds after which a folder without git is known well enough.
SCAN_SECONDS = 10.0
# Indexes that are made at once, and that wait for that, each with its folder held open.
MOST_MADE = 2
MOST_TO_BE_MADE = 16
# Searches at once: more would keep the event loop from its turns.
MOST_SEARCHES = 2
MOST_OUTPUT = 32 * 1024 * 1024
# Deeper down nobody looks for files by hand.
_DEEPEST = 60
_SKIPPED = frozenset({".git", ".hg", ".svn", ".venv", "__pycache__", "node_modules"})
# A repository must not have programs of its own run just because somebody looks at it.
_HARMLESS = ("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null")


class FoundPath(Struct, frozen=True):
    """A file or folder, relative to the folder that was searched."""

    path: str
    is_folder: bool


class FileIndex:
    """The files below one folder as they were when it was made, and their folders."""

    def __init__(self, files: Iterable[str]) -> None:
        shown = [path for path in files if _is_shown(path)][:MOST_PATHS]
        # A repository inside of the repository is listed as a folder.
        folders = {path.rstrip("/") for path in shown if path.endswith("/")}
        for path in shown:
            above = path.rstrip("/").rpartition("/")[0]
            while above and above not in folders:
                folders.add(above)
                above = above.rpartition("/")[0]
        self._folders = folders
        plain = {path for path in shown if not path.endswith("/")} - folders
        self._fuzzy = FuzzyPaths([*sorted(plain), *sorted(folders)])

    def __len__(self) -> int:
        return len(self._fuzzy.paths)

    def search(self, query: str, most: int) -> list[FoundPath]:
        """Return what contains the letters of a query in that order, the best first."""
        found = self._fuzzy.search(query, most)
        return [FoundPath(path, path in self._folders) for path in found]


def index_folder(descriptor: int) -> FileIndex:
    """Make the index of an open folder; blocks."""
    listed = _listed_by_git(descriptor)
    return FileIndex(listed if listed is not None else _scanned(descriptor))


class _Kept(Struct):
    index: FileIndex
    made: float


class FileIndexes:
    """The indexes of the folders that were searched last."""

    def __init__(
        self, *, most: int = MOST_FOLDERS, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._most = most
        self._monotonic = monotonic
        # Threads of its own: those that all share must not wait for a disk that hangs, nor must
        # who looks in an index for one that is being made.
        self._makers = ThreadPoolExecutor(MOST_MADE, thread_name_prefix="index files")
        self._searchers = ThreadPoolExecutor(MOST_SEARCHES, thread_name_prefix="search files")
        self._kept: OrderedDict[Identity, _Kept] = OrderedDict()
        # Folders whose index is being made.
        self._making: dict[Identity, asyncio.Task[FileIndex]] = {}

    async def search(self, place: Place, query: str, most: int) -> list[FoundPath]:
        """Return what is below a folder and contains the letters of a query, the best first.

        Waits for the index only where there is none yet.

        Raises:
            OSError: it is no folder that can be read, or too many are being read.
        """
        index = await self._index(place)
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._searchers, index.search, query, most)

    async def close(self) -> None:
        """Let go of everything."""
        making = list(self._making.values())
        for task in making:
            task.cancel()
        await asyncio.gather(*making, return_exceptions=True)
        self._makers.shutdown(wait=False, cancel_futures=True)
        self._searchers.shutdown(wait=False, cancel_futures=True)
        self._kept.clear()

    async def _index(self, place: Place) -> FileIndex:
        assert place.info is not None
        folder = identity(place.info)
        kept = self._kept.get(folder)
        if kept is None:
            # Whoever leaves meanwhile does not end what others wait for.
            return await asyncio.shield(self._made(folder, place))
        self._kept.move_to_end(folder)
        if self._monotonic() - kept.made > STALE:
            # What is known is better than nothing.
            with contextlib.suppress(OSError):
                self._made(folder, place)
        return kept.index

    def _made(self, folder: Identity, place: Place) -> asyncio.Task[FileIndex]:
        """Return the index that is being made, or begin it."""
        if (making := self._making.get(folder)) is not None:
            return making
        if len(self._making) >= MOST_TO_BE_MADE:
            raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN), place.name)
        descriptor = place.open(os.O_RDONLY | os.O_DIRECTORY)
        task = asyncio.create_task(self._make(folder, descriptor), name="make a file index")
        self._making[folder] = task
        task.add_done_callback(lambda done: self._ended(folder, done))
        return task

    async def _make(self, folder: Identity, descriptor: int) -> FileIndex:
        # What happens while it is made belongs to the next one.
        started = self._monotonic()
        making = self._makers.submit(_indexed_and_closed, descriptor)
        making.add_done_callback(lambda done: os.close(descriptor) if done.cancelled() else None)
        index = await asyncio.wrap_future(making)
        self._kept[folder] = _Kept(index, started)
        self._kept.move_to_end(folder)
        while len(self._kept) > self._most or self._is_too_much():
            self._kept.popitem(last=False)
        return index

    def _is_too_much(self) -> bool:
        return len(self._kept) > 1 and sum(len(k.index) for k in self._kept.values()) > (
            MOST_KEPT_PATHS
        )

    def _ended(self, folder: Identity, task: asyncio.Task[FileIndex]) -> None:
        del self._making[folder]
        # Those who wait are told; where nobody does, the old index is as good as it was.
        if not task.cancelled() and (error := task.exception()) is not None:
            log.debug("a file index could not be made: %s", error)


def _indexed_and_closed(descriptor: int) -> FileIndex:
    try:
        return index_folder(descriptor)
    finally:
        os.close(descriptor)


def _is_shown(path: str) -> bool:
    """Say whether a path can be offered: inside, whole, and of letters that can be shown."""
    name = path.rstrip("/").rpartition("/")[2]
    return (
        bool(name)
        and not path.startswith(("/", "../"))
        and not is_unfinished(name)
        and (path.isprintable() or not any(_is_odd(letter) for letter in path))
    )


def _is_odd(letter: str) -> bool:
    """Say whether a letter moves a cursor, or is a byte that is no UTF-8."""
    return letter < " " or "\x7f" <= letter <= "\x9f" or "\ud800" <= letter <= "\udfff"


def _listed_by_git(descriptor: int) -> Sequence[str] | None:
    """Return tracked and untracked files that are not ignored; None where git cannot tell."""
    top = _git(descriptor, None, "rev-parse", "--show-toplevel")
    if top is None:
        return None
    folder = os.fsdecode(top.removesuffix(b"\n"))
    # A repository may say that its files are elsewhere; git would list them as if they were here.
    if not _lies_below(descriptor, folder):
        return None
    known = _git(descriptor, folder, "ls-files", "-z", "-co", "--exclude-standard", "--", ".")
    if known is None:
        return None
    gone = set(_names(_git(descriptor, folder, "ls-files", "-z", "-d", "--", ".") or b""))
    # A file with a conflict is listed once for each side.
    return [path for path in dict.fromkeys(_names(known)) if path not in gone]


def _lies_below(descriptor: int, folder: str) -> bool:
    """Say whether an open folder is another one or lies below it."""
    try:
        sought = identity(os.stat(folder))
        here = Path(os.readlink(opened_path(descriptor)))
        return any(identity(os.stat(above)) == sought for above in (here, *here.parents))
    except OSError:
        return False


def _names(output: bytes) -> list[str]:
    return [os.fsdecode(name) for name in output.split(b"\0") if name]


def _git(descriptor: int, top: str | None, *arguments: str) -> bytes | None:
    """Return what git prints; ``top`` is where the files are, whatever the repository says."""
    # A repository's configuration may name programs: they are not given the host's own secrets.
    environment = {key: value for key, value in os.environ.items() if "AGENTHOST" not in key}
    environment |= {"GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0"}
    if top is not None:
        environment["GIT_WORK_TREE"] = top
    try:
        process = subprocess.Popen(
            ["git", *_HARMLESS, *arguments],
            # Where the descriptor leads, whatever its path leads to now.
            cwd=opened_path(descriptor),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
        )
    except (OSError, ValueError):
        return None
    impatience = threading.Timer(PATIENCE, process.kill)
    impatience.start()
    with process:
        assert process.stdout is not None
        output = process.stdout.read(MOST_OUTPUT + 1)
        if len(output) > MOST_OUTPUT:
            process.kill()
    impatience.cancel()
    return output if process.returncode == 0 and len(output) <= MOST_OUTPUT else None


def _scanned(descriptor: int) -> list[str]:
    """Return the files below a folder, through no link, without what programs made.

    Links to folders are neither: they are left out.
    """
    found: list[str] = []
    until = time.monotonic() + SCAN_SECONDS
    walk = os.fwalk(".", follow_symlinks=False, dir_fd=descriptor)
    with contextlib.suppress(OSError):
        for folder, folders, names, _ in walk:
            folders[:] = [name for name in sorted(folders) if name not in _SKIPPED]
            above = "" if folder == "." else folder.removeprefix("./") + "/"
            found += (above + name for name in names)
            if above.count("/") >= _DEEPEST:
                folders.clear()
            if len(found) >= MOST_SCANNED or time.monotonic() > until:
                return found[:MOST_SCANNED]
            # An empty folder can be meant, too.
            if above and not names and not folders:
                found.append(above)
    return found
