"""Finding the customizations and MCP servers that a command works with."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from agenthost.cli.connection.command_hints import hint
from agenthost.cli.connection.host_connection import decode_argument
from agenthost.cli.data_dir import directory_uri
from agenthost.cli.exit_codes import CommandFailed
from agenthost.cli.format.customization_format import MOST_NAME, cell, kind_word
from agenthost.cli.format.state_format import session_id
from agenthost.client.customizations import CustomizationItem

if TYPE_CHECKING:
    import argparse

    from agenthost.client import Session
    from agenthost.client.mcp import McpServerView

READING = 5.0
"""Seconds to wait for a host that has just begun to read a session's folders."""

_MOST_NAMED = 10


async def read_customizations(session: Session) -> list[CustomizationItem]:
    """Return a session's customizations once the host has read them, or what there is by then."""
    with suppress(TimeoutError):
        async with asyncio.timeout(READING):
            await session.customizations.loaded()
    return list(session.customizations)


def find_customization(
    items: Sequence[CustomizationItem], text: str, where: str
) -> CustomizationItem:
    """Return the one that a text means: by id, name, or the beginning of a name.

    ``where`` is the hint that lists them.

    Raises:
        CommandFailed: it means none, or more than one.
    """
    text = decode_argument(text)
    found = _matching(items, text)
    if len(found) == 1:
        return found[0]
    if found:
        named = [f"  {item.id}  {_named(item)}" for item in found[:_MOST_NAMED]]
        more = [f"  and {len(found) - _MOST_NAMED} more"] if len(found) > _MOST_NAMED else []
        told = "\n".join([f"{text!r} could mean several; give an id:", *named, *more])
        raise CommandFailed(told, kind="ambiguous")
    known = ", ".join(cell(item.name, MOST_NAME) for item in items[:_MOST_NAMED])
    there = f"there are {known}" if items else "there are none"
    more_there = ", …" if len(items) > _MOST_NAMED else ""
    told = f"nothing is called {text!r}; {there}{more_there}\n  {where} lists them"
    raise CommandFailed(told, kind="notFound")


def word_for(item: CustomizationItem) -> str:
    """Return what names a customization on a command line: its name, or its id if that is safer.

    A name is a stranger's: it may be long, unprintable, or look like an option.
    """
    name = item.name
    return name if name and cell(name, MOST_NAME) == name and name[0] != "-" else item.id


def session_words(args: argparse.Namespace) -> list[str]:
    """Return the option that names the same session again, if one was named."""
    return [] if args.session is None else ["--session", decode_argument(args.session)]


def _matching(items: Sequence[CustomizationItem], text: str) -> list[CustomizationItem]:
    word = text.casefold()
    ways: tuple[Callable[[CustomizationItem], bool], ...] = (
        lambda item: item.id == text,
        lambda item: item.name == text,
        lambda item: item.name.casefold() == word,
        lambda item: item.name.casefold().startswith(word),
    )
    for means in ways:
        found = [item for item in items if text and means(item)]
        if found:
            return found
    return []


def _named(item: CustomizationItem) -> str:
    return f"{kind_word(item.kind)} {cell(item.name, MOST_NAME)}"


async def find_servers(
    session: Session, args: argparse.Namespace, texts: Sequence[str]
) -> list[McpServerView]:
    """Return the MCP servers of a session that texts mean, each by id or name.

    Raises:
        CommandFailed: one of them means none, or more than one.
    """
    items = [item for item in await read_customizations(session) if item.kind == "mcpServer"]
    where = hint("mcp", "list", *session_words(args))
    return [session.mcp(find_customization(items, text, where).id) for text in texts]


async def chosen_agent(session: Session, args: argparse.Namespace) -> str | None:
    """Return the URI of the custom agent that ``--agent-file`` names; None without one.

    Raises:
        CommandFailed: the session has no such agent, or it cannot be used.
    """
    if args.agent_file is None:
        return None
    text = decode_argument(args.agent_file)
    agents = [item for item in await read_customizations(session) if item.kind == "agent"]
    uris = {text, directory_uri(text) if args.url is None else text}
    by_file = [item for item in agents if item.uri in uris]
    where = hint("customizations", session_id(session.uri))
    found = by_file[0] if by_file else find_customization(agents, text, where)
    if not found.invocable:
        why = cell(found.problem or "it is switched off, or not for people to choose")
        raise CommandFailed(f"--agent-file: {cell(found.name, MOST_NAME)}: {why}")
    return found.uri
