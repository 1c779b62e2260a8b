"""An agent whose turns do everything that versions say differently, word by word as it is told."""

from __future__ import annotations

import asyncio
from typing import Any

from agenthost.agents import Agent, AgentError, Turn

__all__ = ["Enduring"]

Json = dict[str, Any]

TERMINAL: Json = {"type": "terminal", "resource": "ahp-terminal:/1", "title": "Shell"}
QUESTION: Json = {"id": "colour", "kind": "text", "message": "Which colour?"}
USAGE: Json = {"inputTokens": 7, "outputTokens": 11}


class Enduring(Agent):
    """Does what its message lists; ``fail`` is survived: resumed, the turn goes on behind it."""

    provider, display_name = "enduring", "Enduring"
    resumable = True

    async def run(self, turn: Turn) -> None:
        # How many words are done: what comes behind a failure goes on behind it.
        done = (turn.resume_state or {}).get("done", 0) if turn.is_resumed else 0
        for number, word in enumerate(turn.text.split()[done:], start=done + 1):
            turn.keep({"done": number})
            await getattr(self, f"_{word}")(turn)

    async def _write(self, turn: Turn) -> None:
        for piece in ["a", "few", "words", "that", "come", "one", "by", "one"]:
            await turn.write(f"{piece} ")

    async def _think(self, turn: Turn) -> None:
        await turn.think("Hm. ")
        await turn.think("Yes.")

    async def _use(self, turn: Turn) -> None:
        await turn.report_usage(USAGE)

    async def _approve(self, turn: Turn) -> None:
        """Ask before a command runs, and show the terminal in which it does."""
        async with turn.tool("shell", display_name="Shell") as call:
            await call.stream_input("ls")
            if not await call.confirm("Run it?", input="ls", editable=True):
                return
            await call.show(TERMINAL)
            ended = {**TERMINAL, "result": {"exitCode": 3, "preview": "a.py", "truncated": False}}
            await call.complete("Ran it", [ended])

    async def _change(self, turn: Turn) -> None:
        """Change what is to be approved under the eyes of those who are asked.

        Not by the agents' API, which does not do so: up to 0.5.2 it takes several actions.
        """
        target = {"turnId": turn.id, "toolCallId": f"changed-{turn.id}"}
        emit = turn._port.emit
        ready = {"type": "chat/toolCallReady", **target, "invocationMessage": "Run it"}
        emit({"type": "chat/toolCallStart", **target, "toolName": "sh", "displayName": "Shell"})
        emit({**ready, "toolInput": "ls", "editable": True})
        emit({**ready, "toolInput": "rm -rf build"})
        emit({"type": "chat/toolCallConfirmed", **target, "approved": False, "reason": "denied"})
        await turn._port.flow()

    async def _ask(self, turn: Turn) -> None:
        await turn.ask_all([QUESTION], message="One question")

    async def _fail(self, turn: Turn) -> None:
        raise AgentError("out of breath", "tired", resumable=True)

    async def _hang(self, turn: Turn) -> None:
        await turn.set_activity("hanging")
        await asyncio.Event().wait()
