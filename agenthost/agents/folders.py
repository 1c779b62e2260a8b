"""The folders that a session may touch: reads and writes files inside of them only.

The one place where agents decide what is inside; where a name leads ``workspace`` says. Symbolic
links are followed before that is decided and never after it: files are opened step by step from the
folder down, so a link that somebody puts there in between leads nowhere. Knows no agents and no
protocols.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

from agenthost.errors import AgentHostError
from agenthost.workspace import file_path, resolve

# Enough to go through a folder without the right to list it, where the system knows that.
_FOLDER = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Opening a pipe must not wait for whoever is at its other end.
_FILE = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class FileRefused(AgentHostError):
    """A file cannot be used; the message names it and says why."""


class OutsideFolders(FileRefused):
    """A path lies outside of the session's working directories."""


class NoSuchFile(FileRefused):
    """There is no file of that name."""


class Folders:
    """The working directories of a session, the primary one first."""

    def __init__(self, uris: Sequence[str]) -> None:
        paths = [path for uri in uris if (path := file_path(uri)) is not None]
        folders = [_resolved(path) for path in paths]
        # Not the next one where the first leads nowhere: nobody chose to work there.
        self._primary = folders[0] if folders else None
        self.paths: Sequence[Path] = [path for path in folders if path is not None]

    @property
    def primary(self) -> Path:
        """The folder that relative names start from."""
        if self._primary is None or not self._primary.is_dir():
            raise OutsideFolders("this session has no folder to work in")
        return self._primary

    def resolve(self, name: str) -> Path:
        """Return the real path that a name, relative or absolute, stands for.

        Raises:
            OutsideFolders: it lies elsewhere, or leads elsewhere or nowhere by a link.
        """
        try:
            path = resolve(os.path.join(self.primary, name))
        except OSError as error:
            raise OutsideFolders(f"{name} leads nowhere: {error.strerror}") from error
        if self._root_of(path) is None:
            raise OutsideFolders(f"{name} lies outside of the working directories")
        return path

    def shown(self, path: Path) -> str:
        """Return how to call a path: relative to the primary folder where possible."""
        primary = self.primary
        return str(path.relative_to(primary)) if path.is_relative_to(primary) else str(path)

    @contextlib.contextmanager
    def open(self, name: str) -> Iterator[BinaryIO]:
        """Open a regular file to read it.

        Raises:
            NoSuchFile: there is none.
            FileRefused: it is outside, no regular file, or cannot be read.
        """
        with (
            refusing(name, "read"),
            self._opened(name, os.O_RDONLY) as number,
            open(number, "rb", closefd=False) as file,
        ):
            yield file

    def read(self, name: str, most: int) -> bytes:
        """Return what a regular file contains; one that is longer than ``most`` is refused.

        Raises as ``open`` does.
        """
        with self.open(name) as file:
            data = file.read(most + 1)
        if len(data) > most:
            raise FileRefused(f"{name} is too large")
        return data

    def write(self, name: str, data: bytes) -> None:
        """Write a file, and make the folders it needs.

        Raises:
            FileRefused: it is outside, something else than a regular file, or cannot be written.
        """
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
        with (
            refusing(name, "written"),
            self._opened(name, flags) as number,
            open(number, "wb", closefd=False) as file,
        ):
            file.write(data)

    def _root_of(self, path: Path) -> Path | None:
        return next((folder for folder in self.paths if path.is_relative_to(folder)), None)

    @contextlib.contextmanager
    def _opened(self, name: str, flags: int) -> Iterator[int]:
        path = self.resolve(name)
        root = self._root_of(path)
        if root is None or path == root:
            raise FileRefused(f"{name} is no file")
        with _folder(root, path.parent.relative_to(root), make=bool(flags & os.O_CREAT)) as folder:
            number = os.open(path.name, flags | _FILE, 0o666, dir_fd=folder)
        try:
            if not stat.S_ISREG(os.fstat(number).st_mode):
                raise FileRefused(f"{name} is no file")
            yield number
        finally:
            os.close(number)


@contextlib.contextmanager
def refusing(name: str, done: str) -> Iterator[None]:
    """Translate OSErrors into a FileRefused: the file cannot be ``done`` (read, written)."""
    try:
        yield
    except OSError as error:
        refusal = NoSuchFile if isinstance(error, FileNotFoundError) else FileRefused
        raise refusal(f"{name} cannot be {done}: {error.strerror}") from error


def _resolved(path: Path) -> Path | None:
    try:
        return resolve(path)
    except OSError:
        return None


@contextlib.contextmanager
def _folder(root: Path, inner: Path, *, make: bool) -> Iterator[int]:
    """Open a folder below another one, through no link; make those that are missing if told."""
    number = os.open(root, _FOLDER)
    try:
        for step in inner.parts:
            if make:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(step, dir_fd=number)
            below = os.open(step, _FOLDER, dir_fd=number)
            os.close(number)
            number = below
        yield number
    finally:
        os.close(number)
