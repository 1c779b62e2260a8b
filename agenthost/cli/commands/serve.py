"""``agenthost serve``: run a host until it is told to stop.

The host is imported only when it runs, so that other commands start quickly.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import importlib
import os
import shutil
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agenthost.cli.allocator import return_large_blocks
from agenthost.cli.arguments import (
    Subparsers,
    add_command,
    directory,
    existing_file,
    port,
    seconds,
    setting,
)
from agenthost.cli.commands.serve_cluster import add_cluster_options, cluster_node
from agenthost.cli.commands.serve_messages import ServingHost, UpgradeNews, why_not_served
from agenthost.cli.connection.command_hints import use_data_dir
from agenthost.cli.connection.network_addresses import reachable_addresses
from agenthost.cli.data_dir import (
    LOG_FILE,
    STORE_FILE,
    WORKSPACE_FOLDER,
    import_from_here,
    user_folders,
)
from agenthost.cli.shutdown import Shutdown
from agenthost.errors import AgentHostError
from agenthost.local_host import DATA_DIR_VARIABLE, announce, default_data_dir
from agenthost.tokens import BOOK_FILE, OWNER_FILE, TokenBook

if TYPE_CHECKING:
    from agenthost.agents.loader import AgentCandidate
    from agenthost.cluster.node import ClusterNode
    from agenthost.host import Gate, Host
    from agenthost.host.transports.tls import Certificate

STDOUT, STDERR = 1, 2
_LOOPBACK = "127.0.0.1"
# What begins a message that is a command of the user's own; editors know this one.
SHELL_PREFIX = "!"


_EXAMPLES = """examples:
  agenthost serve                               for this machine
  agenthost serve --port 0 --root ~/src --agent "acp:helper=helper --acp"
  agenthost serve --agent greeter.agent:Greeter --reload --dev
  agenthost serve --host 0.0.0.0 --tls-cert cert.pem --tls-key key.pem"""


def register(subparsers: Subparsers) -> None:
    """Add ``serve`` to the argument tree."""
    serve = add_command(subparsers, "serve", "run a host", run, _EXAMPLES)
    _add_place_options(serve)
    _add_agent_options(serve)
    _add_behaviour_options(serve)
    _add_log_options(serve)
    add_cluster_options(serve)


# Every explanation fits its row: more is in docs/running.md.


def _add_place_options(serve: argparse.ArgumentParser) -> None:
    add = serve.add_argument
    add("--host", default=_LOOPBACK, metavar="ADDRESS", help="where to listen (%(default)s)")
    add("--port", type=port, default=8765, help="0 takes a free one (%(default)s)")
    add("--stdio", action="store_true", help="serve one client on standard streams instead")
    add("--data-dir", type=Path, metavar="DIR", help=f"sessions, tokens (${DATA_DIR_VARIABLE})")
    token = serve.add_mutually_exclusive_group()
    token.add_argument(
        "--token-file", type=Path, metavar="FILE", help="the owner's token (DIR/token)"
    )
    token.add_argument(
        "--no-token", action="store_true", help="let in every program of this machine"
    )
    add(
        "--allow-origin",
        action="append",
        default=[],
        metavar="ORIGIN",
        help="let pages of this origin in; may be repeated",
    )
    add("--tls-cert", type=existing_file, metavar="FILE", help="speak TLS with this certificate")
    add("--tls-key", type=existing_file, metavar="FILE", help="the key of the certificate")


def _add_agent_options(serve: argparse.ArgumentParser) -> None:
    add = serve.add_argument
    add(
        "--agent",
        action="append",
        default=[],
        metavar="SPEC",
        help="NAME, module:name, acp:NAME=… or ahp:NAME=…; repeated",
    )
    add(
        "--config",
        type=existing_file,
        metavar="FILE",
        help="names agents to offer (agenthost.toml, if there)",
    )
    add(
        "--root",
        action="append",
        type=directory,
        metavar="DIR",
        help="where sessions may work (here); may be repeated",
    )
    add(
        "--user-folder",
        action="append",
        type=Path,
        metavar="DIR",
        help="your own instructions, skills, servers (~/.agents)",
    )
    add("--reload", action="store_true", help="read an agent's changed code before a turn")
    add("--dev", action="store_true", help="show an agent's traceback; this machine only")
    add("--no-shell-prefix", action="store_true", help="a message with ! first is no command")


def _add_behaviour_options(serve: argparse.ArgumentParser) -> None:
    add = serve.add_argument
    add(
        "--set",
        action="append",
        default=[],
        type=setting,
        metavar="KEY=VALUE",
        help="decide a setting (agenthost config); repeated",
    )
    add(
        "--prompt-timeout",
        type=seconds,
        metavar="S",
        help="give up on a question after S seconds; 0: never",
    )
    add(
        "--draft-seconds",
        type=seconds,
        metavar="S",
        help="remove a session left empty after S; 0: never",
    )
    add(
        "--silence-limit",
        type=seconds,
        default=3600.0,
        metavar="S",
        help="end a turn silent for S (%(default)g); 0: never",
    )
    add(
        "--dispose",
        choices=("trash", "delete"),
        metavar="HOW",
        help="disposed sessions: trash (30 days) or delete",
    )
    add(
        "--durability",
        choices=("normal", "full"),
        default="normal",
        metavar="HOW",
        help="survive: normal (a kill), full (a power cut)",
    )


def _add_log_options(serve: argparse.ArgumentParser) -> None:
    add = serve.add_argument
    add("--wire-log", type=Path, metavar="FILE", help="append every message, as JSON lines")
    add("--log-file", metavar="FILE", help="the log (DIR/logs/host.log); none for nowhere")
    add(
        "--log-format",
        choices=("text", "json"),
        default="text",
        metavar="FORMAT",
        help="standard error: text or json (%(default)s)",
    )
    add("-v", "--verbose", action="store_true", help="log what goes on, not only what goes wrong")


def run(args: argparse.Namespace) -> int:
    """Serve until interrupted; 0 after a clean stop, 1 with one line when serving fails."""
    _load_host()
    use_data_dir(args.data_dir)
    stopping = Shutdown()
    try:
        with _logging(args):
            code = asyncio.run(_serve_or_tell(args, stopping))
    except (AgentHostError, OSError) as error:
        code = _tell(error, args)
    return stopping.leave(code)


async def _serve_or_tell(args: argparse.Namespace, stopping: Shutdown) -> int:
    try:
        await _serve(args, stopping)
    except (AgentHostError, OSError) as error:
        # Not behind the loop's end, which waits for jobs, and one of them may hang.
        stopping.fail()
        return _tell(error, args)
    return 0


def _tell(error: Exception, args: argparse.Namespace) -> int:
    """Say why the host cannot serve, and return the exit code."""
    print(f"agenthost: {why_not_served(error, args.port)}", file=sys.stderr, flush=True)
    return 1


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
    from agenthost.host.backup import finish_replacement
    from agenthost.host.push.book import PUSH_FILE
    from agenthost.host.trust import admitted_names, check_bind
    from agenthost.host.trust.addresses import is_loopback

    import_from_here()
    check_bind(args.host, has_token=not args.no_token)
    if args.dev and not is_loopback(args.host):
        raise AgentHostError(
            "--dev shows agents' tracebacks to everybody who may read a chat, so that it is for "
            "this machine alone: leave out --dev or --host"
        )
    certificate = _certificate(args)
    specs = [*args.agent, *configured_specs(args.config or Path(CONFIG_FILE))]
    unusable: list[AgentCandidate] = []
    agents = load_agents(specs, reload=args.reload, unusable=unusable)
    data_dir: Path = args.data_dir or default_data_dir()
    # Before anything there is used, or made because it is missing.
    finish_replacement(data_dir)
    roots: list[Path] = args.root or [Path.cwd()]
    if certificate is not None and not sys.stdin.isatty():
        # As a service's manager asks for it; from a terminal it means that this has been closed.
        stopping.on_hangup = certificate_renewal(certificate)
    stopping.listen()
    serving: asyncio.Task[None] | None = None
    announced = ExitStack()
    try:
        settings: dict[str, Any] = {
            "dev": args.dev,
            "default_directory": roots[0],
            "roots": roots,
            "wire_log": args.wire_log,
            "flags": _flags(args),
            "user_folders": args.user_folder if args.user_folder is not None else user_folders(),
            "silence_limit": args.silence_limit or None,
            "is_admitted": admitted_names(data_dir),
            "workspace_dir": data_dir / WORKSPACE_FOLDER,
            "shells": ShellPolicy(prefix=None if args.no_shell_prefix else SHELL_PREFIX),
            "token_book": None if args.no_token else TokenBook(data_dir / BOOK_FILE),
            "push_file": data_dir / PUSH_FILE,
            "kept_away": [data_dir, *filter(None, [_token_file(args, data_dir)])],
        }
        if args.cluster is None:
            path = data_dir / STORE_FILE
            store = SqliteStore(path, durability=args.durability, on_upgrade=UpgradeNews().tell)
            making: Host | ClusterNode = Host(agents, store=store, **settings)
        else:
            making = cluster_node(args, data_dir, agents, settings)
            stopping.limit += args.drain_seconds
        async with making as host:
            stopping.on_hurry = host.hurry
            if not args.stdio:
                secret, gate = _gate(args, data_dir)
                tls = certificate.context if certificate is not None else None
                url = await host.listen(args.host, args.port, gate=gate, tls=tls)
                scheme, _, bound = url.partition("://")
                local = f"{scheme}://{reachable_addresses(bound)[0]}"
                token_file = _token_file(args, data_dir)
                announced.enter_context(announce(data_dir, local, token_file, bound, args.tls_cert))
                if certificate is not None:
                    renewing = asyncio.create_task(certificate.watch(), name="renew certificate")
                    announced.callback(renewing.cancel)
                told = ServingHost(
                    url,
                    secret,
                    data_dir,
                    agents=[agent.provider for agent in agents],
                    unusable={each.spec: each.problem or "" for each in unusable},
                )
                # Last, because scripts take it as the sign that everything is in place.
                width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
                print("\n".join(told.lines(width)), flush=True)
            # Not before it is told where to connect: looking for the C library takes a while.
            return_large_blocks()
            work = _serve_stdio(host) if args.stdio else host.serve_forever()
            serving = asyncio.create_task(work, name="serve")
            await _until(stopping.requested, serving)
            if not isinstance(host, Host):
                await host.drain(args.drain_seconds)
    finally:
        announced.close()
        # Only now, because the host tells its clients before it lets go of them.
        if serving is not None:
            serving.cancel()
            await asyncio.gather(serving, return_exceptions=True)
        stopping.finish()


def _flags(args: argparse.Namespace) -> dict[str, object]:
    """Return the settings of the host that the command line decides."""
    from agenthost.host.channels.root_rules import read_flag

    given = {
        "dispose": args.dispose,
        "draftSeconds": args.draft_seconds,
        "promptTimeout": args.prompt_timeout,
    }
    return {key: value for key, value in given.items() if value is not None} | {
        key: read_flag(key, text) for key, text in args.set
    }


def _token_file(args: argparse.Namespace, data_dir: Path) -> Path | None:
    if args.no_token:
        return None
    return (args.token_file or data_dir / OWNER_FILE).absolute()


def _certificate(args: argparse.Namespace) -> Certificate | None:
    """Return the certificate to show.

    Raises:
        AgentHostError: only one of its files is named, or they cannot be used.
    """
    if args.tls_cert is None and args.tls_key is None:
        return None
    if args.tls_cert is None or args.tls_key is None:
        raise AgentHostError("--tls-cert and --tls-key go together")
    from agenthost.host.transports.tls import Certificate

    return Certificate(args.tls_cert, args.tls_key)


def certificate_renewal(certificate: Certificate) -> Callable[[], None]:
    """Return what takes up a renewed certificate, and says so in a line."""

    def renew() -> None:
        # Why one that cannot be used is not taken up is in the log.
        now = "took up the renewed" if certificate.renew() else "keeps its"
        print(
            f"agenthost: {now} certificate {certificate.certificate}", file=sys.stderr, flush=True
        )

    return renew


def _gate(args: argparse.Namespace, data_dir: Path) -> tuple[str | None, Gate]:
    from agenthost.host import Gate
    from agenthost.host.trust import open_tokens

    if args.no_token:
        return None, Gate(None, allowed_origins=args.allow_origin)
    secret, tokens = open_tokens(data_dir, args.token_file)
    return secret, Gate(tokens, allowed_origins=args.allow_origin)


async def _serve_stdio(host: Host | ClusterNode) -> None:
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


def _logging(args: argparse.Namespace) -> AbstractContextManager[None]:
    from agenthost.host.log_files import open_logs

    default = (args.data_dir or default_data_dir()) / LOG_FILE
    file = default if args.log_file is None else Path(args.log_file).expanduser()
    return open_logs(
        None if args.log_file == "none" else file,
        verbose=args.verbose,
        log_format=args.log_format,
    )
