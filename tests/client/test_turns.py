"""Turns against a real host: sent, followed, queued, steered and cut."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from agenthost.client import (
    ChatEvent,
    Reasoning,
    Rejected,
    TurnEnded,
    TurnFailed,
    TurnStarted,
)
from tests.client.talking import EACH_VERSION, collect, open_chat, text_of
from tests.client.world import World

Json = dict[str, Any]


@EACH_VERSION
async def test_a_turn_streams_from_its_start_to_its_end(world: World, version: str) -> None:
    client = await world.join("a", version)
    assert client.version == version
    _, chat = await open_chat(client)
    events = await collect(chat, "/think")
    assert isinstance(events[0], TurnStarted)
    assert isinstance(events[-1], TurnEnded)
    assert any(isinstance(event, Reasoning) for event in events)
    assert text_of(events) == "I thought about it, and the answer is yes."
    assert [turn["state"] for turn in chat.state["turns"]] == ["complete"]
    assert "You said **hi**" in await chat.ask("hi")


async def test_a_turn_that_fails_or_is_cancelled_says_so(world: World) -> None:
    _, chat = await open_chat(await world.join("a"))
    with pytest.raises(TurnFailed, match="as it was told to") as failure:
        await chat.ask("/fail")
    assert failure.value.state == "error"
    stream = chat.send("/slow 60")
    await stream.accepted()
    cancelled = chat.cancel()
    assert cancelled is not None
    with pytest.raises(TurnFailed, match="cancelled"):
        await stream.text()
    await cancelled
    assert chat.cancel() is None


async def test_a_second_turn_is_refused_while_one_runs(world: World) -> None:
    _, chat = await open_chat(await world.join("a"))
    await chat.send("/slow 60").accepted()
    with pytest.raises(Rejected, match="in progress"):
        await chat.ask("me too")
    assert chat.state["activeTurn"]["message"]["text"] == "/slow 60"


async def test_whoever_comes_later_can_follow_the_turn_from_its_beginning(world: World) -> None:
    session, chat = await open_chat(await world.join("a"))
    assert chat.follow() is None
    await chat.send("/slow 60").accepted()
    other = await (await (await world.join("b")).sessions.get(session.uri)).chat()
    stream = other.follow()
    assert stream is not None
    await chat.steer("left")
    told: list[ChatEvent] = [event async for event in stream]
    assert isinstance(told[0], TurnStarted)
    assert text_of(told) == "You steer me: left"
    assert isinstance(told[-1], TurnEnded)


async def test_a_bystander_sees_everybodys_turns(world: World) -> None:
    session, chat = await open_chat(await world.join("a"))
    other = await (await (await world.join("b")).sessions.get(session.uri)).chat()
    seen: list[ChatEvent] = []

    async def watch() -> None:
        async for event in other.events():
            seen.append(event)
            if sum(isinstance(event, TurnEnded) for event in seen) == 2:
                return

    watching = asyncio.create_task(watch())
    await chat.ask("one")
    await chat.ask("two")
    await watching
    started = [event.message["text"] for event in seen if isinstance(event, TurnStarted)]
    assert started == ["one", "two"]


async def test_messages_wait_their_turn_and_can_be_put_in_order_or_taken_back(
    world: World,
) -> None:
    _, chat = await open_chat(await world.join("a"))
    await chat.send("/slow 60").accepted()
    for text in ("one", "two", "three"):
        await chat.queue(text)
    ids = [waiting["id"] for waiting in chat.state["queuedMessages"]]
    await chat.reorder([ids[2], ids[0]])
    await chat.unqueue(ids[1])
    queued = [waiting["message"]["text"] for waiting in chat.state["queuedMessages"]]
    assert queued == ["three", "one"]
    await chat.draft("to be continued")
    assert chat.state["draft"]["text"] == "to be continued"
    await chat.draft(None)
    assert "draft" not in chat.state
    cancelled = chat.cancel()
    assert cancelled is not None
    await cancelled
    steering = chat.steer("unheard")
    await steering
    taken = chat.unsteer()
    assert taken is not None
    await taken
    assert "steeringMessage" not in chat.state
    assert chat.unsteer() is None


async def test_a_chat_can_be_cut_and_asked_again(world: World) -> None:
    _, chat = await open_chat(await world.join("a"))
    for text in ("one", "two", "three"):
        await chat.ask(text)
    await chat.truncate(chat.state["turns"][0]["id"])
    assert [turn["message"]["text"] for turn in chat.state["turns"]] == ["one"]
    await chat.truncate()
    assert chat.state["turns"] == []
