"""``agenthost terminal``: list a host's terminals, open one, attach to it, end it."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from agenthost.cli.arguments import Subparsers, add_command, add_json_option, add_verb
from agenthost.cli.connection.command_hints import hint
from agenthost.cli.connection.host_connection import (
    ConnectionNotices,
    add_connection_options,
    connected,
    decode_argument,
    run_command,
    use_colour,
)
from agenthost.cli.connection.session_lookup import open_session, open_session_or_latest
from agenthost.cli.connection.terminal_lookup import find_terminal
from agenthost.cli.data_dir import directory_uri
from agenthost.cli.exit_codes import FAILED, INTERRUPTED, OK, USAGE, CommandFailed, print_error
from agenthost.cli.format.state_format import directory_text, session_id, short_id
from agenthost.cli.format.terminal_text import Ink, Style, one_line, safe_text, table
from agenthost.errors import AgentHostError, NotFound

if TYPE_CHECKING:
    from agenthost.cli.attach.attachment import Attachment, AttachmentEnd
    from agenthost.client import Client
    from agenthost.client.terminals import ClientTerminals, TerminalView

Json = Mapping[str, Any]

_EXAMPLES = """examples:
  agenthost terminal                        the terminals that there are
  agenthost terminal attach 3f2a            work in one; Ctrl-] leaves it
  agenthost terminal new release --attach   a shell where that session works
  agenthost terminal new --run "npm run dev" --title dev
  agenthost terminal show dev               what it printed, as plain text
  agenthost terminal kill dev               end its program and remove it

