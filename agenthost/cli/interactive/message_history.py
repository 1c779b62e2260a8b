"""The lines that were entered in chats before, kept in a file across sessions.

One JSON object a line, ``{"folder", "text"}``, the newest last. Several chats append to it at the
same time. What stands in it is taken for nothing but text, and whatever goes wrong with the file
costs the history alone: a chat goes on without.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import stat
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

from agenthost.local_host import default_data_dir

HISTORY_FILE = "history"
"""Where it is kept, in the data directory."""

NO_HISTORY_VARIABLE = "AGENTHOST_NO_HISTORY"
"""The environment variable that, set to anything, leaves the file alone."""

MOST_LINES = 2_000
"""Entries that are kept: more than anybody goes back."""

MOST_TEXT = 16 * 1024
"""Characters of an entry; what is longer was pasted and is not kept."""

MOST_BYTES = 4 * 1024 * 1024
"""Bytes of the file that are read, from its end."""

# How far the file may outgrow its bound before it is written anew.
_SLACK = 500
# How often, and how many seconds apart, others are waited for while they write.
_TRIES, _BETWEEN = 20, 0.005

_Entry: TypeAlias = tuple[str, str]


class MessageHistory:
    """The history file, as seen from one folder."""

    def __init__(self, path: Path, folder: str = "") -> None:
        self._path = path
        self._folder = folder

    def texts(self, said: Sequence[str] = ()) -> list[str]:
        """Return what can be called up, nearest last: other folders', this folder's, ``said``."""
        entries = self._read()
        near = [text for folder, text in entries if folder == self._folder]
        far = [text for folder, text in entries if folder != self._folder]
        return _newest_of_each([*far, *near, *said])

    def keep(self, text: str) -> None:
        """Add a line, unless it begins with a space or is too long to have been typed."""
        if not text.strip() or text[0] == " " or len(text) > MOST_TEXT:
            return
        row = json.dumps({"folder": self._folder, "text": text}) + "\n"
        with contextlib.suppress(OSError), self._locked() as (file, is_alone):
            # In one write, so that nobody else's comes between.
            os.write(file, row.encode())
            if is_alone:
                self._bound(file)

    def _read(self) -> list[_Entry]:
        with contextlib.suppress(OSError), _opened(self._path, os.O_RDONLY) as file:
            size = os.fstat(file).st_size
            os.lseek(file, max(size - MOST_BYTES, 0), os.SEEK_SET)
            return _entries(_all_of(file, MOST_BYTES))[-MOST_LINES:]
        return []

    @contextmanager
    def _locked(self) -> Iterator[tuple[int, bool]]:
        """Open the file to append to it, alone unless somebody else keeps it for too long."""
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        while True:
            with _opened(self._path, os.O_RDWR | os.O_APPEND | os.O_CREAT) as file:
                is_alone = _lock(file)
                if os.fstat(file).st_nlink:
                    yield file, is_alone
                    return
                # Replaced by a shorter one just now.

    def _bound(self, file: int) -> None:
        """Write the file anew with its newest entries if it has grown too long."""
        os.lseek(file, 0, os.SEEK_SET)
        start = _all_of(file, MOST_BYTES + 1)
        if len(start) > MOST_BYTES or start.count(b"\n") > MOST_LINES + _SLACK:
            self._replace(self._read())

    def _replace(self, entries: Sequence[_Entry]) -> None:
        made, name = tempfile.mkstemp(dir=self._path.parent, prefix=f".{self._path.name}-")
        try:
            with os.fdopen(made, "w", encoding="utf-8") as file:
                for folder, text in entries:
                    file.write(json.dumps({"folder": folder, "text": text}) + "\n")
            os.replace(name, self._path)
        except OSError:
            os.unlink(name)
            raise


def open_history(
    data_dir: Path | None, session: Mapping[str, Any], environ: Mapping[str, str] | None = None
) -> MessageHistory | None:
    """Return the history for a session; None where it is turned off.

    It is the user's own and stays on this machine, wherever the host is.
    """
    environ = os.environ if environ is None else environ
    if environ.get(NO_HISTORY_VARIABLE):
        return None
    folders = session.get("workingDirectories") or ("",)
    return MessageHistory((data_dir or default_data_dir()) / HISTORY_FILE, str(folders[0]))


@contextmanager
def _opened(path: Path, flags: int) -> Iterator[int]:
    """Open a plain file for its owner alone; whatever else has the name is an OSError."""
    # A pipe would keep us waiting for its other end.
    file = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o600)
    try:
        if not stat.S_ISREG(os.fstat(file).st_mode):
            raise OSError(f"{path} is no file")
        yield file
    finally:
        os.close(file)


def _lock(file: int) -> bool:
    """Lock a file, which takes others no time; False if it is kept from us nevertheless."""
    for _ in range(_TRIES):
        with contextlib.suppress(OSError):
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        time.sleep(_BETWEEN)
    return False


def _all_of(file: int, most: int) -> bytes:
    pieces = []
    while most > 0 and (piece := os.read(file, most)):
        pieces.append(piece)
        most -= len(piece)
    return b"".join(pieces)


def _entries(content: bytes) -> list[_Entry]:
    found = (_entry(row) for row in content.split(b"\n") if row)
    return [entry for entry in found if entry is not None]


def _entry(row: bytes) -> _Entry | None:
    try:
        entry = json.loads(row)
    except (ValueError, RecursionError):
        return None
    if not isinstance(entry, dict):
        return None
    folder, text = entry.get("folder"), entry.get("text")
    if not isinstance(folder, str) or not isinstance(text, str) or len(text) > MOST_TEXT:
        return None
    text = "".join(sign for sign in text if sign.isprintable() or sign in "\n\t")
    return (folder, text) if text.strip() else None


def _newest_of_each(texts: Sequence[str]) -> list[str]:
    return list(reversed(list(dict.fromkeys(reversed(texts)))))
