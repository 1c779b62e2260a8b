"""``agenthost sessions``: list, show, rename, archive, move, dispose of and restore sessions."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from agenthost.cli.arguments import Subparsers, add_command, add_json_option, count
from agenthost.cli.connection.chat_lookup import (
    find_chat,
    find_chat_anywhere,
    session_of_chat,
)
from agenthost.cli.connection.host_connection import (
    HostWentAway,
    add_connection_options,
    command_for_host,
    connected,
    decode_argument,
    run_command,
    use_colour,
)
from agenthost.cli.connection.session_lookup import find_session, find_sessions, open_session
from agenthost.cli.exit_codes import (
    FAILED,
    OK,
    UNREACHABLE,
    USAGE,
    CommandFailed,
    print_error,
    report_failure,
)
from agenthost.cli.format.diff_format import change_counts
from agenthost.cli.format.state_format import (
    activity_word,
    age,
    directory_text,
    error_text,
    is_archived,
    is_unread,
    question_line,
    session_id,
    session_json,
    short_chat_id,
    short_id,
    status_style,
    status_words,
    tool_line,
)
from agenthost.cli.format.terminal_text import Ink, Style, columns, one_line, table
from agenthost.errors import AgentHostError, NotFound, SessionNotFound
from agenthost.protocol import translator

if TYPE_CHECKING:
    from agenthost.client import Client, Session
    from agenthost.protocol.session.state import SessionInputRequest, SessionState, SessionSummary

_EXAMPLES = """examples:
  agenthost sessions                         the sessions that are not archived, newest first
  agenthost sessions --filter "needs input"  those that wait for somebody
  agenthost sessions show 3f2a               one of them, by the beginning of its id
  agenthost sessions rename 3f2a "Release"   or by its title: sessions archive release
  agenthost sessions archive 3f2a --chat 2   only the second of its chats
  agenthost sessions move "Side track" --new make a chat a session of its own
  agenthost sessions --all --json | jq -r '.[].session'

