"""Text files that the host reads and writes for an agent, in the terms of ACP."""

from __future__ import annotations

import io
import itertools

from agenthost.agents.folders import FileRefused, Folders

# More than anybody edits as text.
MOST_BYTES = 16 * 1024 * 1024


def read_text(
    folders: Folders, path: str, line: int | None = None, limit: int | None = None
) -> str:
    """Return a file's text, or ``limit`` of its lines from ``line`` on, which counts from 1.

    Raises:
        NoSuchFile: there is none.
        FileRefused: it is outside, no text, or cannot be read.
    """
    data = folders.read(path, MOST_BYTES)
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise FileRefused(f"{path} is no text") from error
    if line is None and limit is None:
        return text
    start = max(line or 1, 1) - 1
    stop = None if limit is None else start + max(limit, 0)
    return "".join(itertools.islice(io.StringIO(text, newline="\n"), start, stop))


def write_text(folders: Folders, path: str, text: str) -> None:
    """Write a file, and make the folders it needs.

    Raises:
        FileRefused: it is outside, or cannot be written.
    """
    try:
        data = text.encode()
    except UnicodeEncodeError as error:
        raise FileRefused(f"{path} cannot be written: that is no text") from error
    folders.write(path, data)
