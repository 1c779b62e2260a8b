"""The slash commands of the agent that a conversation is with, as far as the host tells them."""

from __future__ import annotations

import asyncio
import contextlib

from agenthost.client import Chat, Unsupported
from agenthost.errors import AgentHostError

LEARNING = 5.0
"""Seconds in which a host must have told them."""


class AgentCommands:
    """The agent's commands, and the skills and prompts that people brought."""

    def __init__(self, chat: Chat) -> None:
        self._chat = chat
        # Those that were told so far, without their slashes. More may be brought at any time.
        self.names: set[str] = set()

    async def learn(self) -> None:
        """Ask the host for all of them, so that most are known when they are typed."""
        with contextlib.suppress(AgentHostError, TimeoutError):
            await self._ask("/")

    async def has(self, name: str) -> bool | None:
        """Return whether the agent has a command; None if nobody can say now."""
        if name in self.names:
            return True
        try:
            await self._ask(f"/{name}")
        except Unsupported:
            return False
        except (AgentHostError, TimeoutError):
            return None
        return name in self.names

    async def _ask(self, text: str) -> None:
        async with asyncio.timeout(LEARNING):
            items = await self._chat.completions(text)
        words = (item["insertText"].strip() for item in items)
        self.names |= {word[1:] for word in words if word.startswith("/")}
