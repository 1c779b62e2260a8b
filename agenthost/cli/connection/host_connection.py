"""Connecting a command to a host: options, connection, and mapping errors to exit codes."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from agenthost.cli.arguments import HelpFormatter, HostOption
from agenthost.cli.connection.command_hints import hint, use_host
from agenthost.cli.connection.host_lookup import find_host
from agenthost.cli.exit_codes import (
    FAILED,
    INTERRUPTED,
    UNREACHABLE,
    USAGE,
    CommandFailed,
    FailureKind,
    report_failure,
)
from agenthost.cli.format.terminal_text import Ink, safe_text
from agenthost.client import (
    CannotConnect,
    Client,
    ClientError,
    Closed,
    Connected,
    ConnectionLost,
    ConnectionState,
    GivenUp,
    HostPlace,
    NoCommonVersion,
    NotAdmitted,
    Reconnecting,
    connect,
    endpoint,
)
from agenthost.errors import (
    AgentHostError,
    NotFound,
    PermissionDenied,
    ProviderNotFound,
    SessionNotFound,
)
from agenthost.local_host import (
    DATA_DIR_VARIABLE,
    TLS_CA_VARIABLE,
    TOKEN_VARIABLE,
    URL_VARIABLE,
    NoHost,
)

PATIENCE = 20.0
"""Seconds that a host which went away may stay away before a command gives up.

A restart takes a few of them; whoever asked for a list wants to know soon that there is none.
"""

_UNAUTHORIZED = 401


# The client's last words where it knows no better than a class's name, and what they mean.
_WORDS = {
    "TimeoutError": "no answer in time",
    "EOFError": "the connection ended before anything was answered",
    "InvalidMessage": "what answers there speaks neither HTTP nor WebSocket",
    "InvalidUpgrade": "what answers there does not speak WebSocket",
    "InvalidHeader": "what answers there does not speak WebSocket",
    "InvalidHandshake": "what answers there does not speak WebSocket",
    "ConnectionResetError": "the connection was reset",
    "ProxyError": "the proxy on the way refuses",
}


class HostWentAway(CannotConnect):
    """The connection was lost and the host did not come back within the command's patience."""


def add_connection_options(
    parser: argparse.ArgumentParser, *, patience: float | None = PATIENCE, inherited: bool = False
) -> None:
    """Add the options that name the host, and set how long it may stay away.

    Args:
        parser: the command's, or one of its verbs'.
        patience: seconds; None for a command that goes on until somebody ends it.
        inherited: for a verb whose command has them as well: what was said before the verb then
            counts, unless it is said again.
    """
    if not inherited:
        parser.set_defaults(patience=patience)

    def default(value: str | None) -> Any:
        return argparse.SUPPRESS if inherited else value

    parser.formatter_class = HelpFormatter
    group = parser.add_argument_group(
        "which host",
        "--url --token --data-dir --tls-ca  (agenthost help connecting)",
    )
    group.add_argument(
        "--url",
        action=HostOption,
        default=default(os.environ.get(URL_VARIABLE) or None),
        help="its address, ssh://machine for one on another machine of yours "
        f"(default: ${URL_VARIABLE}, or the one running on this machine)",
    )
    group.add_argument(
        "--token",
        action=HostOption,
        default=default(os.environ.get(TOKEN_VARIABLE) or None),
        help=f"the token to present (default: ${TOKEN_VARIABLE}, or the local host's own)",
    )
    group.add_argument(
        "--data-dir",
        action=_DataDirOption,
        type=Path,
        metavar="DIR",
        default=default(None),
        help=f"find the host of this data directory (default: ${DATA_DIR_VARIABLE}, or the user's)",
    )
    group.add_argument(
        "--tls-ca",
        action=HostOption,
        type=Path,
        metavar="FILE",
        default=default(os.environ.get(TLS_CA_VARIABLE) or None),
        help=f"certificates to trust, instead of the system's (default: ${TLS_CA_VARIABLE})",
    )


