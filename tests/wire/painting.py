"""An agent that shows pages, at addresses that nobody else may learn."""

from __future__ import annotations

import asyncio

from agenthost.agents import Agent, AgentError, Canvas, Turn
from tests.flags import Flag

__all__ = ["BAD_PAGES", "MARK", "PAGE", "Painter"]

# Stands in every address, so that a file which holds it holds an address.
MARK = "5d2f1c7e-nowhere-written-down"
PAGE = f"http://127.0.0.1:9/{MARK}?key={MARK}"
# What is no page, by the word with which the agent is told to show it.
BAD_PAGES = {
    "script": f"javascript:alert('{MARK}')",
    "file": f"file:///{MARK}",
    "data": f"data:text/html,{MARK}",
    "relative": f"//127.0.0.1/{MARK}",
    "hostless": f"http:///{MARK}",
    "spaced": f"http://127.0.0.1/ {MARK}",
    "newline": f"http://127.0.0.1/{MARK}\n",
    "backslash": f"http:\\\\127.0.0.1\\{MARK}",
    "port": f"http://127.0.0.1:99999/{MARK}",
    "long": f"http://127.0.0.1/{MARK}" + "x" * 1_000_000,
    "empty": "",
}


class Painter(Agent):
    """Opens, changes and closes canvases as it is told."""

    provider, display_name = "painter", "The Painter"

    def __init__(self) -> None:
        self.canvas: Canvas | None = None
        # Set when a turn that waits for ever has opened its canvas, and when it was stopped.
        self.waits = Flag()

    async def run(self, turn: Turn) -> None:
        command, _, rest = turn.text.partition(" ")
        if command == "open":
            self.canvas = await turn.open_canvas("preview", title=rest or "Preview", url=PAGE)
        elif command == "reopen":
            self.canvas = await turn.open_canvas("preview", instance_id=rest, url=PAGE)
        elif command == "bad":
            await turn.open_canvas("preview", url=BAD_PAGES[rest])
        elif command == "many":
            await self._open_many(turn, int(rest))
        elif command == "crash":
            await turn.open_canvas("preview", url=PAGE)
            raise RuntimeError(f"{rest or 'the painter fell off the ladder'} at {PAGE}")
        elif command == "fail":
            await turn.open_canvas("preview", url=PAGE)
            raise AgentError(f"there is nothing at {PAGE}", "notServed")
        elif command == "twice":
            opening = (turn.open_canvas("preview", instance_id=rest, url=PAGE) for _ in range(9))
            await turn.write(str(len({canvas.uri for canvas in await asyncio.gather(*opening)})))
        elif command == "wait":
            await turn.open_canvas("preview", url=PAGE)
            self.waits.set()
            await asyncio.Event().wait()
        elif self.canvas is not None:
            await self._change(self.canvas, command, rest)
        await turn.write("done")

    async def _change(self, canvas: Canvas, command: str, rest: str) -> None:
        if command == "status":
            await canvas.update(status=rest)
        elif command == "clear":
            await canvas.update(url=None)
        elif command == "close":
            await canvas.close()

    async def _open_many(self, turn: Turn, count: int) -> None:
        refusals = []
        for _ in range(count):
            try:
                await turn.open_canvas("preview", url=PAGE)
            except AgentError as error:
                refusals.append(f"{error.error_type}: {error}")
        await turn.write(f"{len(refusals)} refused, {sorted(set(refusals))}; ")
