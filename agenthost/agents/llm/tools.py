"""The tools of the coding agent. Their docstrings are what the model reads about them.

Each tool drives its own call: it shows what it is about to do, asks where people must agree, and
shows the result. What it cannot do it says to the model, which may try something else.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from pydantic_ai import RunContext, Tool
from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.tools import ToolDefinition

from agenthost.agents import content
from agenthost.agents.api import AgentError
from agenthost.agents.approvals import Confirmation
from agenthost.agents.common_settings import NeededMode
from agenthost.agents.file_edit import read_text, replace_text
from agenthost.agents.folders import FileRefused, Folders, OutsideFolders
from agenthost.agents.llm.allowed_tools import ALL_TOOLS, AllowedTools
from agenthost.agents.llm.files import (
    IGNORED,
    edited_text,
    list_folder,
    read_lines,
)
from agenthost.agents.llm.history import clipped, denial
from agenthost.agents.llm.settings import is_autopilot, is_plan_mode
from agenthost.agents.llm.turn_bridge import TurnBridge
from agenthost.agents.processes import run_command as run_process
from agenthost.agents.tool_call import ToolCall
from agenthost.agents.turn import Turn

# Seconds that a command may take, and a search.
COMMAND_TIMEOUT: Final = 600.0
SEARCH_TIMEOUT: Final = 30.0
MOST_MATCHES: Final = 200
LONGEST_MATCH: Final = 300
# A terminal invites programs to open an editor or a pager, which a model cannot use.
_NO_KEYBOARD: Final = {
    "EDITOR": "true",
    "GIT_EDITOR": "true",
    "MANPAGER": "cat",
    "SYSTEMD_PAGER": "cat",
    "VISUAL": "true",
}


@dataclass(frozen=True)
class ToolContext:
    """Dependencies of the tools in one turn."""

    turn: Turn
    bridge: TurnBridge
    folders: Folders
    # What the custom agent uses, if there is one.
    allowed: AllowedTools = ALL_TOOLS

    async def ask(
        self,
        call: ToolCall,
        title: str,
        *,
        input: Any,
        invocation: str,
        mode: NeededMode = "everything",
        **how: Any,
    ) -> Confirmation:
        """Ask people to allow a call, unless the session allows what it needs."""
        # Looked up for each call: people may change it while the turn runs.
        if is_autopilot(self.turn.config):
            await call.start(input, invocation=invocation, by_setting=True)
            return Confirmation(True, input if isinstance(input, str) else None)
        return await call.confirm(title, input=input, invocation=invocation, mode=mode, **how)

    def check_may_act(self) -> None:
        """Refuse what changes anything while the session only plans."""
        if is_plan_mode(self.turn.config):
            raise ToolFailed("refused: the user asked for a plan; nothing may be changed now")


@contextmanager
def _refusals(name: str) -> Iterator[None]:
    """Translate refusals into failures that the model is told, instead of ending the turn."""
    try:
        yield
    except OutsideFolders as error:
        raise ToolFailed(f"refused: {error}") from None
    except FileRefused as error:
        raise ToolFailed(str(error)) from None
    except OSError as error:
        raise ToolFailed(f"{name}: {error.strerror or 'it cannot be used'}") from None


async def list_files(ctx: RunContext[ToolContext], path: str = ".", depth: int = 1) -> str:
    """List the files and folders in a folder.

    Args:
        path: the folder, relative to the working directory.
        depth: how many levels to list, 1 to 8.
    """
    call = ctx.deps.bridge.call(ctx)
    await call.start({"path": path, "depth": depth}, invocation=f"List {path}")
    with _refusals(path):
        listing = await asyncio.to_thread(list_folder, ctx.deps.folders, path, depth)
    await call.complete(f"Listed {path}", [content.text(listing)])
    return listing


async def read_file(
    ctx: RunContext[ToolContext], path: str, start_line: int = 1, line_count: int = 500
) -> str:
    """Read some lines of a text file.

    Args:
        path: the file, relative to the working directory.
        start_line: the first line to read, counted from 1.
        line_count: how many lines to read, at most 2000.
    """
    call = ctx.deps.bridge.call(ctx)
    shown = {"path": path, "start_line": start_line, "line_count": line_count}
    await call.start(shown, invocation=f"Read {path}")
    with _refusals(path):
        text = await asyncio.to_thread(read_lines, ctx.deps.folders, path, start_line, line_count)
    await call.complete(f"Read {path}", [content.text(text)])
    return text


async def search_files(
    ctx: RunContext[ToolContext], pattern: str, path: str = ".", include: str = "*"
) -> str:
    """Search text files for an extended regular expression (as grep -E does), line by line.

    Args:
        pattern: the regular expression.
        path: the folder or file to search, relative to the working directory.
        include: search only files with names like this, such as *.py.
    """
    call = ctx.deps.bridge.call(ctx)
    shown = {"pattern": pattern, "path": path, "include": include}
    await call.start(shown, invocation=f"Search for {pattern}")
    with _refusals(path):
        found = await _grep(ctx.deps.folders, pattern, path, include)
    await call.complete(f"Searched for {pattern}", [content.text(found)])
    return found


async def _grep(folders: Folders, pattern: str, path: str, include: str) -> str:
    # A process can be ended; a regular expression that never ends in a thread cannot.
    place = folders.shown(folders.resolve(path))
    without = [f"--exclude-dir={name}" for name in sorted(IGNORED)]
    words = ["grep", "-rnHIE", f"--include={include}", *without, "-e", pattern, "--", place]
    try:
        result = await run_process(words, cwd=folders.primary, timeout=SEARCH_TIMEOUT)
    except TimeoutError:
        raise FileRefused(f"{path}: the search took too long; search a folder inside") from None
    if result.exit_code == 1 and not result.output:
        return "(nothing found)"
    if result.exit_code > 1:
        told = result.output.strip()[:LONGEST_MATCH]
        raise FileRefused(f"{path}: {told or 'the search failed'}")
    lines = [line[:LONGEST_MATCH] for line in result.output.splitlines()]
    if len(lines) > MOST_MATCHES:
        lines[MOST_MATCHES:] = [f"… (more than {MOST_MATCHES} matches; search more narrowly)"]
    return "\n".join(lines)


async def edit_file(
    ctx: RunContext[ToolContext], path: str, new_text: str, old_text: str | None = None
) -> str:
    """Change a text file: replace one exact piece of text, or write the whole file.

    The user is shown the change and may refuse it.

    Args:
        path: the file, relative to the working directory; it is created if need be.
        new_text: the text to put in place of old_text, or the whole new content.
        old_text: the text to replace, exactly as it is in the file, where it occurs only once.
            Leave it out to write the whole file.
    """
    context, call = ctx.deps, ctx.deps.bridge.call(ctx)
    context.check_may_act()
    with _refusals(path):
        file = context.folders.resolve(path)
        before = await asyncio.to_thread(read_text, context.folders, path)
        after = edited_text(path, before, old_text, new_text)
    edit = await content.stored_edit(context.turn, file, before, after)
    shown: dict[str, Any] = {"path": path, "new_text": new_text}
    if old_text is not None:
        shown["old_text"] = old_text
    invocation = f"Edit {path}" if before is not None else f"Create {path}"
    answer = await context.ask(
        call,
        f"{invocation}?",
        input=shown,
        invocation=invocation,
        edits=[edit],
        # What git runs by itself is more than an edit.
        mode="everything" if ".git" in file.parts else "edits",
    )
    if not answer:
        return denial(answer.reason_message, answer.suggestion)
    with _refusals(path):
        await asyncio.to_thread(replace_text, context.folders, path, file, before, after)
    told = f"{path} is written: {edit['diff']['added']} lines added, "
    told += f"{edit['diff']['removed']} removed."
    await call.complete(f"Edited {path}", [content.text(told), content.file_edit(edit)])
    return told


async def run_command(ctx: RunContext[ToolContext], command: str) -> str:
    """Run a shell command in the working directory and return its output and exit code.

    The user may refuse the command or change it first, and watches it in a terminal. You cannot
    type into it, so it must not need any input. Do not start what runs on by itself with it.

    Args:
        command: the command line for the shell.
    """
    context, call = ctx.deps, ctx.deps.bridge.call(ctx)
    context.check_may_act()
    with _refusals(command):
        folder = str(context.folders.primary)
    answer = await context.ask(
        call,
        "Run this command?",
        input=command,
        invocation=f"Run {command}",
        editable=True,
    )
    if not answer:
        return denial(answer.reason_message, answer.suggestion)
    chosen = answer.input or command
    changed = f"The user changed the command to: {chosen}\n" if chosen != command else ""
    try:
        result = await call.run_in_terminal(
            chosen, cwd=folder, env=_NO_KEYBOARD, timeout=COMMAND_TIMEOUT
        )
    except TimeoutError:
        return f"{changed}The command was ended after {COMMAND_TIMEOUT:g} seconds."
    except AgentError as error:
        return f"{changed}{error}"
    if result.background is not None:
        told = "The user let the command run on in the background; so far it printed:"
        return f"{changed}{told}\n{clipped(result.output)}"
    left_out = "(the beginning of the output is left out)\n" if result.truncated else ""
    return f"{changed}{left_out}{clipped(result.output)}\n(exit code {result.exit_code})"


# What changes something, so that it has no place in a plan.
_ACTING: Final = ("edit_file", "run_command")


async def prepare_tool(
    ctx: RunContext[ToolContext], definition: ToolDefinition
) -> ToolDefinition | None:
    """Return a tool as the model is told it, or None where it is not offered."""
    if not ctx.deps.allowed.allows(definition.name):
        return None
    acts = definition.name in _ACTING
    return None if acts and is_plan_mode(ctx.deps.turn.config) else definition


TOOLS: Final[list[Tool[ToolContext]]] = [
    Tool(function, prepare=prepare_tool)
    for function in (list_files, read_file, search_files, edit_file, run_command)
]
# What each is to programs that show some kinds of tools in their own way.
KINDS: Final = {
    "list_files": "read",
    "read_file": "read",
    "search_files": "search",
    "run_command": "terminal",
}
