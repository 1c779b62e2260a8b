"""The reference server from the registry of npm packages, as people run it."""

from __future__ import annotations

import asyncio
import os
import signal

import pytest

from agenthost.mcp.link import McpWorker
from agenthost.mcp.process_marks import below
from agenthost.mcp.types import McpFailed, ServerDeclaration
from agenthost.protocol.common import JsonObject
from tests.children import is_alive
from tests.mcp.conftest import Serve
from tests.mcp.npm_packages import NpmMissing, everything_server
from tests.mcp.servers import declared

LONG = "trigger-long-running-operation"

# Installing takes longer than a test may.
pytestmark = pytest.mark.timeout(300)


@pytest.fixture
def everything() -> ServerDeclaration:
    try:
        return declared(*everything_server())
    except NpmMissing as missing:
        if os.environ.get("CI"):
            pytest.fail(f"the npm server cannot be run: {missing}")
        pytest.skip(f"the npm server is not here: {missing}")


def text(result: JsonObject) -> str:
    return str(result["content"][0]["text"])


async def test_a_server_from_npm_is_called_asks_and_is_stopped(
    worker: McpWorker, serve: Serve, everything: ServerDeclaration
) -> None:
    server, events = serve(everything)
    assert await server.start() == "ready"
    assert "hello" in text(await server.call("echo", {"message": "hello"}, call="1"))

    async def answer(what: str, params: JsonObject) -> JsonObject:
        if what == "elicit":
            return {"action": "decline"}
        content = {"type": "text", "text": "a model's words"}
        return {"role": "assistant", "content": content, "model": "m"}

    events.answer = answer
    sampled = await server.call(
        "trigger-sampling-request", {"prompt": "x", "maxTokens": 5}, call="2"
    )
    assert "a model's words" in text(sampled)
    assert "decline" in text(await server.call("trigger-elicitation-request", {}, call="3"))
    assert [(what, call) for what, call, _ in events.asked] == [("sample", "2"), ("elicit", "3")]

    assert worker.pid is not None
    pids = below(worker.pid, itself=False)
    await server.stop()
    assert [pid for pid in pids if is_alive(pid)] == []


async def test_a_server_from_npm_that_is_killed_in_a_call_ends_it(
    worker: McpWorker, serve: Serve, everything: ServerDeclaration
) -> None:
    server, events = serve(everything)
    await server.start()
    told: list[str] = []
    under_way = asyncio.Event()

    def progress(words: str) -> None:
        told.append(words)
        under_way.set()

    operation = server.call(LONG, {"duration": 60, "steps": 600}, call="1", progress=progress)
    call = asyncio.create_task(operation)
    await under_way.wait()
    assert worker.pid is not None
    os.kill(below(worker.pid, itself=False)[0], signal.SIGKILL)
    with pytest.raises(McpFailed, match="killed by SIGKILL"):
        await call
    assert told[0].endswith("of 600")
    await events.until(lambda: events.kinds[-1] == "error")
