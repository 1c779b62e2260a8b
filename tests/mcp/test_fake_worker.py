"""The scripted worker tells what the real one tells, so that tests of others may rely on it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from agenthost.mcp.link import McpWorker
from agenthost.mcp.types import Challenge, McpFailed, ServerDeclaration
from tests.mcp.fake_worker import FakeCall, FakeWorker, Script, said
from tests.mcp.recording import RecordedEvents
from tests.mcp.servers import python_server

Make = Callable[[], McpWorker]


@pytest.mark.parametrize("make", [McpWorker, lambda: FakeWorker(test=Script())])
async def test_a_life_is_told_alike(make: Make) -> None:
    worker = make()
    events = RecordedEvents()
    server = worker.server(python_server(""), folder="/", roots=[], events=events)
    with pytest.raises(McpFailed, match="not running"):
        await server.call("echo", {}, call="0")
    assert await server.start() == "ready"
    assert [tool.name for tool in events.offered[-1]] == ["echo"]
    result = await server.call("echo", {}, call="1")
    assert result["content"][0]["text"] == "{}"
    await server.stop()
    await server.stop()
    assert events.kinds == ["starting", "ready", "stopped"]
    await worker.close()


async def test_a_script_asks_and_demands() -> None:
    challenge = Challenge("required", {"resource": "http://x/"})

    async def call(call: FakeCall) -> dict[str, object]:
        call.demand(challenge)
        return said((await call.elicit({"message": "?"}))["action"])

    script = Script(call=call, challenge=challenge, token="good")
    worker = FakeWorker(locked=script)
    events = RecordedEvents()
    declaration = ServerDeclaration("locked", url="http://x/")
    server = worker.server(declaration, folder=None, roots=[], events=events)
    assert await server.start() == "authRequired"
    assert await server.start("good") == "ready"
    assert await server.call("echo", {}, call="c") == said("decline")
    server.give_token("http://x/", "next")
    assert (events.demands, script.given) == ([("c", challenge)], ["next"])
    worker.crash(server)
    assert events.states[-1] == ("error", "it was killed by SIGKILL")
