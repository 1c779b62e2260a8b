"""Finding the owner of a unit, and having one made where it has none that lives.

What the log says of an owner is not enough: it may have died, or have been started again and not
have taken up yet what it owned. So whoever wants something of a unit asks its owner first, once.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any, cast

import orjson

from agenthost.cluster.nodes.placement import heir
from agenthost.errors import AgentHostError

if TYPE_CHECKING:
    from agenthost.cluster.copy import LocalCopy
    from agenthost.cluster.nodes.beats import Nodes
    from agenthost.cluster.realm import RealmLink

log = logging.getLogger(__name__)

# Seconds to go on trying: a killed server can stop all appends for 18.
_PATIENCE = 20.0
# Seconds for one answer; to claim a unit its owner appends.
_ANSWER = 6.0
_PAUSE = 0.2
# Owners to remember; asking again costs a message.
_MOST_KNOWN = 10_000


class NobodyOwns(AgentHostError):
    """No node of the realm could take charge of a session in time."""


class Claims:
    """Who owns what, as a node has been told by the owners themselves."""

    def __init__(self, link: RealmLink, nodes: Nodes, copy: LocalCopy, own_node: str) -> None:
        self._link = link
        self._nodes = nodes
        self._copy = copy
        self._own_node = own_node
        # Unit -> the owner, and which incarnation of it said so.
        self._known: dict[str, tuple[str, str]] = {}
        # Questions under way, by unit: everybody who waits for one waits for the same.
        self._asking: dict[str, asyncio.Task[str]] = {}

    async def owner(self, unit: str) -> str:
        """Return the node whose owner host has a unit.

        Raises:
            NobodyOwns: none has it, and none could take it in time.
        """
        known = self._known.get(unit)
        if known is not None and self._still_holds(unit, *known):
            return known[0]
        asking = self._asking.get(unit)
        if asking is None:
            asking = asyncio.create_task(self._find(unit), name=f"claim {unit}")
            self._asking[unit] = asking
            asking.add_done_callback(lambda _: self._asking.pop(unit, None))
            # Whoever asked may have left.
            asking.add_done_callback(lambda task: task.cancelled() or task.exception())
        return await asyncio.shield(asking)

    def forget(self, unit: str) -> None:
        """Ask the owner again before the next use: something went wrong with it."""
        self._known.pop(unit, None)

    async def close(self) -> None:
        """Give up what is being asked."""
        for asking in list(self._asking.values()):
            asking.cancel()
        await asyncio.gather(*self._asking.values(), return_exceptions=True)

    def _still_holds(self, unit: str, node: str, incarnation: str) -> bool:
        info = self._nodes.living.get(node)
        if info is None or info.incarnation != incarnation or self._copy.owner_of(unit) != node:
            del self._known[unit]
            return False
        return True

    async def _find(self, unit: str) -> str:
        loop = asyncio.get_running_loop()
        end, why = loop.time() + _PATIENCE, "no machine of the cluster answered"
        while loop.time() < end:
            node = await self._candidate(unit)
            if node is not None:
                answer = await self.ask(node, unit)
                if answer.get("owner") == node:
                    await self._remember(unit, node, answer)
                    return node
                why = str(answer.get("error") or why)
            await asyncio.sleep(_PAUSE)
        raise NobodyOwns(f"nobody could take charge of {unit}: {why}; try again")

    async def ask(
        self, node: str, unit: str, verb: str = "claim", *, timeout: float = _ANSWER, **more: object
    ) -> dict[str, Any]:
        """Ask a node to take charge of a unit, or something else about it; answer what it says."""
        question = orjson.dumps({"unit": unit, "from": self._own_node, **more})
        try:
            answer = await self._link.request(f"{verb}.{node}", question, timeout)
            told = orjson.loads(answer)
        except (AgentHostError, TimeoutError, OSError, orjson.JSONDecodeError) as error:
            log.info("%s did not answer about %s: %s", node, unit, error)
            return {"error": f"the machine {node} did not answer"}
        return cast("dict[str, Any]", told) if isinstance(told, dict) else {}

    async def _candidate(self, unit: str) -> str | None:
        """Return the node that owns a unit, or that shall if that one is dead."""
        owner, living = self._copy.owner_of(unit), self._nodes.living
        if owner is not None and owner in living:
            return owner
        provider, directories, _ = await described(self._copy, unit)
        return heir(unit, list(living.values()), provider, directories)

    async def _remember(self, unit: str, node: str, answer: dict[str, Any]) -> None:
        position = answer.get("position")
        if isinstance(position, int):
            # The log that it found must be at hand here, too.
            async with asyncio.timeout(_PATIENCE):
                await self._copy.reached(position)
        if len(self._known) >= _MOST_KNOWN:
            self._known.clear()
        self._known[unit] = (node, str(answer.get("incarnation", "")))


async def described(copy: LocalCopy, unit: str) -> tuple[str | None, list[str], int]:
    """Return the agent, the directories and the status of a session; of others nothing."""
    summary = None if unit.startswith("@") else await copy.store.session_summary(unit)
    if summary is None:
        return None, [], 0
    told = orjson.loads(summary)
    return told.get("provider"), list(told.get("workingDirectories") or ()), told.get("status", 0)
