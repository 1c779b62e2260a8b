"""What every command that talks to a host shares: its options, its connection, its exit codes."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from agenthost.cli.discovery import NoHost, find_host
from agenthost.cli.paths import DATA_DIR_VARIABLE
from agenthost.cli.render import plain
from agenthost.client import (
    CannotConnect,
    Client,
    ClientError,
    Closed,
    Connected,
    ConnectionLost,
    ConnectionState,
    GivenUp,
    NotAdmitted,
    Reconnecting,
    connect,
    endpoint,
)
from agenthost.errors import AgentHostError

__all__ = [
    "DENIED",
    "FAILED",
    "INTERRUPTED",
    "OK",
    "TOKEN_VARIABLE",
    "UNREACHABLE",
    "URL_VARIABLE",
    "USAGE",
    "CommandFailed",
    "add_connection_options",
    "add_json_option",
    "as_typed",
    "complain",
    "connected",
    "run_command",
    "use_colour",
]

# What scripts can rely on. 4 is a turn that did not get the approval it asked for.
OK, FAILED, USAGE, UNREACHABLE, DENIED, INTERRUPTED = 0, 1, 2, 3, 4, 130

URL_VARIABLE = "AGENTHOST_URL"
TOKEN_VARIABLE = "AGENTHOST_TOKEN"

_UNAUTHORIZED = 401


class CommandFailed(AgentHostError):
    """A command cannot do what was asked; the message is for a person, the code for a script."""

    def __init__(self, message: str, code: int = FAILED) -> None:
        self.code = code
        super().__init__(message)


def add_connection_options(parser: argparse.ArgumentParser, *, inherited: bool = False) -> None:
    """Add the options that say which host to talk to.

    ``inherited`` is for a verb whose command has them as well: what was said before the verb then
    counts, unless it is said again.
    """

    def default(value: str | None) -> Any:
        return argparse.SUPPRESS if inherited else value

    group = parser.add_argument_group("which host")
    group.add_argument(
        "--url",
        default=default(os.environ.get(URL_VARIABLE) or None),
        help=f"its address (default: ${URL_VARIABLE}, or the one running on this machine)",
    )
    group.add_argument(
        "--token",
        default=default(os.environ.get(TOKEN_VARIABLE) or None),
        help=f"the token to present (default: ${TOKEN_VARIABLE}, or the local host's own)",
    )
    group.add_argument(
        "--data-dir",
        type=Path,
        metavar="DIR",
        default=default(None),
        help=f"find the host of this data directory (default: ${DATA_DIR_VARIABLE}, or the user's)",
    )


def add_json_option(
    parser: argparse.ArgumentParser, what: str = "print JSON", *, inherited: bool = False
) -> None:
    """Add ``--json``."""
    parser.add_argument(
        "--json",
        action="store_true",
        default=argparse.SUPPRESS if inherited else False,
        help=what,
    )


@asynccontextmanager
async def connected(
    args: argparse.Namespace,
    *,
    patience: float | None = None,
    tell: Callable[[ConnectionState], None] | None = None,
    **options: Any,
) -> AsyncIterator[Client]:
    """Connect to the host that the options name, for the length of a block.

    Args:
        args: with what ``add_connection_options`` added.
        patience: seconds for which a host that went away may stay away; None waits for ever.
        tell: is called whenever the connection's state changes.
        options: go to ``agenthost.client.connect``.

    Raises:
        CannotConnect, GivenUp: the host cannot be reached, refuses, or stayed away for too long.
    """
    try:
        client = _client(args, options)
    except ValueError as error:
        raise CommandFailed(str(error), USAGE) from None
    if tell is not None:
        client.connection.on_change(tell)
    async with client:
        try:
            async with _not_for_ever(client, patience):
                yield client
        except ClientError as error:
            # Everything ends with the connection, but why that ended is what matters.
            state = client.connection.state
            if isinstance(state, Closed) and state.error is not None:
                raise state.error from error
            raise


def _client(args: argparse.Namespace, options: dict[str, Any]) -> Client:
    """Make the client; a host that was found on this machine is looked for wherever it went."""
    host = find_host(args.url, args.token, args.data_dir)
    if args.url is not None:
        return connect(host.url, token=host.token, **options)

    async def find() -> tuple[str, str | None]:
        now = find_host(None, args.token, args.data_dir)
        return now.url, now.token

    return connect(endpoint(find), **options)


@asynccontextmanager
async def _not_for_ever(client: Client, patience: float | None) -> AsyncIterator[None]:
    """End a block when the host has been away for longer than the patience lasts."""
    loop = asyncio.get_running_loop()
    reason = ""

    def on_change(state: ConnectionState) -> None:
        nonlocal reason
        if patience is None or limit.expired():
            return
        if isinstance(state, Connected):
            limit.reschedule(None)
        elif isinstance(state, Reconnecting):
            reason = state.reason
            if limit.when() is None:
                limit.reschedule(loop.time() + patience)

    try:
        async with asyncio.timeout(None) as limit:
            stop = client.connection.on_change(on_change)
            try:
                yield
            finally:
                stop()
    except TimeoutError:
        if not limit.expired():
            raise
        raise CannotConnect(f"the host went away and did not come back: {reason}") from None


def run_command(work: Callable[[], Awaitable[int]]) -> int:
    """Run a command's coroutine and turn what goes wrong into one line and an exit code."""

    async def run() -> int:
        return await work()

    try:
        return asyncio.run(run())
    except KeyboardInterrupt:
        return INTERRUPTED
    except CommandFailed as error:
        return complain(error, error.code)
    except (NoHost, CannotConnect, GivenUp, ConnectionLost) as error:
        return complain(f"{error}{_hint(error)}", UNREACHABLE)
    except TimeoutError:
        return complain("the host did not answer in time", UNREACHABLE)
    except AgentHostError as error:
        return complain(error, FAILED)


def complain(what: object, code: int) -> int:
    """Say on standard error what is wrong, and return the exit code for it."""
    # Part of it may be a host's or an agent's words.
    print(f"agenthost: {plain(str(what))}", file=sys.stderr)
    return code


def as_typed(text: str) -> str:
    """Return text that can be sent: bytes that the locale could not read are read as UTF-8."""
    try:
        raw = text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        # Halves of characters that no locale makes.
        raw = text.encode("utf-8", "replace")
    return raw.decode("utf-8", "replace")


def use_colour(stream: object = None) -> bool:
    """Say whether to colour: only on a terminal, and never against NO_COLOR."""
    target = sys.stdout if stream is None else stream
    isatty = getattr(target, "isatty", None)
    return bool(isatty and isatty()) and not os.environ.get("NO_COLOR")


def _hint(error: AgentHostError) -> str:
    match error:
        case NotAdmitted(status=status) if status == _UNAUTHORIZED:
            return f"\n  give a valid token with --token or ${TOKEN_VARIABLE}"
        case CannotConnect() | GivenUp():
            return "\n  `agenthost doctor` looks for what is wrong"
    return ""
