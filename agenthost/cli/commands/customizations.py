"""``agenthost customizations``: what a session is brought, what is wrong with it, on and off."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from agenthost.cli.arguments import Subparsers, add_command, add_json_option
from agenthost.cli.connection.command_hints import hint
from agenthost.cli.connection.customization_lookup import find_customization, read_customizations
from agenthost.cli.connection.host_connection import (
    add_connection_options,
    connected,
    run_command,
    use_colour,
)
from agenthost.cli.connection.session_lookup import open_session_or_latest
from agenthost.cli.exit_codes import OK, USAGE, CommandFailed
from agenthost.cli.format.customization_format import (
    MOST_NAME,
    about,
    cell,
    customization_json,
    kind_word,
    problem_lines,
    state_word,
    where,
)
from agenthost.cli.format.state_format import session_id
from agenthost.cli.format.terminal_text import Ink, Style, table

if TYPE_CHECKING:
    from agenthost.client import Client, Session
    from agenthost.client.customizations import CustomizationItem

_USAGE = """agenthost customizations [SESSION] [--problems] [--json]
       agenthost customizations enable|disable NAME … [--session [SESSION]]
                                [--workspace | --global] [--json]"""

_EXAMPLES = """examples:
  agenthost customizations                   what the latest session is brought
  agenthost customizations 3f2a --problems   what cannot be used, and why
  agenthost customizations disable tidy      not in this session
  agenthost customizations disable tidy --global
  agenthost customizations enable tidy --workspace

Skills, prompts, agents, rules and MCP servers are found in the folders that a
session works in, in the user's own, in plugins and at clients. SESSION is a
session's URI, the beginning of its id or its title. NAME is a name or an id of
the list. What is switched takes effect with the next turn; a decision for a
session counts before that for its folder, and both before that for all.
"""

_VERBS = ("enable", "disable")
_CONTAINERS = ("directory", "plugin")
# The host's setting for all of them.
_SWITCH = "customizations.enabled"


def register(subparsers: Subparsers) -> None:
    """Add ``customizations`` to the argument tree."""
    parser = add_command(
        subparsers,
        "customizations",
        "skills, agents, rules and servers of a session",
        run,
        _EXAMPLES,
    )
    parser.usage = _USAGE
    add = parser.add_argument
    add("words", metavar="SESSION", nargs="*", help="whose (default: the latest session)")
    add("--session", metavar="SESSION", nargs="?", help="switch for a session alone (the default)")
    scope = parser.add_mutually_exclusive_group()
    scope.add_argument(
        "--workspace", action="store_true", help="switch for all sessions of its folder"
    )
    scope.add_argument(
        "--global", action="store_true", dest="everywhere", help="switch for all sessions"
    )
    add("--problems", action="store_true", help="only what cannot be used")
    add_json_option(parser)
    add_connection_options(parser)


def run(args: argparse.Namespace) -> int:
    """List, or switch on or off."""
    if args.words and args.words[0] in _VERBS:
        return run_command(args, _switch)
    return run_command(args, _list)


async def _list(args: argparse.Namespace) -> int:
    words = args.words[1:] if args.words[:1] == ["list"] else args.words
    if len(words) > 1:
        raise CommandFailed(f"one SESSION, or enable or disable first, not {words[0]!r}", USAGE)
    if args.workspace or args.everywhere:
        raise CommandFailed("--workspace and --global go with enable and disable", USAGE)
    args.session = words[0] if words else args.session
    async with connected(args) as client:
        session = await open_session_or_latest(client, args)
        items = await read_customizations(session)
        folders = session.state.get("workingDirectories") or []
        is_off = _is_switched_off(client)
    shown = [item for item in items if not args.problems or item.problem is not None]
    if args.json:
        print(json.dumps([customization_json(item) for item in shown], indent=2))
        return OK
    rows = [item for item in shown if item.kind not in _CONTAINERS or _is_worth_a_row(item)]
    if not rows:
        print(_nothing(session, problems=args.problems, is_off=is_off), file=sys.stderr)
        if is_off:
            print(f"  {hint('config', _SWITCH, 'true')} switches them on", file=sys.stderr)
        return OK
    if args.problems:
        print("\n".join(line for item in rows for line in problem_lines(item)))
        return OK
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    for line in customization_table(rows, folders, width, Ink(use_colour())):
        print(line)
    if any(item.problem is not None for item in items):
        problems = hint("customizations", session_id(session.uri), "--problems")
        print(f"  {problems} says what is wrong, in full", file=sys.stderr)
    return OK


def _is_worth_a_row(item: CustomizationItem) -> bool:
    """Return whether a container says something that nothing in it does."""
    children = item.value.get("children") or ()
    return not item.enabled or (item.problem is not None and not children)


def _is_switched_off(client: Client) -> bool:
    config = client.root.state.get("config") if client.root.has_state else None
    return config is not None and config["values"].get(_SWITCH) is False


def _nothing(session: Session, *, problems: bool, is_off: bool) -> str:
    if is_off:
        return "Customizations are switched off on this host."
    if not session.customizations.is_read:
        return "This host has not read what the session is brought, or it cannot."
    if problems:
        return "Everything can be used."
    return "There is nothing: no skills, prompts, agents, rules or MCP servers."


def customization_table(
    items: Sequence[CustomizationItem], folders: Sequence[str], width: int | None, ink: Ink
) -> list[str]:
    """Lay out a list of customizations."""
    rows: list[Sequence[str]] = [("KIND", "NAME", "STATE", "FROM", "ABOUT")]
    styles: list[Sequence[Style | None]] = [("dim",) * 5]
    for item in items:
        word, style = state_word(item)
        name = cell(item.name, MOST_NAME) or "(no name)"
        rows.append((kind_word(item.kind), name, word, where(item, folders), about(item)))
        styles.append((None, "bold", style, "dim", "red" if item.problem else None))
    return table(rows, width=width, flexible=4, styles=styles, ink=ink)


async def _switch(args: argparse.Namespace) -> int:
    verb, *names = args.words
    if not names:
        raise CommandFailed(f"name what to {verb}", USAGE)
    enabled = verb == "enable"
    async with connected(args) as client:
        session = await open_session_or_latest(client, args)
        items = await read_customizations(session)
        where = hint("customizations", session_id(session.uri))
        found = [find_customization(items, name, where) for name in names]
        scope, told = _scope(session, args)
        for item in found:
            await session.customizations.toggle(item, enabled, scope=scope)
        after = [session.customizations.find(item.id) for item in found]
    if args.json:
        print(json.dumps([customization_json(item) for item in after], indent=2))
        return OK
    for item in after:
        print(f"{verb}d  {cell(item.name, MOST_NAME)} {told}")
        if item.enabled != enabled:
            print(f"  it is {state_word(item)[0]}, which counts first", file=sys.stderr)
    return OK


def _scope(session: Session, args: argparse.Namespace) -> tuple[str, str]:
    if args.everywhere:
        return "global", "everywhere"
    if not args.workspace:
        return "session", "in this session"
    folders = session.state.get("workingDirectories") or []
    if not folders:
        raise CommandFailed("--workspace: this session works in no folder", USAGE)
    return folders[0], "in this folder"
