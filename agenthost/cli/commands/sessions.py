"""``agenthost sessions``: list, show, rename, archive, move, dispose of and restore sessions."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from agenthost.cli.arguments import Subparsers, add_command, add_json_option, add_verb, count
from agenthost.cli.commands.session_changes import change_sessions, move_chat, move_session
from agenthost.cli.commands.session_page import session_page, session_settings
from agenthost.cli.connection.command_hints import hint
from agenthost.cli.connection.host_connection import (
    add_connection_options,
    connected,
    decode_argument,
    run_command,
    use_colour,
)
from agenthost.cli.connection.session_lookup import open_session
from agenthost.cli.exit_codes import OK, USAGE, report_failure
from agenthost.cli.format.diff_format import change_counts
from agenthost.cli.format.state_format import (
    activity_word,
    age,
    directory_text,
    is_archived,
    is_unread,
    session_id,
    session_json,
    short_id,
    status_style,
    status_words,
)
from agenthost.cli.format.terminal_text import Ink, Style, columns, one_line, table
from agenthost.errors import NotFound

if TYPE_CHECKING:
    from agenthost.client import Client, Session
    from agenthost.protocol.session.state import SessionInputRequest, SessionState, SessionSummary

_EXAMPLES = """examples:
  agenthost sessions                         those not archived, newest first
  agenthost sessions --filter "needs input"  those that wait for somebody
  agenthost sessions show 3f2a               one, by the beginning of its id
  agenthost sessions archive release         or by its title
  agenthost sessions --all --json | jq -r '.[].session'

