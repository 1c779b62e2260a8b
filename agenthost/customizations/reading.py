"""Reads the files of a tree within bounds, so that no folder is too large and none too slow.

One pass has a budget of files, bytes and seconds, which its trees share. What cannot be read is
told in a sentence and never raised: one bad file must not hide the others.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Iterable, Sequence
from pathlib import PurePosixPath
from typing import Literal

from msgspec import Struct

from agenthost.customizations.types import Tree
from agenthost.errors import AgentHostError, NotFound
from agenthost.workspace.roots import OutsideRoots

_LONGEST_REASON = 300
_LONGEST_PATH = 500
LEADS_OUT = "it leads out of its folder"


class ReadLimits(Struct, frozen=True):
    """How much one pass over folders may take."""

    # Of one file, and of all files together.
    file_bytes: int = 256 * 1024
    all_bytes: int = 32 * 1024 * 1024
    files: int = 2_000
    seconds: float = 2.0
    # Files that are read at the same time, each by a thread that others would like to have, too.
    at_once: int = 2
    # Customizations in one source, and sources of one pass.
    children: int = 1_000
    sources: int = 200
    # With whose files these are parsed in turn.
    lane: Literal["folders", "clients"] = "folders"


class ReadFile(Struct, frozen=True):
    """A file as it was read: its text, or why there is none."""

    path: str
    text: str = ""
    problem: str | None = None


class Listing(Struct, frozen=True):
    """The names in a folder with whether each leads to a folder, or why they are not known."""

    entries: tuple[tuple[str, bool], ...] = ()
    problem: str | None = None
    # Whether the folder is there at all.
    exists: bool = True


class UnreadableCustomization(AgentHostError):
    """A customization's file cannot be read any more, or not as what it was."""


class _Spent(AgentHostError):
    """A pass has taken what it may."""


class _Absent(AgentHostError):
    """There is nothing of that name."""


class ReadBudget:
    """What is left of the bounds of one pass."""

    def __init__(self, limits: ReadLimits) -> None:
        self.limits = limits
        self._files = limits.files
        self._bytes = limits.all_bytes
        self._until = time.monotonic() + limits.seconds
        self._slots = asyncio.Semaphore(limits.at_once)
        # Why no more is read.
        self.spent: str | None = None

    @contextlib.asynccontextmanager
    async def held(self) -> AsyncIterator[None]:
        """Wait for a turn to ask the tree for something; have it only while there is time left."""
        async with self._slots:
            if self.spent is not None:
                raise _Spent(self.spent)
            clock = asyncio.timeout(self._until - time.monotonic())
            try:
                async with clock:
                    yield
            except TimeoutError:
                # The tree's own clock is one file's problem, ours that of all.
                if not clock.expired():
                    raise
                raise self._end(self._too_slow()) from None

    def is_late(self) -> bool:
        """Say whether there is no time left; may be asked in a thread."""
        if time.monotonic() <= self._until:
            return False
        self._end(self._too_slow())
        return True

    def count_file(self) -> None:
        """Take one file from what is left."""
        self._files -= 1
        if self._files < 0:
            raise self._end(f"there are more than {self.limits.files} files")

    def count_bytes(self, count: int) -> None:
        """Take some bytes from what is left."""
        self._bytes -= count
        if self._bytes < 0:
            raise self._end(f"the files have more than {self.limits.all_bytes >> 20} MiB together")

    def _too_slow(self) -> str:
        return f"reading took longer than {self.limits.seconds:g} s"

    def _end(self, why: str) -> _Spent:
        self.spent = self.spent or f"not everything was read: {why}"
        return _Spent(self.spent)


class TreeReader:
    """One tree, read as part of a pass."""

    def __init__(self, tree: Tree, budget: ReadBudget) -> None:
        self.tree = tree
        self.budget = budget

    def below(self, path: str) -> TreeReader:
        """Return a reader of one of the tree's folders, of the same pass."""
        return TreeReader(self.tree.below(path), self.budget)

    async def listing(self, path: str) -> Listing:
        """Return the names in a folder, sorted."""
        try:
            async with self.budget.held():
                entries = await self._asked_list(path)
        except (_Absent, _Spent):
            return Listing(exists=False)
        except (OSError, AgentHostError) as error:
            return Listing(problem=why_unreadable(error))
        return Listing(tuple(sorted(entry for entry in entries if is_usable_name(entry[0]))))

    async def find(self, name: str) -> Sequence[str]:
        """Return the paths of files of a name in folders below; none if that cannot be done."""
        try:
            async with self.budget.held():
                found = await self.tree.find(name)
        except (OSError, AgentHostError):
            return ()
        return sorted(path for path in found if all(map(is_usable_name, path.split("/"))))

    async def read(self, paths: Iterable[str], *, listed: bool = False) -> list[ReadFile]:
        """Read several files; those that are not there are left out.

        Unless they were ``listed`` by their folder: then they are links that lead nowhere.
        """
        read = await asyncio.gather(*(self._read(path, listed) for path in paths))
        return [file for file in read if file is not None]

    async def _read(self, path: str, listed: bool) -> ReadFile | None:
        try:
            return ReadFile(path, await self._text(path))
        except _Absent:
            return ReadFile(path, problem="it leads to no file") if listed else None
        except _Spent:
            # Told once, of the whole source.
            return None
        except (OSError, AgentHostError) as error:
            return ReadFile(path, problem=why_unreadable(error))

    async def _text(self, path: str) -> str:
        async with self.budget.held():
            self.budget.count_file()
            data = await asked_read(self.tree, path, self.budget.limits.file_bytes)
            self.budget.count_bytes(len(data))
        return decoded(data)

    async def _asked_list(self, path: str) -> Sequence[tuple[str, bool]]:
        try:
            return await self.tree.list(path)
        except (FileNotFoundError, NotADirectoryError, NotFound) as error:
            raise _Absent(path) from error


async def asked_read(tree: Tree, path: str, most: int) -> bytes:
    """Return the bytes of a file, whatever its tree thinks of how many it may have."""
    try:
        data = await tree.read(path, most)
    except (FileNotFoundError, NotADirectoryError, NotFound) as error:
        raise _Absent("it is not there") from error
    if len(data) > most:
        raise UnreadableCustomization(f"it has more than {most >> 10} KiB")
    return data


def decoded(data: bytes) -> str:
    """Return the text that some bytes are."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UnreadableCustomization(f"byte {error.start} is no UTF-8") from None


def is_usable_name(name: str) -> bool:
    """Say whether a name that a tree tells can be a part of a path, and be told to others."""
    if name in ("", ".", "..") or "/" in name or "\0" in name:
        return False
    try:
        name.encode()
    except UnicodeEncodeError:
        # A name that is no UTF-8 has no place in any JSON.
        return False
    return True


def path_inside(path: object) -> str | None:
    """Return a path that somebody wrote as trees take it; None if it is none, or leads up."""
    if not isinstance(path, str) or len(path) > _LONGEST_PATH or "\0" in path or "\\" in path:
        return None
    parts = PurePosixPath(path).parts
    if not parts or not all(map(is_usable_name, parts)):
        return None
    return "/".join(parts)


def why_unreadable(error: Exception) -> str:
    """Return in a sentence why something cannot be read."""
    if isinstance(error, OutsideRoots):
        return LEADS_OUT
    if isinstance(error, TimeoutError):
        return "it took too long to read"
    said = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return str(said)[:_LONGEST_REASON]
