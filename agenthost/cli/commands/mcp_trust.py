"""``agenthost mcp trust|trusted|forget``: which folders' servers a host may start."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from agenthost.cli.connection.command_hints import hint
from agenthost.cli.connection.host_connection import (
    connected,
    decode_argument,
    use_colour,
)
from agenthost.cli.exit_codes import OK
from agenthost.cli.format.customization_format import MOST_NAME, cell
from agenthost.cli.format.state_format import age
from agenthost.cli.format.terminal_text import Ink, Style, table

if TYPE_CHECKING:
    from datetime import datetime

    from agenthost.protocol.own_commands import TrustedFolder


async def trust(args: argparse.Namespace) -> int:
    """Let servers be started."""
    from agenthost.cli.commands.mcp import each_server

    return await each_server(args, lambda server: server.trust())


async def trusted(args: argparse.Namespace) -> int:
    """List what was decided."""
    from datetime import UTC, datetime

    async with connected(args) as client:
        folders = await client.trusted_folders.list()
    if args.json:
        print(json.dumps(folders, indent=2))
    elif folders:
        width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
        now = datetime.now(UTC).astimezone()
        for line in trust_table(folders, now, width, Ink(use_colour())):
            print(line)
    else:
        print(
            "Nothing was decided about any folder; "
            f"{hint('mcp', 'trust', '--help')} says how to trust a server.",
            file=sys.stderr,
        )
    return OK


def trust_table(
    folders: Sequence[TrustedFolder], now: datetime, width: int | None, ink: Ink
) -> list[str]:
    """Lay out what was decided about folders, one line for each server."""
    rows: list[Sequence[str]] = [("SERVER", "DECISION", "BY", "WHEN", "FOLDER")]
    styles: list[Sequence[Style | None]] = [("dim",) * 5]
    for folder in folders:
        for server in folder["servers"]:
            word, style = _decision(server["trusted"])
            rows.append(
                (
                    cell(server["name"], MOST_NAME) or "(no name)",
                    word,
                    cell(server["by"], MOST_NAME),
                    age(server["at"], now),
                    cell(folder["folder"]),
                )
            )
            styles.append(("bold", style, None, None, "dim"))
    return table(rows, width=width, flexible=4, styles=styles, ink=ink)


def _decision(trusted: bool) -> tuple[str, Style]:
    return ("trusted", "green") if trusted else ("refused", "red")


async def forget(args: argparse.Namespace) -> int:
    """Take back what was decided about folders."""
    folders = [_folder(decode_argument(folder), here=args.url is None) for folder in args.folders]
    async with connected(args) as client:
        for folder in folders:
            await client.trusted_folders.forget(folder)
    if args.json:
        print(json.dumps([{"folder": folder, "done": True} for folder in folders], indent=2))
        return OK
    for folder in folders:
        print(f"forgotten  {cell(folder)}")
    return OK


def _folder(text: str, *, here: bool) -> str:
    """Return what a host calls a folder; one of this machine its real path."""
    return os.path.realpath(os.path.expanduser(text)) if here else text
