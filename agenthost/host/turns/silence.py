"""When to give up a turn in which nothing happens any more; ``runner`` ends it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from agenthost.protocol.chat.parts import open_requests, tool_calls

if TYPE_CHECKING:
    from agenthost.host.turns.running_turn import RunningTurn
    from agenthost.protocol.chat.state import ChatState

# Seconds without anything happening after which a turn is given up: models think for minutes
# before their first word, none for an hour.
SILENCE_LIMIT = 3600.0
# How often to look during that time: a turn ends between that and one such part of it later.
LOOKS = 4
# What a tool call waits for, or does, in which a turn is not idle although nothing is written.
_UNDER_WAY = (
    "pending-confirmation",
    "running",
    "auth-required",
    "pending-result-confirmation",
)


class SilenceWatch:
    """Gives up turns that were silent for so many seconds; ``give_up`` gets each, and why."""

    def __init__(self, limit: float, give_up: Callable[[RunningTurn, str], None]) -> None:
        self._limit = limit
        self._give_up = give_up

    def look_after(self, running: RunningTurn, silent: float = 0.0) -> None:
        """Look from time to time whether anything happens in a turn, which has been silent."""
        interval = self._limit / LOOKS
        pulse = running.pulse

        def look() -> None:
            if running.pulse != pulse or _something_under_way(running.channel.settled):
                self.look_after(running)
            elif silent + interval * 1.5 < interval * LOOKS:
                self.look_after(running, silent + interval)
            else:
                self._give_up(
                    running,
                    f"nothing happened in this turn for {self._limit:g} seconds, "
                    "so it was given up",
                )

        running.alarm = asyncio.get_running_loop().call_later(interval, look)


def _something_under_way(chat: ChatState) -> bool:
    """Say whether somebody was asked, or something runs, in a chat's turn."""
    active = chat.get("activeTurn")
    if any(call["status"] in _UNDER_WAY for call in tool_calls(active)):
        return True
    return next(open_requests(active), None) is not None
