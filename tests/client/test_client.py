"""The client against a real host: its tools, what it can be asked, and hosts that end."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from agenthost.client import (
    Backoff,
    CannotConnect,
    ChannelGone,
    ChatEvent,
    ConfirmationNeeded,
    Connected,
    Lagged,
    PartAdded,
    Question,
    Reset,
    ToolCallChanged,
    ToolRun,
    TurnFailed,
    connect,
    websocket,
)
from agenthost.client.events import chat_events
from agenthost.errors import (
    InvalidParams,
    LocalProtocolError,
)
from agenthost.protocol import NEWEST
from agenthost.transport import Transport
from tests.client.talking import EACH_VERSION, collect, drain, open_chat, text_of
from tests.client.world import Backing, World
from tests.wire.hosting import serve

Json = dict[str, Any]


@EACH_VERSION
async def test_an_agent_calls_a_tool_of_this_client(world: World, version: str) -> None:
    client = await world.join("a", version, display_name="Tester")
    session, chat = await open_chat(client)

    async def add(arguments: Json, run: ToolRun) -> str:
        await run.show("adding")
        return str(arguments["a"] + arguments["b"])

    stop = await client.tool(session, "add", add, description="Adds two numbers")
    assert await chat.ask('/client-tool add {"a": 1, "b": 2}') == "The client answered: 3"
    world.wires["a"].cut(9, 0)
    assert await chat.ask('/client-tool add {"a": 3, "b": 4}') == "The client answered: 7"
    assert "failed" in await chat.ask('/client-tool add {"a": 1}')
    stop()
    with pytest.raises(TurnFailed, match="no attached client"):
        await chat.ask("/client-tool add {}")


async def test_a_tool_is_stopped_when_its_turn_is_cancelled(world: World) -> None:
    client = await world.join("a")
    session, chat = await open_chat(client)
    started, stopped = asyncio.Event(), asyncio.Event()

    async def wait(arguments: Json) -> None:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()

    await client.tool(session, "wait", wait)
    stream = chat.send("/client-tool wait {}")
    await started.wait()
    chat.cancel()
    await stopped.wait()
    with pytest.raises(TurnFailed):
        await stream.text()


async def test_the_calls_of_a_client_that_leaves_are_ended_at_once(world: World) -> None:
    client = await world.join("a")
    session, chat = await open_chat(await world.join("b"))
    started = asyncio.Event()

    async def wait(arguments: Json) -> None:
        started.set()
        await asyncio.Event().wait()

    await client.tool(session.uri, "wait", wait)
    stream = chat.send("/client-tool wait {}")
    await started.wait()
    await client.aclose()
    assert "failed" in await stream.text()


async def test_a_client_can_be_asked_what_it_is_connected_to(world: World) -> None:
    client = await world.join("a")
    assert client.version == NEWEST
    assert client.host["serverInfo"]["name"] == "agenthost"
    assert client.me is not None
    assert client.me["role"] == "owner"
    assert {agent["provider"] for agent in client.root.state["agents"]} == {"demo", "puppet"}
    assert await client.request("ping") is None
    with pytest.raises(RuntimeError, match="once"):
        await client.__aenter__()


async def test_what_is_malformed_is_not_sent(world: World) -> None:
    client = await world.join("a")
    session, chat = await open_chat(client)
    with pytest.raises(InvalidParams):
        client.dispatch(session.uri, {"type": "session/titleChanged"})
    with pytest.raises(InvalidParams):
        client.dispatch(chat.uri, {"type": "chat/truncated", "turnId": None})
    with pytest.raises(LocalProtocolError, match="may not dispatch"):
        client.dispatch(session.uri, {"type": "session/ready"})


@EACH_VERSION
async def test_envelopes_can_be_read_one_by_one_and_tell_of_fresh_starts(
    world: World, version: str
) -> None:
    client = await world.join("a", version)
    session, _ = await open_chat(client)
    envelopes = session.channel.envelopes()
    await session.rename("Named")
    told = await anext(envelopes)
    assert not isinstance(told, Reset)
    assert told["action"] == {"type": "session/titleChanged", "title": "Named"}
    assert told["origin"]["clientId"] == "a"


async def test_a_reader_that_is_too_slow_is_told_so_and_the_state_is_right(world: World) -> None:
    client = await world.join("a")
    _, chat = await open_chat(client)
    envelopes, before = chat.channel.envelopes(), chat.state
    await chat.ask("/stream 5000 1")
    with pytest.raises(Lagged):
        await drain(envelopes)
    assert len(text_of(list(chat_events(before, chat.state)))) == 5_000


async def test_states_are_followed_and_notifications_read(world: World) -> None:
    client = await world.join("a")
    notifications = client.notifications()
    session, chat = await open_chat(client)
    method, params = await anext(notifications)
    assert (method, params["summary"]["resource"]) == ("root/sessionAdded", session.uri)
    states = session.channel.states()
    await anext(states)
    session.rename("At once")
    assert (await anext(states))["title"] == "At once"
    await states.aclose()  # type: ignore[attr-defined]
    assert await chat.completions("@") == []


async def test_notices_and_references_reach_the_reader(world: World) -> None:
    session, chat = await open_chat(await world.join("a"))
    del session
    events = await collect(chat, "/subagent hello")
    (last,) = [event.call for event in events if isinstance(event, ToolCallChanged)][-1:]
    assert last["status"] == "completed"
    assert last["content"][0]["type"] == "subagent"
    assert not any(isinstance(event, PartAdded) for event in events)


async def test_an_old_client_beside_us_is_not_disturbed(world: World) -> None:
    """With a client that only knows 0.5.0 in the same chat, both see the same."""
    new, old = await world.join("new"), await world.join("old", "0.5.0")
    session, chat = await open_chat(new)
    theirs = await (await old.sessions.get(session.uri)).chat()

    def decide(event: ChatEvent) -> None:
        if isinstance(event, ConfirmationNeeded):
            chat.approve(event.call)
        elif isinstance(event, Question):
            chat.answer(event.request, {"name": "Ada"})

    for text in ("/run echo hi", "/ask", "/review", "/tool", "/think"):
        await collect(chat, text, decide)
    await old.request("ping")
    fresh = await world.join("fresh", "0.5.0")
    seen = await fresh.subscribe(chat.uri)
    # Titles are told in the session's list of chats, and to who comes new.
    untold = {"modifiedAt": "", "title": ""}
    assert {**theirs.channel.mirror.raw, **untold} == {**seen.mirror.raw, **untold}
    assert len(theirs.state["turns"]) == 5


async def test_a_handle_is_let_go_of_once(world: World) -> None:
    client = await world.join("a")
    session, chat = await open_chat(client)
    async with await session.chat() as again:
        again.close()
    again.close()
    assert "hello" in await chat.ask("hello"), "the first handle still follows"
    chat.close()
    with pytest.raises(ChannelGone, match="not followed any more"):
        chat.send("anybody there?")


async def test_a_host_that_lost_everything_is_started_over_with(world: World) -> None:
    client = await world.join("a")
    session, chat = await open_chat(client)
    await chat.ask("hello")
    await world.stop()
    world.backing = Backing()
    await world.start()
    for channel in (session.channel, chat.channel):
        with pytest.raises(ChannelGone):
            await channel.until(lambda state: False)
    _, chat = await open_chat(client)
    assert "hello" in await chat.ask("hello again")
    assert client.root.state["activeSessions"] == 1


async def test_a_host_that_is_killed_and_started_again_is_found_where_it_was(
    tmp_path: Path,
) -> None:
    async with asyncio.timeout(60), serve(tmp_path / "data") as host:

        async def dial() -> Transport:
            if not host.running:
                raise CannotConnect("not yet")
            return await websocket(host.url)()

        async with connect(dial, backoff=Backoff(first=0.02)) as client:
            session, chat = await open_chat(client)
            await chat.ask("before")
            stream = chat.send("/slow 60")
            await stream.accepted()
            await session.rename("Kept")
            await host.kill()
            async for state in client.connection:
                if not isinstance(state, Connected):
                    break
            waiting = session.mark_read()
            await host.start()
            with pytest.raises(TurnFailed, match="the host stopped"):
                await stream.text()
            await waiting
            assert "after" in await chat.ask("after")
            assert session.title == "Kept"
            states = [turn["state"] for turn in chat.state["turns"]]
            assert states == ["complete", "error", "complete"]