TERMINAL is a terminal's URI, the beginning of its id, or its title.
The exit code of attach is that of the terminal's program; 0 after Ctrl-].
"""


def register(subparsers: Subparsers) -> None:
    """Add ``terminal`` and its verbs to the argument tree."""
    terminal = add_command(
        subparsers, "terminal", "list, open, attach to and end terminals of a host", run, _EXAMPLES
    )
    add_connection_options(terminal)
    add_json_option(terminal)
    verbs = terminal.add_subparsers(dest="verb", metavar="VERB", help="list if there is none")
    added = [add_verb(verbs, "list", "list terminals", "agenthost terminal list release")]
    added[-1].add_argument("session", metavar="SESSION", nargs="?", help="only those of a session")
    added.append(add_verb(verbs, "new", "open a shell for a session", *_NEW_EXAMPLES))
    _add_new_options(added[-1])
    added.append(_on_terminal(verbs, "attach", "work in a terminal; Ctrl-] leaves it"))
    added[-1].add_argument("terminal", metavar="TERMINAL")
    added.append(_on_terminal(verbs, "show", "print what a terminal printed, as plain text"))
    added[-1].add_argument("terminal", metavar="TERMINAL")
    added.append(_on_terminal(verbs, "kill", "end the programs of terminals and remove them"))
    added[-1].add_argument("terminals", metavar="TERMINAL", nargs="+")
    for verb in added:
        add_connection_options(verb, inherited=True)
        add_json_option(verb, inherited=True)


_NEW_EXAMPLES = (
    "agenthost terminal new release --attach",
    'agenthost terminal new --run "npm run dev" --title dev',
)


def _on_terminal(verbs: Subparsers, name: str, help: str) -> argparse.ArgumentParser:
    return add_verb(verbs, name, help, f"agenthost terminal {name} dev")


def _add_new_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("session", metavar="SESSION", nargs="?", help="whose it is (default: the latest session)")
    add("--dir", metavar="DIR", help="where it begins: a path or URI (default: the session's)")
    add("--title", metavar="TITLE", help="its name (default: the shell's)")
    add("--run", metavar="COMMAND", dest="command_line", help="type a command into it")
    add("--attach", action="store_true", help="work in it at once")


def run(args: argparse.Namespace) -> int:
    """Run the verb."""
    match args.verb:
        case "new":
            return run_command(args, _new)
        case "attach":
            return run_command(args, _attach)
        case "show":
            return run_command(args, _show)
        case "kill":
            return run_command(args, _kill)
    return run_command(args, _list)


# Looking.


async def _list(args: argparse.Namespace) -> int:
    async with connected(args) as client:
        terminals = client.terminals
        if getattr(args, "session", None) is not None:
            terminals = (await open_session(client, args.session)).terminals
        infos = await terminals.list()
    if args.json:
        print(json.dumps([_info_json(info) for info in infos], indent=2))
    elif infos:
        width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
        for line in terminal_table(infos, width, Ink(use_colour())):
            print(line)
    else:
        opening = hint("terminal", "new", "--attach")
        print(f"There are no terminals; {opening} opens one.", file=sys.stderr)
    return OK


def terminal_table(infos: Sequence[Any], width: int | None, ink: Ink) -> list[str]:
    """Lay out a list of terminals."""
    rows: list[Sequence[str]] = [("ID", "TITLE", "STATUS", "USED BY")]
    styles: list[Sequence[Style | None]] = [("dim",) * 4]
    for info in infos:
        style: Style | None = "green" if info["lifecycle"]["status"] == "running" else "dim"
        rows.append(
            (
                short_id(info["resource"]),
                one_line(info["title"]) or "(no title)",
                _status(info["lifecycle"]),
                _holder(info["claim"]),
            )
        )
        styles.append(("dim", None, style, None))
    return table(rows, width=width, flexible=1, styles=styles, ink=ink)


def _status(lifecycle: Json) -> str:
    if lifecycle["status"] != "exited":
        return one_line(str(lifecycle["status"]))
    code = lifecycle.get("exitCode")
    return "ended" if code is None else f"ended, exit code {code}"


def _holder(claim: Json) -> str:
    if claim["kind"] == "client":
        return f"client {one_line(claim['clientId'])}"
    session = f"session {short_id(claim['session'])}"
    return f"a tool in {session}" if "toolCallId" in claim else session


def _info_json(info: Json) -> dict[str, Any]:
    shown = {"terminal": info["resource"], "id": session_id(info["resource"])}
    return {
        **shown,
        "title": info["title"],
        "status": info["lifecycle"]["status"],
        "exitCode": info["lifecycle"].get("exitCode"),
        "claim": info["claim"],
    }


async def _show(args: argparse.Namespace) -> int:
    async with connected(args) as client, await _open(client, args) as terminal:
        state, text = terminal.channel.confirmed, terminal.text
        commands = terminal.commands()
    if args.json:
        shown = _info_json({**state, "resource": terminal.uri})
        more = {"cwd": _path(state.get("cwd")), "text": text, "commands": commands}
        print(json.dumps({**shown, **more}, indent=2))
    else:
        plain = safe_text(text, overwrite=True)
        print(plain, end="" if plain.endswith("\n") or not plain else "\n")
    return OK


def _path(uri: str | None) -> str | None:
    return None if uri is None else directory_text(uri)


async def _open(client: Client, args: argparse.Namespace) -> TerminalView:
    uri = await find_terminal(client, args.terminal, hint("terminal"))
    try:
        return await client.terminals.open(uri)
    except NotFound:
        raise CommandFailed(f"there is no terminal {uri}", kind="notFound") from None


# Opening and ending.


async def _new(args: argparse.Namespace) -> int:
    if args.attach:
        _check_terminal(args, "drop --attach; the terminal can be attached to later")
    notices = _Notices()
    async with connected(args, tell=notices.tell) as client:
        terminals = await _owner(client, args)
        folder = None if args.dir is None else directory_uri(args.dir)
        title = None if args.title is None else decode_argument(args.title)
        columns, rows = shutil.get_terminal_size() if args.attach else (None, None)
        terminal = await terminals.create(name=title, cwd=folder, cols=columns, rows=rows)
        async with terminal:
            if args.command_line is not None:
                # To press Enter is to send a carriage return.
                await terminal.paste(f"{decode_argument(args.command_line)}\r")
            if args.attach:
                return await _attach_to(client, terminal, args, notices, ours=True)
            uri = terminal.uri
    if args.json:
        print(json.dumps({"terminal": uri, "id": session_id(uri)}, indent=2))
        return OK
    print(f"opened  {uri}")
    print(f"  {hint('terminal', 'attach', short_id(uri))} works in it", file=sys.stderr)
    return OK


async def _owner(client: Client, args: argparse.Namespace) -> ClientTerminals:
    """Return where the terminal is opened: for a session or, to be attached to, for nobody's."""
    try:
        return (await open_session_or_latest(client, args)).terminals
    except CommandFailed as error:
        if args.session is not None or error.kind != "notFound":
            raise
        if not args.attach:
            told = "there is no session that could have it; with --attach it needs none"
            raise CommandFailed(told, kind="notFound") from None
        return client.terminals


