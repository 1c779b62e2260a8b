"""The agent of the soak: streams words and does deeds, which can be told apart and counted."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from agenthost.agents import Agent, Turn

__all__ = ["DEEDS_VARIABLE", "Worker"]

# Names the file in which every deed is a line. Nodes of a soak share it.
DEEDS_VARIABLE = "AGENTHOST_SOAK_DEEDS"
PAUSE = 0.01


class Worker(Agent):
    """Says ``stream N`` words, or does one deed after it was ``approve``d."""

    provider, display_name = "worker", "Worker"

    async def run(self, turn: Turn) -> None:
        """Do what the message says."""
        word, _, rest = turn.text.partition(" ")
        if word == "approve":
            await self._do(turn)
            return
        for number in range(int(rest)):
            await turn.write(f"{number} ")
            await asyncio.sleep(PAUSE)

    async def _do(self, turn: Turn) -> None:
        async with turn.tool("deed", input=turn.id) as call:
            if await call.confirm("Do it?"):
                await asyncio.to_thread(_note, turn.id)
                await call.complete("Did it")
        await turn.write("Done.")


def _note(deed: str) -> None:
    # One write of a line is one line, whoever else writes.
    with Path(os.environ[DEEDS_VARIABLE]).open("a") as deeds:
        deeds.write(f"{deed}\n")
