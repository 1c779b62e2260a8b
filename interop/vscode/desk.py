"""What scenarios work with: the window, the host beside it, and what went over the wire."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from interop.vscode.processes import ServedHost, VSCodeServer
from interop.vscode.window import Window

__all__ = ["Desk", "Scenario"]


@dataclass
class Desk:
    """What a scenario works with."""

    window: Window
    host: ServedHost
    server: VSCodeServer
    # Where in the wire log the scenario began.
    since: int = 0

    async def wire(self, holds: Callable[[], object], why: str) -> None:
        """Wait until the wire log holds something."""

        async def look() -> str | None:
            self.host.wire.refresh()
            return None if holds() else why

        await self.window.until(look)

    async def dispatched(self, type: str) -> None:
        """Wait until VS Code has sent an action of this type, in this scenario."""
        await self.wire(lambda: self.host.wire.dispatched(type, self.since), f"no {type} was sent")

    def drafts(self) -> list[str]:
        """Return what VS Code has noted as not yet sent, in this scenario."""
        noted = self.host.wire.dispatched("chat/draftChanged", self.since)
        return [action.get("draft", {}).get("text", "") for action in noted]


Scenario = Callable[[Desk], Awaitable[None]]
