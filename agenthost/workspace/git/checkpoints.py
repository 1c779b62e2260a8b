"""Checkpoints: a working tree's files as they are now, kept without touching its repository.

New objects go to a folder of our own that has the repository's as its alternate, and the index is
a copy. So the user's index, branches, stash, hooks and objects stay as they are, byte for byte. A
checkpoint is a tree that git can compare with any other, as long as the repository keeps its own
objects.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import shutil
import stat
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct

from agenthost.workspace.git.program import (
    LONG_PATIENCE,
    GitFailed,
    GitProgram,
    Settings,
    TooManyFiles,
)
from agenthost.workspace.git.repository import Repository

# Bytes of a file that git does not know yet, and of one that it does.
MOST_NEW = 10 * 1024 * 1024
MOST_KNOWN = 64 * 1024 * 1024
MOST_UNTRACKED = 5000


class Checkpoint(Struct, frozen=True):
    """A working tree at one moment."""

    tree: str
    # Files that have changed and are too large, or cannot be read: the tree has them as they were.
    left_out: tuple[str, ...] = ()


class _Copy(Struct):
    """Our copy of an index: what it was copied from, and what became of it since."""

    origin: tuple[int, ...]
    added: frozenset[bytes] = frozenset()
    removed: frozenset[bytes] = frozenset()


class _Seen(NamedTuple):
    """What there is to record of a working tree, and in which copy of its index."""

    copy: _Copy
    off: Settings
    new: list[bytes]
    changed: list[bytes]


class Checkpoints:
    """The checkpoints of one session, in a folder of its own."""

    def __init__(self, program: GitProgram, folder: Path) -> None:
        self._program = program
        self._folder = folder
        self._copies: dict[str, _Copy] = {}
        self._locks: dict[str, asyncio.Lock] = {}

    def environment(self, repository: Repository) -> dict[str, str]:
        """Return the variables with which git sees the checkpoints of a repository."""
        return {
            "GIT_INDEX_FILE": str(self._index(repository)),
            "GIT_OBJECT_DIRECTORY": str(self._folder / "objects"),
            "GIT_ALTERNATE_OBJECT_DIRECTORIES": _quoted(f"{repository.common_dir}/objects"),
        }

    async def take(self, repository: Repository, folders: Sequence[str] = (".",)) -> Checkpoint:
        """Keep the files below folders of a working tree as they are now.

        What git ignores, repositories inside of it and what is no file is left out.

        Raises:
            GitFailed: the repository cannot be read, or too much is new in it.
        """
        # Checkpoints of the same tree share an index.
        async with self._locks.setdefault(repository.top, asyncio.Lock()):
            is_used = repository.top in self._copies
            try:
                return await self._take(repository, folders)
            except BaseException as error:
                # Whatever state it is in.
                self._copies.pop(repository.top, None)
                if not is_used or not isinstance(error, GitFailed) or error.code is None:
                    raise
            # Our copy may name contents that are lost.
            return await self._take(repository, folders)

    async def _take(self, repository: Repository, folders: Sequence[str]) -> Checkpoint:
        copy, off, new, changed = await self._look(repository, folders)
        # Ours has forgotten the files that were gone.
        back = await asyncio.to_thread(_come_back, repository.top, copy.removed, folders)
        ready = await asyncio.to_thread(_sort, repository.top, new, [*changed, *back])
        # No longer there, or ignored by now. Only where this checkpoint looks.
        lost = {name for name in copy.added - set(new) if _is_below(name, folders)}
        await self._update(repository, off, ready.recorded, "--add", "--remove", "--replace")
        await self._update(repository, off, (*ready.gone, *lost), "--force-remove")
        copy.added = (copy.added - lost) | ready.added
        copy.removed = (copy.removed - set(ready.recorded)) | ready.missing | set(ready.gone)
        tree = await self._run(repository, off, "write-tree", ours=True)
        left_out = tuple(os.fsdecode(name) for name in ready.left_out)
        return Checkpoint(tree.decode().strip(), left_out)

    async def _look(self, repository: Repository, folders: Sequence[str]) -> _Seen:
        """Look at what is new and what has changed, at the same time."""
        # Before the user's index is read: what is added to it meanwhile is told the next time.
        copy = await asyncio.to_thread(self._copy_index, repository)
        # What was new at the last checkpoint is still new to the user's index. This reads no
        # contents, so no filter can run.
        listing = ("ls-files", "--others", "--exclude-standard")
        new, (off, changed) = await asyncio.gather(
            self._names(repository, (), listing, folders), self._changed(repository, folders)
        )
        return _Seen(copy, off, new, changed)

    async def _changed(
        self, repository: Repository, folders: Sequence[str]
    ) -> tuple[Settings, list[bytes]]:
        off = (await self._program.configured(repository.top)).filters_off
        # Our index has the files that were new, and tells whether they have changed.
        comparing = ("diff-files", "--name-only", "--ignore-submodules=dirty")
        return off, await self._names(repository, off, comparing, folders, ours=True)

    async def read(self, repository: Repository, blob: str, most: int = MOST_NEW) -> bytes:
        """Return the content of a file in a checkpoint or in the repository.

        Raises:
            GitFailed: there is no such content, or it is larger than that.
        """
        sizes = await self.sizes(repository, [blob])
        if blob not in sizes:
            raise GitFailed("there is no such content any more")
        if sizes[blob] > most:
            raise GitFailed(f"the content has {sizes[blob]} bytes; {most} at most are read")
        return await self._run(repository, (), "cat-file", "blob", blob, ours=True)

    async def restore(self, repository: Repository, source: str, paths: Sequence[str]) -> None:
        """Make files of a working tree as they are in a tree or commit; remove those it has not.

        Only what the last checkpoint has goes for them. The user's index stays as it is.

        Raises:
            GitFailed: they cannot be written, or something else would have to go for them.
        """
        async with self._locks.setdefault(repository.top, asyncio.Lock()):
            off = (await self._program.configured(repository.top)).filters_off
            kept = set(await self._names(repository, off, ("ls-files",), paths, ours=True))
            # Too large to be kept, not to be read, or changed just now.
            comparing = ("diff-files", "--name-only", "--ignore-submodules=dirty")
            kept -= set(await self._names(repository, off, comparing, paths, ours=True))
            unkept = [path for path in paths if os.fsencode(path) not in kept]
            in_the_way = await asyncio.to_thread(_in_the_way, repository.top, paths, unkept)
            if in_the_way is not None:
                raise GitFailed(f"{in_the_way} is in the way")
            listed = b"".join(os.fsencode(path) + b"\0" for path in paths)
            words = ("restore", "--quiet", f"--source={source}", "--worktree")
            by_name = ("--pathspec-from-file=-", "--pathspec-file-nul")
            await self._run(repository, off, *words, *by_name, ours=True, data=listed)

    async def sizes(self, repository: Repository, blobs: Iterable[str]) -> dict[str, int]:
        """Return how many bytes contents have; those that are not there any more are left out."""
        asked = "".join(f"{blob}\n" for blob in blobs if blob.isalnum()).encode()
        form = "--batch-check=%(objectname) %(objecttype) %(objectsize)"
        told = await self._run(repository, (), "cat-file", form, ours=True, data=asked)
        fields = (line.split() for line in told.decode().splitlines())
        return {name: int(size) for name, kind, *rest in fields if kind == "blob" for size in rest}

    async def remove(self) -> None:
        """Forget all checkpoints."""
        self._copies.clear()
        await asyncio.to_thread(shutil.rmtree, self._folder, ignore_errors=True)

    def _index(self, repository: Repository) -> Path:
        name = hashlib.sha256(os.fsencode(repository.top)).hexdigest()[:16]
        return self._folder / f"index-{name}"

    @property
    def is_kept(self) -> bool:
        """Whether there are any checkpoints; touches the disk."""
        return (self._folder / "objects").is_dir()

    def _make_folder(self) -> None:
        (self._folder / "objects").mkdir(parents=True, exist_ok=True, mode=0o700)

    def _copy_index(self, repository: Repository) -> _Copy:
        """Copy the user's index if it is another than at the last checkpoint.

        Otherwise ours is as good, and knows the files that have changed since.
        """
        self._make_folder()
        theirs = Path(repository.git_dir, "index")
        origin: tuple[int, ...] = ()
        ours = self._index(repository)
        try:
            status = theirs.stat()
            origin = (status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
        except FileNotFoundError:
            # Nothing was added yet.
            pass
        copy = self._copies.get(repository.top)
        if copy is None or copy.origin != origin:
            ours.unlink(missing_ok=True)
            ours.with_name(f"{ours.name}.lock").unlink(missing_ok=True)
            if origin:
                # With its time, by which git knows what may have changed in the same moment.
                shutil.copy2(theirs, ours)
            copy = self._copies[repository.top] = _Copy(origin)
        return copy

    async def _names(
        self,
        repository: Repository,
        off: Settings,
        command: Sequence[str],
        folders: Sequence[str],
        *,
        ours: bool = False,
    ) -> list[bytes]:
        limits = ("-z", "--", *folders)
        told = await self._run(repository, off, *command, *limits, ours=ours)
        return [name for name in dict.fromkeys(told.split(b"\0")) if name]

    async def _update(
        self, repository: Repository, off: Settings, names: Iterable[bytes], *how: str
    ) -> None:
        listed = b"".join(name + b"\0" for name in names)
        if listed:
            words = ("update-index", *how, "-z", "--stdin")
            await self._run(repository, off, *words, ours=True, data=listed)

    async def _run(
        self,
        repository: Repository,
        off: Settings,
        *arguments: str,
        ours: bool = False,
        data: bytes = b"",
    ) -> bytes:
        env = {"GIT_LITERAL_PATHSPECS": "1"}
        if ours:
            # Without it git sees no repository at all.
            await asyncio.to_thread(self._make_folder)
            env |= self.environment(repository)
        return await self._program.run(
            repository.top, *arguments, settings=off, env=env, data=data, patience=LONG_PATIENCE
        )


class _Sorted(Struct, frozen=True):
    """What to do with names that differ from an index."""

    recorded: tuple[bytes, ...]
    # Of those, what git did not know.
    added: frozenset[bytes]
    # Those that are not there, and those that are no files any more.
    missing: frozenset[bytes]
    gone: tuple[bytes, ...]
    left_out: tuple[bytes, ...]


def _sort(top: str, new: Sequence[bytes], changed: Sequence[bytes]) -> _Sorted:
    """Look at each file: one that is too large, cannot be read or is no file is not recorded."""
    # A repository inside of this one is told as a folder.
    new = [name for name in new if not name.endswith(b"/")]
    if len(new) > MOST_UNTRACKED:
        raise TooManyFiles(len(new), MOST_UNTRACKED)
    base, fresh = os.fsencode(top), frozenset(new)
    added, missing = set[bytes](), set[bytes]()
    recorded, gone, left_out = list[bytes](), list[bytes](), list[bytes]()
    for name in dict.fromkeys((*changed, *new)):
        path = os.path.join(base, name)
        is_new = name in fresh
        if not is_new and _is_beyond_link(base, os.path.dirname(name)):
            # What is there now is a file of another folder.
            gone.append(name)
            continue
        try:
            status = os.lstat(path)
        except OSError:
            # Gone: for git to notice, if it ever knew it.
            if not is_new:
                recorded.append(name)
                missing.add(name)
            continue
        if stat.S_ISLNK(status.st_mode) or stat.S_ISDIR(status.st_mode):
            recorded.append(name)
        elif not stat.S_ISREG(status.st_mode):
            gone += [] if is_new else [name]
            continue
        elif status.st_size > (MOST_NEW if is_new else MOST_KNOWN) or not os.access(path, os.R_OK):
            left_out.append(name)
            continue
        else:
            recorded.append(name)
        if is_new:
            added.add(name)
    return _Sorted(
        tuple(recorded), frozenset(added), frozenset(missing), tuple(gone), tuple(left_out)
    )


def _come_back(top: str, removed: Iterable[bytes], folders: Sequence[str]) -> list[bytes]:
    """Return the files that were gone and are there again."""
    base = os.fsencode(top)
    found: list[bytes] = []
    for name in removed:
        path = os.path.join(base, name)
        is_file = os.path.isfile(path) or os.path.islink(path)
        if is_file and _is_below(name, folders):
            found += [] if _is_beyond_link(base, os.path.dirname(name)) else [name]
    return found


def _in_the_way(top: str, paths: Iterable[str], unkept: Sequence[str]) -> str | None:
    """Return what would be lost: a folder, a file where a folder was, one that is not kept."""
    for path in paths:
        place = os.path.join(top, path)
        if os.path.isdir(place) and not os.path.islink(place):
            return path
        if path in unkept and os.path.lexists(place):
            return path
        folder = os.path.dirname(path)
        while folder:
            above = os.path.join(top, folder)
            if os.path.lexists(above) and (os.path.islink(above) or not os.path.isdir(above)):
                return folder
            folder = os.path.dirname(folder)
    return None


def _is_beyond_link(base: bytes, folder: bytes) -> bool:
    """Say whether the way to a folder leads through a link, which git does not follow."""
    while folder:
        if os.path.islink(os.path.join(base, folder)):
            return True
        folder = os.path.dirname(folder)
    return False


def _is_below(name: bytes, folders: Sequence[str]) -> bool:
    return any(
        folder == "." or name == os.fsencode(folder) or name.startswith(os.fsencode(folder) + b"/")
        for folder in folders
    )


def _quoted(path: str) -> str:
    """Return a path as one entry of a list that is separated by colons."""
    escaped = path.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
