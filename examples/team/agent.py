"""A team: a lead that hands parts of the work to two workers, each in a chat of its own."""

from __future__ import annotations

import asyncio

from agenthost.agents import Agent, AgentError, Turn
from agenthost.agents.turn_port import Worker

# What each worker is told to be; the word begins the message that it is given.
ROLES = {"optimist": "What could go well?", "critic": "What could go wrong?"}


class Team(Agent):
    """Asks an optimist and a critic at the same time, and sums up."""

    provider, display_name = "team", "Team"
    description = "An optimist and a critic discuss your plan"

    async def run(self, turn: Turn) -> None:
        """Lead, or work: a worker is the same agent, in a chat of its own."""
        role, colon, plan = turn.text.partition(": ")
        if colon and role in ROLES:
            await self._work(turn, role, plan)
        else:
            await self._lead(turn)

    async def _lead(self, turn: Turn) -> None:
        workers = await asyncio.gather(*(self._ask(turn, role) for role in ROLES))
        for role, worker in zip(ROLES, workers, strict=True):
            if worker.state != "complete":
                raise AgentError(f"the {role} did not finish: {worker.error or worker.state}")
            await turn.write(f"**{role.capitalize()}**: {worker.text}\n\n")

    async def _ask(self, turn: Turn, role: str) -> Worker:
        async with turn.tool("ask", input={"role": role}, display_name=f"Ask the {role}") as call:
            return await call.delegate(
                f"{role}: {turn.text}", title=role.capitalize(), agent_name=role
            )

    async def _work(self, turn: Turn, role: str, plan: str) -> None:
        # A model would answer here, with the role as its instructions.
        await turn.think(ROLES[role])
        verdict = "could be great" if role == "optimist" else "will take longer than you think"
        plan = plan.strip().rstrip(".")
        await turn.write(f"{plan[:1].upper()}{plan[1:]} {verdict}.")
