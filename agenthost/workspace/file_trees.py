"""Copies, removes and renames whole trees by descriptors, through no link and within limits."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
from collections.abc import Iterator

from msgspec import Struct

from agenthost.errors import AgentHostError
from agenthost.workspace.roots import OutsideRoots, Roots, identity

# How files are called while they are written; nobody is told of them.
UNFINISHED = ".agenthost~"
# Each level holds descriptors open.
DEEPEST = 100
_PIECE = 1 << 20
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NO_REPLACE = 1


class UnfitPath(AgentHostError):
    """What is asked for does not fit what is there: a folder that is read, too much, and so on."""


def unfinished_name(name: str) -> str:
    """Return a new name for what will be called ``name`` when it is whole."""
    # A name has at most 255 bytes.
    start = os.fsdecode(os.fsencode(name)[:200])
    return f".{start}.{secrets.token_hex(4)}{UNFINISHED}"


def is_unfinished(name: str) -> bool:
    """Say whether a name is that of something that is still being written."""
    return name.startswith(".") and name.endswith(UNFINISHED)


@contextlib.contextmanager
def folder_opened(name: str, folder: int) -> Iterator[int]:
    """Open a folder inside of another one to list it."""
    descriptor = os.open(name, _FOLDER, dir_fd=folder)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def copy_bytes(source: int, target: int, count: int | None = None) -> int:
    """Copy from where one descriptor stands to where another does; return how much that was."""
    copied = 0
    while count is None or copied < count:
        piece = _PIECE if count is None else min(_PIECE, count - copied)
        data = os.read(source, piece)
        if not data:
            break
        write_all(target, data)
        copied += len(data)
    return copied


def write_all(target: int, data: bytes) -> None:
    """Write all of it, however little the kernel takes at a time."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(target, rest) :]


def rename_new(source_folder: int, source: str, target_folder: int, target: str) -> None:
    """Rename without ever replacing something.

    Raises:
        FileExistsError: the new name is taken.
    """
    try:
        result, number = _renameat2(
            source_folder, os.fsencode(source), target_folder, os.fsencode(target), _NO_REPLACE
        )
    except AttributeError:
        # An old C library.
        result, number = -1, errno.ENOSYS
    if result == 0:
        return
    if number not in (errno.ENOSYS, errno.EINVAL):
        raise OSError(number, os.strerror(number), target)
    # A filesystem that cannot: a second name does the same for files.
    if stat.S_ISDIR(os.stat(source, dir_fd=source_folder, follow_symlinks=False).st_mode):
        os.mkdir(target, dir_fd=target_folder)
        os.rename(source, target, src_dir_fd=source_folder, dst_dir_fd=target_folder)
    else:
        os.link(
            source,
            target,
            src_dir_fd=source_folder,
            dst_dir_fd=target_folder,
            follow_symlinks=False,
        )
        os.unlink(source, dir_fd=source_folder)


def replace(source_folder: int, source: str, target_folder: int, target: str) -> None:
    """Rename over whatever has the new name; either all of it happens or nothing.

    The kernel replaces files by files only, so everything else is put aside first.
    """
    with contextlib.suppress(FileNotFoundError):
        below = os.stat(target, dir_fd=target_folder, follow_symlinks=False)
        ours = os.stat(source, dir_fd=source_folder, follow_symlinks=False)
        if stat.S_ISDIR(below.st_mode) or stat.S_ISDIR(ours.st_mode):
            _replace_aside(source_folder, source, target_folder, target)
            return
    os.rename(source, target, src_dir_fd=source_folder, dst_dir_fd=target_folder)


def remove_tree(name: str, folder: int, roots: Roots | None = None, depth: int = 0) -> None:
    """Remove a file, a link or a folder with all that is in it, unless roots deny some of it."""
    try:
        os.unlink(name, dir_fd=folder)
        return
    except (IsADirectoryError, PermissionError):
        # The second is what POSIX says for folders.
        if not _is_folder(name, folder):
            raise
    if depth > DEEPEST:
        raise UnfitPath(f"{name} lies too deep to be removed")
    with folder_opened(name, folder) as below:
        if roots is not None and roots.holds_denied(identity(os.fstat(below))):
            raise OutsideRoots(f"{name} holds what may not be reached")
        for entry in os.listdir(below):
            remove_tree(entry, below, roots, depth + 1)
    os.rmdir(name, dir_fd=folder)


