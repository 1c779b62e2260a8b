"""A session for the length of a block, of which nothing is left: not in the list, not in the trash.

However the block ends: with an error, with Ctrl-C, with its terminal, also while the session is
still being made. What only a killed process could leave behind, a session in which nobody has said
anything, the host removes by itself.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import uuid
from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING

from agenthost.cli.connection.command_hints import hint
from agenthost.cli.connection.session_lookup import begin_session
from agenthost.cli.format.state_format import short_id
from agenthost.errors import (
    AgentHostError,
    MethodNotFound,
    NotFound,
    PermissionDenied,
    SessionNotFound,
)
from agenthost.protocol.uris import session_uri

if TYPE_CHECKING:
    import argparse

    from agenthost.cli.headless.answer_output import Output
    from agenthost.client import Client, Session

# Seconds that the host may take to remove it.
_REMOVING = 5.0


@contextlib.asynccontextmanager
async def ephemeral_session(
    client: Client, args: argparse.Namespace, out: Output
) -> AsyncIterator[Session]:
    """Begin the session that the options name, and remove it at the end of the block."""
    # Named here, so that it can be removed even if its making is interrupted.
    uri = session_uri(str(uuid.uuid4()))
    with _heeding_hangups():
        try:
            yield await begin_session(client, args, uri=uri, keep=False)
        finally:
            await _remove(client, uri, out)


@contextlib.contextmanager
def _heeding_hangups() -> Iterator[None]:
    """Have the end of the terminal end the block as SIGTERM does, and only once.

    Other turns go on in the host when their terminal is closed; this one has nowhere to go on.
    """
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        # As ``nohup`` wants it.
        yield
        return
    loop = asyncio.get_running_loop()

    def hang_up() -> None:
        # A shell that ends sends one, and so does the system.
        loop.add_signal_handler(signal.SIGHUP, lambda: None)
        signal.raise_signal(signal.SIGTERM)

    loop.add_signal_handler(signal.SIGHUP, hang_up)
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGHUP)


async def _remove(client: Client, uri: str, out: Output) -> None:
    try:
        async with asyncio.timeout(_REMOVING):
            # Other hosts have no trash, and this one's may be switched off.
            with _undisturbed(), contextlib.suppress(SessionNotFound, NotFound, MethodNotFound):
                await client.sessions.dispose(uri)
                await client.sessions.purge(uri)
    except PermissionDenied:
        out.warn("the session is in the host's trash, which only its owner can empty")
    except (AgentHostError, TimeoutError) as error:
        why = str(error) or "no answer in time"
        again = hint("sessions", "delete", short_id(uri))
        out.warn(f"the session is still there ({why}); {again} removes it")


@contextlib.contextmanager
def _undisturbed() -> Iterator[None]:
    """Ignore a second Ctrl-C for the length of a block, which is short."""
    loop = asyncio.get_running_loop()
    numbers = (signal.SIGINT, signal.SIGTERM)
    for number in numbers:
        loop.add_signal_handler(number, lambda: None)
    try:
        yield
    finally:
        for number in numbers:
            loop.remove_signal_handler(number)
