"""Client tools: announced, run, shown, completed, and ended in every way a call can end."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from agenthost.client import Client, Rejected, ToolFailure, ToolResult, ToolRun
from tests.client.scripted import CHAT, SESSION, ScriptedHost, Side, snapshot

Json = dict[str, Any]


class Stage:
    """A scripted host with one session, and the numbers it counts."""

    def __init__(self, host: ScriptedHost, client: Client, side: Side) -> None:
        self.host, self.client, self.side = host, client, side
        self.seq = 100

    def act(self, action: Json, uri: str = SESSION) -> None:
        self.seq += 1
        self.side.action(uri, self.seq, action)

    async def echo(self, reason: str | None = None) -> Json:
        """Answer the next dispatched action, and return it."""
        sent = await self.side.next("dispatchAction")
        self.seq += 1
        self.side.echo(sent, self.seq, "me", reason)
        action: Json = sent["params"]["action"]
        return action

    async def offer(self, function: Any, *, known: Json | None = None, **options: Any) -> Any:
        """Offer a tool named ``add``; return what takes it back."""
        offering = asyncio.create_task(
            self.client.tool(SESSION, "add", function, description="adds", **options)
        )
        if known is not None:
            await self.side.subscribed(known)
        action = await self.echo()
        assert action["type"] == "session/activeClientSet"
        return await offering

    def call(self, id: str = "k", name: str = "add", given: Any = '{"a": 1, "b": 2}') -> Json:
        """Let the host want a call of a tool of ours."""
        entry = needed(id, name, given)
        self.act({"type": "session/inputNeededSet", "request": entry})
        return entry

    def settle(self, entry: Json) -> None:
        self.act({"type": "session/inputNeededRemoved", "id": entry["id"]})

    async def completed(self) -> Json:
        """Expect a completion on the chat, whose end is followed for it; answer it."""
        await self.side.subscribed(snapshot(CHAT, self.seq))
        action = await self.echo()
        assert action["type"] == "chat/toolCallComplete"
        await self.side.next("unsubscribe")
        result: Json = action["result"]
        return result


def needed(id: str = "k", name: str = "add", given: Any = "{}", client: str = "me") -> Json:
    call: Json = {
        "toolCallId": id,
        "toolName": name,
        "displayName": "Add",
        "status": "running",
        "invocationMessage": "Adding",
        "confirmed": "not-needed",
        "contributor": {"kind": "client", "clientId": client},
    }
    if given is not None:
        call["toolInput"] = given
    entry = {"id": f"n-{id}", "chat": CHAT, "kind": "toolClientExecution", "turnId": "t"}
    return {**entry, "clientId": client, "toolCall": call}


@asynccontextmanager
async def staged() -> AsyncIterator[Stage]:
    host = ScriptedHost()
    client = host.client(display_name="Tester")
    side = await host.welcome(client)
    try:
        yield Stage(host, client, side)
    finally:
        await client.aclose()


async def add(arguments: Json) -> str:
    return str(arguments["a"] + arguments["b"])


async def test_a_tool_is_announced_with_its_schema() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "number"}}}
    async with staged() as stage:
        offering = asyncio.create_task(
            stage.client.tool(SESSION, "add", add, description="adds", schema=schema)
        )
        await stage.side.subscribed(snapshot(SESSION, 100))
        action = await stage.echo()
        assert action["activeClient"] == {
            "clientId": "me",
            "displayName": "Tester",
            "tools": [{"name": "add", "description": "adds", "inputSchema": schema}],
        }
        stop = await offering
        stop()
        assert (await stage.echo())["activeClient"]["tools"] == []


async def test_a_call_is_run_and_completed_with_what_the_function_returns() -> None:
    async with staged() as stage:
        await stage.offer(add, known=snapshot(SESSION, 100))
        stage.call()
        result = await stage.completed()
        assert result["success"] is True
        assert result["content"] == [{"type": "text", "text": "3"}]
        assert result["pastTenseMessage"] == "Ran Add"


@pytest.mark.parametrize(
    ("returned", "expected"),
    [
        (None, {}),
        ({"sum": 3}, {"structuredContent": {"sum": 3}}),
        ([{"type": "text", "text": "x"}], {"content": [{"type": "text", "text": "x"}]}),
        (ToolResult(summary="Added up"), {"pastTenseMessage": "Added up"}),
    ],
)
async def test_a_function_may_return_more_than_text(returned: Any, expected: Json) -> None:
    async def function(arguments: Json) -> Any:
        return returned

    async with staged() as stage:
        await stage.offer(function, known=snapshot(SESSION, 100))
        stage.call()
        result = await stage.completed()
        assert result["success"] is True
        assert expected.items() <= result.items()


async def test_a_function_that_fails_fails_the_call_with_its_reason() -> None:
    async def function(arguments: Json) -> None:
        if arguments:
            raise ToolFailure("cannot add those")
        raise RuntimeError("a bug")

    async with staged() as stage:
        await stage.offer(function, known=snapshot(SESSION, 100))
        stage.call("k1")
        result = await stage.completed()
        assert (result["success"], result["error"]["message"]) == (False, "cannot add those")
        stage.call("k2", given=None)
        assert (await stage.completed())["error"]["message"] == "RuntimeError: a bug"


@pytest.mark.parametrize(
    ("name", "given", "message"),
    [
        ("subtract", "{}", "no tool 'subtract'"),
        ("add", "{not json", "not JSON"),
        ("add", "[1]", "not an object"),
    ],
)
async def test_a_call_that_cannot_be_run_is_failed(name: str, given: str, message: str) -> None:
    async with staged() as stage:
        await stage.offer(add, known=snapshot(SESSION, 100))
        stage.call(name=name, given=given)
        result = await stage.completed()
        assert result["success"] is False
        assert message in result["error"]["message"]


async def test_large_arguments_are_fetched() -> None:
    async with staged() as stage:
        await stage.offer(add, known=snapshot(SESSION, 100))
        stage.call(given={"uri": "ahp-content:/1"})
        request = await stage.side.next("resourceRead")
        assert request["params"]["uri"] == "ahp-content:/1"
        stage.side.answer(request, {"data": json.dumps({"a": 4, "b": 5}), "encoding": "utf-8"})
        assert (await stage.completed())["content"][0]["text"] == "9"


async def test_a_tool_may_show_how_far_it_is() -> None:
    async def function(arguments: Json, run: ToolRun) -> str:
        await run.show("half way")
        return f"{run.chat} {run.turn_id} {run.id}"

    async with staged() as stage:
        await stage.offer(function, known=snapshot(SESSION, 100))
        stage.call()
        await stage.side.subscribed(snapshot(CHAT, stage.seq))
        shown = await stage.echo()
        assert shown["type"] == "chat/toolCallContentChanged"
        assert shown["content"] == [{"type": "text", "text": "half way"}]
        await stage.side.next("unsubscribe")
        assert (await stage.completed())["content"][0]["text"] == f"{CHAT} t k"


async def test_a_call_that_ended_elsewhere_is_stopped() -> None:
    stopped: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def function(arguments: Json) -> None:
        started.set()
        try:
            await asyncio.get_running_loop().create_future()
        except asyncio.CancelledError:
            stopped.set_result(None)
            raise

    started = asyncio.Event()
    async with staged() as stage:
        await stage.offer(function, known=snapshot(SESSION, 100))
        entry = stage.call()
        await started.wait()
        stage.settle(entry)
        async with asyncio.timeout(60):
            await stopped


async def test_calls_of_other_clients_are_left_alone() -> None:
    async with staged() as stage:
        await stage.offer(add, known=snapshot(SESSION, 100))
        stage.act({"type": "session/inputNeededSet", "request": needed(client="other")})
        stage.call("mine")
        await stage.completed()


async def test_a_call_of_an_earlier_life_is_failed_rather_than_run_again() -> None:
    async with staged() as stage:
        offering = asyncio.create_task(stage.client.tool(SESSION, "add", add))
        await stage.side.subscribed(snapshot(SESSION, 100, inputNeeded=[needed("old")]))
        announced = await stage.side.next("dispatchAction")
        assert announced["params"]["action"]["type"] == "session/activeClientSet"
        await stage.side.subscribed(snapshot(CHAT, 100))
        stage.side.echo(announced, 101, "me")
        await offering
        failed = (await stage.side.next("dispatchAction"))["params"]["action"]
        assert failed["result"]["success"] is False
        assert "restarted" in failed["result"]["error"]["message"]


async def test_a_client_that_the_host_gave_up_on_announces_its_tools_again() -> None:
    async with staged() as stage:
        await stage.offer(add, known=snapshot(SESSION, 100))
        stage.act({"type": "session/activeClientRemoved", "clientId": "me"})
        assert (await stage.echo())["type"] == "session/activeClientSet"
        stage.act({"type": "session/activeClientRemoved", "clientId": "me"})
        assert (await stage.echo(reason="enough"))["type"] == "session/activeClientSet"
        stage.act({"type": "session/titleChanged", "title": "x"})
        asking = asyncio.create_task(stage.client.request("ping"))
        stage.side.answer(await stage.side.next("ping"), None)
        await asking


async def test_tools_are_announced_again_after_a_reconnect_that_lost_them() -> None:
    async with staged() as stage:
        await stage.offer(add, known=snapshot(SESSION, 100))
        await stage.side.close()
        stage.side = await stage.host.accept()
        request = await stage.side.next("reconnect")
        fresh = [snapshot("ahp-root://", 200), snapshot(SESSION, 200)]
        stage.seq = 200
        stage.side.answer(request, {"type": "snapshot", "snapshots": fresh})
        assert (await stage.echo())["type"] == "session/activeClientSet"


async def test_a_result_whose_arrival_is_uncertain_is_sent_again_while_the_host_waits() -> None:
    async with staged() as stage:
        await stage.offer(add, known=snapshot(SESSION, 100))
        stage.call()
        await stage.side.subscribed(snapshot(CHAT, stage.seq))
        await stage.side.next("dispatchAction")
        await stage.side.close()
        stage.side = await stage.host.accept()
        stage.side.answer(
            await stage.side.next("reconnect"), {"type": "replay", "actions": [], "missing": []}
        )
        await stage.side.next("unsubscribe")
        assert (await stage.completed())["content"][0]["text"] == "3"


async def test_a_tool_that_the_host_does_not_want_is_an_error() -> None:
    async with staged() as stage:
        offering = asyncio.create_task(stage.client.tool(SESSION, "add", add))
        await stage.side.subscribed(snapshot(SESSION, 100))
        await stage.echo(reason="no tools here")
        with pytest.raises(Rejected, match="no tools here"):
            await offering


async def test_tools_offered_at_the_same_moment_are_all_there() -> None:
    async with staged() as stage:
        both = asyncio.gather(
            stage.client.tool(SESSION, "add", add), stage.client.tool(SESSION, "plus", add)
        )
        await stage.side.subscribed(snapshot(SESSION, 100))
        await stage.echo()
        last = await stage.echo()
        assert [tool["name"] for tool in last["activeClient"]["tools"]] == ["add", "plus"]
        await both
        stage.call()
        assert (await stage.completed())["success"] is True


async def test_a_tool_that_took_the_place_of_another_is_not_taken_back_with_it() -> None:
    async with staged() as stage:
        await stage.offer(add, known=snapshot(SESSION, 100))
        second = asyncio.create_task(stage.client.tool(SESSION, "add", add))
        await stage.echo()
        stop = await second
        third = asyncio.create_task(stage.client.tool(SESSION, "add", add))
        await stage.echo()
        await third
        stop()
        stage.call()
        assert (await stage.completed())["success"] is True


async def test_progress_whose_arrival_is_uncertain_is_shown_again_and_fails_no_tool() -> None:
    async def slow(arguments: Json, run: ToolRun) -> str:
        await run.show("half of it")
        return "done"

    async with staged() as stage:
        await stage.offer(slow, known=snapshot(SESSION, 100))
        stage.call()
        await stage.side.subscribed(snapshot(CHAT, stage.seq))
        await stage.side.next("dispatchAction")
        await stage.side.close()
        stage.side = await stage.host.accept()
        request = await stage.side.next("reconnect")
        stage.side.answer(request, {"type": "replay", "actions": [], "missing": []})
        await stage.side.next("unsubscribe")
        await stage.side.subscribed(snapshot(CHAT, stage.seq))
        assert (await stage.echo())["type"] == "chat/toolCallContentChanged"
        await stage.side.next("unsubscribe")
        assert (await stage.completed())["content"][0]["text"] == "done"
