"""The folders that a session may touch: reads and writes files inside of them only.

Says what agents are told of names; where one leads, and whether that is inside, ``workspace.roots``
decides. Files are opened by the descriptors that its walk ends with, so a link that somebody puts
there in between leads nowhere. Knows no agents and no protocols.
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
from agenthost.workspace.roots import OutsideRoots, Place, Roots

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


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
        self._roots = Roots(self.paths)

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
        with _outside_refused(name):
            try:
                return self._roots.real(self._path(name))
            except OSError as error:
                raise OutsideFolders(f"{name} leads nowhere: {error.strerror}") from error

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
        with refusing(name, "read"):
            with _outside_refused(name), self._roots.walk(self._path(name)) as place:
                number = _open_file(name, place, os.O_RDONLY)
            with open(number, "rb") as file:
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
        with refusing(name, "written"):
            with _outside_refused(name), self._place_to_write(name) as place:
                number = _open_to_write(name, place)
            with open(number, "wb") as file:
                file.write(data)

    def delete(self, name: str) -> None:
        """Delete a regular file; of one behind a link, the file and not the link.

        Raises:
            NoSuchFile: there is none.
            FileRefused: it is outside, something else than a regular file, or cannot be deleted.
        """
        with (
            refusing(name, "deleted"),
            _outside_refused(name),
            self._roots.walk(self._path(name)) as place,
        ):
            if place.info is not None and not stat.S_ISREG(place.info.st_mode):
                raise FileRefused(f"{name} is no file")
            os.unlink(place.name, dir_fd=place.folder)

    def _path(self, name: str) -> str:
        return os.path.join(self.primary, name)

    def _place_to_write(self, name: str) -> Place:
        try:
            return self._roots.walk(self._path(name))
        except FileNotFoundError:
            path = self._roots.real(self._path(name))
            self._roots.walk(path.parent, make_folders=True).close()
            return self._roots.walk(path)


@contextlib.contextmanager
def refusing(name: str, done: str) -> Iterator[None]:
    """Translate OSErrors into a FileRefused: the file cannot be ``done`` (read, written)."""
    try:
        yield
    except OSError as error:
        refusal = NoSuchFile if isinstance(error, FileNotFoundError) else FileRefused
        raise refusal(f"{name} cannot be {done}: {error.strerror}") from error


@contextlib.contextmanager
def _outside_refused(name: str) -> Iterator[None]:
    try:
        yield
    except OutsideRoots as error:
        raise OutsideFolders(f"{name} lies outside of the working directories") from error


def _open_file(name: str, place: Place, flags: int) -> int:
    if place.info is not None and not stat.S_ISREG(place.info.st_mode):
        raise FileRefused(f"{name} is no file")
    return place.open(flags)


def _open_to_write(name: str, place: Place) -> int:
    if place.leaf is None:
        return os.open(place.name, _NEW, 0o666, dir_fd=place.folder)
    return _open_file(name, place, os.O_WRONLY | os.O_TRUNC)


def _resolved(path: Path) -> Path | None:
    try:
        return resolve(path)
    except OSError:
        return None
