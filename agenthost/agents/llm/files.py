"""Files for the coding tools: listing, reading, editing; each bounded.

Takes names, which the session's folders make paths of. Blocks, so tools call it in a thread.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from agenthost.agents.file_edit import MOST_EDITED
from agenthost.agents.folders import FileRefused, Folders, NoSuchFile, refusing
from agenthost.agents.llm.history import MOST_RESULT

# Folders full of what others made; their names are listed, their insides are not.
IGNORED: Final = frozenset(
    {".git", ".hg", ".mypy_cache", ".ruff_cache", ".tox", ".venv", "__pycache__", "node_modules"}
)
MOST_ENTRIES: Final = 500
DEEPEST: Final = 8
MOST_LINES: Final = 2000
# A longer file is for searching, not for reading.
MOST_READ: Final = 20 * 1024 * 1024


def list_folder(folders: Folders, name: str, depth: int) -> str:
    """List a folder and, up to a depth, those inside; links are not followed."""
    folder = folders.resolve(name)
    names: list[str] = []
    with refusing(name, "listed"):
        if not folder.is_dir():
            raise FileRefused(f"{name}: that is not a folder")
        for entry in _walk(folder, "", max(1, min(depth, DEEPEST))):
            if len(names) == MOST_ENTRIES:
                names.append(f"… (more than {MOST_ENTRIES} entries; list a folder inside)")
                break
            names.append(entry)
    return "\n".join(names) or "(empty)"


def _walk(folder: Path, prefix: str, depth: int) -> Iterator[str]:
    for entry in _entries(folder):
        if not entry.is_dir(follow_symlinks=False):
            yield prefix + entry.name
            continue
        yield f"{prefix}{entry.name}/"
        if depth > 1 and entry.name not in IGNORED:
            yield from _walk(Path(entry.path), f"{prefix}{entry.name}/", depth - 1)


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as found:
            return sorted(found, key=lambda entry: entry.name)
    except PermissionError:
        # One closed folder must not hide the others.
        return []


def read_lines(folders: Folders, name: str, start: int, count: int) -> str:
    """Return some lines of a text file, under a line that says which they are."""
    _check(folders, name)
    start, count = max(1, start), max(1, min(count, MOST_LINES))
    kept: list[str] = []
    size, number = 0, 0
    with folders.open(name) as file:
        for number, line in enumerate(file, 1):
            if b"\0" in line:
                raise FileRefused(f"{name}: that is not a text file")
            if start <= number < start + count and size < MOST_RESULT:
                kept.append(line.decode(errors="replace").rstrip("\r\n")[: MOST_RESULT - size])
                size += len(kept[-1]) + 1
    if not kept:
        return f"(the file has {number} lines)"
    last = start + len(kept) - 1
    return f"(lines {start} to {last} of {number})\n" + "\n".join(kept)


def _check(folders: Folders, name: str) -> None:
    path = folders.resolve(name)
    with refusing(name, "read"):
        if path.is_dir():
            raise FileRefused(f"{name}: that is a folder")
        if not path.exists():
            raise NoSuchFile(f"{name}: there is no such file")
        if not path.is_file():
            # Reading a pipe would wait for ever.
            raise FileRefused(f"{name}: that is not a regular file")
        if path.stat().st_size > MOST_READ:
            raise FileRefused(f"{name}: the file is too large")


def edited_text(name: str, before: str | None, old_text: str | None, new_text: str) -> str:
    """Return what a file will contain once the one occurrence of ``old_text`` is replaced.

    Without ``old_text`` the whole file is written anew.
    """
    if not old_text:
        after = new_text
    elif before is None:
        raise FileRefused(f"{name}: the file does not exist; leave out old_text to create it")
    else:
        found = before.count(old_text)
        if found == 0:
            raise FileRefused(f"{name}: old_text does not occur in the file; read it again")
        if found > 1:
            raise FileRefused(
                f"{name}: old_text occurs {found} times; include more lines around it"
            )
        after = before.replace(old_text, new_text)
    if after == before:
        raise FileRefused(f"{name}: that changes nothing")
    if len(after) > MOST_EDITED:
        raise FileRefused(f"{name}: that is too large for one file")
    return after
