"""Telling people that a token which they brought has expired, as soon as it has.

Told are the connections that brought it, on the root channel or, where they do not follow it, on
a channel of an agent that wants the token. Until another one comes, no turn starts without it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import TYPE_CHECKING

from agenthost.agents.api import Agent
from agenthost.host.log.channel import AnyChannel

if TYPE_CHECKING:
    from agenthost.host.core import HostCore
    from agenthost.host.log.receiver import Receiver
    from agenthost.protocol.common import JsonObject


class TokenExpiry:
    """Whoever waits for tokens to expire."""

    def __init__(self, core: HostCore) -> None:
        self._credentials = core.credentials
        self._clock = core.clock
        self._writer = core.writer
        self._directory = core.directory
        self._agents = core.agents

    async def watch(self) -> None:
        """Tell of every token that expires, until this is cancelled."""
        while True:
            for expired in self._credentials.take_expired():
                for connection in expired.suppliers:
                    self._tell(connection, expired.resource)
            await self._next()

    async def _next(self) -> None:
        """Wait until a token expires, or others are held than before."""
        changed = self._credentials.changed
        changed.clear()
        waiting: set[asyncio.Task[object]] = {asyncio.create_task(changed.wait())}
        if self._credentials.seconds_left() is not None:
            waiting.add(asyncio.create_task(self._expiry()))
        try:
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in waiting:
                task.cancel()

    async def _expiry(self) -> None:
        # Asked here, where nothing is awaited before the clock is.
        await self._clock.sleep(self._credentials.seconds_left() or 0.0)

    def _tell(self, connection: Receiver, resource: str) -> None:
        described = _described(self._agents.values(), resource)
        channel = self._channel(connection, resource)
        if described is not None and channel is not None:
            params = {"resource": described, "reason": "expired"}
            only = frozenset({connection})
            self._writer.notify(channel, "auth/required", params, only=only)

    def _channel(self, connection: Receiver, resource: str) -> AnyChannel | None:
        """Return the channel on which a connection can be told about a resource, if any."""
        root = self._directory.root
        if root in connection.subscriptions:
            return root
        wanting = (c for c in connection.subscriptions if self._wants(c, resource))
        return next(wanting, None)

    def _wants(self, channel: AnyChannel, resource: str) -> bool:
        session = self._directory.owner(channel) or channel
        agent = self._agents.get(session.state.get("provider", ""))
        return agent is not None and _described([agent], resource) is not None


def _described(agents: Iterable[Agent], resource: str) -> JsonObject | None:
    """Return how the first of these agents describes a resource; None if none protects it."""
    entries = (entry for agent in agents for entry in agent.protected_resources)
    return next((dict(entry) for entry in entries if entry["resource"] == resource), None)
