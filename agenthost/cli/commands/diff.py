"""``agenthost diff``: what a session, a turn or a branch changed in files."""

from __future__ import annotations

import argparse
import asyncio
import json
import shutil
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from agenthost.cli.arguments import Subparsers, add_command, add_json_option
from agenthost.cli.connection.chat_lookup import find_chat
from agenthost.cli.connection.host_connection import (
    add_connection_options,
    command_for_host,
    connected,
    decode_argument,
    run_command,
    use_colour,
)
from agenthost.cli.connection.session_lookup import open_session_or_latest
from agenthost.cli.exit_codes import OK, USAGE, CommandFailed
from agenthost.cli.format.diff_format import (
    FileDiff,
    describe_file,
    diff_lines,
    file_json,
    stat_lines,
    sum_json,
)
from agenthost.cli.format.diff_rows import diff_rows
from agenthost.cli.format.state_format import short_id
from agenthost.cli.format.terminal_text import Ink, one_line
from agenthost.errors import AgentHostError, NotFound

if TYPE_CHECKING:
    from agenthost.client import Chat, Session
    from agenthost.client.changes import ChangesView

Json = Mapping[str, Any]

LARGEST = 2 * 1024 * 1024
"""Bytes of a file that are compared; a larger one is named only."""

COMPUTING = 120.0
"""Seconds in which a host must have found out what was changed."""

# Lines around a change, as git shows them.
_CONTEXT = 3
# Files that are fetched at the same time.
_AT_ONCE = 8
_SHORTEST_ID = 4

