"""``agenthost serve``: run a host until it is told to stop.

The host is imported only when it runs, so that other commands start quickly.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import importlib
import logging
import os
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from agenthost.cli.arguments import Subparsers, add_command, directory, existing_file, port, seconds
from agenthost.cli.connection.command_hints import command_line, reachable_addresses
from agenthost.cli.connection.host_lookup import announce
from agenthost.cli.data_dir import (
    DATA_DIR_VARIABLE,
    STORE_FILE,
    WORKSPACE_FOLDER,
    default_data_dir,
    import_from_here,
)
from agenthost.cli.shutdown import Shutdown
from agenthost.errors import AgentHostError
from agenthost.tokens import BOOK_FILE, OWNER_FILE, TokenBook

if TYPE_CHECKING:
    from agenthost.host import Gate, Host
    from agenthost.host.store.upgrade import UpgradeProgress, UpgradeReport

STDOUT, STDERR = 1, 2
# What begins a message that is a command of the user's own; editors know this one.
SHELL_PREFIX = "!"


def register(subparsers: Subparsers) -> None:
    """Add ``serve`` to the argument tree."""
    serve = add_command(subparsers, "serve", "run a host", run)
    add = serve.add_argument
    add("--host", default="127.0.0.1", metavar="ADDRESS", help="where to listen (%(default)s)")
    add("--port", type=port, default=8765, help="0 takes a free one (%(default)s)")
    add(
        "--data-dir",
        type=Path,
        metavar="DIR",
        help=f"sessions and tokens live here (default: ${DATA_DIR_VARIABLE}, or the user's own)",
    )
    token = serve.add_mutually_exclusive_group()
    token.add_argument(
        "--token-file",
        type=Path,
        metavar="FILE",
        help="the owner's token, created if there is none (default: DIR/token)",
    )
    token.add_argument(
        "--no-token",
        action="store_true",
        help="let in every program on this machine; only on a loopback address",
    )
    add(
        "--root",
        action="append",
        type=directory,
        metavar="DIR",
        help="where sessions may work; the first is the default (this directory)",
    )
    add(
        "--agent",
        action="append",
        default=[],
        metavar="SPEC",
        help="an agent to offer: a built-in or installed one, module:name, or acp:NAME=COMMAND; "
        "may be repeated",
    )
    add(
        "--config",
        type=existing_file,
        metavar="FILE",
        help="a file that names agents to offer (default: agenthost.toml in this directory)",
    )
    add(
        "--prompt-timeout",
        type=seconds,
        default=86_400.0,
        metavar="SECONDS",
        help="give up on a question that nobody answers; 0 waits for ever (%(default)g)",
    )
    add(
        "--draft-seconds",
        type=seconds,
        default=30.0,
        metavar="SECONDS",
        help="remove a session that holds nothing so long after its last client has left; "
        "0 keeps it (%(default)g)",
    )
    add(
        "--silence-limit",
        type=seconds,
        default=3600.0,
        metavar="SECONDS",
        help="end a turn in which nothing is written, asked or running for so long; "
        "0 waits for ever (%(default)g)",
    )
    add(
        "--durability",
        choices=("normal", "full"),
        default="normal",
        help="what survives: a killed process, or a power cut as well (%(default)s)",
    )
    add(
        "--no-shell-prefix",
        action="store_true",
        help="give the agent messages that begin with !, instead of running them as commands",
    )
    add("--wire-log", type=Path, metavar="FILE", help="append every message to FILE, as JSON lines")
    add(
        "--allow-origin",
        action="append",
        default=[],
        metavar="ORIGIN",
        help="let pages from this origin connect, besides the host's own; may be repeated",
    )
    add(
        "--dispose",
        choices=("trash", "delete"),
        default="trash",
        help="what disposeSession does to a session that holds anything: 30 days in the trash, "
        "or gone for good (%(default)s)",
    )
    add("--stdio", action="store_true", help="serve one client on standard input and output")
    add("-v", "--verbose", action="store_true", help="log what goes on, not only what goes wrong")


def run(args: argparse.Namespace) -> int:
    """Serve until interrupted; 0 after a clean stop, 1 with one line when serving fails."""
    _load_host()
    _start_logging(verbose=args.verbose)
    stopping, code = Shutdown(), 0
    try:
        asyncio.run(_serve(args, stopping))
    except AgentHostError as error:
        print(f"agenthost: {error}", file=sys.stderr)
        code = 1
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        print(f"agenthost: {where}{error.strerror or error}", file=sys.stderr)
        code = 1
    return stopping.leave(code)


def _load_host() -> None:
    """Import the host without collecting garbage, because everything loaded stays."""
    gc.disable()
    try:
        for name in ("agenthost.host", "agenthost.agents.loader"):
            importlib.import_module(name)
    finally:
        gc.enable()


async def _serve(args: argparse.Namespace, stopping: Shutdown) -> None:
    from agenthost.agents.loader import CONFIG_FILE, configured_specs, load_agents
    from agenthost.host import Host, ShellPolicy, SqliteStore
    from agenthost.host.push.book import PUSH_FILE
    from agenthost.host.trust import admitted_names, check_bind

    import_from_here()
    check_bind(args.host, has_token=not args.no_token)
    agents = load_agents([*args.agent, *configured_specs(args.config or Path(CONFIG_FILE))])
    data_dir: Path = args.data_dir or default_data_dir()
    roots: list[Path] = args.root or [Path.cwd()]
    path = data_dir / STORE_FILE
    store = SqliteStore(path, durability=args.durability, on_upgrade=UpgradeNews().tell)
    stopping.listen()
    serving: asyncio.Task[None] | None = None
    announced = ExitStack()
    try:
        async with Host(
            agents,
            store=store,
            default_directory=roots[0],
            roots=roots,
            wire_log=args.wire_log,
            disposal=args.dispose,
            draft_seconds=args.draft_seconds or None,
            prompt_timeout=args.prompt_timeout or None,
            silence_limit=args.silence_limit or None,
            is_admitted=admitted_names(data_dir),
            workspace_dir=data_dir / WORKSPACE_FOLDER,
            shells=ShellPolicy(prefix=None if args.no_shell_prefix else SHELL_PREFIX),
            token_book=None if args.no_token else TokenBook(data_dir / BOOK_FILE),
            push_file=data_dir / PUSH_FILE,
            kept_away=[data_dir, *filter(None, [_token_file(args, data_dir)])],
        ) as host:
            stopping.on_hurry = host.hurry
            if not args.stdio:
                secret, gate = _gate(args, data_dir)
                url = await host.listen(args.host, args.port, gate=gate)
                local = f"ws://{reachable_addresses(url.removeprefix('ws://'))[0]}"
                token_file, bound = _token_file(args, data_dir), url.removeprefix("ws://")
                announced.enter_context(announce(data_dir, local, token_file, bound))
                # Last, because scripts take it as the sign that everything is in place.
                _tell(url, secret, data_dir)
            work = _serve_stdio(host) if args.stdio else host.serve_forever()
            serving = asyncio.create_task(work, name="serve")
            await _until(stopping.requested, serving)
    finally:
        announced.close()
        # Only now, because the host tells its clients before it lets go of them.
        if serving is not None:
            serving.cancel()
            await asyncio.gather(serving, return_exceptions=True)
        stopping.finish()


def _tell(url: str, secret: str | None, data_dir: Path) -> None:
    """Print where the host listens and how to connect to it."""
    quoted = None if secret is None else quote(secret, safe="")
    query = "/" if quoted is None else f"/?tkn={quoted}"
    # Behind a hash it reaches no log, and the page takes it out of the address bar.
    place = "/" if quoted is None else f"/#tkn={quoted}"
    bound = url.removeprefix("ws://")
    address, *elsewhere = reachable_addresses(bound)
    token = f', "connectionToken": "{secret}"' if secret is not None else ""
    lines = [
        f"agenthost is listening on {bound}",
        "",
        f"  page       http://{address}{place}",
        *(f"  elsewhere  http://{other}{place}" for other in elsewhere),
        f"  WebSocket  ws://{address}{query}",
        *(f"  elsewhere  ws://{other}{query}" for other in elsewhere),
        "  VS Code    " + '"chat.remoteAgentHostsEnabled": true,',
        "             "
        + f'"chat.remoteAgentHosts": [{{"name": "agenthost", "address": "{address}"{token}}}]',
        f"  next       {command_line('chat', data_dir=data_dir)}",
        "",
        "Ctrl-C stops it; sessions are kept in " + str(data_dir),
    ]
    print("\n".join(lines), flush=True)


class UpgradeNews:
    """Says that sessions of an older agenthost are brought up, how far that is, and how it ended.

    On standard error, because standard output is for the address, or for messages.
    """

    def __init__(self) -> None:
        self._begun = False

    def tell(self, news: UpgradeProgress | UpgradeReport) -> None:
        """Say what is new."""
        from agenthost.host.store.upgrade import UpgradeReport

        told = _report(news) if isinstance(news, UpgradeReport) else self._progress(news)
        print(told, file=sys.stderr, flush=True)

    def _progress(self, news: UpgradeProgress) -> str:
        # Nobody knows how many there are where they cannot be counted.
        share = f"{min(100, news.done * 100 // news.channels)} %" if news.channels else "…"
        if self._begun:
            return f"  {share}"
        self._begun = True
        if news.done:
            return (
                f"An earlier start did not finish bringing {_count(news.sessions, 'session')} of "
                f"protocol {news.before} up to {news.after}: going on at {share}"
            )
        return (
            f"This data directory is of an older agenthost (protocol {news.before}): bringing "
            f"{_count(news.sessions, 'session')} up to {news.after} …"
        )


def _report(news: UpgradeReport) -> str:
    left = news.damaged + news.failed
    lines = [
        f"{_count(news.sessions, 'session')} brought up to {news.after} in {news.seconds:.1f} s; "
        + ("nothing was lost" if not left else f"{_count(left, 'row')} of the store left out")
    ]
    if news.damaged:
        lines.append(
            f"  {news.damaged:,} damaged, and left as they are: agenthost doctor --deep names them"
        )
    if news.failed:
        lines.append(
            f"  {news.failed:,} could not be brought up; the store from before is kept in "
            f"{news.copy}"
        )
    return "\n".join(lines)


def _count(number: int, thing: str) -> str:
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def _token_file(args: argparse.Namespace, data_dir: Path) -> Path | None:
    if args.no_token:
        return None
    return (args.token_file or data_dir / OWNER_FILE).absolute()


def _gate(args: argparse.Namespace, data_dir: Path) -> tuple[str | None, Gate]:
    from agenthost.host import Gate
    from agenthost.host.trust import open_tokens

    if args.no_token:
        return None, Gate(None, allowed_origins=args.allow_origin)
    secret, tokens = open_tokens(data_dir, args.token_file)
    return secret, Gate(tokens, allowed_origins=args.allow_origin)


async def _serve_stdio(host: Host) -> None:
    from agenthost.host.transports import open_stdio

    # Whatever an agent prints goes to standard error, never between the messages.
    output = os.dup(STDOUT)
    os.dup2(STDERR, STDOUT)
    try:
        transport = await open_stdio(stdout=output)
        try:
            await host.serve(transport)
        finally:
            await transport.close()
    finally:
        os.close(output)


async def _until(stop: asyncio.Event, serving: asyncio.Task[None]) -> None:
    """Wait until the work ends or a signal comes; re-raise the work's error."""
    stopping = asyncio.create_task(stop.wait(), name="wait for a signal")
    await asyncio.wait({serving, stopping}, return_when=asyncio.FIRST_COMPLETED)
    stopping.cancel()
    if serving.done():
        serving.result()


def _start_logging(*, verbose: bool) -> None:
    from agenthost.host.trust import RedactTokens

    handler = logging.StreamHandler(sys.stderr)
    handler.addFilter(RedactTokens())
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(level=logging.INFO if verbose else logging.WARNING, handlers=[handler])
