"""Which session a person means: a URI, the beginning of an id, a title or a part of one."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from agenthost.cli.connection.host_connection import decode_argument
from agenthost.cli.exit_codes import CommandFailed
from agenthost.cli.format.state_format import clip, is_archived, one_line, session_id
from agenthost.errors import NotFound, SessionNotFound

if TYPE_CHECKING:
    from agenthost.client import Client, Session
    from agenthost.protocol.session.state import SessionSummary

_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:/\S*")

# Of the sessions that a word could mean, this many are named.
_MOST_NAMED = 5


def match_sessions(summaries: Sequence[SessionSummary], text: str) -> list[SessionSummary]:
    """Return the sessions that a text means: by the first way to read it that finds any.

    Where archived sessions match as well as others, the others are meant.
    """
    word = text.casefold()
    ways: tuple[Callable[[SessionSummary], bool], ...] = (
        lambda summary: summary["resource"] == text,
        lambda summary: session_id(summary["resource"]) == text,
        lambda summary: session_id(summary["resource"]).startswith(text),
        lambda summary: summary["title"].casefold() == word,
        lambda summary: word in summary["title"].casefold(),
    )
    for means in ways if text else ():
        found = [summary for summary in summaries if means(summary)]
        if found:
            return [item for item in found if not is_archived(item["status"])] or found
    return []


async def find_session(client: Client, text: str) -> str:
    """Return the URI of the one session that a text means; a URI is taken as it is.

    Raises:
        CommandFailed: it means none, or more than one.
    """
    (found,) = (await find_sessions(client, [text])).values()
    if isinstance(found, CommandFailed):
        raise found
    return found


async def find_sessions(
    client: Client, texts: Sequence[str], *, in_trash: bool = False
) -> dict[str, str | CommandFailed]:
    """Return which session each text means, or why none; reads the list, or the trash, once."""
    named = [decode_argument(text) for text in texts]
    listed: list[SessionSummary] = []
    if not all(map(_URI.fullmatch, named)):
        listed = await (_disposed(client) if in_trash else client.sessions.list())
    where = "`agenthost sessions trash`" if in_trash else "`agenthost sessions --all`"
    return {text: text if _URI.fullmatch(text) else _the_one(listed, text, where) for text in named}


async def _disposed(client: Client) -> list[SessionSummary]:
    return [
        {
            "resource": entry["session"],
            "provider": entry["provider"],
            "title": entry["title"],
            "status": 0,
            "createdAt": entry["disposedAt"],
            "modifiedAt": entry["disposedAt"],
        }
        for entry in await client.sessions.trash()
    ]


async def open_session(client: Client, text: str) -> Session:
    """Follow the one session that a text means."""
    uri = await find_session(client, text)
    try:
        return await client.sessions.get(uri)
    except (SessionNotFound, NotFound):
        raise CommandFailed(f"there is no session {uri}", kind="notFound") from None


def _the_one(summaries: Sequence[SessionSummary], text: str, where: str) -> str | CommandFailed:
    found = match_sessions(summaries, text)
    if not found:
        message = f"no session matches {text!r}; {where} lists them"
        return CommandFailed(message, kind="notFound")
    if len(found) > 1:
        named = [f"  {session_id(s['resource'])}  {_title(s)}" for s in found[:_MOST_NAMED]]
        more = [f"  and {len(found) - _MOST_NAMED} more"] if len(found) > _MOST_NAMED else []
        message = "\n".join([f"{text!r} could mean several sessions:", *named, *more])
        return CommandFailed(message, kind="ambiguous")
    return found[0]["resource"]


def _title(summary: SessionSummary) -> str:
    return clip(one_line(summary["title"]), 60)
