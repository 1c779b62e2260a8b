"""What others of the host do around turns: before the agent is let in, and when the turn is over.

Whoever makes a turn possible (a working tree of its own) is waited for and may fail it; whoever
only looks on (a checkpoint of the files) is given little time and fails nobody. What people and
their servers bring is asked for last.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Protocol

from agenthost.agents.mcp_tools import TurnMcp
from agenthost.agents.turn_customizations import TurnCustomizations
from agenthost.host.channels.chat.extra import ChatChannel
from agenthost.host.channels.chat.turn_facts import TurnFacts
from agenthost.host.channels.session.kind import SessionChannel
from agenthost.host.store import StoreError

if TYPE_CHECKING:
    from agenthost.mcp.link import McpBridge
    from agenthost.protocol.common import JsonObject

log = logging.getLogger(__name__)

# Seconds that a turn waits for those who look on; what takes them longer goes on beside it.
WITNESS_PATIENCE = 2.0


class TurnWitness(Protocol):
    """Somebody who looks at what lies there before a turn, and after it."""

    async def begins(self, chat: ChatChannel, session: SessionChannel, turn_id: str) -> None:
        """Look before the agent works; again, with the same id, when a turn is taken up again.

        The agent may start meanwhile, but works at most ``WITNESS_PATIENCE`` seconds later.
        """
        ...

    def ended(self, chat: ChatChannel, session: SessionChannel, turn_id: str) -> None:
        """Take notice that a turn is over, which all have been told; never without ``begins``."""
        ...


class TurnPreparation(Protocol):
    """Somebody without whom a turn cannot begin."""

    async def prepare(
        self, chat: ChatChannel, session: SessionChannel, tell: Callable[[str | None], None]
    ) -> None:
        """Do what a turn of the session needs; AgentError ends the turn with that error.

        ``tell`` gets what to show while it takes long, and None afterwards.
        """
        ...


class Looks:
    """All the looks before one turn, which go on by themselves."""

    def __init__(self, tasks: set[asyncio.Task[None]]) -> None:
        self._tasks = tasks
        self._until = asyncio.get_running_loop().time() + WITNESS_PATIENCE

    async def done(self) -> None:
        """Return when all have looked, or have taken too long since they began."""
        left = self._until - asyncio.get_running_loop().time()
        if self._tasks and left > 0:
            # A turn that is cancelled now takes nothing away from those who look.
            await asyncio.wait(self._tasks, timeout=left)


class TurnHooks:
    """All who have something to do around turns."""

    def __init__(self) -> None:
        self._witnesses: list[TurnWitness] = []
        self._preparations: list[TurnPreparation] = []
        # Those who still look at the beginning of a turn.
        self._looking: set[asyncio.Task[None]] = set()

    def add_witness(self, witness: TurnWitness) -> None:
        """Let somebody look on at every turn from now on."""
        self._witnesses.append(witness)

    def add_preparation(self, preparation: TurnPreparation) -> None:
        """Have every turn prepared by somebody from now on, after those who were there before."""
        self._preparations.append(preparation)

    async def prepare(
        self, chat: ChatChannel, session: SessionChannel, tell: Callable[[str | None], None]
    ) -> None:
        """Do what a turn of the session needs, or raise why it cannot begin."""
        for preparation in self._preparations:
            await preparation.prepare(chat, session, tell)

    def begins(self, chat: ChatChannel, session: SessionChannel, turn_id: str) -> Looks:
        """Have all look before a turn begins, beside whatever the agent does not need them for."""
        looking = {
            asyncio.create_task(
                _look(witness, chat, session, turn_id), name=f"look before {turn_id}"
            )
            for witness in self._witnesses
        }
        self._looking |= looking
        for task in looking:
            task.add_done_callback(self._looking.discard)
        return Looks(looking)

    def ended(self, chat: ChatChannel, session: SessionChannel, turn_id: str) -> None:
        """Tell all that a turn is over."""
        for witness in self._witnesses:
            try:
                witness.ended(chat, session, turn_id)
            except Exception:
                log.exception("something that follows the end of a turn failed")

    def close(self) -> None:
        """Give up on whoever still looks, because the host stops."""
        for task in self._looking:
            task.cancel()


async def _look(
    witness: TurnWitness, chat: ChatChannel, session: SessionChannel, turn_id: str
) -> None:
    try:
        await witness.begins(chat, session, turn_id)
    except StoreError as error:
        # The host ends for the same reason, and says more.
        log.warning("what a turn begins with is not known: %s", error)
    except Exception:
        log.exception("something that looks on at turns failed; the turn goes on without it")


class CustomizationsOfTurns(Protocol):
    """What people bring to sessions, for their turns."""

    async def for_turn(self, session: SessionChannel, agent_uri: str | None) -> TurnCustomizations:
        """Return what holds for a turn that begins now; AgentError if the agent is not there."""
        ...

    def servers(self, session: SessionChannel) -> Sequence[object]:
        """Return the MCP servers that are declared in a session; `for_turn` finds them."""
        ...


class McpOfTurns(Protocol):
    """The MCP servers of sessions, for their turns."""

    # Told of every session, by its URI, whose servers offer other tools now.
    on_tools_changed: Callable[[str], None]

    async def for_turn(self, turn: TurnFacts) -> TurnMcp:
        """Return what the servers of a turn offer it, once they run or take too long."""
        ...

    def turn_ended(self, chat: str, turn_id: str) -> None:
        """Take note that a turn is over, however it ended."""
        ...

    async def open_bridge(
        self,
        name: str,
        tools: Callable[[], Sequence[JsonObject]],
        call: Callable[[str, JsonObject], Awaitable[JsonObject]],
    ) -> McpBridge:
        """Open a local MCP server whose tools are listed and run here; McpFailed if it cannot."""
        ...
