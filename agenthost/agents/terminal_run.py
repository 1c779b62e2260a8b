"""A command that ran in a terminal: what of it is shown in its tool call, and told to its agent."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agenthost.agents.processes import UNKNOWN, CommandResult
from agenthost.agents.sanitize import valid_text

if TYPE_CHECKING:
    from agenthost.agents.background_work import BackgroundWork
    from agenthost.agents.turn_port import TerminalEnd

# Bytes of output that a result shows to whoever never opened the terminal.
MOST_PREVIEW = 16 * 1024
# Characters of a command that are a terminal's title.
LONGEST_TITLE = 80
# What terminals obey: CSI and OSC sequences and other strings, then the other escapes.
_ESCAPES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b[\]PX^_][^\x07\x1b\n]*(?:\x07|\x1b\\)?|\x1b[ -/]*[0-~]?"
)
_CONTROLS = re.compile("[\x00-\x07\x0b-\x0c\x0e-\x1f\x7f]")


@dataclass(frozen=True, slots=True)
class TerminalRun:
    """How a command in a terminal ended, or that it runs on in the background."""

    # The URI of the terminal; None where this host has none and the command ran without.
    terminal: str | None
    # 128 plus a signal's number for a signalled one; None while it runs, or where nobody knows.
    exit_code: int | None
    # What it printed as plain text, or the end of that, and whether the beginning is missing.
    output: str
    truncated: bool
    # Set where the command runs on beside the chat's turns: its agent left it, or somebody did.
    background: BackgroundWork[CommandResult] | None = None


def command_line(command: str | Sequence[str]) -> str:
    """Return a command as people would type it."""
    return valid_text(command if isinstance(command, str) else shlex.join(command))


def title_of(command: str) -> str:
    """Return what a command's terminal is called: its first line, not too long."""
    first, _, more = command.strip().partition("\n")
    line = _CONTROLS.sub("", first).strip() or "command"
    if len(line) > LONGEST_TITLE:
        return f"{line[: LONGEST_TITLE - 1]}…"
    return f"{line} …" if more.strip() else line


def work_id_of(terminal: str) -> str:
    """Return how the chat's background work calls what runs in a terminal."""
    return terminal.rpartition("/")[2]


def shown_result(end: TerminalEnd) -> dict[str, Any]:
    """Return the result of a command for its terminal's block: exit code, and a preview."""
    data = end.output.encode(errors="replace")
    preview = end.output
    if is_cut := len(data) > MOST_PREVIEW:
        preview = data[-MOST_PREVIEW:].decode(errors="ignore")
        # A line that lost its beginning might begin inside of a sequence.
        preview = preview.partition("\n")[2] or preview
    result: dict[str, Any] = {"preview": preview, "truncated": end.truncated or is_cut}
    return result if end.exit_code is None else {"exitCode": end.exit_code, **result}


def as_command_result(end: TerminalEnd) -> CommandResult:
    """Return the end of a command as that of any other, with its output as plain text."""
    code = UNKNOWN if end.exit_code is None else end.exit_code
    return CommandResult(code, plain_text(end.output), end.truncated)


def plain_text(output: str) -> str:
    """Return a terminal's output as text: without sequences, and without what was overwritten."""
    text = _without_erased(_ESCAPES.sub("", output).replace("\r\n", "\n"))
    if "\r" in text:
        rows = (row.rstrip("\r").rpartition("\r")[2] for row in text.split("\n"))
        text = "\n".join(rows)
    return valid_text(_CONTROLS.sub("", text))


def _without_erased(text: str) -> str:
    """Return text without its backspaces, and what they stand behind."""
    first, *others = text.split("\x08")
    kept = list(first)
    for piece in others:
        if kept and kept[-1] != "\n":
            kept.pop()
        kept += piece
    return "".join(kept)