_EXAMPLES = """examples:
  agenthost diff                          what the latest session changed, here if one works here
  agenthost diff release --stat           a line per file; by the session's id or title
  agenthost diff --turn last              what its last turn changed
  agenthost diff --turn 2..5              the difference between what two turns left
  agenthost diff --kind branch            all that differs from the branch it started from
  agenthost diff --color always | less -R
  agenthost diff > changes.patch          which `git apply` reads

--kind is one of those that the session has: session (default), uncommitted, branch.
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
        changes = await _open(session, args)
        async with asyncio.timeout(COMPUTING):
            files = await changes.ready()
        directories = session.state.get("workingDirectories") or []
        described = [describe_file(file, directories) for file in files]
        if args.json:
            await _print_json(changes, session, files, described, args)
        elif not files:
            what = one_line(changes.entry["label"]).lower()
            print(f"There are no {what} in {short_id(session.uri)}.", file=sys.stderr)
        elif args.stat:
            _print_stat(files, described, args)
        else:
            await _print_diff(changes, files, described, args)
    return OK


# Which changes.


async def _open(session: Session, args: argparse.Namespace) -> ChangesView:
    """Follow the changes that the options name."""
    chat = None
    if args.chat is not None or args.turn is not None:
        named = None if args.chat is None else find_chat(session, args.chat)
        chat = await session.chat(named)
    catalogue = session.changes if args.chat is None or chat is None else chat.changes
    turn, compare = None, None
    if args.turn is not None and chat is not None:
        first, dots, second = decode_argument(args.turn).partition("..")
        turn = find_turn(chat, first)
        if dots:
            turn, compare = None, (turn, find_turn(chat, second))
    try:
        return await catalogue.open(args.kind, turn=turn, compare=compare)
    except NotFound as error:
        listed = [entry["changeKind"] for entry in catalogue.catalogue]
        if args.kind is None or args.kind in listed:
            raise
        kinds = [kind for kind in listed if kind not in ("turn", "compare-turns")]
        if args.kind in ("turn", "compare-turns"):
            hint = command_for_host(args, "diff", short_id(session.uri), "--turn", "last")
            raise CommandFailed(f"--kind: use --turn, as in `{hint}`", USAGE) from error
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


async def _print_diff(
    changes: ChangesView, files: Sequence[Any], described: Sequence[FileDiff], args: Any
) -> None:
    ink = Ink(_is_coloured(args))
    is_patch = not sys.stdout.isatty()
    async for file in _compared(changes, files, described, keep_returns=is_patch):
        for line in diff_lines(file, ink, patch=is_patch):
            print(line)


def _print_stat(files: Sequence[Any], described: Sequence[FileDiff], args: Any) -> None:
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    marked = [
        replace(item, is_binary=item.added is None and not _has_no_content(file))
        for file, item in zip(files, described, strict=True)
    ]
    for line in stat_lines(marked, width, Ink(_is_coloured(args))):
        print(line)


async def _print_json(
    changes: ChangesView,
    session: Session,
    files: Sequence[Any],
    described: Sequence[FileDiff],
    args: argparse.Namespace,
) -> None:
    shown = list(described)
    if not args.stat:
        shown = [file async for file in _compared(changes, files, described, keep_returns=True)]
    document = {
        "session": session.uri,
        "changeset": changes.uri,
        "kind": changes.entry["changeKind"],
        "label": changes.entry["label"],
        **sum_json(shown),
        "changes": [file_json(file, with_diff=not args.stat) for file in shown],
    }
    print(json.dumps(document, indent=2))


def _is_coloured(args: argparse.Namespace) -> bool:
    return args.color == "always" or (args.color == "auto" and use_colour())


# Contents.


async def _compared(
    changes: ChangesView,
    files: Sequence[Any],
    described: Sequence[FileDiff],
    *,
    keep_returns: bool,
) -> AsyncIterator[FileDiff]:
    """Yield the files with their diffs, in order; some are fetched at the same time."""
    pairs = list(zip(files, described, strict=True))
    for start in range(0, len(pairs), _AT_ONCE):
        batch = pairs[start : start + _AT_ONCE]
        work = (_compare(changes, file, item, keep_returns) for file, item in batch)
        for file in await asyncio.gather(*work):
            yield file


async def _compare(
    changes: ChangesView, file: Any, described: FileDiff, keep_returns: bool
) -> FileDiff:
    """Return a file with its diff, or with why it has none."""
    if _has_no_content(file):
        return replace(described, unshown="a repository of its own, which is at another commit")
    sizes = [_side(file, name).get("sizeHint") or 0 for name in ("before", "after")]
    if max(sizes) > LARGEST:
        return replace(described, unshown=f"too large to be shown: {max(sizes):,} bytes")
    try:
        before, after = await changes.contents(file)
    except (AgentHostError, TimeoutError) as error:
        why = one_line(str(error)) or "no answer in time"
        return replace(described, unshown=f"cannot be shown: {why}")
    try:
        texts = [_text(side) for side in (before, after)]
    except ValueError:
        told = f"binary, {_size(before)} before, {_size(after)} now"
        return replace(described, unshown=told, is_binary=True)
    largest = max(len(text or "") for text in texts)
    if largest > LARGEST:
        return replace(described, unshown=f"too large to be shown: {largest:,} characters")
    rows = await asyncio.to_thread(
        diff_rows, *texts, context=_CONTEXT, keep_returns=keep_returns
    )
    added, removed = (sum(row.startswith(sign) for row in rows) for sign in "+-")
    counted = replace(described, rows=rows)
    return counted if described.added is not None else replace(counted, added=added, removed=removed)


def _text(data: bytes | None) -> str | None:
    """Return the text of a file.

    Raises:
        ValueError: it is none, as git sees it.
    """
    if data is None:
        return None
    if b"\0" in data:
        raise ValueError("it holds a NUL")
    return data.decode()


def _size(data: bytes | None) -> str:
    return "nothing" if data is None else f"{len(data):,} bytes"


def _side(file: Json, name: str) -> Json:
    side = file["edit"].get(name) or {}
    content: Json = side.get("content") or {}
    return content


def _has_no_content(file: Json) -> bool:
    """Return whether neither side can be read: of a submodule there are only commits."""
    return not any(_side(file, name).get("uri") for name in ("before", "after"))
