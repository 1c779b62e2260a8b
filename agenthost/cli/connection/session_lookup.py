"""Finding the session a command works with, by URI, id or title, or starting a new one.

What a person named and is not there is refused before anything is made or said: a message that
goes to a model nobody has, or to an agent in a folder that is not, fails later and less clearly.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agenthost.cli.arguments import setting
from agenthost.cli.connection.command_hints import hint
from agenthost.cli.connection.host_connection import decode_argument
from agenthost.cli.data_dir import directory_uri
from agenthost.cli.exit_codes import USAGE, CommandFailed
from agenthost.cli.format.state_format import directory_text, is_archived, session_id
from agenthost.cli.format.terminal_text import clip, one_line
from agenthost.errors import AgentHostError, NotFound, SessionNotFound

if TYPE_CHECKING:
    import argparse

    from agenthost.client import Client, Session
    from agenthost.protocol.session.state import SessionSummary

_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:/\S*")

# Of the sessions that a word could mean, and of an agent's models, this many are named.
_MOST_NAMED = 5
_MOST_MODELS = 10


def is_uri(text: str) -> bool:
    """Return whether a text is a URI, and so names a session or a chat by itself."""
    return _URI.fullmatch(text) is not None


def match_sessions(
    summaries: Sequence[SessionSummary], text: str, id_of: Callable[[str], str] = session_id
) -> list[SessionSummary]:
    """Return the sessions that match a text: by URI, id, start of an id, title, part of a title.

    Archived sessions count only if no others match.
    """
    word = text.casefold()
    ways: tuple[Callable[[SessionSummary], bool], ...] = (
        lambda summary: summary["resource"] == text,
        lambda summary: id_of(summary["resource"]) == text,
        lambda summary: id_of(summary["resource"]).startswith(text),
        lambda summary: summary["title"].casefold() == word,
        lambda summary: word in summary["title"].casefold(),
    )
    for means in ways if text else ():
        found = [summary for summary in summaries if means(summary)]
        if found:
            return [item for item in found if not is_archived(item["status"])] or found
    return []


async def find_session(client: Client, text: str) -> str:
    """Return the URI of the one session that a text matches; a URI is taken as it is.

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
    """Return for each text the URI of its session, or why there is none."""
    named = [decode_argument(text) for text in texts]
    listed: list[SessionSummary] = []
    if not all(map(is_uri, named)):
        listed = await (_disposed(client) if in_trash else client.sessions.list())
    where = hint("sessions", "trash") if in_trash else hint("sessions", "--all")
    return {text: text if is_uri(text) else _the_one(listed, text, where) for text in named}


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
    """Follow the one session that a text matches."""
    uri = await find_session(client, text)
    try:
        return await client.sessions.get(uri)
    except (SessionNotFound, NotFound):
        raise CommandFailed(f"there is no session {uri}", kind="notFound") from None


async def open_session_or_latest(client: Client, args: argparse.Namespace) -> Session:
    """Follow the session that ``args.session`` names, or else the latest one, which is told.

    The latest is the one that changed last; of a host on this machine, one that works in the
    current directory comes before all others.

    Raises:
        CommandFailed: there is none, or what is named means several.
    """
    if args.session is not None:
        return await open_session(client, args.session)
    here = Path.cwd() if args.url is None else None
    latest: SessionSummary | None = None
    async for summary in client.sessions:
        if is_archived(summary["status"]):
            continue
        if here is None or _works_in(summary, here):
            latest = summary
            break
        latest = latest or summary
    if latest is None:
        raise CommandFailed(f"there is no session yet; {hint('chat')} starts one", kind="notFound")
    print(f"session {session_id(latest['resource'])}  {_title(latest)}", file=sys.stderr)
    return await open_session(client, latest["resource"])


def _works_in(summary: SessionSummary, here: Path) -> bool:
    folders = map(directory_text, summary.get("workingDirectories") or ())
    return any(here.is_relative_to(folder) for folder in folders)


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


IN_TRASH = "in the trash"
"""What became of a disposed session that can be taken back."""


