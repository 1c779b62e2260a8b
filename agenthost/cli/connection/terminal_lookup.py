"""Finding the terminal a command works with: by URI, id or title."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from agenthost.cli.connection.host_connection import decode_argument
from agenthost.cli.connection.session_lookup import is_uri
from agenthost.cli.exit_codes import CommandFailed
from agenthost.cli.format.state_format import session_id
from agenthost.cli.format.terminal_text import clip, one_line

if TYPE_CHECKING:
    from agenthost.client import Client
    from agenthost.protocol.terminal import TerminalInfo

# Of the terminals that a word could mean, this many are named.
_MOST_NAMED = 5


async def find_terminal(client: Client, text: str, where: str) -> str:
    """Return the URI of the one terminal that a text matches; a URI is taken as it is.

    ``where`` is the hint that lists them.

    Raises:
        CommandFailed: it means none, or more than one.
    """
    text = decode_argument(text)
    if is_uri(text):
        return text
    found = match_terminals(await client.terminals.list(), text)
    if not found:
        raise CommandFailed(f"no terminal matches {text!r}; {where} lists them", kind="notFound")
    if len(found) > 1:
        named = [f"  {session_id(each['resource'])}  {_title(each)}" for each in found]
        more = [f"  and {len(found) - _MOST_NAMED} more"] if len(found) > _MOST_NAMED else []
        told = "\n".join([f"{text!r} could mean several terminals:", *named[:_MOST_NAMED], *more])
        raise CommandFailed(told, kind="ambiguous")
    return found[0]["resource"]


def match_terminals(infos: Sequence[TerminalInfo], text: str) -> list[TerminalInfo]:
    """Return the terminals that match a text: by id, start of an id, title, part of a title.

    Those that have ended count only if no others match.
    """
    word = text.casefold()
    ways: tuple[Callable[[TerminalInfo], bool], ...] = (
        lambda info: session_id(info["resource"]) == text,
        lambda info: session_id(info["resource"]).startswith(text),
        lambda info: info["title"].casefold() == word,
        lambda info: word in info["title"].casefold(),
    )
    for means in ways if text else ():
        found = [info for info in infos if means(info)]
        if found:
            return [info for info in found if info["lifecycle"]["status"] == "running"] or found
    return []


def _title(info: TerminalInfo) -> str:
    return clip(one_line(info["title"]), 60)
