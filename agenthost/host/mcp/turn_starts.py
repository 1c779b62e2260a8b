"""What a turn waits for before it begins, and what is said where nobody can be asked."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence

from agenthost.host.channels.chat.turn_facts import TurnFacts
from agenthost.host.customizations.service import DeclaredServer
from agenthost.host.log.writer import Writer
from agenthost.host.mcp.session_server import SessionServer

# Seconds that a turn waits for servers; those that take longer join the next one.
PATIENCE = 10.0
# Characters of the names of several servers.
_LONGEST_NAMES = 200


def is_unattended(turn: TurnFacts) -> bool:
    """Say whether nobody is there to be asked: no client began the turn, or it is a worker's."""
    return turn.starter.client_id is None or turn.starter.depth > 0


def tell_untrusted(writer: Writer, turn: TurnFacts, servers: Sequence[DeclaredServer]) -> None:
    """Say in a turn that nobody is at which servers it does without."""
    if servers:
        names = ", ".join(each.declaration.name for each in servers)[:_LONGEST_NAMES]
        text = f"MCP servers that nobody has trusted were not started: {names}"
        part = {"kind": "systemNotification", "content": text}
        writer.apply(turn.chat, {"type": "chat/responsePart", "turnId": turn.turn_id, "part": part})


async def wait_for_start(turn: TurnFacts, servers: Sequence[SessionServer]) -> None:
    """Wait until the servers of a turn have started or need not be waited for any longer."""
    waiting = [server for server in servers if not server.unblocked.is_set()]
    if not waiting:
        return
    names = ", ".join(server.name for server in waiting)
    turn.tell(f"Starting {names[:_LONGEST_NAMES]}")
    try:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE):
                await asyncio.gather(*(server.unblocked.wait() for server in waiting))
    finally:
        turn.tell(None)
        for server in waiting:
            server.background()
