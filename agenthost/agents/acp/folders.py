"""Text files inside the folders of a session, and nowhere else.

Symbolic links are followed before the check, and not after it.
"""

from __future__ import annotations

import contextlib
import io
import itertools
import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

from agenthost.errors import AgentHostError

__all__ = ["FileRefused", "Folders"]

# More than anybody edits as text.
MOST_BYTES = 16 * 1024 * 1024
_FLAGS = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class FileRefused(AgentHostError):
    """A file is not served; the message says why."""


class Folders:
    """The folders that an agent may ask the host to reach into; the first is where it works."""

    def __init__(self, folders: Sequence[str]) -> None:
        self.roots = tuple(Path(folder).resolve() for folder in folders)

    @property
    def first(self) -> str:
        """The folder in which the agent works."""
        return str(self.roots[0])

    def resolve(self, path: str) -> Path:
        """Return where a path leads, if that is inside."""
        try:
            found = (self.roots[0] / path).resolve()
        except (OSError, ValueError, RuntimeError) as error:
            raise FileRefused(f"{path} leads nowhere") from error
        if not any(found.is_relative_to(root) for root in self.roots):
            raise FileRefused(f"{path} lies outside of the working directories")
        return found

    def read_text(self, path: str, line: int | None = None, limit: int | None = None) -> str:
        """Return a file's text, or ``limit`` of its lines from ``line`` on, which counts from 1.

        Raises:
            FileNotFoundError: there is no such file.
            FileRefused: it is outside, no text, or cannot be read.
        """
        with self._opened(path, os.O_RDONLY) as number, open(number, "rb", closefd=False) as file:
            data = file.read(MOST_BYTES + 1)
        if len(data) > MOST_BYTES:
            raise FileRefused(f"{path} is too large")
        try:
            text = data.decode()
        except UnicodeDecodeError as error:
            raise FileRefused(f"{path} is no text") from error
        if line is None and limit is None:
            return text
        start = max(line or 1, 1) - 1
        stop = None if limit is None else start + limit
        return "".join(itertools.islice(io.StringIO(text, newline="\n"), start, stop))

    def write_text(self, path: str, text: str) -> None:
        """Write a file, and make the folders it needs.

        Raises:
            FileRefused: it is outside, or cannot be written.
        """
        try:
            data = text.encode()
            self.resolve(path).parent.mkdir(parents=True, exist_ok=True)
        except (OSError, UnicodeEncodeError) as error:
            raise FileRefused(f"{path} cannot be written") from error
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
        with self._opened(path, flags) as number, open(number, "wb", closefd=False) as file:
            file.write(data)

    @contextlib.contextmanager
    def _opened(self, path: str, flags: int) -> Iterator[int]:
        try:
            number = os.open(self.resolve(path), flags | _FLAGS, 0o666)
        except FileNotFoundError:
            raise
        except OSError as error:
            raise FileRefused(f"{path} cannot be opened: {error.strerror}") from error
        try:
            if not stat.S_ISREG(os.fstat(number).st_mode):
                raise FileRefused(f"{path} is no file")
            yield number
        except OSError as error:
            raise FileRefused(f"{path} cannot be used: {error.strerror}") from error
        finally:
            os.close(number)
