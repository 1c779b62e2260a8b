"""``agenthost files``: the files that a session works on, as the host sees them."""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agenthost.cli.arguments import Subparsers, add_command, add_json_option, add_verb
from agenthost.cli.connection.command_hints import command
from agenthost.cli.connection.host_connection import (
    add_connection_options,
    connected,
    decode_argument,
    run_command,
)
from agenthost.cli.connection.session_lookup import is_uri, open_session_or_latest
from agenthost.cli.exit_codes import FAILED, OK, USAGE, CommandFailed, print_error
from agenthost.cli.format.diff_format import quoted_name, relative_path
from agenthost.cli.format.terminal_text import visible
from agenthost.errors import AgentHostError, InvalidParams

if TYPE_CHECKING:
    from agenthost.client import Client
    from agenthost.client.files import SessionFiles

_EXAMPLES = """examples:
  agenthost files ls                            where the latest session works
  agenthost files ls src --session release
  agenthost files cat src/main.py --session 3f2a
  agenthost files cat logo.png > logo.png       any bytes
  agenthost files put notes.txt docs/notes.txt  or - for standard input
  agenthost files rm old --recursive
  agenthost files watch src                     what changes there, until Ctrl-C

PATH is below the session's first folder unless it is absolute; a URI is taken
as it is. What lies outside of the folders that you may reach is refused.
"""


def register(subparsers: Subparsers) -> None:
    """Add ``files`` and its verbs to the argument tree."""
    files = add_command(
        subparsers, "files", "list, print, write, remove and watch files of a session", run,
        _EXAMPLES,
    )  # fmt: skip
    files.add_argument("--session", metavar="SESSION", help=_WHOSE)
    add_connection_options(files)
    add_json_option(files)
    verbs = files.add_subparsers(dest="verb", metavar="VERB", required=True)
    added = [add_verb(verbs, "ls", "list a folder", "agenthost files ls src --session release")]
    added[-1].add_argument("path", metavar="PATH", nargs="?", default="")
    added.append(
        add_verb(verbs, "cat", "print files as they are", "agenthost files cat src/main.py")
    )
    added[-1].add_argument("paths", metavar="PATH", nargs="+")
    added.append(add_verb(verbs, "put", "write a file from one of this machine", *_PUT_EXAMPLES))
    _add_put_options(added[-1])
    added.append(add_verb(verbs, "rm", "remove files and folders", "agenthost files rm old -r"))
    added[-1].add_argument("paths", metavar="PATH", nargs="+")
    added[-1].add_argument("-r", "--recursive", action="store_true", help="with all in a folder")
    added.append(add_verb(verbs, "watch", "print what changes, until Ctrl-C", *_WATCH_EXAMPLES))
    _add_watch_options(added[-1])
    for verb in added:
        default = argparse.SUPPRESS
        verb.add_argument("--session", metavar="SESSION", default=default, help=_WHOSE)
        add_connection_options(verb, inherited=True)
        add_json_option(verb, inherited=True, events=verb is added[-1])


_PUT_EXAMPLES = (
    "agenthost files put notes.txt docs/notes.txt",
    "git diff | agenthost files put - review.patch --new",
)
_WATCH_EXAMPLES = ("agenthost files watch src --exclude '**/node_modules/**'",)
_WHOSE = "whose files: URI, id or title (default: the latest session)"


def _add_put_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("source", metavar="FILE", help="a file of this machine; - is standard input")
    add("path", metavar="PATH", nargs="?", help="where to (default: the same name)")
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--append", action="store_true", help="add to the end of a file")
    how.add_argument("--new", action="store_true", help="fail if there is such a file")
    add("-p", "--parents", action="store_true", help="make the folders above it")


def _add_watch_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("path", metavar="PATH", nargs="?", default="")
    add("--flat", action="store_true", help="nothing that is in folders below")
    add(
        "--exclude",
        metavar="GLOB",
        action="append",
        default=[],
        help="leave out what matches, as **/node_modules/**; may be repeated",
    )
    # It goes on until somebody ends it.
    parser.set_defaults(patience=None)


def run(args: argparse.Namespace) -> int:
    """Run the verb."""
    match args.verb:
        case "ls":
            return run_command(args, _ls)
        case "cat":
            return run_command(args, _cat)
        case "put":
            return run_command(args, _put)
        case "rm":
            return run_command(args, _rm)
    return run_command(args, _watch)


async def _files(client: Client, args: argparse.Namespace, *paths: str) -> SessionFiles:
    """Return the files that paths are taken among; only a relative one needs a session."""
    if args.session is None and all(path.startswith("/") or is_uri(path) for path in paths):
        return client.files
    files = (await open_session_or_latest(client, args)).files
    try:
        files.uri("")
    except ValueError as error:
        raise CommandFailed(f"{error}; name an absolute path") from None
    return files


# Reading.


