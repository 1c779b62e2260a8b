"""``agenthost nodes``: the machines of a cluster, what they own and how they are."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from agenthost.cli.arguments import Subparsers, add_command, add_json_option
from agenthost.cli.connection.host_connection import (
    add_connection_options,
    connected,
    run_command,
    use_colour,
)
from agenthost.cli.exit_codes import OK
from agenthost.cli.format.state_format import age
from agenthost.cli.format.terminal_text import Ink, Style, one_line, table

if TYPE_CHECKING:
    from agenthost.protocol.own_commands import NodeStatus

_EXAMPLES = """examples:
  agenthost nodes                       who is there, and what each does
  agenthost nodes --json | jq -r '.[] | select(.draining) | .node'
  agenthost sessions move 3f2a --node build-1

The node that you are connected to has a *, the one that leads an L."""

_HEADING = ["NODE", "STATE", "SESSIONS", "TURNS", "CLIENTS", "LOAD", "UP", "VERSION", "AGENTS"]


def register(subparsers: Subparsers) -> None:
    """Add ``nodes`` to the argument tree."""
    parser = add_command(subparsers, "nodes", "list the machines of a cluster", run, _EXAMPLES)
    add_connection_options(parser)
    add_json_option(parser)


def run(args: argparse.Namespace) -> int:
    """List the nodes."""
    return run_command(args, _list)


async def _list(args: argparse.Namespace) -> int:
    async with connected(args) as client:
        result: Any = await client.request("agenthost/listNodes", {})
    items: list[NodeStatus] = result["items"]
    if args.json:
        print(json.dumps(items, indent=2))
        return OK
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    for line in node_table(items, datetime.now(UTC).astimezone(), width, use_colour()):
        print(line)
    return OK


def node_table(
    items: Sequence[NodeStatus], now: datetime, width: int | None, colour: bool
) -> list[str]:
    """Lay out the machines of a cluster."""
    rows: list[list[str]] = [_HEADING]
    styles: list[list[Style | None]] = [["dim"] * len(_HEADING)]
    for node in items:
        marks = ("*" if node["here"] else "") + ("L" if node["leads"] else "")
        labels = " ".join(f"{key}={value}" for key, value in sorted(node["labels"].items()))
        rows.append(
            [
                one_line(" ".join(filter(None, (node["node"], marks, labels)))),
                one_line(_state(node)),
                str(node["sessions"]),
                str(node["turns"]),
                str(node["clients"]),
                f"{node['load']} %",
                age(node["startedAt"], now),
                one_line(node["version"]),
                one_line(", ".join(node["agents"])),
            ]
        )
        style: Style | None = None if _state(node) == "ok" else "yellow"
        styles.append([None, style, *[None] * (len(_HEADING) - 2)])
    return table(rows, width=width, flexible=len(_HEADING) - 1, styles=styles, ink=Ink(colour))


def _state(node: NodeStatus) -> str:
    return "draining" if node["draining"] else node.get("ailment") or "ok"
