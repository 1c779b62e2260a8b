"""Finding the chat a command works with: in one session, or among all that the host lists."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from agenthost.cli.connection.command_hints import hint
from agenthost.cli.connection.host_connection import decode_argument
from agenthost.cli.connection.session_lookup import is_uri, match_sessions
from agenthost.cli.exit_codes import CommandFailed
from agenthost.cli.format.state_format import chat_id, short_id
from agenthost.cli.format.terminal_text import clip, one_line

if TYPE_CHECKING:
    from agenthost.client import Client, Session
    from agenthost.protocol.session.state import SessionSummary

Json = Mapping[str, Any]

_MOST_NAMED = 5


def find_chat(session: Session, text: str) -> str:
    """Return the URI of a session's chat: by URI, number, start of its id, or title.

    Raises:
        CommandFailed: there is none, or more than one.
    """
    text = decode_argument(text)
    chats = session.chats
    if text.isascii() and text.isdigit() and 1 <= int(text) <= len(chats):
        return chats[int(text) - 1]["resource"]
    return _the_one(chats, text, hint("sessions", "show", short_id(session.uri)))


async def find_chat_anywhere(client: Client, text: str, session: str | None = None) -> str:
    """Return the URI of a chat of any session, or one: by URI, start of its id, or title.

    Raises:
        CommandFailed: there is none, or more than one.
    """
    text = decode_argument(text)
    if is_uri(text):
        return text
    summaries = await client.sessions.list()
    chats = [
        chat
        for summary in summaries
        if session in (None, summary["resource"])
        for chat in summary.get("chats") or ()
    ]
    where = "SESSION" if session is None else short_id(session)
    return _the_one(chats, text, hint("sessions", "show", where))


async def session_of_chat(client: Client, chat: str) -> str:
    """Return the session that a chat is in.

    Raises:
        CommandFailed: no session lists it.
    """
    for summary in await client.sessions.list():
        if any(entry["resource"] == chat for entry in summary.get("chats") or ()):
            return summary["resource"]
    raise CommandFailed(f"no session has a chat {chat}", kind="notFound")


def _the_one(chats: Sequence[Any], text: str, where: str) -> str:
    # Chats are told apart by the same members as sessions.
    found = match_sessions(cast("Sequence[SessionSummary]", chats), text, chat_id)
    if not found:
        raise CommandFailed(f"no chat matches {text!r}; {where} lists them", kind="notFound")
    if len(found) > 1:
        named = [
            f"  {chat_id(chat['resource'])}  {clip(one_line(chat['title']), 60)}"
            for chat in found[:_MOST_NAMED]
        ]
        more = [f"  and {len(found) - _MOST_NAMED} more"] if len(found) > _MOST_NAMED else []
        message = "\n".join([f"{text!r} could mean several chats:", *named, *more])
        raise CommandFailed(message, kind="ambiguous")
    return found[0]["resource"]
