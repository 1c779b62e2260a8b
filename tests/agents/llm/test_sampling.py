"""A question of an MCP server to the user's model."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from agenthost.agents import AgentError
from tests.agents.fakes import FakePort, make_turn
from tests.agents.llm.offline import Json, agent_on
from tests.agents.llm.openai_server import Failure, ModelServer, Say, model_server


@pytest.fixture
async def server() -> AsyncIterator[ModelServer]:
    async with model_server() as running:
        yield running


def asks(*texts: str, **params: Any) -> Json:
    said = [{"role": "user", "content": {"type": "text", "text": text}} for text in texts]
    return {"messages": said, **params}


async def sample(server: ModelServer, params: Json) -> Any:
    agent = agent_on(server)
    return await agent.sample(params, make_turn(FakePort(), models=agent.models))


async def test_the_model_answers_what_the_server_asks_and_nothing_else(server: ModelServer) -> None:
    server.will(Say("Paris."))
    params = asks("The capital of France?", systemPrompt="Be short.", maxTokens=50)
    answer = await sample(server, params)
    assert answer["role"] == "assistant"
    assert answer["content"] == {"type": "text", "text": "Paris."}
    assert answer["stopReason"] == "endTurn"
    request = server.requests[0]
    assert [message["role"] for message in request["messages"]] == ["system", "user"]
    assert "tools" not in request
    assert 50 in (request.get("max_tokens"), request.get("max_completion_tokens"))


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"messages": []},
        {"messages": "x"},
        asks("x" * 300_000),
        asks(*["x"] * 500),
        {"messages": [{"role": "user", "content": {"type": "image", "data": "AAAA"}}]},
    ],
)
async def test_what_cannot_be_asked_is_refused(server: ModelServer, params: Json) -> None:
    with pytest.raises(AgentError, match="the server asks"):
        await sample(server, params)
    assert server.requests == []


async def test_a_model_that_fails_is_told_without_its_secrets(server: ModelServer) -> None:
    server.will(Failure(401, {"error": {"message": "bad key sk-secret-1234567890"}}))
    with pytest.raises(AgentError) as raised:
        await sample(server, asks("hi"))
    assert "sk-secret" not in str(raised.value)
