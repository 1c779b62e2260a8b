"""An agent that does what the official package's example agent does, which wheels do not contain.

It says "Client sent:" and repeats the prompt, block by block; it counts its sessions from zero, so
that another process uses the same ids again, and it cannot load one.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
from typing import Any, cast

from acp import PROTOCOL_VERSION, run_agent, text_block, update_agent_message
from acp.interfaces import Agent, Client
from acp.schema import (
    AgentCapabilities,
    Implementation,
    InitializeResponse,
    NewSessionResponse,
    PromptResponse,
    SetSessionModeResponse,
)


class ExampleAgent:
    def __init__(self) -> None:
        self._numbers = itertools.count()

    def on_connect(self, conn: Client) -> None:
        self._client = conn

    async def initialize(self, protocol_version: int, **kwargs: Any) -> InitializeResponse:
        logging.info("Received initialize request")
        return InitializeResponse(
            protocol_version=PROTOCOL_VERSION,
            agent_capabilities=AgentCapabilities(),
            agent_info=Implementation(name="example-agent", title="Example", version="0.1.0"),
        )

    async def new_session(self, cwd: str, **kwargs: Any) -> NewSessionResponse:
        return NewSessionResponse(session_id=str(next(self._numbers)))

    async def set_session_mode(
        self, session_id: str, mode_id: str, **kwargs: Any
    ) -> SetSessionModeResponse:
        return SetSessionModeResponse()

    async def prompt(self, session_id: str, prompt: list[Any], **kwargs: Any) -> PromptResponse:
        for block in [text_block("Client sent:"), *prompt]:
            await self._client.session_update(session_id, update_agent_message(block))
        return PromptResponse(stop_reason="end_turn")

    async def cancel(self, session_id: str, **kwargs: Any) -> None:
        logging.info("Received cancel notification for session %s", session_id)


async def main() -> None:
    logging.basicConfig(level=logging.INFO)
    await run_agent(cast(Agent, ExampleAgent()))


if __name__ == "__main__":
    asyncio.run(main())
