"""A model uses the tools of MCP servers from the registries, as everybody at a session sees."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from agenthost.agents.llm import LlmAgent
from agenthost.host import Host
from tests.agents.llm.openai_server import ModelServer, Say, ToolUse, model_server
from tests.mcp.npm_packages import NpmMissing, everything_server
from tests.mcp.signing_in import locked_in
from tests.wire.serving_tools import allow, program, state_of, working_with
from tests.wire.talking import (
    OLDEST,
    Chat,
    call_in,
    calls_of,
    input_completed,
    request_in,
    said,
    submitted,
)

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(300)]

Json = dict[str, Any]

TIME = {"command": sys.executable, "args": ["-m", "mcp_server_time"]}
THINKING = program(
    """
def call(number, name, arguments, meta):
    global waiting
    waiting = number
    send(id="q", method="sampling/createMessage", params={"maxTokens": 10, "messages":
        [{"role": "user", "content": {"type": "text", "text": "What is it all about?"}}]})
def answered(number, result, error):
    send(id=waiting, result=text(result["content"]["text"] if result else error["message"]))
"""
)


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def model() -> AsyncIterator[ModelServer]:
    async with model_server() as model:
        yield model


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def url(model: ModelServer, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[str]:
    """A host whose agent asks that model."""
    folder = tmp_path_factory.mktemp("host")
    agent = LlmAgent(["openai:tiny"], base_url=model.base_url, api_key="sk-0123456789")
    async with Host([agent], roots=[folder], default_directory=folder) as host:
        yield await host.listen(port=0)


async def ready(chat: Chat, *servers: str) -> None:
    """Wait until servers that a turn began to start are ready, however long that takes."""
    for name in servers:
        await state_of(chat.client, chat.session, name, "ready")


def use(tool: str, **arguments: Any) -> Say:
    return Say(ToolUse(tool, json.dumps(arguments)))


async def used(chat: Chat, model: ModelServer, turn_id: str, say: Say) -> Json:
    """Let the model use a tool, which the other client allows; return the turn."""
    model.will(say, Say("That is it."))
    await chat.start(turn_id, "go on")
    for client in chat.clients:
        call = await call_in(client, chat.uri, "pending-confirmation")
    await allow(chat, turn_id, call, chat.clients[1])
    return call


def result_told(model: ModelServer) -> str:
    """Return what the model was told of a tool's result."""
    told = [each for each in model.requests[-1]["messages"] if each["role"] == "tool"]
    return str(told[-1]["content"])


async def test_a_model_uses_a_server_from_pypi_when_another_client_allows(
    url: str, model: ModelServer, tmp_path: Path
) -> None:
    servers = {"time": TIME, "thinking": THINKING}
    async with working_with(url, tmp_path, servers, OLDEST) as chat:
        model.will(Say("Hello."))
        await chat.run("t0", "hello")
        await ready(chat, "time", "thinking")
        where = {"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"}
        await used(chat, model, "t1", use("time__convert_time", **where))
        turn = await chat.end("t1")
        assert said(turn) == "That is it."
        assert "21:00" in calls_of(turn)[0]["content"][0]["text"]
        assert "21:00" in result_told(model)
        offered = {tool["function"]["name"] for tool in model.requests[-1]["tools"]}
        assert {"time__convert_time", "time__get_current_time", "thinking__echo"} <= offered

        # A server asks the model, when people let it.
        model.will(use("thinking__echo"), Say("Forty-two."), Say("That is it."))
        await chat.start("t2", "go on")
        await allow(chat, "t2", await call_in(chat.client, chat.uri, "pending-confirmation"))
        request = await request_in(chat.client, chat.uri)
        assert request["message"] == "thinking asks your model:"
        assert request["questions"][0]["message"] == "What is it all about?"
        answers = {"sample": submitted("selected", "once")}
        await chat.answer(input_completed(request, answers), chat.clients[1])
        turn = await chat.end("t2")
        assert calls_of(turn)[0]["content"][0]["text"] == "Forty-two."

        # Or does not.
        model.will(use("thinking__echo"), Say("That is it."))
        await chat.start("t3", "go on")
        await allow(chat, "t3", await call_in(chat.client, chat.uri, "pending-confirmation"))
        request = await request_in(chat.client, chat.uri)
        await chat.answer(input_completed(request, response="decline"))
        assert "said no" in calls_of(await chat.end("t3"))[0]["content"][0]["text"]
        await chat.assert_at_rest()


async def test_a_model_uses_a_server_from_npm(url: str, model: ModelServer, tmp_path: Path) -> None:
    try:
        command, *arguments = everything_server()
    except NpmMissing as missing:
        if os.environ.get("CI"):
            pytest.fail(f"the npm server cannot be run: {missing}")
        pytest.skip(f"the npm server is not here: {missing}")
    servers = {"everything": {"command": command, "args": arguments}}
    async with working_with(url, tmp_path, servers, OLDEST) as chat:
        model.will(Say("Hello."))
        await chat.run("t0", "hello")
        await ready(chat, "everything")
        await used(chat, model, "t1", use("everything__echo", message="from npm"))
        assert "from npm" in calls_of(await chat.end("t1"))[0]["content"][0]["text"]
        assert "from npm" in result_told(model)


async def test_a_models_call_waits_for_who_signs_in(
    url: str, model: ModelServer, tmp_path: Path
) -> None:
    async with (
        locked_in(tmp_path) as locked,
        working_with(url, tmp_path / "work", {"locked": {"url": locked.url}}, OLDEST) as chat,
    ):
        model.will(Say("Hello."))
        await chat.run("t0", "hello")
        await state_of(chat.client, chat.session, "locked", "authRequired")
        await chat.clients[1].request("authenticate", resource=locked.url, token="good")
        await ready(chat, "locked")
        locked.accept("next tools")
        await used(chat, model, "t1", use("locked__note", text="hello"))
        await call_in(chat.client, chat.uri, "auth-required")
        await chat.client.request("authenticate", resource=locked.url, token="next")
        turn = await chat.end("t1")
        assert calls_of(turn)[0]["success"] is True
        assert "noted" in result_told(model)
        assert locked.notes == ["hello"]
