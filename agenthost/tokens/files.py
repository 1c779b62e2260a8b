"""Files that only their owner may read: safe reading, exclusive creation, atomic replacement.

Knows nothing of what the files mean; ``owner`` and ``book`` do. No message here quotes a file's
content. POSIX only, as permission bits and ``flock`` are.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
import stat
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from agenthost.errors import AgentHostError

MAX_FILE_BYTES = 4 * 1024 * 1024
"""Far above any real book of tokens; a larger file is a mistake, not worth reading into memory."""

LOCK_WAIT_SECONDS = 5.0
"""An edit takes milliseconds, so whoever holds the lock longer is stuck and a person must look."""

LOCK_POLL_SECONDS = 0.02
"""``flock`` has no timeout of its own; polling gives it one."""


class TokenError(AgentHostError):
    """Something about a token is not acceptable; the message is one line for a person."""


class TokenFileError(TokenError):
    """A file that holds tokens is unsafe, unreadable or damaged."""


class Signature(NamedTuple):
    """What tells one version of a file from the next without reading it."""

    mtime_ns: int
    ctime_ns: int
    size: int
    inode: int


def make_private_dir(path: Path) -> None:
    """Create a directory that only its owner may enter; one that exists is left as it is."""
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise TokenFileError(f"cannot create {path}: {_reason(error)}") from error


def signature_of(path: Path) -> Signature | None:
    """Return the file's signature, or None when there is no file."""
    try:
        return _signature(os.stat(path))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise TokenFileError(f"cannot look at {path}: {_reason(error)}") from error


def read_private(path: Path, owner: int | None = None) -> tuple[bytes, Signature]:
    """Read a file that nobody else may read, with the signature of exactly what was read.

    If ``owner`` is given, it must be that user's.

    Raises FileNotFoundError when there is none, and TokenFileError when it is not safe to use.
    """
    try:
        # O_NONBLOCK: opening a FIFO that someone put there must not hang the start.
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise TokenFileError(f"cannot read {path}: {_reason(error)}") from error
    try:
        info = os.fstat(descriptor)
        # Before anything is made of it: what is no file, such as a directory, cannot be read.
        _check_private(path, info, owner)
        with open(descriptor, "rb", closefd=False) as file:
            return file.read(MAX_FILE_BYTES), _signature(info)
    except OSError as error:
        raise TokenFileError(f"cannot read {path}: {_reason(error)}") from error
    finally:
        os.close(descriptor)


def create_private(path: Path, data: bytes) -> None:
    """Create the file with its whole content in one step, or raise FileExistsError.

    A hard link either appears complete or not at all, so no second process can see half a file.
    """
    scratch = _write_scratch(path, data)
    try:
        os.link(scratch, path)
    except FileExistsError:
        raise
    except OSError:
        # Some file systems have no hard links. O_EXCL still lets one process alone win.
        _write_new(path, data)
    finally:
        scratch.unlink(missing_ok=True)
    _sync_directory(path.parent)


def replace_private(path: Path, data: bytes) -> None:
    """Replace the file's content; a reader sees the old or the new one, never a mixture."""
    if len(data) >= MAX_FILE_BYTES:
        # It would be refused when it is read, and with it all that it held before.
        raise TokenFileError(f"{path} would be too large")
    try:
        scratch = _write_scratch(path, data)
        try:
            os.replace(scratch, path)
        finally:
            scratch.unlink(missing_ok=True)
        _sync_directory(path.parent)
    except OSError as error:
        raise TokenFileError(f"cannot write {path}: {_reason(error)}") from error


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock that belongs to ``path``; the kernel frees it when its holder dies.

    Its file is there while somebody holds it or waits for it.
    """
    lock = path.with_name(path.name + ".lock")
    descriptor = _locked_file(lock, path)
    try:
        yield
    finally:
        # Before it is freed: whoever waits for it sees then that it is gone, and makes another.
        with contextlib.suppress(OSError):
            lock.unlink()
        os.close(descriptor)


def _locked_file(lock: Path, path: Path) -> int:
    """Open and lock the file that has the name of the lock when it is locked."""
    while True:
        try:
            descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise TokenFileError(f"cannot lock {path}: {_reason(error)}") from error
        try:
            _await_lock(descriptor, path)
            with contextlib.suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(descriptor), os.stat(lock)):
                    return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        # Its holder took it away while this one waited.
        os.close(descriptor)


def _await_lock(descriptor: int, path: Path) -> None:
    deadline = time.monotonic() + LOCK_WAIT_SECONDS
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() >= deadline:
                raise TokenFileError(f"another process keeps {path} locked") from None
            time.sleep(LOCK_POLL_SECONDS)
        except OSError as error:
            raise TokenFileError(f"cannot lock {path}: {_reason(error)}") from error


def _check_private(path: Path, info: os.stat_result, owner: int | None) -> None:
    if not stat.S_ISREG(info.st_mode):
        raise TokenFileError(f"{path} is not a regular file")
    if stat.S_IMODE(info.st_mode) & 0o077:
        raise TokenFileError(f"{path} can be reached by other users; run: chmod 600 {path}")
    # Who owns the file chose its content. Root may use anyone's: containers mount such files.
    user = os.geteuid()
    is_another_s = user != 0 and info.st_uid not in (user, 0)
    if is_another_s or (owner is not None and info.st_uid != owner):
        raise TokenFileError(f"{path} belongs to another user")
    if info.st_size >= MAX_FILE_BYTES:
        raise TokenFileError(f"{path} is too large to hold tokens")


def _write_scratch(path: Path, data: bytes) -> Path:
    scratch = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    _write_new(scratch, data)
    return scratch


def _write_new(path: Path, data: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with open(descriptor, "wb") as file:
            # An unusual umask could take away the owner's own bits.
            os.fchmod(file.fileno(), 0o600)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
    except OSError:
        path.unlink(missing_ok=True)
        raise


def _sync_directory(path: Path) -> None:
    # Not every file system can; the file itself is safe by then, only its name might be lost.
    with contextlib.suppress(OSError):
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _signature(info: os.stat_result) -> Signature:
    return Signature(info.st_mtime_ns, info.st_ctime_ns, info.st_size, info.st_ino)


def _reason(error: OSError) -> str:
    return error.strerror or type(error).__name__
