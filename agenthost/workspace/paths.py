"""Resolves a file URI to the real path that the kernel would open.

The only place that says where a path leads. Whoever decides whether a file may be touched and
whoever touches it must come to the same answer, so both ask here. ``posixpath.normpath`` folds
``link/..`` before it looks at the link, ``os.path.realpath`` goes on where the kernel gives up
(loops, ``missing/..``, ``file/..``); either lets somebody approve one folder and work in another.
Knows files, and nothing of sessions, roots or roles.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from urllib.parse import unquote_to_bytes, urlsplit

# What Linux allows: links that one path may go through, and bytes in one path with its final zero.
MOST_LINKS = 40
LONGEST_PATH = 4096
# Names that one path may go through, those in links counted. The kernel would take 80,000 of them,
# which costs us a second; nobody's own path has a hundred.
MOST_NAMES = 1000


def file_path(uri: str) -> Path | None:
    """Return the path of a file on this machine that a URI names, or None.

    Percent-encoding is undone once, as bytes: ``%2f`` separates names then as any slash does, and
    a name that is no UTF-8 is still found.
    """
    try:
        parts = urlsplit(uri)
        if parts.scheme != "file" or parts.netloc not in ("", "localhost"):
            return None
        path = os.fsdecode(unquote_to_bytes(parts.path))
    except ValueError:
        # Brackets that do not fit, or text that has no bytes.
        return None
    return Path(path) if path.startswith("/") and "\0" not in path else None


def resolve(path: str | os.PathLike[str]) -> Path:
    """Return where an absolute path leads, links followed one name after the other.

    The last names may be missing, so that there is an answer for a file that is to be made; what
    is missing has no ``..``.

    Raises:
        OSError: the kernel would refuse it: too many links, names that are too long, something
            else than a folder on the way, or a folder that may not be entered.
    """
    text = os.fspath(path)
    if not text.startswith("/") or "\0" in text:
        raise _error(errno.EINVAL, text)
    # Names still to go, the next one last.
    names = _names(text)
    links = passed = 0
    # Where we are: never a link.
    reached = "/"
    while names:
        name = names.pop()
        passed += 1
        if passed > MOST_NAMES:
            raise _error(errno.ELOOP, text)
        if name == "..":
            reached = os.path.dirname(reached)
            continue
        below = os.path.join(reached, name)
        try:
            mode = os.lstat(below).st_mode
        except FileNotFoundError:
            return _missing(below, names)
        if stat.S_ISLNK(mode):
            links += 1
            if links > MOST_LINKS:
                raise _error(errno.ELOOP, text)
            target = os.readlink(below)
            if target.startswith("/"):
                reached = "/"
            names += _names(target)
            continue
        if names and not stat.S_ISDIR(mode):
            raise _error(errno.ENOTDIR, below)
        reached = below
    return Path(reached)


def _names(path: str) -> list[str]:
    try:
        length = len(os.fsencode(path))
    except UnicodeEncodeError:
        raise _error(errno.EILSEQ, path) from None
    if length >= LONGEST_PATH:
        raise _error(errno.ENAMETOOLONG, path)
    return [name for name in reversed(path.split("/")) if name not in ("", ".")]


def _missing(path: str, names: list[str]) -> Path:
    """Return what does not exist yet below what does; nobody can go up from there."""
    if ".." in names:
        raise _error(errno.ENOENT, path)
    return Path(path, *reversed(names))


def _error(number: int, path: str) -> OSError:
    # A longer one would only fill somebody's log.
    return OSError(number, os.strerror(number), path[:200])
