"""``agenthost mcp``: the MCP servers of a session, started, stopped, read, trusted and asked."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from agenthost.cli.arguments import (
    Subparsers,
    add_command,
    add_json_option,
    add_verb,
    positive_seconds,
)
from agenthost.cli.connection.command_hints import hint
from agenthost.cli.connection.customization_lookup import (
    find_servers,
    read_customizations,
    session_words,
    word_for,
)
from agenthost.cli.connection.host_connection import (
    add_connection_options,
    connected,
    decode_argument,
    run_command,
    use_colour,
)
from agenthost.cli.connection.session_lookup import open_session_or_latest
from agenthost.cli.exit_codes import FAILED, OK, USAGE, CommandFailed, print_error
from agenthost.cli.format.customization_format import (
    MOST_NAME,
    about,
    cell,
    customization_json,
    runs,
    state_word,
    where,
)
from agenthost.cli.format.terminal_text import Ink, Style, table

if TYPE_CHECKING:
    from agenthost.client import Session
    from agenthost.client.customizations import CustomizationItem
    from agenthost.client.mcp import McpServerView

Json = Mapping[str, Any]

_EXAMPLES = """examples:
  agenthost mcp                     the servers of the latest session
  agenthost mcp trust time          let it be started, as it is declared now
  agenthost mcp start time          start it, and wait until it is ready
  agenthost mcp log time --follow   what it prints
  agenthost mcp call time           the tools that it has
  agenthost mcp call time get_current_time '{"timezone": "Europe/Berlin"}'
  agenthost mcp login github --token-stdin < token.txt

