"""A server behind HTTP and OAuth: it is signed in from outside, and what waited goes on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agenthost.mcp.types import McpFailed
from agenthost.protocol.common import JsonObject
from tests.mcp.conftest import Serve
from tests.mcp.signing_in import Locked, locked_in


@pytest.fixture
async def locked(tmp_path: Path) -> AsyncIterator[Locked]:
    async with locked_in(tmp_path) as locked:
        yield locked


def text(result: JsonObject) -> str:
    return str(result["content"][0]["text"])


async def test_a_server_asks_for_a_token_and_starts_with_it(locked: Locked, serve: Serve) -> None:
    server, events = serve(locked.declaration)
    assert await server.start() == "authRequired"
    challenge = events.challenges[0]
    assert challenge.reason == "required"
    assert challenge.resource["resource"] == locked.url
    assert challenge.resource["authorization_servers"] == ["https://as.example/"]
    assert challenge.scopes == ("tools",)

    assert await server.start(token="good") == "ready"
    assert events.kinds == ["starting", "authRequired", "starting", "ready"]
    assert text(await server.call("add", {"a": 1, "b": 2}, call="1")) == "3"


async def test_a_token_that_is_not_good_or_not_good_enough_is_asked_for_again(
    locked: Locked, serve: Serve
) -> None:
    locked.accept("good tools", "weak")
    server, events = serve(locked.declaration)
    assert await server.start(token="bad") == "authRequired"
    assert await server.start(token="weak") == "authRequired"
    assert [challenge.reason for challenge in events.challenges] == ["expired", "insufficientScope"]


async def test_a_call_whose_token_expired_waits_for_another_and_goes_on(
    locked: Locked, serve: Serve
) -> None:
    server, events = serve(locked.declaration)
    await server.start(token="good")
    locked.accept("next tools")
    call = asyncio.create_task(server.call("note", {"text": "hello"}, call="c7"))
    await events.until(lambda: events.demands)
    waiting, challenge = events.demands[0]
    assert waiting == "c7"
    assert challenge.reason == "expired"
    assert server.state == "ready"

    server.give_token("http://elsewhere.example/", "next")
    server.give_token(challenge.resource["resource"], "still wrong")
    await events.until(lambda: len(events.demands) == 2)
    server.give_token(challenge.resource["resource"], "next")
    assert text(await call) == "noted"
    assert locked.notes == ["hello"]


async def test_a_call_that_was_cancelled_while_it_waited_is_never_made(
    locked: Locked, serve: Serve
) -> None:
    server, events = serve(locked.declaration)
    await server.start(token="good")
    locked.accept("next tools")
    call = asyncio.create_task(server.call("note", {"text": "regretted"}, call="1"))
    await events.until(lambda: events.demands)
    call.cancel()
    await asyncio.wait({call})
    server.give_token(locked.url, "next")
    await server.call("note", {"text": "meant"}, call="2")
    assert locked.notes == ["meant"]


async def test_questions_of_calls_side_by_side_are_told_apart(locked: Locked, serve: Serve) -> None:
    server, events = serve(locked.declaration)
    await server.start(token="good")
    both = asyncio.Event()

    async def answer(what: str, params: JsonObject) -> JsonObject:
        if len(events.asked) == 2:
            both.set()
        await both.wait()
        return {"action": "accept", "content": {"name": params["message"]}}

    events.answer = answer
    results = await asyncio.gather(
        server.call("greet", {"whom": "Ada"}, call="a"),
        server.call("greet", {"whom": "Bob"}, call="b"),
    )
    assert ["Ada" in text(results[0]), "Bob" in text(results[1])] == [True, True]
    asked = {call: params["message"] for _, call, params in events.asked}
    assert asked == {"a": "Who is Ada?", "b": "Who is Bob?"}


async def test_a_model_is_asked_and_answers(locked: Locked, serve: Serve) -> None:
    server, events = serve(locked.declaration)
    await server.start(token="good")

    async def answer(what: str, params: JsonObject) -> JsonObject:
        said = params["messages"][0]["content"]["text"]
        content = {"type": "text", "text": f"{what}: {said}"}
        return {"role": "assistant", "content": content, "model": "m"}

    events.answer = answer
    assert text(await server.call("think", {"about": "tea"}, call="1")) == "sample: tea"


async def test_the_trace_of_a_call_reaches_the_server(locked: Locked, serve: Serve) -> None:
    server, _ = serve(locked.declaration)
    await server.start(token="good")
    parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    assert text(await server.call("trace", {}, call="1", traceparent=parent)) == parent


async def test_a_server_that_is_killed_in_a_call_ends_it(locked: Locked, serve: Serve) -> None:
    server, events = serve(locked.declaration)
    await server.start(token="good")

    async def kill(what: str, params: JsonObject) -> JsonObject:
        locked.process.kill()
        await locked.process.wait()
        return {"action": "decline"}

    events.answer = kill
    with pytest.raises(McpFailed) as caught:
        await server.call("greet", {"whom": "Ada"}, call="1")
    assert caught.value.kind == "closed"
    await events.until(lambda: events.kinds[-1] == "error")


async def test_stopping_does_not_wait_for_a_token(locked: Locked, serve: Serve) -> None:
    server, events = serve(locked.declaration)
    await server.start(token="good")
    locked.accept("other tools")
    await server.stop()
    assert events.kinds[-1] == "stopped"


async def test_requests_of_clients_are_passed_on_as_they_are(locked: Locked, serve: Serve) -> None:
    server, _ = serve(locked.declaration)
    await server.start(token="good")
    listed = await server.request("tools/list", {})
    assert "add" in [tool["name"] for tool in listed["tools"]]
    assert (await server.request("resources/list", {}))["resources"] == []
    with pytest.raises(McpFailed) as caught:
        await server.request("resources/read", {"uri": "nothing://there"})
    assert caught.value.code is not None
    with pytest.raises(McpFailed, match="not passed on") as refused:
        await server.request("initialize", {})
    assert refused.value.code == -32601
