"""Server events that a test can look at and wait for."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from agenthost.mcp.types import Challenge, McpTool, ServerState
from agenthost.protocol.common import JsonObject

__all__ = ["RecordedEvents"]

# Seconds that anything here may take before the test is broken rather than slow.
PATIENCE = 60.0


class RecordedEvents:
    """Keeps what a server tells, and answers its questions as a test wants."""

    def __init__(self) -> None:
        self.states: list[tuple[ServerState, str]] = []
        self.challenges: list[Challenge] = []
        self.demands: list[tuple[str | None, Challenge]] = []
        self.offered: list[list[McpTool]] = []
        self.log = b""
        self.asked: list[tuple[str, str | None, JsonObject]] = []
        self.answer: Callable[[str, JsonObject], Awaitable[JsonObject]] = _declined
        self.taken_back = 0
        self._changed = asyncio.Event()

    def state(
        self, kind: ServerState, detail: str = "", challenge: Challenge | None = None
    ) -> None:
        self.states.append((kind, detail))
        if challenge is not None:
            self.challenges.append(challenge)
        self._happened()

    def auth_required(self, call: str | None, challenge: Challenge) -> None:
        self.demands.append((call, challenge))
        self._happened()

    def tools(self, tools: Sequence[McpTool]) -> None:
        self.offered.append(list(tools))
        self._happened()

    def output(self, data: bytes) -> None:
        self.log += data
        self._happened()

    async def elicit(self, call: str | None, params: JsonObject) -> JsonObject:
        return await self._ask("elicit", call, params)

    async def sample(self, call: str | None, params: JsonObject) -> JsonObject:
        return await self._ask("sample", call, params)

    async def until(self, condition: Callable[[], object]) -> None:
        """Wait until something told makes a condition true."""
        async with asyncio.timeout(PATIENCE):
            while not condition():
                self._changed.clear()
                await self._changed.wait()

    @property
    def kinds(self) -> list[ServerState]:
        return [kind for kind, _ in self.states]

    @property
    def detail(self) -> str:
        return self.states[-1][1]

    def _happened(self) -> None:
        self._changed.set()

    async def _ask(self, what: str, call: str | None, params: JsonObject) -> JsonObject:
        self.asked.append((what, call, params))
        self._happened()
        try:
            return await self.answer(what, params)
        except asyncio.CancelledError:
            self.taken_back += 1
            self._happened()
            raise


async def _declined(what: str, params: JsonObject) -> JsonObject:
    return {"action": "decline"}
