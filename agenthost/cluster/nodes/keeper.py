"""The keeper of a node: takes over what dead nodes owned, leads if that falls to it, hands over.

Decides by what the beats and the log say, which every node reads the same; where two decide the
same at once, the log has one of them and refuses the other.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol, Self

import orjson

from agenthost.cluster.nodes.claims import described
from agenthost.cluster.nodes.placement import fitting, heir
from agenthost.cluster.units import REALM
from agenthost.errors import AgentHostError
from agenthost.host.channels.session.drafts import DRAFTS
from agenthost.protocol.status import IN_PROGRESS
from agenthost.tasks import Tasks

if TYPE_CHECKING:
    from agenthost.cluster.copy import LocalCopy
    from agenthost.cluster.nodes.beats import Nodes
    from agenthost.cluster.nodes.claims import Claims
    from agenthost.cluster.nodes.node_info import NodeInfo
    from agenthost.cluster.realm import Handler, RealmLink, Reply

log = logging.getLogger(__name__)

# Seconds between looks at who leads.
_LOOK_SECONDS = 0.5
# Units that are handed over at once.
_AT_ONCE = 16
# Seconds for one hand-over besides the time that turns are given.
_HAND_OVER_SECONDS = 10.0
_ASK_AGAIN_SECONDS = 0.05
# How often a node that leaves tries to hand a unit over, and seconds in between.
_TRIES = 3
_TRY_AGAIN_SECONDS = 0.5


class OwnsUnits(Protocol):
    """What the keeper asks of an owner host."""

    @property
    def owned(self) -> frozenset[str]:
        """The units that it decides for, and whose interrupted turns have ended."""
        ...

    async def own(self, unit: str) -> bool:
        """Take charge of a unit; False if somebody else was first."""
        ...

    async def leave(self) -> None:
        """Take on nothing more and begin no turn, and wait until what is coming has come."""
        ...

    async def give_up(self, unit: str, to: str | None, *, wait: float) -> None:
        """End what runs in a unit, within so many seconds, and write who owns it from now on."""
        ...

    def is_busy(self, unit: str) -> bool:
        """Say whether a turn of a unit runs there."""
        ...

    async def lead(self) -> None:
        """Do what the leader of the realm does."""
        ...


class Keeper:
    """Sees to it that everything has an owner; ``async with`` makes it watch."""

    def __init__(
        self,
        link: RealmLink,
        nodes: Nodes,
        copy: LocalCopy,
        claims: Claims,
        node: str,
        *,
        owner: Callable[[], OwnsUnits | None],
        incarnation: Callable[[], str],
        followed: Callable[[], Iterable[str]],
    ) -> None:
        self._link = link
        self._nodes = nodes
        self._copy = copy
        self._claims = claims
        self._node = node
        # The owner host of this node; None while one is being made.
        self._owner = owner
        self._incarnation = incarnation
        # The units that clients of this node look at.
        self._followed = followed
        # Which incarnation of the owner host leads.
        self._leading = ""
        self._is_draining = False
        # How many units were claimed because others needed it.
        self.takeovers = 0
        # Units that were claimed although their agents are not here -> those and their folders.
        self._strays: dict[str, tuple[str, list[str]]] = {}
        self._tasks = Tasks()
        self._stack = contextlib.AsyncExitStack()

    @property
    def is_draining(self) -> bool:
        """Whether this node is about to leave."""
        return self._is_draining

    @property
    def leads(self) -> bool:
        """Whether this node leads the realm."""
        return self._leading == self._incarnation() != ""

    async def __aenter__(self) -> Self:
        async with contextlib.AsyncExitStack() as stack:
            for verb, answer in (("claim", self._answer_claim), ("move", self._answer_move)):
                subscription = await self._link.subscribe(
                    f"{verb}.{self._node}", self._answering(answer)
                )
                stack.push_async_callback(subscription.close)
            stack.push_async_callback(self._tasks.close)
            self._nodes.on_death(self._hear_death)
            self._tasks.start(self._watch(), "watch who leads")
            self._tasks.start(self._look_after_strays(), "give sessions back")
            self._stack = stack.pop_all()
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self._stack.aclose()

    # Taking over.

    def owner_renewed(self) -> asyncio.Task[None]:
        """Take up again what this node owned before its owner host was made anew."""
        return self._tasks.start(self._take_up(self._node), "take up own sessions")

    def _hear_death(self, info: NodeInfo) -> None:
        self._tasks.start(self._take_up(info.id), f"take over from {info.id}")

    async def _take_up(self, former: str) -> None:
        """Have those units of a node that cannot wait owned by somebody; others wait for need."""
        # Whoever owns a draft takes it away once nobody looks at it.
        followed, drafts = set(self._followed()), await self._copy.store.records(DRAFTS)
        taken: list[asyncio.Task[None]] = []
        for unit in list(self._copy.units_of(former)):
            if unit == REALM:
                # Who leads is looked at all the time.
                continue
            if unit in followed or unit in drafts or await self._is_running(unit):
                taken.append(self._tasks.start(self._have_owned(unit), f"have {unit} owned"))
            await asyncio.sleep(0)
        if taken:
            await asyncio.wait(taken)

    async def _is_running(self, unit: str) -> bool:
        try:
            _, _, status = await described(self._copy, unit)
        except AgentHostError as error:
            log.error("%s cannot be looked at: %s", unit, error)
            return False
        return bool(status & IN_PROGRESS)

    async def _have_owned(self, unit: str) -> None:
        # Every node asks, and the heir claims once: no node relies on another one's ears.
        try:
            await self._claims.owner(unit)
        except (AgentHostError, TimeoutError) as error:
            log.warning("%s", error)

    # Giving back.

    async def _look_after_strays(self) -> None:
        while True:
            await asyncio.sleep(_LOOK_SECONDS)
            await self._send_strays_home()

    async def _send_strays_home(self) -> None:
        """Hand sessions that cannot work here to nodes that have come and have their agents."""
        owner = self._owner()
        if owner is None or self._is_draining:
            return
        for unit, (provider, directories) in list(self._strays.items()):
            if unit not in owner.owned:
                del self._strays[unit]
                continue
            nodes = fitting(self._nodes.living.values(), provider, directories)
            if any(node.id == self._node for node in nodes):
                del self._strays[unit]
            elif nodes and not owner.is_busy(unit):
                to = heir(unit, nodes, provider, directories)
                try:
                    await self._hand_over(owner, unit, str(to), 0.0)
                except Exception as error:
                    log.warning("%s could not be handed to %s: %r", unit, to, error)

    # Leading.

    async def _watch(self) -> None:
        while True:
            try:
                await self._look_who_leads()
            except (AgentHostError, TimeoutError) as error:
                log.warning("who leads could not be settled: %s", error)
            await asyncio.sleep(_LOOK_SECONDS)

    async def _look_who_leads(self) -> None:
        owner = self._owner()
        if owner is None or self._is_draining or not self._nodes.is_certain:
            return
        leader, living = self._copy.owner_of(REALM), self._nodes.living
        if leader is None or leader not in living:
            leader = heir(REALM, list(living.values()), None)
        if leader != self._node:
            self._leading = ""
            return
        if self.leads and REALM in owner.owned:
            return
        incarnation = self._incarnation()
        if await owner.own(REALM):
            await owner.lead()
            self._leading = incarnation
            log.info("this node leads the realm")
            self._tasks.start(self._end_orphans(), "look for what needs an owner")

    async def _end_orphans(self) -> None:
        """Have sessions owned whose turns nobody runs, and drafts, as after all nodes were gone."""
        drafts, cursor = await self._copy.store.records(DRAFTS), None
        while True:
            page = await self._copy.store.page_sessions(200, cursor)
            for unit, summary in page.items:
                is_running = orjson.loads(summary).get("status", 0) & IN_PROGRESS
                if (is_running or unit in drafts) and not self._is_looked_after(unit):
                    self._tasks.start(self._have_owned(unit), f"have {unit} owned")
            cursor = page.next_cursor
            if cursor is None:
                return

    def _is_looked_after(self, unit: str) -> bool:
        owner, own_host = self._copy.owner_of(unit), self._owner()
        if owner == self._node:
            return own_host is not None and unit in own_host.owned
        return owner in self._nodes.living

    # Answering others.

    def _answering(
        self, answer: Callable[[OwnsUnits, str, dict[str, Any]], Awaitable[dict[str, Any]]]
    ) -> Handler:
        async def work(body: bytes, reply: Reply) -> None:
            try:
                told = orjson.loads(body)
                unit = told["unit"]
                if not isinstance(unit, str):
                    raise TypeError
            except (orjson.JSONDecodeError, KeyError, TypeError):
                return
            owner = self._owner()
            try:
                if owner is None:
                    result: dict[str, Any] = {"error": f"{self._node} is just starting"}
                else:
                    result = await answer(owner, unit, told)
            except (AgentHostError, TimeoutError) as error:
                result = {"error": str(error) or f"{self._node} could not do it in time"}
            except Exception:
                log.exception("%s could not be handed on or taken", unit)
                result = {"error": f"{self._node} failed at it"}
            reply(orjson.dumps(result))

        def hear(subject: str, body: bytes, reply: Reply | None) -> None:
            if reply is not None:
                self._tasks.start(work(body, reply), "answer a node")

        return hear

    async def _answer_claim(
        self, owner: OwnsUnits, unit: str, told: dict[str, Any]
    ) -> dict[str, Any]:
        if unit not in owner.owned:
            former = self._copy.owner_of(unit)
            if former is not None and former != self._node and former in self._nodes.living:
                # Whoever asked has not heard yet.
                return {"owner": former, "error": f"{former} owns it"}
            if self._is_draining:
                return {"error": f"{self._node} is about to leave"}
            if not await owner.own(unit):
                return {"error": "somebody else was first"}
            self.takeovers += 1
            provider, directories, _ = await described(self._copy, unit)
            if provider is not None and provider not in self._nodes.living[self._node].providers:
                self._strays[unit] = (provider, directories)
        return {
            "owner": self._node,
            "incarnation": self._incarnation(),
            "position": self._copy.last_of(unit),
        }

    async def _answer_move(
        self, owner: OwnsUnits, unit: str, told: dict[str, Any]
    ) -> dict[str, Any]:
        to, wait = told.get("to"), told.get("wait", 0.0)
        if to not in self._nodes.living or not isinstance(wait, (int, float)):
            return {"error": f"there is no node {to}"}
        if unit not in owner.owned:
            return {"error": f"{self._node} does not own it"}
        try:
            await self._hand_over(owner, unit, str(to), min(float(wait), _HAND_OVER_SECONDS))
        except TimeoutError:
            if unit in owner.owned:
                raise
            return {"error": f"{to} was given it and has not taken it up yet; look again"}
        return {"owner": to}

    # Leaving.

    async def drain(self, wait: float) -> None:
        """Give all that this node owns to others; turns get so many seconds to end by themselves.

        Where no other node stays, nothing is given: the next start takes it up.
        """
        self._is_draining = True
        self._nodes.tell_now()
        owner = self._owner()
        if owner is None:
            return
        clock = asyncio.get_running_loop().time
        end = clock() + wait
        gate = asyncio.Semaphore(_AT_ONCE)
        try:
            async with asyncio.timeout(_HAND_OVER_SECONDS):
                await owner.leave()
        except TimeoutError:
            log.warning("what is about to become this node's is left to others")

        async def hand(unit: str) -> None:
            # Those whose turns take their time must not hold the others up.
            async with contextlib.nullcontext() if owner.is_busy(unit) else gate:
                try:
                    to = await self._heir_of(unit)
                    if to is not None:
                        await self._hand_over(owner, unit, to, max(0.0, end - clock()))
                    else:
                        tries[unit] = _TRIES
                except Exception as error:
                    # The others are handed over all the same.
                    log.warning("%s could not be handed over: %r", unit, error)

        tries: Counter[str] = Counter()
        # Again where it failed; and a chat may have been moved into a session of its own meanwhile.
        while left := [unit for unit in owner.owned if tries[unit] < _TRIES]:
            if any(tries[unit] for unit in left):
                await asyncio.sleep(_TRY_AGAIN_SECONDS)
            tries.update(left)
            await asyncio.gather(*map(hand, sorted(left)))

    async def _heir_of(self, unit: str) -> str | None:
        provider, directories, _ = await described(self._copy, unit)
        nodes = list(self._nodes.living.values())
        return heir(unit, nodes, provider, directories, besides={self._node})

    async def _hand_over(self, owner: OwnsUnits, unit: str, to: str, wait: float) -> None:
        """Give a unit to a node, and wait until it is there."""
        async with asyncio.timeout(wait + _HAND_OVER_SECONDS):
            await owner.give_up(unit, to, wait=wait)
        async with asyncio.timeout(_HAND_OVER_SECONDS):
            while (await self._claims.ask(to, unit)).get("owner") != to:  # noqa: ASYNC110
                # It may not have read yet that the unit is its own.
                await asyncio.sleep(_ASK_AGAIN_SECONDS)
        log.info("%s is with %s now", unit, to)