async def disposed_how(client: Client, uri: str) -> str:
    """Return what the host did with a disposed session: archived, in the trash, removed."""
    try:
        async with await client.sessions.get(uri) as session:
            # Other hosts have no trash.
            return "archived" if is_archived(session.state["status"]) else "kept"
    except (SessionNotFound, NotFound):
        # Who may not look into the trash knows only that it is gone.
        with suppress(AgentHostError):
            if any(entry["session"] == uri for entry in await client.sessions.trash()):
                return IN_TRASH
        return "removed"


# A new session.


async def begin_session(
    client: Client, args: argparse.Namespace, *, uri: str | None = None, keep: bool = True
) -> Session:
    """Start a session with the agent, in the folder and with the settings that the options name.

    Args:
        client: of the host.
        args: with ``agent``, ``dir``, ``model`` and ``settings``.
        uri: what to call it, if that matters.
        keep: whether it is there to stay though nobody has used it yet.

    Raises:
        CommandFailed: there is no such folder here, the agent has no such model, or the session no
            such setting.
    """
    directories = check_directories(args)
    agents = client.root.state["agents"] if client.root.has_state else []
    # Without a name the host takes its first agent.
    provider = args.agent or (agents[0]["provider"] if agents else None)
    if provider is not None:
        check_model(client, provider, args.model)
    config = await _first_settings(client, provider, directories, args)
    return await client.sessions.create(
        args.agent, directories=directories, config=config, uri=uri, keep=keep
    )


async def _first_settings(
    client: Client, provider: str | None, directories: Sequence[str], args: argparse.Namespace
) -> dict[str, Any] | None:
    """Return the settings that ``--set`` names for a new session; None without any."""
    if not args.settings:
        return None
    from agenthost.cli.interactive.commands.settings import settings_from

    folder = directories[0] if directories else None
    offered = await client.sessions.config(provider, directory=folder)
    return settings_from(_typed_settings(args), offered["schema"])


async def configure_session(session: Session, args: argparse.Namespace) -> None:
    """Change the settings of a session that ``--set`` names.

    Raises:
        CommandFailed: the session has no such setting, or it cannot be changed any more.
    """
    if args.settings:
        from agenthost.cli.interactive.commands.settings import settings_from

        schema = session.config_schema
        await session.configure(settings_from(_typed_settings(args), schema, existing=True))


def _typed_settings(args: argparse.Namespace) -> list[tuple[str, str]]:
    return [(decode_argument(key), decode_argument(value)) for key, value in args.settings]


def add_settings_option(parser: argparse.ArgumentParser) -> None:
    """Add ``--set``, which may be repeated."""
    parser.add_argument(
        "--set",
        dest="settings",
        metavar="KEY=VALUE",
        type=setting,
        action="append",
        default=[],
        help="a setting of the session; may be repeated",
    )


def check_directories(args: argparse.Namespace) -> list[str]:
    """Return the URIs of the folders that ``--dir`` names, once or several times.

    Raises:
        CommandFailed: there is no such folder here.
    """
    given = [args.dir] if isinstance(args.dir, str) else args.dir or []
    directories = [directory_uri(each) for each in given]
    if args.url is None:
        # Only a host of this machine sees the same folders.
        for uri in directories:
            _check_directory(uri)
    return directories


def check_model(client: Client, provider: str, model: str | None) -> None:
    """Refuse a model that the host does not announce for an agent.

    An agent that announces none chooses for itself what a name means.

    Raises:
        CommandFailed: the agent has no such model.
    """
    agents = client.root.state["agents"] if client.root.has_state else []
    of_agent = next((agent for agent in agents if agent["provider"] == provider), None)
    ids = [] if of_agent is None else [item["id"] for item in of_agent["models"]]
    if model is None or not ids or model in ids:
        return
    close = get_close_matches(model, ids, 1)
    named = close or [*ids[:_MOST_MODELS], *(["…"] if len(ids) > _MOST_MODELS else [])]
    known = one_line(", ".join(named))
    others = f"did you mean {known}?" if close else f"it has {known}"
    raise CommandFailed(f"--model: {one_line(provider)} has no model {model!r}; {others}", USAGE)


def _check_directory(uri: str) -> None:
    path = directory_text(uri)
    if uri.startswith("file:") and not Path(path).is_dir():
        what = "is not a directory" if Path(path).exists() else "does not exist"
        raise CommandFailed(f"--dir: {path} {what}", USAGE)
