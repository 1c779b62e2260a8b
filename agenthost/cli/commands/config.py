"""``agenthost config``: the settings of a host or of a session, shown and changed."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from agenthost.cli.arguments import Subparsers, add_command, add_json_option
from agenthost.cli.connection.host_connection import (
    add_connection_options,
    connected,
    decode_argument,
    run_command,
    use_colour,
)
from agenthost.cli.connection.session_lookup import open_session_or_latest
from agenthost.cli.exit_codes import OK, CommandFailed
from agenthost.cli.format.terminal_text import Ink, safe_text
from agenthost.cli.interactive.commands.settings import known_key, setting_value
from agenthost.cli.interactive.commands.settings_table import meaning_of, settings_table

if TYPE_CHECKING:
    from collections.abc import Callable

    from agenthost.client import Client
    from agenthost.client.state.dispatches import Dispatch

Json = Mapping[str, Any]

_EXAMPLES = """examples:
  agenthost config                         the settings of the host
  agenthost config mcp.enabled             one of them: value, meaning, choices
  agenthost config mcp.enabled false       change it
  agenthost config --session               the settings of the latest session
  agenthost config autoApprove edits --session 3f2a

VALUE is a word for a text, or JSON for anything else. Settings of the host are
its owner's. What an option of `agenthost serve` decides, or the creation of a
session, cannot be changed here.
"""

LATEST = ""
"""What ``--session`` is without a value: the latest session."""


def register(subparsers: Subparsers) -> None:
    """Add ``config`` to the argument tree."""
    parser = add_command(
        subparsers, "config", "show and change settings of a host or a session", run, _EXAMPLES
    )
    parser.add_argument("key", metavar="KEY", nargs="?", help="which setting (default: all)")
    parser.add_argument("value", metavar="VALUE", nargs="?", help="what it is to be")
    parser.add_argument(
        "--session",
        metavar="SESSION",
        nargs="?",
        const=LATEST,
        help="settings of a session, the latest if none is named",
    )
    add_json_option(parser)
    add_connection_options(parser)


def run(args: argparse.Namespace) -> int:
    """Show settings, or change one."""
    return run_command(args, _config)


async def _config(args: argparse.Namespace) -> int:
    async with connected(args) as client:
        state, configure = await _settings(client, args)
        if args.key is None:
            return _print_all(state(), args)
        properties = state()["schema"]["properties"]
        key = known_key(decode_argument(args.key), {*properties, *state()["values"]})
        if args.value is not None:
            text = decode_argument(args.value)
            await configure({key: setting_value(key, properties.get(key) or {}, text)})
        return _print_one(state(), key, args)


async def _settings(
    client: Client, args: argparse.Namespace
) -> tuple[Callable[[], Json], Callable[[Json], Dispatch]]:
    """Return what gives the settings as they are, and what changes them."""
    if args.session is None:
        if not client.root.has_state or "config" not in client.root.state:
            raise CommandFailed("this host has no settings")
        return lambda: client.root.state["config"], client.configure
    args.session = args.session or None
    session = await open_session_or_latest(client, args)
    if session.state.get("config") is None:
        raise CommandFailed("this session has no settings")
    return lambda: session.state["config"], session.configure


def _print_all(config: Json, args: argparse.Namespace) -> int:
    if args.json:
        print(json.dumps(config["values"], indent=2))
        return OK
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    of_session = args.session is not None
    for line in settings_table(config, width, Ink(use_colour()), of_session=of_session):
        print(line)
    return OK


def _print_one(config: Json, key: str, args: argparse.Namespace) -> int:
    schema = config["schema"]["properties"].get(key) or {}
    value = config["values"].get(key, schema.get("default"))
    if args.json:
        told = {"key": key, "value": value, "set": key in config["values"], "schema": schema}
        print(json.dumps(told, indent=2))
        return OK
    print(safe_text(value if isinstance(value, str) else json.dumps(value)))
    if args.value is None and sys.stderr.isatty():
        for line in meaning_of(schema):
            print(f"  {line}", file=sys.stderr)
    return OK
