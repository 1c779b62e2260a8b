"""Shows an agent's plan: a checklist when its steps change, else the step being done.

Every update of a plan carries all of it, and what was once said in a chat stays there. So the list
is shown when the steps are new ones, and once more at the end; in between its progress is the
chat's activity.
"""

from __future__ import annotations

from acp.schema import PlanEntry

from agenthost.agents.turn import Turn


class Plan:
    """The plan of one turn."""

    def __init__(self, turn: Turn) -> None:
        self._turn = turn
        self._entries: list[PlanEntry] = []
        # The list as it was last shown.
        self._shown = ""

    async def update(self, entries: list[PlanEntry]) -> None:
        """Update the plan and show what has changed."""
        known = [entry.content for entry in self._entries]
        self._entries = entries
        if [entry.content for entry in entries] != known:
            await self._show()
        await self._turn.set_activity(self._activity())

    async def show_final(self) -> None:
        """Show the plan as it ended, unless it was shown so already."""
        await self._show()
        if self._shown:
            await self._turn.set_activity(None)

    async def _show(self) -> None:
        told = "\n".join(_line(entry) for entry in self._entries)
        if told != self._shown:
            self._shown = told
            await self._turn.notify(f"Plan\n\n{told}" if told else "The plan is dropped.")

    def _activity(self) -> str | None:
        done = sum(entry.status == "completed" for entry in self._entries)
        current = next((e.content for e in self._entries if e.status == "in_progress"), None)
        return None if current is None else f"{current} ({done} of {len(self._entries)} done)"


def _line(entry: PlanEntry) -> str:
    mark = "x" if entry.status == "completed" else " "
    note = " (in progress)" if entry.status == "in_progress" else ""
    return f"- [{mark}] {entry.content}{note}"
