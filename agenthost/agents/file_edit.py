"""An edit of a file in a tool call: shown before it is made, approved, and made as approved.

Keeps both sides for clients to fetch, asks people, makes sure that the file is still the one they
saw, and writes it. Also for new files and for deleting one. How a call is announced and approved is
in ``tool_call_steps``; which files there are, in ``folders``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from agenthost.agents import content as contents
from agenthost.agents.api import AgentError
from agenthost.agents.folders import FileRefused, Folders, NoSuchFile, OutsideFolders
from agenthost.agents.sanitize import valid_text
from agenthost.agents.tool_call_steps import ToolCallSteps
from agenthost.agents.turn_port import TurnPort

# A file that is edited is held in memory, and stored as it was and as it is.
MOST_EDITED = 2 * 1024 * 1024


class FileChanged(FileRefused):
    """A file is not as it was when people approved of the change."""


@dataclass(frozen=True, slots=True)
class Edited:
    """The file is as it should be, written as people approved it if need be; true."""

    path: Path
    # None where there was no file, or is none any more.
    before: str | None
    after: str | None
    # Lines that were added and removed.
    added: int
    removed: int

    def __bool__(self) -> Literal[True]:
        return True


@dataclass(frozen=True, slots=True)
class Denied:
    """People did not approve of the edit, so nothing is written; false."""

    # "denied" or "skipped", and their words, if they gave any.
    reason: str | None
    reason_message: str | None
    suggestion: str | None

    def __bool__(self) -> Literal[False]:
        return False


async def edit_file(
    call: ToolCallSteps,
    port: TurnPort,
    folders: Folders,
    name: str,
    new_text: str | None,
    *,
    title: str | None = None,
    options: Sequence[Mapping[str, Any]] | None = None,
) -> Edited | Denied:
    """Write a file, or with None delete it, after showing the change and asking; end the call.

    ``name`` is relative to the first of the session's folders, or absolute in one of them. Sessions
    that let edits pass do not ask, and nobody is asked for an edit that changes nothing.

    Raises:
        AgentError: the file is outside of the folders, cannot be used as text, is not there to be
            deleted, or has changed while people were asked.
    """
    after = None if new_text is None else valid_text(new_text)
    with _refusals():
        path = folders.resolve(name)
        before = await asyncio.to_thread(read_text, folders, name)
    _check(name, before, after)
    if before == after:
        await call.complete(f"{name} is like that already")
        return Edited(path, before, after, 0, 0)
    edit = await contents.kept_edit(port, path, before, after)
    what = _invocation(name, before, after)
    answer = await call.confirm(
        title or f"{what}?",
        invocation=what,
        options=options,
        edits=[edit],
        # What git runs by itself is more than an edit.
        mode="everything" if ".git" in path.parts else "edits",
    )
    if not answer:
        return Denied(answer.reason, answer.reason_message, answer.suggestion)
    with _refusals():
        await asyncio.to_thread(replace_text, folders, name, path, before, after)
    await call.complete(_done(name, before, after), [contents.file_edit(edit)])
    return Edited(path, before, after, edit["diff"]["added"], edit["diff"]["removed"])


def read_text(folders: Folders, name: str) -> str | None:
    """Return the text of a file as it is, line ends included; None when there is none."""
    try:
        return folders.read(name, MOST_EDITED).decode()
    except NoSuchFile:
        return None
    except UnicodeDecodeError as error:
        raise FileRefused(f"{name} cannot be read as text") from error


def replace_text(
    folders: Folders, name: str, path: Path, before: str | None, after: str | None
) -> None:
    """Write a text file, or with None delete it, if it still is as it was ``before``.

    People may take their time to approve, and what they approved must be what happens.

    Raises:
        FileChanged: it is another file, or contains something else.
        FileRefused: it cannot be written.
    """
    if folders.resolve(name) != path or read_text(folders, name) != before:
        raise FileChanged(f"{name} has changed in the meantime")
    if after is None:
        folders.delete(name)
    else:
        folders.write(name, after.encode(errors="replace"))


@contextmanager
def _refusals() -> Iterator[None]:
    """Translate refusals of files into AgentErrors."""
    try:
        yield
    except OutsideFolders as error:
        raise AgentError(str(error), "outside") from error
    except FileChanged as error:
        raise AgentError(str(error), "changed") from error
    except FileRefused as error:
        raise AgentError(str(error), "unusable") from error


def _check(name: str, before: str | None, after: str | None) -> None:
    if before is None and after is None:
        raise AgentError(f"there is no {name} to delete", "unusable")
    if after is not None and len(after.encode()) > MOST_EDITED:
        raise AgentError(f"that is too much for {name}", "unusable")


def _invocation(name: str, before: str | None, after: str | None) -> str:
    verb = "Delete" if after is None else "Create" if before is None else "Edit"
    return f"{verb} {name}"


def _done(name: str, before: str | None, after: str | None) -> str:
    verb = "Deleted" if after is None else "Created" if before is None else "Edited"
    return f"{verb} {name}"
