"""The user's own text editor for what is typed: ``$VISUAL``, ``$EDITOR``, or one that is there."""

from __future__ import annotations

import asyncio
import os
import shlex
import shutil
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from agenthost.errors import AgentHostError

if TYPE_CHECKING:
    from agenthost.cli.pager import Suspends

VARIABLES = ("VISUAL", "EDITOR")
"""The environment variables that name an editor, the first that is set counts."""

OTHERS = ("editor", "nano", "vi")
"""Editors that are there on most machines."""

# Seconds that an editor has to end when it is told to.
_GRACE = 2.0

# What shells say of a program that cannot be run.
_NOT_RUN = 127

MOST_BYTES = 1024 * 1024
"""Bytes of a message, far more than an agent reads."""


class NotEdited(AgentHostError):
    """The text could not be edited; the message says why."""


def editor_command(environ: Mapping[str, str]) -> list[str]:
    """Return the command of the user's editor.

    Raises:
        NotEdited: there is none.
    """
    for name in VARIABLES:
        if named := environ.get(name, "").strip():
            try:
                words = shlex.split(named)
            except ValueError:
                words = []
            if not words or shutil.which(words[0]) is None:
                raise NotEdited(f"${name} names no program that is here")
            return words
    for program in OTHERS:
        if found := shutil.which(program):
            return [found]
    raise NotEdited("set $VISUAL or $EDITOR to the editor that you like")


async def edit_text(text: str, *, screen: Suspends) -> str:
    """Let the user edit a text in the editor; return what it became.

    Raises:
        NotEdited: there is no editor, it failed, or it left something that is no message.
    """
    command = editor_command(os.environ)
    # The folder is its owner's alone, and so is whatever the editor puts beside the file.
    with tempfile.TemporaryDirectory(prefix="agenthost-", ignore_cleanup_errors=True) as folder:
        path = Path(folder) / "message.md"
        _write(path, text)
        async with screen.suspended():
            code = await _run(*command, str(path))
        if code:
            raise NotEdited(f"{Path(command[0]).name} ended with exit code {code}")
        return _read(path)


async def _run(*command: str) -> int:
    """Run the editor and return its exit code; it ends with whoever started it."""
    try:
        process = await asyncio.create_subprocess_exec(*command)
    except OSError:
        return _NOT_RUN
    try:
        return await process.wait()
    except asyncio.CancelledError:
        with suppress(ProcessLookupError):
            process.terminate()
        try:
            async with asyncio.timeout(_GRACE):
                await process.wait()
        except TimeoutError:
            # Not every program lets itself be told.
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()
        raise


def _write(path: Path, text: str) -> None:
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(file, "w", encoding="utf-8", errors="replace") as opened:
        opened.write(f"{text}\n" if text else "")


def _read(path: Path) -> str:
    try:
        with path.open("rb") as file:
            content = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise NotEdited(f"what was edited cannot be read: {error.strerror}") from None
    if len(content) > MOST_BYTES:
        raise NotEdited("that is too long for a message")
    text = content.decode("utf-8", "replace").replace("\r\n", "\n")
    return text[:-1] if text.endswith("\n") else text