SESSION is a session's URI, the beginning of its id, its title or a part of the title; so is CHAT
a chat's, or in one session its number.
"""

_HELP = {
    "archive": "put sessions away",
    "unarchive": "take sessions back",
    "read": "mark sessions as read",
    "dispose": "give sessions up; the host keeps those that hold anything in its trash for a while",
    "restore": "take sessions back from the trash",
    "purge": "delete sessions in the trash for good",
}
# Verbs that may be for a single chat.
_FOR_CHATS = ("archive", "unarchive", "read")
# Verbs for sessions that are in the trash.
_IN_TRASH = ("restore", "purge")
_DONE = {
    "archive": "archived",
    "unarchive": "unarchived",
    "read": "marked as read",
    "rename": "renamed",
    "restore": "restored",
    "purge": "deleted for good",
}
# Columns of a title that must be left for another column to be shown.
_READABLE_TITLE = 24
# What takes back what a host did to a session that it was to dispose of.
_UNDOING = {"archived": "unarchive", "in the trash": "restore"}


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
    added = [verbs.add_parser("list", help="list sessions, newest first")]
    _add_list_options(added[0], inherited=True)
    added.append(verbs.add_parser("show", help="show one session"))
    added[-1].add_argument("session", metavar="SESSION")
    added.append(verbs.add_parser("trash", help="list the disposed sessions that are still kept"))
    added.append(verbs.add_parser("rename", help="give a session another title"))
    added[-1].add_argument("session", metavar="SESSION")
    added[-1].add_argument("title", metavar="TITLE")
    for name, about in _HELP.items():
        added.append(verbs.add_parser(name, help=about))
        added[-1].add_argument("sessions", metavar="SESSION", nargs="+")
        if name in _FOR_CHATS:
            added[-1].add_argument("--chat", metavar="CHAT", help="one chat of the session only")
    added.append(verbs.add_parser("move", help="move a chat to another session, or within its own"))
    _add_move_options(added[-1])
    for verb in added:
        add_connection_options(verb, inherited=True)
        add_json_option(verb, inherited=True)


def _add_move_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("chat", metavar="CHAT")
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--to", metavar="SESSION", help="the session to go to (default: its own)")
    where.add_argument("--new", action="store_true", help="make it a session of its own")
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
        help="those with TEXT in their title, id, agent, directory or status",
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
            return run_command(args, _move)
    if getattr(args, "chat", None) is not None and len(args.sessions) > 1:
        return report_failure(args, "--chat is for one SESSION", USAGE, "usage")
    return run_command(args, _change)


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
        more = (
            "like that."
            if narrowed
            else f"yet; `{command_for_host(args, 'send', 'TEXT')}` starts one."
        )
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
    """Lay out a list of sessions; how many lines they changed stands there if it fits."""
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
    if not any(row[-1] for row in rows[1:]) or not _fits(rows, width):
        rows = [row[:-1] for row in rows]
    return table(rows, width=width, flexible=1, styles=styles, ink=Ink(colour))


def _fits(rows: Sequence[Sequence[str]], width: int | None) -> bool:
    """Return whether all columns fit beside titles that are still readable."""
    widths = [max(columns(row[index]) for row in rows) for index in range(len(rows[0]))]
    widths[1] = min(widths[1], _READABLE_TITLE)
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
        "config": _config(state),
        "clients": [client["clientId"] for client in state["activeClients"]],
    }


def session_page(
    state: SessionState,
    summary: Mapping[str, Any],
    needed: Sequence[SessionInputRequest],
    now: datetime,
    ink: Ink,
) -> list[str]:
    """Lay out one session: what it is, its chats, and what it waits for."""
    lines = [ink("bold", one_line(state["title"]) or "(no title)")]
    facts = _facts(state, summary, now, ink)
    lines += [f"  {ink('dim', name.ljust(10))} {text}" for name, text in facts if text]
    lines += ["", ink("bold", "Chats")]
    rows = [
        (
            str(number),
            short_chat_id(chat["resource"]),
            one_line(chat["title"]) or "(no title)",
            ", ".join(status_words(chat["status"])),
            age(chat["modifiedAt"], now),
        )
        for number, chat in enumerate(state["chats"], 1)
    ]
    lines += [f"  {line}" for line in table(rows)] or ["  none"]
    waiting = [line for entry in needed for line in _waiting(entry)]
    if waiting:
        lines += ["", ink("yellow", "Waits for"), *(f"  {line}" for line in waiting)]
    return lines


def _facts(
    state: SessionState, summary: Mapping[str, Any], now: datetime, ink: Ink
) -> Iterator[tuple[str, str]]:
    status: int = summary["status"]
    yield "session", one_line(summary["resource"])
    if state["lifecycle"] != "ready":
        yield "lifecycle", _lifecycle(state)
    yield "status", ink(status_style(status), ", ".join(status_words(status)))
    yield "doing", one_line(summary.get("activity") or "")
    yield "agent", one_line(state["provider"])
    yield "lines", change_counts(summary.get("changes"))
    for uri in state.get("workingDirectories") or ():
        yield "directory", one_line(directory_text(uri))
    for what, key in (("created", "createdAt"), ("changed", "modifiedAt")):
        if key in summary:
            yield what, age(summary[key], now)
    for key, value in _config(state).items():
        yield one_line(key), one_line(json.dumps(value))
    for client in state["activeClients"]:
        yield "client", one_line(client["clientId"])


def _lifecycle(state: SessionState) -> str:
    if state["lifecycle"] == "failed":
        return f"could not be created: {error_text(state.get('creationError'))}"
    return "being created"


def _config(state: SessionState) -> Mapping[str, Any]:
    config = state.get("config")
    return {} if config is None else config["values"]


def _waiting(entry: Mapping[str, Any]) -> list[str]:
    match entry["kind"]:
        case "chatInput":
            return [question_line(question) for question in entry["request"].get("questions") or ()]
        case "toolConfirmation":
            return [f"approval of {tool_line(entry['toolCall'])}"]
        case "toolAuthentication":
            return [f"a sign-in for {tool_line(entry['toolCall'])}"]
        case "toolClientExecution":
            return [f"{one_line(entry['clientId'])} to run {tool_line(entry['toolCall'])}"]
    return [one_line(str(entry["kind"]))]


# Changing some.


@dataclass(slots=True)
class _Outcome:
    # The URI, or what was named where that means no session.
    session: str
    done: bool = False
    error: str | None = None
    # What became of it, where the verb leaves that to the host.
    became: str | None = None
    # Its chat that the verb was about.
    chat: str | None = None

    def as_json(self) -> dict[str, Any]:
        told: dict[str, Any] = {"session": self.session, "done": self.done}
        if self.chat is not None:
            told["chat"] = self.chat
        if self.became is not None:
            told["outcome"] = self.became
        return told if self.done else {**told, "error": self.error}


async def _change(args: argparse.Namespace) -> int:
    outcomes: list[_Outcome] = []
    code = OK
    try:
        async with connected(args) as client:
            await _change_all(client, args, outcomes)
    except HostWentAway as error:
        if not outcomes:
            raise
        # What is done is done, and worth knowing.
        code = UNREACHABLE
        for outcome in outcomes:
            outcome.error = outcome.error or str(error)
    for outcome in outcomes:
        if not outcome.done:
            print_error(f"{outcome.session}: {outcome.error}", FAILED)
        elif not args.json:
            print(_told(outcome, args))
    if args.json:
        print(json.dumps([outcome.as_json() for outcome in outcomes], indent=2))
    return code or (OK if all(outcome.done for outcome in outcomes) else FAILED)


def _told(outcome: _Outcome, args: argparse.Namespace) -> str:
    """Describe what was done to a session and how to undo it."""
    told = f"{outcome.became or _DONE[args.verb]}  {one_line(outcome.chat or outcome.session)}"
    undoing = _UNDOING.get(outcome.became or "")
    if undoing is None:
        return told
    undo = command_for_host(args, "sessions", undoing, short_id(outcome.session))
    return f"{told}\n  `{undo}` takes it back"


async def _change_all(client: Client, args: argparse.Namespace, outcomes: list[_Outcome]) -> None:
    named = [args.session] if args.verb == "rename" else args.sessions
    in_trash = args.verb in _IN_TRASH
    for text, found in (await find_sessions(client, named, in_trash=in_trash)).items():
        if isinstance(found, CommandFailed):
            outcomes.append(_Outcome(text, error=str(found)))
        elif all(outcome.session != found for outcome in outcomes):
            outcomes.append(_Outcome(found))
    for outcome in outcomes:
        if outcome.error is None:
            try:
                if getattr(args, "chat", None) is not None:
                    outcome.chat = await _change_chat(client, outcome.session, args)
                else:
                    outcome.became = await _change_one(client, outcome.session, args)
                outcome.done = True
            except (AgentHostError, TimeoutError) as error:
                outcome.error = str(error) or "no answer in time"


async def _change_one(client: Client, uri: str, args: argparse.Namespace) -> str | None:
    """Apply the verb to a session; return what the host did where that is its decision."""
    if args.verb == "dispose":
        await client.sessions.dispose(uri)
        return await _disposed_how(client, uri)
    if args.verb in _IN_TRASH:
        sessions = client.sessions
        await (sessions.restore(uri) if args.verb == "restore" else sessions.purge(uri))
        return None
    async with await open_session(client, uri) as session:
        match args.verb:
            case "rename":
                await session.rename(decode_argument(args.title))
            case "read":
                await session.mark_read()
            case verb:
                await session.archive(verb == "archive")
    return None


async def _change_chat(client: Client, uri: str, args: argparse.Namespace) -> str:
    """Apply a verb to one chat of a session; return the chat."""
    async with await open_session(client, uri) as session:
        found = find_chat(session, args.chat)
        async with await session.chat(found, turns=1) as chat:
            is_read = args.verb == "read"
            await (chat.mark_read() if is_read else chat.archive(args.verb == "archive"))
    return found


async def _move(args: argparse.Namespace) -> int:
    if args.new and args.after is not None:
        raise CommandFailed("--after is for a session that is there; a new one has no chats", USAGE)
    async with connected(args) as client:
        if not translator(client.version).has_method("moveChat"):
            message = f"the host speaks protocol {client.version}, in which chats cannot be moved"
            raise CommandFailed(message)
        chat = await find_chat_anywhere(client, args.chat)
        session, after = None, None
        if not args.new:
            named = args.to
            session = await (
                find_session(client, named) if named else session_of_chat(client, chat)
            )
        if args.after is not None:
            after = await find_chat_anywhere(client, args.after, session)
        session = await client.sessions.move_chat(chat, session=session, after=after)
    if args.json:
        print(json.dumps({"chat": chat, "session": session}, indent=2))
    else:
        print(f"moved  {one_line(chat)}  to {one_line(session)}")
    return OK


async def _disposed_how(client: Client, uri: str) -> str:
    """Return what the host did with a disposed session: archived, in the trash, removed."""
    try:
        async with await client.sessions.get(uri) as session:
            # Other hosts have no trash.
            return "archived" if is_archived(session.state["status"]) else "kept"
    except (SessionNotFound, NotFound):
        # Who may not look into the trash knows only that it is gone.
        with suppress(AgentHostError):
            if any(entry["session"] == uri for entry in await client.sessions.trash()):
                return "in the trash"
        return "removed"
