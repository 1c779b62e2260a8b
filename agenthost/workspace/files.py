"""Reads, writes, lists, copies, moves and removes files inside of roots; a failure changes nothing.

Everything blocks: whoever has an event loop calls it in a thread. Works on the descriptors that a
walk ends with and never on a path again. Writes make a new file beside the old one and rename it,
so that nobody sees half of it and a full disk loses nothing. Knows neither URIs nor encodings.
"""

from __future__ import annotations

import contextlib
import errno
import mimetypes
import os
import stat
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from msgspec import Struct

from agenthost.errors import AgentHostError
from agenthost.workspace.file_trees import (
    TreeCopy,
    UnfitPath,
    copy_bytes,
    is_unfinished,
    remove_tree,
    rename_new,
    replace,
    unfinished_name,
    write_all,
)
from agenthost.workspace.roots import OutsideRoots, Place, Roots, identity

FileKind = Literal["file", "directory", "symlink"]
WriteMode = Literal["truncate", "append", "insert"]

# Seconds for which links in a folder that is listed are followed, to tell folders from files.
_LINKS_SECONDS = 1.0
# How often a write starts anew because somebody changed the file meanwhile.
_ATTEMPTS = 8


class ChangedMeanwhile(AgentHostError):
    """A file is not the one any more that the caller read."""


class FileLimits(Struct, frozen=True):
    """How much one call may take."""

    read_bytes: int = 10 << 20
    written_bytes: int = 1 << 30
    list_entries: int = 10_000
    copy_entries: int = 10_000
    copy_bytes: int = 1 << 30


class FileDetails(Struct, frozen=True):
    """What is known of a file without reading it."""

    # Without links in it, except for the last name where that was not to be followed.
    real: Path
    kind: FileKind
    size: int
    # Nanoseconds since 1970.
    modified: int
    etag: str


class FileContent(Struct, frozen=True):
    """What a file contains, and the etag of the version that was read."""

    data: bytes
    etag: str


class FolderEntry(Struct, frozen=True):
    """A name in a folder, and what it leads to."""

    name: str
    kind: Literal["file", "directory"]


