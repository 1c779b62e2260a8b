"""Turns that run a user's own command in a terminal, and no agent: one tool call, no approval.

They are ordinary turns for everybody but the agent, which did not see them happen and is not told
of them; so they are known again in a chat's history.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agenthost.agents.turn import Turn
    from agenthost.protocol.chat.messages import Message
    from agenthost.protocol.chat.state import ActiveTurn, CompletedTurn, ResponsePart

SHELL_TURN = "shellTurn"
"""The entry of a tool call's ``_meta`` that says so."""

# Parts of a turn among which its only tool call is.
_FIRST_PARTS = 3


def shell_command(message: Message, prefix: str | None) -> str | None:
    """Return the command that a message is; None where it is one for the agent.

    Only what a user typed is a command: an agent must ask before it runs one.
    """
    if prefix is None or message["origin"]["kind"] != "user":
        return None
    text = message["text"]
    command = text[len(prefix) :].strip() if text.startswith(prefix) else ""
    return command or None


def is_shell_turn(turn: ActiveTurn | CompletedTurn) -> bool:
    """Say whether a turn ran a user's own command."""
    return any(map(_is_marked, turn["responseParts"][:_FIRST_PARTS]))


def _is_marked(part: ResponsePart) -> bool:
    return part["kind"] == "toolCall" and bool(
        (part["toolCall"].get("_meta") or {}).get(SHELL_TURN)
    )


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