SERVER is a server's name, the beginning of it, or its id. Servers are declared
in .mcp.json or .vscode/mcp.json of a folder, in the user's own folder, and in
plugins. They start when an agent needs them; nothing of a folder starts before
somebody has trusted it.
"""

START_PATIENCE = 90.0
"""Seconds to wait for a server to start; a host gives up on one earlier."""

CALL_PATIENCE = 300.0
"""Seconds that a tool may take where nobody says otherwise."""

_HELP = {
    "start": "start servers, or start them anew, and wait until they are ready",
    "stop": "stop servers, and what they started",
    "restart": "stop servers and start them",
    "trust": "let servers be started, as they are declared now (for the host's owner)",
}
_DONE = {"stop": "stopped", "trust": "trusted"}


def register(subparsers: Subparsers) -> None:
    """Add ``mcp`` and its verbs to the argument tree."""
    mcp = add_command(
        subparsers, "mcp", "list, start, stop and look into MCP servers", run, _EXAMPLES
    )
    add_connection_options(mcp)
    add_json_option(mcp)
    mcp.add_argument("--session", metavar="SESSION", help="whose (default: the latest session)")
    verbs = mcp.add_subparsers(dest="verb", metavar="VERB", help="list if there is none")
    added = [add_verb(verbs, "list", "list the servers of a session", "agenthost mcp list")]
    for word, text in _HELP.items():
        added.append(add_verb(verbs, word, text, f"agenthost mcp {word} time"))
        added[-1].add_argument("servers", metavar="SERVER", nargs="+")
    added.append(_with_server(verbs, "log", "print what a server prints", "time --follow"))
    added[-1].add_argument("-f", "--follow", action="store_true", help="go on with what comes")
    added.append(_with_server(verbs, "call", "list a server's tools, or call one", *_CALLS))
    added[-1].add_argument("tool", metavar="TOOL", nargs="?", help="which (default: list them)")
    added[-1].add_argument("arguments", metavar="JSON", nargs="?", help="its arguments, an object")
    added[-1].add_argument(
        "--timeout",
        metavar="SECONDS",
        type=positive_seconds,
        default=CALL_PATIENCE,
        help="how long it may take (default: %(default)g)",
    )
    added.append(_with_server(verbs, "login", "hand over a token for a server", "github"))
    _add_login_options(added[-1])
    for verb in added:
        verb.add_argument(
            "--session", metavar="SESSION", default=argparse.SUPPRESS, help="whose server"
        )
    added.append(
        add_verb(
            verbs, "trusted", "list the folders about which was decided", "agenthost mcp trusted"
        )
    )
    added.append(
        add_verb(
            verbs, "forget", "take back what was decided about folders", "agenthost mcp forget ."
        )
    )
    added[-1].add_argument("folders", metavar="FOLDER", nargs="+", help="as `trusted` lists it")
    for verb in added:
        add_connection_options(verb, inherited=True)
        add_json_option(verb, inherited=True)


_CALLS = ("time", """time get_current_time '{"timezone": "Europe/Berlin"}'""")


def _with_server(
    verbs: Subparsers, name: str, help: str, *examples: str
) -> argparse.ArgumentParser:
    parser = add_verb(verbs, name, help, *(f"agenthost mcp {name} {each}" for each in examples))
    parser.add_argument("server", metavar="SERVER")
    return parser


def _add_login_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--token-stdin",
        action="store_true",
        help="read the token from standard input (default: ask for it on the terminal)",
    )
    parser.add_argument(
        "--expires-in", metavar="SECONDS", type=positive_seconds, help="for how long it is good"
    )


def run(args: argparse.Namespace) -> int:
    """Run the verb."""
    from agenthost.cli.commands import mcp_requests, mcp_trust

    verbs: dict[str | None, Callable[[argparse.Namespace], Awaitable[int]]] = {
        None: _list,
        "list": _list,
        "start": _start,
        "restart": _start,
        "stop": _stop,
        "log": mcp_requests.log,
        "call": mcp_requests.call,
        "login": mcp_requests.login,
        "trust": mcp_trust.trust,
        "trusted": mcp_trust.trusted,
        "forget": mcp_trust.forget,
    }
    return run_command(args, verbs[args.verb])


# Looking.


async def _list(args: argparse.Namespace) -> int:
    async with connected(args) as client:
        session = await open_session_or_latest(client, args)
        items = [item for item in await read_customizations(session) if item.kind == "mcpServer"]
        folders = session.state.get("workingDirectories") or []
    if args.json:
        print(json.dumps([customization_json(item) for item in items], indent=2))
    elif items:
        width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
        for line in server_table(items, folders, width, Ink(use_colour())):
            print(line)
    else:
        print("This session has no MCP servers; .mcp.json declares some.", file=sys.stderr)
    return OK


def server_table(
    items: Sequence[CustomizationItem], folders: Sequence[str], width: int | None, ink: Ink
) -> list[str]:
    """Lay out a list of MCP servers."""
    rows: list[Sequence[str]] = [("SERVER", "STATE", "FROM", "ABOUT")]
    styles: list[Sequence[Style | None]] = [("dim",) * 4]
    for item in items:
        word, style = state_word(item)
        name = cell(item.name, MOST_NAME) or "(no name)"
        rows.append((name, word, where(item, folders), about(item)))
        styles.append(("bold", style, "dim", "red" if item.problem else None))
    return table(rows, width=width, flexible=3, styles=styles, ink=ink)


# Starting and stopping.


async def _start(args: argparse.Namespace) -> int:
    async with connected(args) as client:
        session = await open_session_or_latest(client, args)
        servers = await find_servers(session, args, args.servers)
        outcomes = [await start_server(server, args) for server in servers]
    return _tell(outcomes, args)


async def start_server(server: McpServerView, args: argparse.Namespace) -> Json:
    """Start a server and wait for what becomes of it; return that for people and programs."""
    import asyncio

    from agenthost.client import McpServerFailed, Rejected

    name = server.name
    try:
        await server.start()
        async with asyncio.timeout(START_PATIENCE):
            state: Json = await server.wait_for("ready", "authRequired")
    except Rejected as error:
        trusting = _trust_hint(server, args) if "trust" in error.reason else ""
        return _outcome(server, name, error=f"{error.reason}{trusting}")
    except McpServerFailed as error:
        log = server_hint("log", server, args)
        return _outcome(server, name, error=f"{error.reason}\n  {log} shows what it printed")
    except TimeoutError:
        return _outcome(server, name, error="it is still starting")
    if state["kind"] == "authRequired":
        login = server_hint("login", server, args)
        resource = cell(str(state["resource"]["resource"]))
        return _outcome(
            server, name, error=f"it needs a token for {resource}\n  {login} hands one over"
        )
    return _outcome(server, name)


def _trust_hint(server: McpServerView, args: argparse.Namespace) -> str:
    meta: Json = server.item.value.get("_meta") or {}
    trust = meta.get("agenthost/trust")
    if not isinstance(trust, Mapping) or trust.get("state") in ("trusted", "session"):
        return ""
    return f"\n  {server_hint('trust', server, args)} trusts it"


def server_hint(verb: str, server: McpServerView, args: argparse.Namespace) -> str:
    """Return the command line that does something with a server of the same session."""
    return hint("mcp", verb, word_for(server.item), *session_words(args))


async def _stop(args: argparse.Namespace) -> int:
    return await each_server(args, lambda server: _stop_one(server))


async def _stop_one(server: McpServerView) -> None:
    await server.stop()
    await server.wait_for("stopped", "error")


async def each_server(
    args: argparse.Namespace, do: Callable[[McpServerView], Awaitable[None]]
) -> int:
    """Do something with each of the servers that were named, and tell what became of it."""
    from agenthost.errors import AgentHostError

    outcomes: list[Json] = []
    async with connected(args) as client:
        session = await open_session_or_latest(client, args)
        for server in await find_servers(session, args, args.servers):
            name = server.name
            what = runs(server.item)
            try:
                await do(server)
                outcomes.append({**_outcome(server, name), "runs": what})
            except (AgentHostError, LookupError, TimeoutError) as error:
                outcomes.append(_outcome(server, name, error=str(error) or "no answer in time"))
    return _tell(outcomes, args)


def _outcome(server: McpServerView, name: str, *, error: str | None = None) -> Json:
    told: dict[str, Any] = {"id": server.id, "server": name, "done": error is None}
    return told if error is None else {**told, "error": error}


def _tell(outcomes: Sequence[Json], args: argparse.Namespace) -> int:
    word = _DONE.get(args.verb, "ready")
    for outcome in outcomes:
        name = cell(outcome["server"], MOST_NAME)
        if not outcome["done"]:
            print_error(f"{name}: {outcome['error']}", FAILED)
        elif not args.json:
            # Who trusts something is shown what that is.
            what = f": {outcome['runs']}" if args.verb == "trust" and outcome.get("runs") else ""
            print(f"{word}  {name}{what}")
    if args.json:
        print(json.dumps(outcomes, indent=2))
    return OK if all(outcome["done"] for outcome in outcomes) else FAILED


async def the_server(session: Session, args: argparse.Namespace) -> McpServerView:
    """Return the one server that was named."""
    (server,) = await find_servers(session, args, [args.server])
    return server


def parsed_arguments(text: str | None) -> dict[str, Any]:
    """Return a tool's arguments, which are given as a JSON object.

    Raises:
        CommandFailed: they are none.
    """
    try:
        parsed = json.loads(decode_argument(text or "{}"))
    except ValueError as error:
        raise CommandFailed(f"the arguments are not JSON: {error}", USAGE) from None
    if not isinstance(parsed, dict):
        raise CommandFailed("the arguments are not a JSON object", USAGE)
    return parsed
