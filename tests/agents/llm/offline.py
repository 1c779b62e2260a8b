"""The llm agent in a turn without a host, on a model's server that keeps what it was asked."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from agenthost.agents import SessionContext
from agenthost.agents.llm import LlmAgent
from tests.agents.fakes import FakePort, make_turn
from tests.agents.llm.openai_server import ModelServer

__all__ = [
    "Json",
    "agent_on",
    "names_of",
    "notices",
    "said",
    "start",
    "system_of",
]

Json = dict[str, Any]


def agent_on(server: ModelServer, *models: str) -> LlmAgent:
    """Make an agent whose models are on a server, and which is closed before that is."""
    agent = LlmAgent(list(models) or ["openai:tiny"], base_url=server.base_url, api_key="key")
    server.closing.append(agent.close)
    return agent


def start(
    agent: LlmAgent, port: FakePort, folder: Path | None = None, **config: Any
) -> asyncio.Task[None]:
    """Begin to answer the port's message, in a session with these settings."""
    port.session_state["config"] = {"values": config}
    directories = [folder.as_uri()] if folder is not None else []
    session = SessionContext("s:/1", directories, config)
    turn = make_turn(port, session=session, models=agent.models)
    return asyncio.create_task(agent.run(turn))


def system_of(request: Json) -> str:
    """Return the system prompt of a request."""
    return "\n".join(m["content"] for m in request["messages"] if m["role"] == "system")


def names_of(request: Json) -> list[str]:
    """Return the names of the tools in a request."""
    return [tool["function"]["name"] for tool in request.get("tools", ())]


def notices(port: FakePort) -> list[str]:
    return [part["content"] for part in port.parts if part["kind"] == "systemNotification"]


def said(port: FakePort) -> str:
    return "".join(part["content"] for part in port.parts if part["kind"] == "markdown")
