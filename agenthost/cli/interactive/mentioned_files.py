"""Files that a message mentions as ``@path``: found in the session's folders, and attached.

Only what lies in these folders is looked for, whatever the path says. The host is asked, because
the files are its; whether they may be read is for it to say.
"""

from __future__ import annotations

import asyncio
import contextlib
import posixpath
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, unquote, urlsplit

from agenthost.client import Session
from agenthost.errors import AgentHostError

Json = Mapping[str, Any]

MOST_MENTIONS = 20
"""Paths in one message that are looked for."""

LONGEST_PATH = 1024

LOOKING = 2.0
"""Seconds in which a host must have said what there is; the message goes without it then."""

_MENTION = re.compile(r"(?<!\S)@(\S+)")
# What ends a sentence and not a path.
_BEHIND = ".,;:!?)]}>'\""


@dataclass(frozen=True, slots=True)
class MentionedFiles:
    """What the paths in a message came to."""

    attachments: Sequence[Json] = ()
    # Those that are nothing in the session's folders.
    unknown: Sequence[str] = ()


def mentions(text: str, known: Sequence[str] = ()) -> list[str]:
    """Return the paths that a message mentions, but for the known words, such as ``@main.py``."""
    found = (word for word in _MENTION.findall(text) if f"@{word}" not in known)
    return list(dict.fromkeys(word for word in found if len(word) <= LONGEST_PATH))[:MOST_MENTIONS]


async def find_mentioned(
    session: Session, paths: Sequence[str], folders: Sequence[str]
) -> MentionedFiles:
    """Look for paths below some folders; what is not found in time stays what it is."""
    found: dict[str, Json | None] = dict.fromkeys(paths)

    async def find(path: str) -> None:
        found[path] = await _found(session, path, folders)

    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(LOOKING):
            await asyncio.gather(*map(find, paths))
    return MentionedFiles(
        [item for item in found.values() if item is not None],
        [path for path, item in found.items() if item is None],
    )


async def _found(session: Session, path: str, folders: Sequence[str]) -> Json | None:
    for spelled in dict.fromkeys((path, path.rstrip(_BEHIND))):
        for folder in folders:
            below = _below(spelled, folder)
            if below is None:
                continue
            uri = f"{folder.rstrip('/')}/{quote(below)}"
            with contextlib.suppress(AgentHostError, ValueError):
                kind = (await session.files.stat(uri)).get("type")
                if kind in ("file", "directory"):
                    return _attachment(uri, below, kind)
    return None


def _below(path: str, folder: str) -> str | None:
    """Return a path as seen from a folder; None if it leads out of it, or is the folder."""
    if path.startswith("/"):
        root = unquote(urlsplit(folder).path).rstrip("/") + "/"
        if not path.startswith(root):
            return None
        path = path[len(root) :]
    below = posixpath.normpath(path) if path else "."
    leaves = below in (".", "..") or below.startswith(("../", "/"))
    return None if leaves or not below.isprintable() else below


def _attachment(uri: str, path: str, kind: str) -> Json:
    return {
        "type": "resource",
        "uri": uri,
        "label": posixpath.basename(path),
        "displayKind": kind,
        "_meta": {"path": path},
    }