async def _ls(args: argparse.Namespace) -> int:
    path = decode_argument(args.path)
    async with connected(args) as client:
        files = await _files(client, args, path)
        try:
            entries: list[Any] = list(await files.list(path))
        except InvalidParams:
            # Of what is no folder there is one line.
            found = await files.stat(path)
            if found["type"] == "directory":
                raise
            entries = [{**found, "name": path}]
    entries.sort(key=lambda entry: entry["name"])
    if args.json:
        print(json.dumps(entries, indent=2))
        return OK
    for entry in entries:
        print(quoted_name(entry["name"]) + ("/" if entry["type"] == "directory" else ""))
    return OK


async def _cat(args: argparse.Namespace) -> int:
    if args.json:
        raise CommandFailed("files cat prints files as they are; --json is not for it", USAGE)
    code = OK
    async with connected(args) as client:
        paths = list(map(decode_argument, args.paths))
        files = await _files(client, args, *paths)
        for path in paths:
            try:
                data = await files.read_bytes(path)
                _check_printable(data, path, args)
            except (AgentHostError, TimeoutError) as error:
                code = print_error(f"{path}: {str(error) or 'no answer in time'}", FAILED)
                continue
            sys.stdout.flush()
            sys.stdout.buffer.write(data)
            sys.stdout.buffer.flush()
    return code


def _check_printable(data: bytes, path: str, args: argparse.Namespace) -> None:
    """Refuse to print on a terminal what it would obey.

    Raises:
        CommandFailed: it is binary, or holds escape sequences or hidden characters.
    """
    if not sys.stdout.isatty():
        return
    try:
        text = data.decode()
    except UnicodeDecodeError:
        what = "is not text"
    else:
        # Tabs, and what ends lines in files of Windows, do no harm.
        rows = text.replace("\r\n", "\n").replace("\t", " ").split("\n")
        if all(visible(row) == row for row in rows):
            return
        what = "holds characters that a terminal obeys or does not show"
    session = () if args.session is None else ("--session", decode_argument(args.session))
    printing = command("files", "cat", path, *session)
    raise CommandFailed(f"it {what}\n  `{printing} | less` shows it, `{printing} > FILE` keeps it")


# Writing.


async def _put(args: argparse.Namespace) -> int:
    source = args.source
    if source == "-" and args.path is None:
        raise CommandFailed("name a PATH for what is read from standard input", USAGE)
    path = decode_argument(os.path.basename(source) if args.path is None else args.path)
    data = _local(source)
    async with connected(args) as client:
        files = await _files(client, args, path)
        folder, _, name = path.rpartition("/")
        if not name:
            raise CommandFailed(f"PATH: {path!r} names a folder, not a file", USAGE)
        if args.parents and folder:
            await files.mkdir(folder)
        await files.write(
            path, data, mode="append" if args.append else "truncate", create_only=args.new
        )
        uri = files.uri(path)
    if args.json:
        print(json.dumps({"uri": uri, "bytes": len(data)}, indent=2))
    else:
        print(f"wrote  {quoted_name(path)}  {len(data):,} bytes")
    return OK


def _local(source: str) -> bytes:
    try:
        return sys.stdin.buffer.read() if source == "-" else Path(source).read_bytes()
    except OSError as error:
        raise CommandFailed(f"{source} cannot be read: {error.strerror}", USAGE) from None


async def _rm(args: argparse.Namespace) -> int:
    outcomes: list[dict[str, Any]] = []
    async with connected(args) as client:
        paths = list(map(decode_argument, args.paths))
        files = await _files(client, args, *paths)
        for path in paths:
            outcome: dict[str, Any] = {"path": path, "done": False}
            try:
                await files.delete(path, recursive=args.recursive)
                outcome["done"] = True
            except (AgentHostError, TimeoutError) as error:
                outcome["error"] = str(error) or "no answer in time"
            outcomes.append(outcome)
    for outcome in outcomes:
        if not outcome["done"]:
            print_error(f"{outcome['path']}: {outcome['error']}", FAILED)
        elif not args.json:
            print(f"removed  {quoted_name(outcome['path'])}")
    if args.json:
        print(json.dumps(outcomes, indent=2))
    return OK if all(outcome["done"] for outcome in outcomes) else FAILED


# Watching.


async def _watch(args: argparse.Namespace) -> int:
    from agenthost.client.file_watch import WatchInterrupted

    path = decode_argument(args.path)
    async with connected(args) as client:
        files = await _files(client, args, path)
        root = files.uri(path)
        excludes = list(map(decode_argument, args.exclude))
        async with await files.watch(path, recursive=not args.flat, excludes=excludes) as watch:
            if args.json:
                print(json.dumps({"event": "watching", "uri": root}), flush=True)
            else:
                print(f"watching {quoted_name(relative_path(root, ()))}", file=sys.stderr)
            async for item in watch:
                if isinstance(item, WatchInterrupted):
                    _print_change(args, "interrupted", None, root)
                    continue
                for change in item:
                    _print_change(args, change["type"], change["uri"], root)
    return OK


def _print_change(args: argparse.Namespace, kind: str, uri: str | None, root: str) -> None:
    if args.json:
        told = {"event": kind} if uri is None else {"event": kind, "uri": uri}
        print(json.dumps(told), flush=True)
    elif uri is None:
        print("changes may have been missed here; look at the files again", file=sys.stderr)
    else:
        print(f"{kind:<8} {quoted_name(relative_path(uri, [root]))}", flush=True)