class FileLocks:
    """Lets one at a time write a file; one of these serves all who write, whatever their roots."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        # Key -> its lock and how many hold it or wait for it.
        self._locks: dict[object, tuple[threading.Lock, int]] = {}

    @contextlib.contextmanager
    def held(self, key: object) -> Iterator[None]:
        """Wait until nobody else holds the key, then hold it."""
        with self._guard:
            lock, users = self._locks.get(key, (threading.Lock(), 0))
            self._locks[key] = lock, users + 1
        try:
            with lock:
                yield
        finally:
            with self._guard:
                lock, users = self._locks.pop(key)
                if users > 1:
                    self._locks[key] = lock, users - 1


def etag_of(info: os.stat_result) -> str:
    """Return what differs as soon as a file is another one or has changed."""
    parts = (info.st_dev, info.st_ino, info.st_size, info.st_mtime_ns, info.st_ctime_ns)
    return "-".join(f"{part:x}" for part in parts)


def content_type(name: str, data: bytes) -> str:
    """Return what a file is, from its name or else from what it contains."""
    guessed, encoding = mimetypes.guess_type(name)
    if guessed is not None and encoding is None:
        return guessed
    try:
        data.decode()
    except UnicodeDecodeError:
        return "application/octet-stream"
    return "text/plain"


class Files:
    """The files inside of somebody's roots.

    All methods raise OutsideRoots for what is outside, UnfitPath for what makes no sense,
    ChangedMeanwhile for what is out of date, and the kernel's own OSErrors for the rest:
    FileNotFoundError, FileExistsError, PermissionError, no space left.
    """

    def __init__(
        self, roots: Roots, *, locks: FileLocks | None = None, limits: FileLimits | None = None
    ) -> None:
        self._roots = roots
        self._locks = locks or FileLocks()
        self._limits = limits or FileLimits()

    @property
    def roots(self) -> Roots:
        """What they are inside of."""
        return self._roots

    def details(self, path: str | os.PathLike[str], *, follow: bool = True) -> FileDetails:
        """Return what is known of a file, a folder or, not followed, a link."""
        with self._found(path, follow=follow) as place:
            assert place.info is not None
            return FileDetails(
                real=place.real,
                kind=_kind(place.info),
                size=place.info.st_size,
                modified=place.info.st_mtime_ns,
                etag=etag_of(place.info),
            )

    def expect_inside(self, path: str | os.PathLike[str]) -> None:
        """Raise OutsideRoots for a path that leads outside; it need not be there."""
        try:
            self._roots.walk(path).close()
        except FileNotFoundError:
            # A folder inside is missing: whatever is outside raises the other.
            return

    def read(self, path: str | os.PathLike[str]) -> FileContent:
        """Return the whole of a regular file that is not too large."""
        most = self._limits.read_bytes
        with self._found(path) as place:
            _expect_file(place)
            with open(place.open(), "rb", buffering=0) as file:
                info = os.fstat(file.fileno())
                # Asked before anything is read: a sparse file costs its length in memory.
                size = info.st_size
                data = b"" if size > most else _read_at_most(file.fileno(), most + 1)
        if max(size, len(data)) > most:
            size = max(size, len(data))
            raise UnfitPath(
                f"{place.name} has {_measured(size)}; no more than {_measured(most)} are read"
            )
        return FileContent(data, etag_of(info))

    def list(self, path: str | os.PathLike[str]) -> list[FolderEntry]:
        """Return the names in a folder, sorted, each with what it leads to if that is inside."""
        most = self._limits.list_entries
        with self._found(path) as place:
            _expect_folder(place)
            assert place.info is not None
            here, real = identity(place.info), place.real
            opened = place.open(os.O_RDONLY | os.O_DIRECTORY)
        found: list[tuple[str, bool, bool]] = []
        try:
            with os.scandir(opened) as entries:
                for entry in entries:
                    if is_unfinished(entry.name) or self._roots.is_denied(here, entry.name):
                        continue
                    if len(found) == most:
                        raise UnfitPath(f"{real.name} has more than {most} entries")
                    folder = entry.is_dir(follow_symlinks=False)
                    found.append((entry.name, folder, entry.is_symlink()))
        finally:
            os.close(opened)
        until = time.monotonic() + _LINKS_SECONDS

        def is_folder(name: str, folder: bool, link: bool) -> bool:
            # A folder full of links that lead far would hold a thread for minutes.
            follow = link and time.monotonic() < until
            return folder or (follow and self._leads_to_folder(real / name))

        return [
            FolderEntry(entry[0], "directory" if is_folder(*entry) else "file")
            for entry in sorted(found)
        ]

    def make_folder(self, path: str | os.PathLike[str]) -> None:
        """Make a folder and those it needs; one that is there is fine."""
        with self._roots.walk(path, make_folders=True) as place:
            if place.info is None or not stat.S_ISDIR(place.info.st_mode):
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), place.name)

    def write(
        self,
        path: str | os.PathLike[str],
        data: bytes,
        *,
        mode: WriteMode = "truncate",
        position: int = 0,
        create_only: bool = False,
        if_match: str | None = None,
    ) -> str:
        """Write a file and return its new etag.

        ``truncate`` keeps what is before the position, ``insert`` moves what is behind it, and
        ``append`` does the same with a position that counts from the end.
        """
        if position < 0:
            raise UnfitPath("a position is not negative")
        for _ in range(_ATTEMPTS):
            with self._roots.walk(path) as place:
                key = place.key
            with self._locks.held(key), self._roots.walk(path) as place:
                # A link may have led elsewhere meanwhile.
                if place.key != key:
                    continue
                _expect_writable(place, create_only, if_match)
                if mode == "append" and position == 0 and place.info is not None:
                    return _append(place, data)
                if self._rewritten(place, data, mode, position, create_only):
                    info = os.stat(place.name, dir_fd=place.folder, follow_symlinks=False)
                    return etag_of(info)
        raise ChangedMeanwhile(f"{os.path.basename(path)} changes all the time")

    def delete(self, path: str | os.PathLike[str], *, recursive: bool = False) -> None:
        """Remove a file, a link or a folder; one with something in it only if that is said."""
        with self._found(path, follow=False) as place:
            folder = place.folder
            assert place.info is not None
            self._expect_nothing_denied(place)
            if recursive:
                remove_tree(place.name, folder, self._roots)
            elif not stat.S_ISDIR(place.info.st_mode):
                os.unlink(place.name, dir_fd=folder)
            else:
                try:
                    os.rmdir(place.name, dir_fd=folder)
                except OSError as error:
                    if error.errno in (errno.ENOTEMPTY, errno.EEXIST):
                        raise UnfitPath(f"{place.name} is not empty") from None
                    raise

    def copy(
        self,
        source: str | os.PathLike[str],
        target: str | os.PathLike[str],
        *,
        fail_if_exists: bool = False,
    ) -> None:
        """Copy a file, or a folder with the links in it as they are; replace what is there."""
        with self._found(source) as place, self._roots.walk(target, follow=False) as goal:
            if not self._are_apart(place, goal, fail_if_exists):
                return
            self._copy(place, goal, fail_if_exists)

    def move(
        self,
        source: str | os.PathLike[str],
        target: str | os.PathLike[str],
        *,
        fail_if_exists: bool = False,
    ) -> None:
        """Move a file, a link or a folder; replace what is there."""
        with (
            self._found(source, follow=False) as place,
            self._roots.walk(target, follow=False) as goal,
        ):
            folder = place.folder
            self._expect_nothing_denied(place)
            if not self._are_apart(place, goal, fail_if_exists):
                return
            put = rename_new if fail_if_exists else replace
            try:
                put(folder, place.name, goal.folder, goal.name)
            except OSError as error:
                if error.errno != errno.EXDEV:
                    raise
                self._copy(place, goal, fail_if_exists)
                remove_tree(place.name, folder, self._roots)

    def _found(self, path: str | os.PathLike[str], *, follow: bool = True) -> Place:
        place = self._roots.walk(path, follow=follow)
        if place.leaf is None:
            place.close()
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), place.name)
        return place

    def _leads_to_folder(self, link: Path) -> bool:
        try:
            with self._roots.walk(link) as place:
                return place.info is not None and stat.S_ISDIR(place.info.st_mode)
        except (OSError, OutsideRoots):
            return False

    def _expect_nothing_denied(self, place: Place) -> None:
        assert place.info is not None
        if self._roots.holds_denied(identity(place.info)):
            raise OutsideRoots(f"{place.name} holds what may not be reached")

    def _are_apart(self, place: Place, goal: Place, fail_if_exists: bool) -> bool:
        """Say whether there is something to do; refuse a folder that would go into itself."""
        assert place.info is not None
        _ = goal.folder
        if goal.info is not None:
            if fail_if_exists:
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), goal.name)
            if os.path.samestat(place.info, goal.info) and place.real == goal.real:
                return False
            self._expect_nothing_denied(goal)
        above_us = goal.info is not None and identity(goal.info) in place.passed - {
            identity(place.info)
        }
        into_itself = stat.S_ISDIR(place.info.st_mode) and identity(place.info) in goal.passed
        if above_us or into_itself:
            raise UnfitPath(f"{place.name} cannot go to where it is itself")
        return True

    def _copy(self, place: Place, goal: Place, fail_if_exists: bool) -> None:
        assert place.info is not None
        copying = TreeCopy(self._roots, self._limits.copy_entries, self._limits.copy_bytes)
        unfinished = unfinished_name(goal.name)
        try:
            if stat.S_ISLNK(place.info.st_mode):
                copying.copy(place.name, place.folder, unfinished, goal.folder)
            elif stat.S_ISDIR(place.info.st_mode):
                with _opened(place) as source:
                    copying.copy_folder(source, unfinished, goal.folder)
            else:
                _expect_file(place)
                with _opened(place) as source:
                    copying.copy_file(source, unfinished, goal.folder)
            put = rename_new if fail_if_exists else replace
            put(goal.folder, unfinished, goal.folder, goal.name)
        except BaseException:
            with contextlib.suppress(OSError, UnfitPath):
                remove_tree(unfinished, goal.folder, self._roots)
            raise

    def _rewritten(
        self, place: Place, data: bytes, mode: WriteMode, position: int, create_only: bool
    ) -> bool:
        """Put a new file in the place of the old one; False where that changed meanwhile."""
        size = place.info.st_size if place.info is not None else 0
        if position > size:
            raise UnfitPath(f"{place.name} has {size} bytes, so there is no position {position}")
        head = size - position if mode == "append" else position
        tail = 0 if mode == "truncate" else size - head
        if head + len(data) + tail > self._limits.written_bytes:
            raise UnfitPath(f"{place.name} would be larger than may be written")
        unfinished = unfinished_name(place.name)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        # What is new is as everybody's files are; what is old may be nobody else's.
        access = 0o666 if place.info is None else 0o600
        made = os.open(unfinished, flags, access, dir_fd=place.folder)
        try:
            try:
                whole = _compose(place, made, head, data, tail)
                os.fsync(made)
            finally:
                os.close(made)
            if whole and _is_unchanged(place):
                put = rename_new if create_only else _rename
                put(place.folder, unfinished, place.folder, place.name)
                return True
        except BaseException:
            _discard(unfinished, place.folder)
            raise
        _discard(unfinished, place.folder)
        return False


@contextlib.contextmanager
def _opened(place: Place) -> Iterator[int]:
    descriptor = place.open()
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _kind(info: os.stat_result) -> FileKind:
    if stat.S_ISLNK(info.st_mode):
        return "symlink"
    return "directory" if stat.S_ISDIR(info.st_mode) else "file"


def _expect_file(place: Place) -> None:
    assert place.info is not None
    if stat.S_ISDIR(place.info.st_mode):
        raise UnfitPath(f"{place.name} is a folder")
    if not stat.S_ISREG(place.info.st_mode):
        raise UnfitPath(f"{place.name} is no regular file")


def _expect_folder(place: Place) -> None:
    assert place.info is not None
    if not stat.S_ISDIR(place.info.st_mode):
        raise UnfitPath(f"{place.name} is no folder")


def _expect_writable(place: Place, create_only: bool, if_match: str | None) -> None:
    if place.info is None:
        if if_match is not None:
            raise ChangedMeanwhile(f"{place.name} is not there any more")
        return
    if create_only:
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), place.name)
    _expect_file(place)
    if if_match is not None and if_match != etag_of(place.info):
        raise ChangedMeanwhile(f"{place.name} has changed since it was read")
    # A rename would replace what is read-only, too: the kernel is to say what may be written.
    os.close(place.open(os.O_WRONLY))


def _read_at_most(descriptor: int, most: int) -> bytes:
    pieces: list[bytes] = []
    while most > 0 and (piece := os.read(descriptor, min(most, 1 << 20))):
        pieces.append(piece)
        most -= len(piece)
    return b"".join(pieces)


def _append(place: Place, data: bytes) -> str:
    """Append in one step; where that fails half-way, take back what was written."""
    descriptor = place.open(os.O_WRONLY | os.O_APPEND)
    try:
        before = os.fstat(descriptor).st_size
        written = 0
        try:
            while written < len(data):
                written += os.write(descriptor, memoryview(data)[written:])
        except OSError:
            # Unless somebody else has written behind us: their words are not ours to cut off.
            if written and os.fstat(descriptor).st_size == before + written:
                os.ftruncate(descriptor, before)
            raise
        os.fsync(descriptor)
        return etag_of(os.fstat(descriptor))
    finally:
        os.close(descriptor)


def _compose(place: Place, made: int, head: int, data: bytes, tail: int) -> bool:
    """Write what the new file contains; False where the old one is shorter than it was."""
    if place.info is None:
        write_all(made, data)
        return True
    if head == tail == 0:
        write_all(made, data)
    else:
        with _opened(place) as old:
            if copy_bytes(old, made, head) < head:
                return False
            write_all(made, data)
            if copy_bytes(old, made, tail) < tail:
                return False
    # Somebody else's file may not become ours; where it must, it is at least readable to them.
    with contextlib.suppress(PermissionError):
        os.fchown(made, place.info.st_uid, place.info.st_gid)
    os.fchmod(made, stat.S_IMODE(place.info.st_mode) & 0o777)
    return True


def _is_unchanged(place: Place) -> bool:
    try:
        now = os.stat(place.name, dir_fd=place.folder, follow_symlinks=False)
    except FileNotFoundError:
        return place.info is None
    return place.info is not None and etag_of(now) == etag_of(place.info)


def _rename(source_folder: int, source: str, target_folder: int, target: str) -> None:
    os.rename(source, target, src_dir_fd=source_folder, dst_dir_fd=target_folder)


def _discard(name: str, folder: int) -> None:
    with contextlib.suppress(OSError):
        os.unlink(name, dir_fd=folder)


def _measured(size: int) -> str:
    for unit, factor in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if size >= factor:
            return f"{size / factor:.1f} {unit}"
    return f"{size} bytes"
