"""``agenthost diff``: what a session, a turn or a branch changed in files."""

from __future__ import annotations

import argparse
import asyncio
import json
import shutil
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from agenthost.cli.arguments import Subparsers, add_command, add_json_option
from agenthost.cli.changed_files import COMPUTING, ChangedFiles
from agenthost.cli.connection.chat_lookup import find_chat
from agenthost.cli.connection.command_hints import hint
from agenthost.cli.connection.host_connection import (
    add_connection_options,
    connected,
    decode_argument,
    run_command,
    use_colour,
)
from agenthost.cli.connection.session_lookup import open_session_or_latest
from agenthost.cli.exit_codes import OK, USAGE, CommandFailed
from agenthost.cli.format.diff_format import (
    diff_lines,
    file_json,
    is_spelled_out,
    quoted_name,
    stat_lines,
    sum_json,
)
from agenthost.cli.format.state_format import short_id
from agenthost.cli.format.terminal_text import Ink, one_line
from agenthost.client import Unsupported
from agenthost.errors import NotFound

if TYPE_CHECKING:
    from agenthost.client import Chat, Session
    from agenthost.client.changes import ChangesView

Json = Mapping[str, Any]

# Characters of an id that tell a turn from others.
_SHORTEST_ID = 4

_EXAMPLES = """examples:
  agenthost diff                   what the latest session changed, best here
  agenthost diff release --stat    a line per file; by the session's id or title
  agenthost diff --turn last       what its last turn changed
  agenthost diff --turn 2..5       the difference between what two turns left
  agenthost diff --kind branch     all that differs from where its branch began
  agenthost diff --color always | less -R
  agenthost diff > changes.patch   which `git apply` reads

--kind is one that the session has: session (default), uncommitted, branch.
"""


def register(subparsers: Subparsers) -> None:
    """Add ``diff`` to the argument tree."""
    diff = add_command(subparsers, "diff", "show what a session changed in files", run, _EXAMPLES)
    add = diff.add_argument
    add("session", metavar="SESSION", nargs="?", help="URI, id or title (default: the latest)")
    which = diff.add_mutually_exclusive_group()
    which.add_argument(
        "--turn",
        metavar="TURN",
        help="what one turn changed: last, its number or id; A..B compares what two turns left",
    )
    which.add_argument("--kind", metavar="KIND", help="session (default), uncommitted or branch")
    add("--chat", metavar="CHAT", help="of one chat of the session only: its id, number or title")
    add("--stat", action="store_true", help="only how many lines changed in which file")
    add(
        "--color",
        choices=("auto", "always", "never"),
        default="auto",
        help="auto (default) is on a terminal, unless NO_COLOR is set",
    )
    add_json_option(diff)
    add_connection_options(diff)


def run(args: argparse.Namespace) -> int:
    """Print the changes."""
    return run_command(args, _diff)


async def _diff(args: argparse.Namespace) -> int:
    async with connected(args) as client:
        session = await open_session_or_latest(client, args)
        view = await _open(session, args)
        if view is None:
            _print_nothing(session, args)
            return OK
        async with asyncio.timeout(COMPUTING):
            files = await view.ready()
        found = ChangedFiles(session, view, files)
        if args.json:
            await _print_json(found, with_diffs=not args.stat)
        elif not files:
            what = one_line(view.entry["label"])
            print(f"There is nothing in the {what} of {short_id(session.uri)}.", file=sys.stderr)
        elif args.stat:
            _print_stat(found, Ink(_is_coloured(args)))
        else:
            await _print_diff(found, Ink(_is_coloured(args)))
    return OK


# Which changes.


async def _open(session: Session, args: argparse.Namespace) -> ChangesView | None:
    """Follow the changes that the options name; None if none have been made so far."""
    chat = None
    if args.chat is not None or args.turn is not None:
        named = None if args.chat is None else find_chat(session, args.chat)
        chat = await session.chat(named)
    catalogue = session.changes if args.chat is None or chat is None else chat.changes
    if args.kind in ("turn", "compare-turns"):
        instead = hint("diff", short_id(session.uri), "--turn", "last")
        raise CommandFailed(f"--kind: use --turn, as in {instead}", USAGE)
    try:
        if args.turn is None or chat is None:
            return await catalogue.open(args.kind)
        first, dots, second = decode_argument(args.turn).partition("..")
        if dots:
            return await catalogue.open(compare=(find_turn(chat, first), find_turn(chat, second)))
        return await catalogue.open(turn=find_turn(chat, first))
    except (NotFound, Unsupported) as error:
        listed = [entry["changeKind"] for entry in catalogue.catalogue]
        if args.turn is not None or (args.kind or "session") in listed:
            raise
        if (args.kind or "session") == "session":
            # Listed as soon as there may be some.
            return None
        kinds = [kind for kind in listed if kind not in ("turn", "compare-turns")]
        message = f"--kind: there are no changes of the kind {args.kind!r}; there are: "
        raise CommandFailed(message + one_line(", ".join(kinds) or "none"), USAGE) from error


def find_turn(chat: Chat, text: str) -> str:
    """Return the id of a chat's turn: by ``last``, number or the beginning of its id.

    Raises:
        CommandFailed: there is none, or more than one.
    """
    state = chat.state
    active = state.get("activeTurn")
    ids = [turn["id"] for turn in state["turns"]] + ([] if active is None else [active["id"]])
    if text == "last" and ids:
        return ids[-1]
    if text in ids:
        return text
    if text.isascii() and text.isdigit() and 1 <= int(text) <= len(ids):
        return ids[int(text) - 1]
    found = [id for id in ids if id.startswith(text)] if len(text) >= _SHORTEST_ID else []
    if len(found) == 1:
        return found[0]
    what = f"{text!r} could mean several turns" if found else f"the chat has no turn {text!r}"
    count = f"it has {len(ids)}, numbered from 1" if ids else "it has none yet"
    raise CommandFailed(f"--turn: {what}; {count}", kind="ambiguous" if found else "notFound")


# Printing.


async def _print_diff(found: ChangedFiles, ink: Ink) -> None:
    is_patch = not sys.stdout.isatty()
    async for file in found.compared(keep_returns=is_patch):
        for line in diff_lines(file, ink, patch=is_patch):
            print(line)
        if is_patch and is_spelled_out(file):
            name = quoted_name(file.path)
            print(f"{name}: control characters are spelled out; do not apply", file=sys.stderr)


def _print_stat(found: ChangedFiles, ink: Ink) -> None:
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    for line in stat_lines(found.described(), width, ink):
        print(line)


def _print_nothing(session: Session, args: argparse.Namespace) -> None:
    if args.json:
        about = {"session": session.uri, "changeset": None, "kind": "session", "label": None}
        print(json.dumps({**about, **sum_json(()), "changes": []}, indent=2))
    else:
        print(f"The host tells of no changes in {short_id(session.uri)}.", file=sys.stderr)


async def _print_json(found: ChangedFiles, *, with_diffs: bool) -> None:
    files = found.described()
    if with_diffs:
        files = [file async for file in found.compared(keep_returns=True)]
    entry = found.view.entry
    document = {
        "session": found.session.uri,
        "changeset": found.view.uri,
        "kind": entry["changeKind"],
        "label": entry["label"],
        **sum_json(files),
        "changes": [file_json(file, with_diff=with_diffs) for file in files],
    }
    print(json.dumps(document, indent=2))


def _is_coloured(args: argparse.Namespace) -> bool:
    return args.color == "always" or (args.color == "auto" and use_colour())
