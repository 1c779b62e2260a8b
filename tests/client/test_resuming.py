"""Turns that failed and go on: which can be resumed, what is told then, and what if not."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from agenthost.client import (
    Chat,
    ChatEvent,
    Client,
    Rejected,
    Text,
    TurnEnded,
    TurnResumed,
    TurnStream,
    Uncertain,
    Unsupported,
)
from agenthost.protocol import NEWEST, SUPPORTED_VERSIONS, translator
from tests.client.follower import resumed
from tests.client.scripted import CHAT, PATIENCE, ROOT, ScriptedHost, Side, snapshot
from tests.client.talking import collect, open_chat, text_of
from tests.client.world import Chatter, World

Json = dict[str, Any]

MESSAGE = {"text": "hi", "origin": {"kind": "user"}}
ERROR: Json = {"kind": "error", "error": {"errorType": "e", "message": "oh"}, "resumable": True}
SAID: Json = {"kind": "markdown", "id": "p", "content": "One. "}


def turn(*parts: Json, state: str | None = "error", duration: int = 5_000) -> Json:
    made = {
        "id": "t",
        "startedAt": "2026-01-01T00:00:00.000Z",
        "message": MESSAGE,
        "responseParts": list(parts),
    }
    return made if state is None else {**made, "state": state, "duration": duration}


FAILED = turn(SAID, ERROR)
ABLE = [version for version in SUPPORTED_VERSIONS if translator(version).exists("chat/turnResume")]


@asynccontextmanager
async def opened(
    version: str = NEWEST, **state: Any
) -> AsyncIterator[tuple[ScriptedHost, Client, Side, Chat]]:
    """A client in a chat whose state is of the newest version, of a host that speaks another."""
    host = ScriptedHost()
    client = host.client()
    ladder = translator(version)
    async with asyncio.timeout(2 * PATIENCE):
        side = await host.welcome(client, version=version)
        try:
            subscribing = asyncio.create_task(client.subscribe(CHAT))
            told = snapshot(CHAT, 10, **state)
            await side.subscribed({**told, "state": ladder.state_down("chat", told["state"])})
            yield host, client, side, Chat(client._core, await subscribing)
        finally:
            await client.aclose()


async def collected(stream: TurnStream) -> list[ChatEvent]:
    return [event async for event in stream]


def goes_on(side: Side, seq: int) -> None:
    """Let the turn say something more and end."""
    part = {"kind": "markdown", "id": "q", "content": "Two."}
    side.action(CHAT, seq, {"type": "chat/responsePart", "turnId": "t", "part": part})
    side.action(CHAT, seq + 1, {"type": "chat/turnComplete", "turnId": "t", "duration": 9_000})


@pytest.mark.parametrize("version", ABLE)
async def test_a_resumed_turn_tells_what_is_new_and_ends_as_one_turn(version: str) -> None:
    async with opened(version, turns=[FAILED]) as (_, _client, side, chat):
        stream = chat.resume()
        assert chat.active_turn is not None, "it shows at once"
        following = asyncio.create_task(collected(stream))
        sent = await side.next("dispatchAction")
        assert sent["params"]["action"] == {"type": "chat/turnResume", "turnId": "t"}
        side.echo(sent, 11, "me")
        goes_on(side, 12)
        first, text, end = await following
        assert first == TurnResumed("t", MESSAGE)  # type: ignore[arg-type]
        assert text == Text("t", "q", "Two.")
        assert isinstance(end, TurnEnded)
        assert [turn["id"] for turn in chat.state["turns"]] == ["t"]
        assert end.turn is not None
        assert [part["kind"] for part in end.turn["responseParts"]] == [
            "markdown",
            "error",
            "markdown",
        ]


async def test_the_answer_of_a_resumed_turn_is_all_that_it_said() -> None:
    async with opened(turns=[FAILED]) as (_, _client, side, chat):
        answer = asyncio.create_task(chat.resume().text())
        side.echo(await side.next("dispatchAction"), 11, "me")
        goes_on(side, 12)
        assert await answer == "One. Two."


@pytest.mark.parametrize(
    ("state", "why"),
    [
        ({}, "no turn"),
        ({"turns": [turn(SAID, state="complete")]}, "did not fail"),
        ({"turns": [turn(SAID, {**ERROR, "resumable": False})]}, "cannot be resumed"),
        ({"turns": [turn(SAID)]}, "cannot be resumed"),
        ({"turns": [turn(ERROR, SAID)]}, "cannot be resumed"),
        ({"turns": [FAILED], "activeTurn": {**turn(state=None), "id": "u"}}, "is running"),
    ],
)
async def test_what_cannot_be_resumed_is_said_before_anything_is_sent(
    state: Json, why: str
) -> None:
    async with opened(**state) as (_, _client, _side, chat):
        with pytest.raises(LookupError, match=why):
            chat.resume()


@pytest.mark.parametrize("version", [v for v in SUPPORTED_VERSIONS if v not in ABLE])
async def test_a_host_whose_version_cannot_resume_is_not_asked_to(version: str) -> None:
    async with opened(version, turns=[FAILED]) as (_, _client, _side, chat):
        with pytest.raises(Unsupported, match=version):
            chat.resume()


async def test_of_two_who_resume_one_is_refused() -> None:
    async with opened(turns=[FAILED]) as (_, _client, side, chat):
        following = asyncio.create_task(collected(chat.resume()))
        sent = await side.next("dispatchAction")
        side.action(CHAT, 11, {"type": "chat/turnResume", "turnId": "t"}, origin=("other", 1))
        side.echo(sent, 12, "me", reason="a turn is in progress")
        with pytest.raises(Rejected, match="in progress"):
            await following
        assert chat.active_turn is not None


@pytest.mark.parametrize("has_begun", [True, False])
async def test_a_resume_whose_answer_is_lost_goes_on_if_the_turn_does(has_begun: bool) -> None:
    async with opened(turns=[FAILED]) as (host, _client, side, chat):
        stream = chat.resume()
        await side.next("dispatchAction")
        await side.close()
        state = {"turns": [], "activeTurn": turn(SAID, ERROR, state=None)} if has_begun else {}
        told = snapshot(CHAT, 20, **({"turns": [FAILED]} | state))
        side = await resumed(host, {"type": "snapshot", "snapshots": [snapshot(ROOT, 20), told]})
        following = asyncio.create_task(collected(stream))
        if not has_begun:
            with pytest.raises(Uncertain):
                await following
            return
        goes_on(side, 21)
        assert [type(event) for event in await following] == [TurnResumed, Text, TurnEnded]


@pytest.mark.parametrize("by_us", [True, False])
async def test_what_a_cancelled_turn_took_counts_both_legs_and_not_the_pause(by_us: bool) -> None:
    async with opened(turns=[FAILED]) as (host, _client, side, chat):
        host.clock.advance(10)
        if by_us:
            chat.resume()
            side.echo(await side.next("dispatchAction"), 11, "me")
        else:
            side.action(CHAT, 11, {"type": "chat/turnResume", "turnId": "t"})
        await chat.channel.until(lambda state: "activeTurn" in state)
        host.clock.advance(2)
        chat.cancel()
        sent = await side.next("dispatchAction")
        assert sent["params"]["action"]["duration"] == 7_000


# With a real host.


@pytest.mark.parametrize("version", ABLE)
async def test_a_turn_that_stumbles_is_one_turn_for_all_who_look_on(
    tmp_path: Path, version: str
) -> None:
    async with asyncio.timeout(60), World(Chatter(), default_directory=tmp_path) as world:
        client = await world.join("a", version)
        _, chat = await open_chat(client)
        others = [await world.join(older, older) for older in SUPPORTED_VERSIONS]
        watching = [await other.subscribe(chat.uri) for other in others]
        events = await collect(chat, "stumble 2")
        end = events[-1]
        assert isinstance(end, TurnEnded)
        assert (end.state, end.resumable) == ("error", True)
        resumed = await collected(chat.resume())
        assert isinstance(resumed[0], TurnResumed)
        assert isinstance(resumed[-1], TurnEnded)
        assert text_of(events) == text_of(resumed) == "word 0 word 1 "
        (turn,) = chat.state["turns"]
        assert (turn["state"], turn["message"]["text"]) == ("complete", "stumble 2")
        with pytest.raises(LookupError, match="did not fail"):
            chat.resume()
        for channel in watching:
            (seen,) = (await channel.until(lambda state: "activeTurn" not in state))["turns"]
            assert (seen["id"], seen["state"]) == (turn["id"], "complete")
            texts = [part for part in seen["responseParts"] if part["kind"] == "markdown"]
            assert len(texts) == 2


async def test_a_turn_is_resumed_by_a_client_that_sees_only_the_end_of_a_chat(
    tmp_path: Path,
) -> None:
    async with asyncio.timeout(60), World(Chatter(), default_directory=tmp_path) as world:
        session, chat = await open_chat(await world.join("a"))
        for _ in range(3):
            await chat.ask("say 1")
        await collect(chat, "stumble 1")
        other = await (await (await world.join("b")).sessions.get(session.uri)).chat(turns=1)
        assert await other.resume().text() == "word 0 word 0 "
        await chat.channel.until(lambda state: len(state["turns"]) == 4)
        assert chat.state["turns"][-1]["state"] == "complete"
