"""The Tab key in a conversation: finds what could be inserted, inserts it or opens the menu.

Our own commands are known here; the host is asked for the agent's, for sessions and for files.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from agenthost.cli.format.state_format import age, directory_text, short_id
from agenthost.cli.interactive.commands.registry import COMMANDS, SAME
from agenthost.cli.interactive.completion import (
    command_items,
    complete,
    file_items,
    joined,
    mentioned_path,
    offered_items,
    session_items,
)
from agenthost.errors import AgentHostError

if TYPE_CHECKING:
    from agenthost.cli.interactive.completion_menu import MenuItem
    from agenthost.cli.interactive.conversation import Conversation

COMPLETING = 3.0
"""Seconds in which a host must have told what could be inserted."""

MOST_SESSIONS = 50
"""The newest sessions that are offered."""

_OPEN = "/open "


async def complete_typed(at: Conversation) -> None:
    """Complete what is typed before the cursor, or show what there is to choose from."""
    before = at.screen.before_cursor
    done = complete(before, await found_items(at, before))
    if at.screen.before_cursor != before:
        # Typed on meanwhile, and what was found is not for that.
        return
    at.screen.before_cursor = done.before
    at.screen.open_menu(done.items)
    if done.taken is not None:
        at.on_taken(done.taken)
    at.hint("" if done.taken or done.items else "nothing to complete here")


async def narrow_menu(at: Conversation) -> None:
    """Show anew what there is to choose from, after typing on."""
    before = at.screen.before_cursor
    items = await found_items(at, before) if before.strip() else []
    if at.screen.before_cursor == before:
        at.screen.open_menu(items)


async def found_items(at: Conversation, before: str) -> list[MenuItem]:
    """Return what could be inserted: ours first, then what the host offers."""
    ours = command_items(before, _commands(at, before))
    try:
        async with asyncio.timeout(COMPLETING):
            return joined(ours, await _asked_items(at, before))
    except TimeoutError:
        return joined(ours)


def _commands(at: Conversation, before: str) -> list[tuple[str, str, Sequence[str]]]:
    """Return the commands that may be given here; second names only for what follows them."""
    names = {name: name for name in COMMANDS} | (dict(SAME) if " " in before else {})
    given = before[1:].partition(" ")[0]
    return [
        (name, command.about, command.words(at) if name == given else ())
        for name, meant in names.items()
        if (command := COMMANDS[meant]).viewer or not at.is_viewer
    ]


async def _asked_items(at: Conversation, before: str) -> list[MenuItem]:
    if before.startswith(_OPEN):
        return await _session_items(at, before)
    if at.is_viewer:
        return []
    offered: list[Any] = []
    with contextlib.suppress(AgentHostError):
        offered += await at.chat.completions(before)
    items = offered_items(before, offered, COMMANDS)
    path = mentioned_path(before)
    return items if items or path is None else await _listed_files(at, before, path)


async def _listed_files(at: Conversation, before: str, path: str) -> list[MenuItem]:
    """Return what a folder has, of a host that completes no files."""
    folder = path[: path.rfind("/") + 1]
    with contextlib.suppress(AgentHostError, ValueError):
        # Spelled so that it is no URI.
        return file_items(before, folder, await at.session.files.list(f"./{folder}"))
    return []


async def _session_items(at: Conversation, before: str) -> list[MenuItem]:
    try:
        page = await at.client.sessions.page(limit=MOST_SESSIONS)
    except AgentHostError:
        return []
    now = datetime.now(UTC).astimezone()
    sessions = [
        {
            "id": short_id(item["resource"]),
            "title": item["title"],
            "about": " · ".join(
                (
                    short_id(item["resource"]),
                    *map(directory_text, (item.get("workingDirectories") or ())[:1]),
                    age(item["modifiedAt"], now),
                )
            ),
        }
        for item in page["items"]
        if item["resource"] != at.session.uri
    ]
    return session_items(before, _OPEN, sessions)