async def _kill(args: argparse.Namespace) -> int:
    outcomes: list[dict[str, Any]] = []
    where = hint("terminal")
    async with connected(args) as client:
        for text in args.terminals:
            named = {"terminal": decode_argument(text), "done": False}
            try:
                uri = named["terminal"] = await find_terminal(client, text, where)
                async with await client.terminals.open(uri) as terminal:
                    await terminal.dispose()
                outcomes.append({**named, "done": True})
            except NotFound:
                outcomes.append({**named, "error": "there is no such terminal"})
            except (AgentHostError, TimeoutError) as error:
                outcomes.append({**named, "error": str(error) or "no answer in time"})
    for outcome in outcomes:
        if not outcome["done"]:
            print_error(f"{outcome['terminal']}: {outcome['error']}", FAILED)
        elif not args.json:
            print(f"removed  {one_line(outcome['terminal'])}")
    if args.json:
        print(json.dumps(outcomes, indent=2))
    return OK if all(outcome["done"] for outcome in outcomes) else FAILED


# Attaching.


class _Notices:
    """Tells of the connection: on standard error, or amidst the program's output."""

    def __init__(self) -> None:
        self.attachment: Attachment | None = None
        self.tell = ConnectionNotices(self._say)

    def _say(self, text: str) -> None:
        if self.attachment is not None:
            self.attachment.say(text)
        else:
            print(Ink(use_colour(sys.stderr))("yellow", safe_text(text)), file=sys.stderr)


async def _attach(args: argparse.Namespace) -> int:
    shown = hint("terminal", "show", decode_argument(args.terminal))
    _check_terminal(args, f"{shown} prints what it printed")
    notices = _Notices()
    async with (
        connected(args, tell=notices.tell) as client,
        await _open(client, args) as terminal,
    ):
        return await _attach_to(client, terminal, args, notices)


def _check_terminal(args: argparse.Namespace, instead: str) -> None:
    from agenthost.cli.attach.raw_tty import has_terminal

    if args.json:
        raise CommandFailed("to attach to a terminal and --json exclude each other", USAGE)
    if not has_terminal():
        message = "to attach, standard input and output must be a terminal"
        raise CommandFailed(f"{message}\n  {instead}", USAGE)


async def _attach_to(
    client: Client,
    terminal: TerminalView,
    args: argparse.Namespace,
    notices: _Notices,
    *,
    ours: bool = False,
) -> int:
    """Attach, and return the exit code; ``ours`` is removed once its program has ended."""
    from agenthost.cli.attach.attachment import Attachment
    from agenthost.cli.attach.raw_tty import RawTty
    from agenthost.client import Connected

    title = one_line(terminal.title) or "the terminal"
    with RawTty() as tty:
        attachment = Attachment(
            terminal, tty, lambda: isinstance(client.connection.state, Connected)
        )
        notices.attachment = attachment
        try:
            end = await attachment.run()
        finally:
            notices.attachment = None
    if ours and end.how == "exited":
        await terminal.dispose()
    return _tell_end(end, title, hint("terminal", "attach", _id(terminal)))


def _id(terminal: TerminalView) -> str:
    # A URI of another kind is found whole only.
    uri = terminal.uri
    return short_id(uri) if uri.startswith("ahp-terminal:/") else uri


def _tell_end(end: AttachmentEnd, title: str, again: str) -> int:
    match end.how:
        case "exited":
            known = end.code is not None
            how = f"with exit code {end.code}" if known else "and nobody knows how"
            print(f"\n{title} ended {how}", file=sys.stderr)
            # A number that no process can end with still is no success.
            return end.code if end.code is not None and 0 <= end.code <= 255 else FAILED
        case "gone":
            told = "somebody removed it, or its host was started anew"
            raise CommandFailed(f"{title} is gone: {told}", kind="notFound")
        case "stopped":
            print(f"\nleft {title}, which runs on; {again} comes back", file=sys.stderr)
            return INTERRUPTED if end.code is None else 128 + end.code
    print(f"\nleft {title}, which runs on; {again} comes back", file=sys.stderr)
    return OK