class _DataDirOption(HostOption):
    """``--data-dir``, which says more than the variables: what those name is another host then."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, value: Any, *_: Any
    ) -> None:
        """Set the value, and forget the address and the token that only variables gave."""
        namespace.data_dir = value
        if not (url := os.environ.get(URL_VARIABLE)):
            return
        for name, variable in (("url", url), ("token", os.environ.get(TOKEN_VARIABLE))):
            if variable is not None and getattr(namespace, name, variable) == variable:
                setattr(namespace, name, None)


@asynccontextmanager
async def connected(
    args: argparse.Namespace,
    *,
    tell: Callable[[ConnectionState], None] | None = None,
    **options: Any,
) -> AsyncIterator[Client]:
    """Connect to the host that the options name, for the length of a block.

    Args:
        args: with what ``add_connection_options`` added.
        tell: is called whenever the connection's state changes; without it, standard error tells
            when the connection is lost and when it is back.
        options: go to ``agenthost.client.connect``.

    Raises:
        CannotConnect, GivenUp: the host cannot be reached, refuses, or stayed away for too long.
    """
    try:
        client = _client(args, options)
    except ValueError as error:
        raise CommandFailed(str(error), USAGE) from None
    async with client:
        try:
            async with host_patience(client, args.patience, tell or ConnectionNotices()):
                yield client
        except ClientError as error:
            # Everything ends with the connection, but why that ended is what matters.
            state = client.connection.state
            if isinstance(state, Closed) and state.error is not None:
                raise state.error from error
            raise


def _client(args: argparse.Namespace, options: dict[str, Any]) -> Client:
    """Make the client; a host found on this machine is looked up again at every reconnect."""
    host = find_host(args.url, args.token, args.data_dir)
    if args.url is not None:
        return connect(host.url, token=host.token, tls_ca=args.tls_ca, **options)

    async def find() -> HostPlace:
        now = find_host(None, args.token, args.data_dir)
        return HostPlace(now.url, now.token, now.tls_cert)

    return connect(endpoint(find), **options)


@asynccontextmanager
async def host_patience(
    client: Client, patience: float | None, tell: Callable[[ConnectionState], None]
) -> AsyncIterator[None]:
    """Limit how long a block waits for a host that went away; ``tell`` gets state changes."""
    loop = asyncio.get_running_loop()
    reason = ""

    def on_change(state: ConnectionState) -> None:
        nonlocal reason
        tell(state)
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
        raise HostWentAway(
            f"the host went away and did not come back: {explain_reason(reason)}"
        ) from None


class ConnectionNotices:
    """Prints one notice when the connection is lost and one when it is back."""

    def __init__(self, say: Callable[[str], None] | None = None) -> None:
        self._say = say or _say
        self._is_lost = False

    def __call__(self, state: ConnectionState) -> None:
        """Handle a change of the connection's state."""
        if isinstance(state, Reconnecting) and not self._is_lost:
            self._is_lost = True
            self._say(f"connection lost ({explain_reason(state.reason)}); trying again")
        elif isinstance(state, Connected) and self._is_lost:
            self._is_lost = False
            self._say("connected again")


def _say(text: str) -> None:
    ink = Ink(use_colour(sys.stderr))
    print(ink("yellow", safe_text(text)), file=sys.stderr, flush=True)


def run_command(
    args: argparse.Namespace, work: Callable[[argparse.Namespace], Awaitable[int]]
) -> int:
    """Run a command's coroutine; report errors and turn them into an exit code."""

    async def run() -> int:
        return await work(args)

    use_host(args)
    try:
        return asyncio.run(run())
    except KeyboardInterrupt:
        return INTERRUPTED
    except (AgentHostError, TimeoutError) as error:
        kind, code = _failure_of(error)
        words = (
            str(error) if isinstance(error, AgentHostError) else "the host did not answer in time"
        )
        return report_failure(args, f"{explain_reason(words)}{_hint(error, args)}", code, kind)


def _failure_of(error: Exception) -> tuple[FailureKind, int]:
    """Return the kind of failure and the exit code of an error."""
    match error:
        case CommandFailed():
            return error.kind, error.code
        case NoHost():
            return "noHost", UNREACHABLE
        case HostWentAway() | ConnectionLost():
            return "wentAway", UNREACHABLE
        case CannotConnect():
            return "unreachable", UNREACHABLE
        case NoCommonVersion():
            return "noCommonVersion", UNREACHABLE
        case GivenUp():
            return "refused", UNREACHABLE
        case TimeoutError():
            return "timeout", UNREACHABLE
        case SessionNotFound() | NotFound():
            return "notFound", FAILED
        case ProviderNotFound():
            return "noAgent", FAILED
        case PermissionDenied():
            return "denied", FAILED
    return "failed", FAILED


def explain_reason(text: str) -> str:
    """Replace an exception class name at the end of a reason by words."""
    head, joint, last = text.rpartition(": ")
    return f"{head}{joint}{_WORDS.get(last, last)}"


def decode_argument(text: str) -> str:
    """Decode a command-line argument as UTF-8, whatever the locale."""
    try:
        raw = text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        # Halves of characters that no locale makes.
        raw = text.encode("utf-8", "replace")
    return raw.decode("utf-8", "replace")


def use_colour(stream: object = None) -> bool:
    """Return whether to colour output: on a terminal, unless NO_COLOR is set."""
    target = sys.stdout if stream is None else stream
    isatty = getattr(target, "isatty", None)
    return bool(isatty and isatty()) and not os.environ.get("NO_COLOR")


def _hint(error: Exception, args: argparse.Namespace) -> str:
    match error:
        case NotAdmitted(status=status) if status == _UNAUTHORIZED:
            if args.url is None and args.token is not None:
                return f"\n  leave out --token and ${TOKEN_VARIABLE}: this host's own is found here"
            return f"\n  give a valid token with --token or ${TOKEN_VARIABLE}"
        case CannotConnect() | GivenUp():
            return f"\n  {hint('doctor')} looks for what is wrong"
    return ""
