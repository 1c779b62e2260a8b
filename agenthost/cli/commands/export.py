"""``agenthost export``: write a whole session as one markdown or JSON document."""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Any

from agenthost.cli.arguments import Subparsers, add_command, add_json_option
from agenthost.cli.connection.host_connection import add_connection_options, connected, run_command
from agenthost.cli.connection.session_lookup import open_session
from agenthost.cli.exit_codes import OK, USAGE, CommandFailed
from agenthost.cli.format.session_markdown import session_markdown
from agenthost.client import Client, Session

_EXAMPLES = """examples:
  agenthost export release > release.md
  agenthost export 3f2a --format json --output session.json
  agenthost export 3f2a --json | jq '.chats[].turns | length'
"""


def register(subparsers: Subparsers) -> None:
    """Add ``export`` to the argument tree."""
    export = add_command(
        subparsers, "export", "write a session as markdown or JSON", run, _EXAMPLES
    )
    export.add_argument("session", metavar="SESSION", help="URI, id or title")
    export.add_argument("--format", choices=("markdown", "json"), help="default: markdown")
    export.add_argument(
        "-o", "--output", metavar="FILE", default="-", help="where to (default: standard output)"
    )
    add_json_option(export, "the same as --format json")
    add_connection_options(export)


def run(args: argparse.Namespace) -> int:
    """Write the session."""
    if args.format == "json":
        args.json = True
    return run_command(args, _export)


async def _export(args: argparse.Namespace) -> int:
    if args.json and args.format == "markdown":
        raise CommandFailed("--json and --format markdown exclude each other", USAGE)
    async with connected(args) as client:
        session = await open_session(client, args.session)
        state, chats = await _whole(client, session)
    if args.json:
        # Readable in a file; where a terminal may obey it, every character is spelled out.
        is_file = args.output != "-"
        whole = {"session": state, "chats": chats}
        text = json.dumps(whole, indent=2, ensure_ascii=not is_file) + "\n"
    else:
        text = session_markdown(state, chats)
    _write(args.output, text)
    return OK


async def _whole(client: Client, session: Session) -> tuple[dict[str, Any], list[Any]]:
    """Return a session's state and its chats' states, with every turn that the host keeps."""
    chats: list[Any] = []
    for summary in session.state["chats"]:
        async with await session.chat(summary["resource"]) as chat:
            await chat.load_all()
            # The session knows best what its chats are called.
            chats.append({**chat.state, **summary})
    state: dict[str, Any] = {**session.state, "resource": session.uri}
    async for listed in client.sessions:
        if listed["resource"] == session.uri:
            state |= {"createdAt": listed["createdAt"], "modifiedAt": listed["modifiedAt"]}
            break
    return state, chats


def _write(output: str, text: str) -> None:
    if output == "-":
        sys.stdout.write(text)
        return
    path = Path(output).expanduser().resolve()
    try:
        if path.exists() and not path.is_file():
            # A pipe or a device.
            path.write_text(text, encoding="utf-8")
            return
        # All of it or nothing: an export that failed half-way must not look like one.
        scratch = path.with_name(f".{path.name}.{os.getpid()}")
        try:
            scratch.write_text(text, encoding="utf-8")
            scratch.replace(path)
        finally:
            scratch.unlink(missing_ok=True)
    except OSError as error:
        raise CommandFailed(f"{path} cannot be written: {error.strerror}") from None