class TreeCopy(Struct):
    """A copy under way, and how much it may still take."""

    roots: Roots
    entries: int
    size: int

    def copy(self, source: str, folder: int, target: str, target_folder: int) -> None:
        """Copy a file, a link or a folder to a name that is free."""
        self._copy(source, folder, target, target_folder, 0)

    def copy_file(self, source: int, target: str, target_folder: int) -> None:
        """Copy an open file to a name that is free."""
        info = os.fstat(source)
        self.size -= info.st_size
        if self.size < 0:
            raise UnfitPath("that is more than may be copied at once")
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        made = os.open(target, flags, 0o600, dir_fd=target_folder)
        try:
            # No more than was asked for above, though it grows meanwhile.
            copy_bytes(source, made, info.st_size)
            os.fchmod(made, info.st_mode & 0o777)
        finally:
            os.close(made)

    def copy_folder(self, source: int, target: str, target_folder: int, depth: int = 0) -> None:
        """Copy an open folder to a name that is free."""
        if depth > DEEPEST:
            raise UnfitPath(f"{target} lies too deep to be copied")
        here = identity(os.fstat(source))
        os.mkdir(target, 0o700, dir_fd=target_folder)
        with folder_opened(target, target_folder) as made:
            for name in os.listdir(source):
                if not is_unfinished(name) and not self.roots.is_denied(here, name):
                    self._copy(name, source, name, made, depth + 1)
            os.fchmod(made, os.fstat(source).st_mode & 0o777)

    def _copy(self, source: str, folder: int, target: str, target_folder: int, depth: int) -> None:
        self.entries -= 1
        if self.entries < 0:
            raise UnfitPath("these are more files than may be copied at once")
        info = os.stat(source, dir_fd=folder, follow_symlinks=False)
        if self.roots.is_denied((0, 0), "", identity(info)):
            raise OutsideRoots(f"{source} may not be reached")
        if stat.S_ISLNK(info.st_mode):
            os.symlink(os.readlink(source, dir_fd=folder), target, dir_fd=target_folder)
        elif stat.S_ISDIR(info.st_mode):
            with folder_opened(source, folder) as opened:
                self.copy_folder(opened, target, target_folder, depth)
        else:
            with _regular(source, folder) as opened:
                self.copy_file(opened, target, target_folder)


@contextlib.contextmanager
def _regular(name: str, folder: int) -> Iterator[int]:
    # Waits for nobody at the other end of a pipe, should one have been put there meanwhile.
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    if not stat.S_ISREG(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
        raise UnfitPath(f"{name} is neither a file nor a folder")
    descriptor = os.open(name, flags, dir_fd=folder)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise UnfitPath(f"{name} is neither a file nor a folder")
        yield descriptor
    finally:
        os.close(descriptor)


def _replace_aside(source_folder: int, source: str, target_folder: int, target: str) -> None:
    aside = unfinished_name(target)
    os.rename(target, aside, src_dir_fd=target_folder, dst_dir_fd=target_folder)
    try:
        os.rename(source, target, src_dir_fd=source_folder, dst_dir_fd=target_folder)
    except OSError:
        rename_new(target_folder, aside, target_folder, target)
        raise
    # The new one is in its place: what is left of the old one is no reason to say otherwise.
    with contextlib.suppress(OSError, UnfitPath):
        remove_tree(aside, target_folder)


def _is_folder(name: str, folder: int) -> bool:
    return stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)


def _renameat2(
    source_folder: int, source: bytes, target_folder: int, target: bytes, flags: int
) -> tuple[int, int]:
    """Return what the system call returned, and its error number."""
    # Late: few hosts ever rename a file.
    import ctypes

    library = ctypes.CDLL(None, use_errno=True)
    result = library.renameat2(source_folder, source, target_folder, target, flags)
    return result, ctypes.get_errno()