SESSION is a session's URI, the beginning of its id, its title or a part of it;
so is CHAT a chat's, or in one session its number.
"""

# Verbs for any number of sessions: what each does, and examples of it.
_VERBS = {
    "archive": (
        "put sessions away",
        "agenthost sessions archive 3f2a release",
        "agenthost sessions archive 3f2a --chat 2",
    ),
    "unarchive": ("take sessions back", "agenthost sessions unarchive 3f2a"),
    "read": ("mark sessions as read", "agenthost sessions read 3f2a"),
    "dispose": (
        "give sessions up; the trash keeps them for a while",
        "agenthost sessions dispose 3f2a",
    ),
    "delete": ("the same as dispose", "agenthost sessions delete 3f2a release"),
    "restore": ("take sessions back from the trash", "agenthost sessions restore 3f2a"),
    "purge": ("delete sessions in the trash for good", "agenthost sessions purge 3f2a"),
}
# Verbs that may be for a single chat.
_FOR_CHATS = ("archive", "unarchive", "read")
# Columns of a title that must be left for another column to be shown.
_READABLE_TITLE = 24
# Columns of a title without which the agent and the age give way.
_LEAST_TITLE = 10


def register(subparsers: Subparsers) -> None:
    """Add ``sessions`` and its verbs to the argument tree."""
    sessions = add_command(
        subparsers,
        "sessions",
        "list, show, rename, archive, dispose of and restore sessions",
        run,
        _EXAMPLES,
    )
    _add_list_options(sessions, inherited=False)
    add_connection_options(sessions)
    add_json_option(sessions)
    verbs = sessions.add_subparsers(dest="verb", metavar="VERB", help="list if there is none")
    for verb in _add_verbs(verbs):
        add_connection_options(verb, inherited=True)
        add_json_option(verb, inherited=True)


def _add_verbs(verbs: Subparsers) -> Iterator[argparse.ArgumentParser]:
    listing = add_verb(
        verbs, "list", "list sessions, newest first", "agenthost sessions list --limit 10"
    )
    _add_list_options(listing, inherited=True)
    yield listing
    show = add_verb(verbs, "show", "show one session", "agenthost sessions show 3f2a")
    show.add_argument("session", metavar="SESSION")
    yield show
    about = "list the disposed sessions that are still kept"
    yield add_verb(verbs, "trash", about, "agenthost sessions trash --json")
    about = "give a session another title"
    rename = add_verb(verbs, "rename", about, 'agenthost sessions rename 3f2a "Release"')
    rename.add_argument("session", metavar="SESSION")
    rename.add_argument("title", metavar="TITLE")
    yield rename
    for name, (about, *examples) in _VERBS.items():
        verb = add_verb(verbs, name, about, *examples)
        verb.add_argument("sessions", metavar="SESSION", nargs="+")
        if name in _FOR_CHATS:
            verb.add_argument("--chat", metavar="CHAT", help="one chat of the session only")
        yield verb
    move = add_verb(
        verbs,
        "move",
        "move a chat to another session, or a session to another machine",
        'agenthost sessions move "Side track" --new',
        'agenthost sessions move "Side track" --to release',
        "agenthost sessions move release --node build-1",
    )
    _add_move_options(move)
    yield move


def _add_move_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("chat", metavar="CHAT", help="or with --node SESSION")
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--to", metavar="SESSION", help="the session to go to (default: its own)")
    where.add_argument("--new", action="store_true", help="make it a session of its own")
    where.add_argument("--node", metavar="NAME", help="the machine of a cluster to run SESSION")
    parser.add_argument(
        "--after",
        metavar="CHAT",
        help="the chat of that session to stand behind (default: in front of all)",
    )


def _add_list_options(parser: argparse.ArgumentParser, *, inherited: bool) -> None:
    def default(value: Any) -> Any:
        return argparse.SUPPRESS if inherited else value

    which = parser.add_mutually_exclusive_group()
    which.add_argument(
        "--all", action="store_true", default=default(False), help="archived ones as well"
    )
    which.add_argument(
        "--archived", action="store_true", default=default(False), help="archived ones only"
    )
    parser.add_argument(
        "--filter",
        metavar="TEXT",
        default=default(None),
        help="those with TEXT in title, id, agent, folder or status",
    )
    parser.add_argument(
        "--limit",
        metavar="N",
        type=count,
        default=default(None),
        help="no more than the N newest",
    )


def run(args: argparse.Namespace) -> int:
    """Run the verb."""
    match args.verb:
        case None | "list":
            return run_command(args, _list)
        case "show":
            return run_command(args, _show)
        case "trash":
            return run_command(args, _list_trash)
        case "move":
            return run_command(args, move_chat if args.node is None else move_session)
    if getattr(args, "chat", None) is not None and len(args.sessions) > 1:
        return report_failure(args, "--chat is for one SESSION", USAGE, "usage")
    return run_command(args, change_sessions)


# Listing.


async def _list(args: argparse.Namespace) -> int:
    listed: list[SessionSummary] = []
    async with connected(args) as client:
        async for summary in _wanted(client, args):
            listed.append(summary)
            if len(listed) == args.limit:
                break
    if args.json:
        print(json.dumps([session_json(summary) for summary in listed], indent=2))
    elif listed:
        width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
        for line in session_table(listed, datetime.now(UTC).astimezone(), width, use_colour()):
            print(line)
    else:
        narrowed = args.filter is not None or args.archived
        more = "like that." if narrowed else f"yet; {hint('chat')} starts one."
        print(f"There are no sessions {more}", file=sys.stderr)
    return OK


async def _list_trash(args: argparse.Namespace) -> int:
    async with connected(args) as client:
        entries = await client.sessions.trash()
    if args.json:
        print(json.dumps(entries, indent=2))
    elif entries:
        rows = [
            (
                short_id(entry["session"]),
                one_line(entry["title"]),
                entry["provider"],
                entry["disposedAt"][:10],
                entry["expiresAt"][:10],
            )
            for entry in entries
        ]
        width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
        heading = ("ID", "TITLE", "AGENT", "DISPOSED", "GONE ON")
        for line in table([heading, *rows], width=width, flexible=1):
            print(line)
    else:
        print("the trash is empty", file=sys.stderr)
    return OK


async def _wanted(client: Client, args: argparse.Namespace) -> AsyncIterator[SessionSummary]:
    async for summary in client.sessions:
        archived = is_archived(summary["status"])
        if archived != args.archived and not args.all:
            continue
        if args.filter is None or _mentions(summary, decode_argument(args.filter).casefold()):
            yield summary


def _mentions(summary: SessionSummary, word: str) -> bool:
    texts = [
        summary["title"],
        session_id(summary["resource"]),
        summary["provider"],
        summary.get("activity") or "",
        *map(directory_text, summary.get("workingDirectories") or ()),
        *status_words(summary["status"]),
    ]
    return any(word in text.casefold() for text in texts)


def session_table(
    summaries: Sequence[SessionSummary], now: datetime, width: int | None, colour: bool
) -> list[str]:
    """Lay out a list of sessions; lines changed, the agent and the age stand there if they fit."""
    rows: list[list[str]] = [["ID", "TITLE", "STATUS", "AGENT", "CHANGED", "LINES"]]
    styles: list[list[Style | None]] = [["dim"] * 6]
    for summary in summaries:
        status = ", ".join(status_words(summary["status"]))
        activity = one_line(summary.get("activity") or "")
        rows.append(
            [
                short_id(summary["resource"]),
                one_line(summary["title"]) or "(no title)",
                f"{status}: {activity}" if activity else status,
                one_line(summary["provider"]),
                age(summary["modifiedAt"], now),
                change_counts(summary.get("changes")),
            ]
        )
        style = status_style(summary["status"])
        styles.append(["dim", "dim" if style == "dim" else None, style, None, "dim", None])
    if not any(row[-1] for row in rows[1:]):
        rows = [row[:-1] for row in rows]
    for name, title in (
        ("LINES", _READABLE_TITLE),
        ("AGENT", _LEAST_TITLE),
        ("CHANGED", _LEAST_TITLE),
    ):
        if name in rows[0] and not _fits(rows, width, title):
            place = rows[0].index(name)
            rows = [[*row[:place], *row[place + 1 :]] for row in rows]
            styles = [[*row[:place], *row[place + 1 :]] for row in styles]
    return table(rows, width=width, flexible=1, styles=styles, ink=Ink(colour))


def _fits(rows: Sequence[Sequence[str]], width: int | None, title: int) -> bool:
    """Return whether all columns fit beside so much of a title."""
    widths = [max(columns(row[index]) for row in rows) for index in range(len(rows[0]))]
    widths[1] = min(widths[1], title)
    return width is None or sum(widths) + 2 * (len(widths) - 1) <= width


# Showing one.


async def _show(args: argparse.Namespace) -> int:
    async with connected(args) as client:
        session = await open_session(client, args.session)
        needed = await _needed(session)
        state = session.state
        summary = {**state, **await _summary(client, session.uri), "resource": session.uri}
    if args.json:
        print(json.dumps(_as_json(state, summary, needed), indent=2))
        return OK
    now, ink = datetime.now(UTC).astimezone(), Ink(use_colour())
    for line in session_page(state, summary, needed, now, ink):
        print(line)
    return OK


async def _needed(session: Session) -> Sequence[SessionInputRequest]:
    """Return what a session waits for; of hosts that do not list it, from its chats."""
    if session.input_needed:
        return session.input_needed
    waiting = [chat for chat in session.chats if activity_word(chat["status"]) == "needs input"]
    for chat in waiting:
        with suppress(NotFound):
            await session.chat(chat["resource"], turns=1)
    return session.input_needed


async def _summary(client: Client, uri: str) -> Mapping[str, Any]:
    async for summary in client.sessions:
        if summary["resource"] == uri:
            return summary
    # Not every session that can be followed has to be listed.
    return {}


def _as_json(
    state: SessionState, summary: Mapping[str, Any], needed: Sequence[SessionInputRequest]
) -> dict[str, Any]:
    return {
        **session_json(summary),
        "lifecycle": state["lifecycle"],
        "creationError": state.get("creationError"),
        "defaultChat": state.get("defaultChat"),
        "chats": [
            {
                "chat": chat["resource"],
                "title": chat["title"],
                "status": activity_word(chat["status"]),
                "archived": is_archived(chat["status"]),
                "unread": is_unread(chat["status"]),
                "movable": chat.get("movable") is True,
                "modifiedAt": chat["modifiedAt"],
                "origin": chat.get("origin"),
            }
            for chat in state["chats"]
        ],
        "inputNeeded": list(needed),
        "config": session_settings(state),
        "clients": [client["clientId"] for client in state["activeClients"]],
    }
