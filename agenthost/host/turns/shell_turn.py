"""A turn that runs a user's own command in a terminal: one tool call, no agent, no approval."""

from __future__ import annotations

from agenthost.agents.turn import Turn
from agenthost.host.channels.chat.shell_turns import SHELL_TURN


async def run_shell_turn(turn: Turn, command: str) -> None:
    """Run a command where everybody in the chat can watch it."""
    async with turn.tool(
        "shell",
        input=command,
        display_name="Shell",
        invocation=f"Run {command}",
        meta={"toolKind": "terminal", SHELL_TURN: True},
    ) as call:
        await call.run_in_terminal(command)
