"""Agents that do what a test tells them to, where the demo agent does not go."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agenthost.agents import Agent, Turn
from agenthost.agents.api import SessionContext
from tests.flags import Flag

__all__ = ["Plain", "Puppet"]


class Puppet(Agent):
    """Has settings and several directories, starts when it is let, and tells what it knows."""

    provider = "puppet"
    display_name = "Puppet"
    capabilities: Mapping[str, Any] = {
        "multipleChats": {"fork": True, "sideChat": True},
        "multipleWorkingDirectories": {"immutablePrimary": True},
    }

    def __init__(self) -> None:
        # Sessions get ready as long as this is set.
        self.may_start = Flag(is_set=True)
        # A turn that was told to wait ends when this is set.
        self.may_finish = Flag()
        # Which sessions it started, and let go of.
        self.log: list[str] = []
        # Why the next session cannot be started, if it cannot.
        self.trouble: Exception | None = None

    async def start_session(self, session: SessionContext) -> None:
        await self.may_start.wait()
        if self.trouble is not None:
            raise self.trouble
        self.log.append(f"started {session.session}")

    async def end_session(self, session: str) -> None:
        self.log.append(f"end {session}")

    def config_schema(
        self, values: Mapping[str, Any], working_directory: str | None
    ) -> Mapping[str, Any]:
        return {
            "type": "object",
            "properties": {
                "mode": {"type": "string", "title": "Mode", "enum": ["ask", "act"]},
                "depth": {
                    "type": "number",
                    "title": "Depth",
                    "default": 3,
                    "sessionMutable": True,
                },
            },
            "required": ["mode"],
        }

    async def run(self, turn: Turn) -> None:
        """Answer with every message the agent has been told of before this one."""
        if turn.text == "/wait":
            await self.may_finish.wait()
        await turn.write(" | ".join(past["message"]["text"] for past in turn.history))


class Plain(Agent):
    """An agent that only ever has one chat, or none beside another."""

    provider = "plain"
    display_name = "Plain"

    def __init__(self, capabilities: Mapping[str, Any]) -> None:
        self.capabilities = capabilities

    async def run(self, turn: Turn) -> None:
        await turn.write("yes")
