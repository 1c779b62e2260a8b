"""What a message refers to in other channels: its agent reads it as it was when it was sent."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest

from agenthost.agents import Agent, Turn
from agenthost.host import SqliteStore
from tests.wire.client import WireClient, open_client, user_message
from tests.wire.hosting import embed
from tests.wire.wording import annotated_by, forked_from

pytestmark = pytest.mark.asyncio(loop_scope="module")

Json = dict[str, Any]
SESSION, SOURCE, NOTES = "s:/1", "c:/source", "s:/1/annotations"


class Reader(Agent):
    """Answers with what it was given: the message's attachments, and those of all before it."""

    provider = "reader"
    display_name = "Reader"

    async def run(self, turn: Turn) -> None:
        if turn.text == "steer me":
            await turn.next_steering()
        past = [_given(earlier["message"]) for earlier in turn.history]
        await turn.write(json.dumps([*past, _given(turn.message)]))


def _given(message: Mapping[str, Any]) -> list[str | None]:
    return [item.get("modelRepresentation") for item in message.get("attachments", ())]


def attach(resource: str = SOURCE, kind: str = "chat", **more: Any) -> Json:
    attachment = {"type": kind, "label": "there", "resource": resource, **more}
    return user_message("look", attachments=[attachment])


def pending(id: str, message: Json, kind: str = "queued") -> Json:
    return {"type": "chat/pendingMessageSet", "kind": kind, "id": id, "message": message}


async def send(client: WireClient, chat: str, turn: str, message: Json) -> Any:
    """Send a message, and return what the agent read in it and in those before it."""
    await client.accepted(chat, {**client.turn_started(turn, ""), "message": message})
    await client.turn_end(chat, turn)
    return read(client.states[chat]["turns"][-1])


def read(turn: Json) -> Any:
    return json.loads(turn["responseParts"][0]["content"])


def stored(folder: Path) -> AbstractAsyncContextManager[str]:
    """Run a host on data that outlives it."""
    return embed(Reader(), store=SqliteStore(folder / "db"))


async def at_source(client: WireClient) -> str:
    """Make a session whose chat ``SOURCE`` holds two turns; return its other chat."""
    await client.initialize()
    chat = await client.ready_session(SESSION)
    await client.request("createChat", channel=SESSION, chat=SOURCE)
    for channel in (chat, SOURCE):
        await client.subscribe(channel)
    for turn in ("s1", "s2"):
        await client.run_turn(SOURCE, turn, f"question {turn}")
    return chat


ONE = "User: question s1\n\nAssistant: [[]]"
BOTH = f"{ONE}\n\nUser: question s2\n\nAssistant: [[], []]"


async def test_an_agent_reads_an_attached_chat_through_the_turn_it_ends_at() -> None:
    async with embed(Reader()) as url, open_client(url) as client:
        chat = await at_source(client)
        await client.request("createChat", channel=SESSION, chat="c:/empty")
        assert await send(client, chat, "t1", attach()) == [[BOTH]]
        assert await send(client, chat, "t2", attach(endTurn="s1")) == [[BOTH], [ONE]]
        assert await send(client, chat, "t3", attach("c:/empty")) == [[BOTH], [ONE], [""]]
        # Clients see the message as it was sent.
        assert client.states[chat]["turns"][1]["message"] == attach(endTurn="s1")
        mirrored, fresh = await client.compared(chat)
        assert mirrored == fresh
        # What an attached chat attaches is named, and not read again.
        (*_, last) = await send(client, SOURCE, "s3", attach(chat, endTurn="t1"))
        assert last[0].startswith("User: look\n(attached: there)\n\nAssistant: ")


async def test_what_was_attached_stays_as_it_was_whatever_becomes_of_the_chat(
    tmp_path: Path,
) -> None:
    async with stored(tmp_path) as url, open_client(url) as client:
        chat = await at_source(client)
        await send(client, chat, "t1", attach())
        await client.accepted(SOURCE, {"type": "chat/truncated"})
        assert await send(client, chat, "t2", attach()) == [[BOTH], [""]]
        await client.request("disposeChat", channel=SOURCE)
    async with stored(tmp_path) as url, open_client(url) as client:
        await client.initialize(SESSION, chat)
        assert await send(client, chat, "t3", user_message("and?")) == [[BOTH], [""], []]
        # Forks and side chats know what their source was given.
        for kind in ("fork", "sideChat"):
            source = {"kind": kind, "chat": chat, "turnId": "t1"}
            await client.request("createChat", channel=SESSION, chat=kind, source=source)
            await client.subscribe(kind)
            assert await send(client, kind, "n", user_message("and?")) == [[BOTH], []]
        await client.request(
            "createSession", channel="s:/2", **forked_from(client.version, SESSION, "t1")
        )
        await client.subscribe("s:/2")
        await client.until(lambda: {} if "defaultChat" in client.states["s:/2"] else None)
        forked = client.states["s:/2"]["defaultChat"]
        await client.subscribe(forked)
        assert await send(client, forked, "n", user_message("and?")) == [[BOTH], []]


async def test_a_message_that_waits_is_read_as_it_was_when_it_was_set() -> None:
    async with embed(Reader()) as url, open_client(url) as client:
        chat = await at_source(client)
        await client.start_turn(chat, "t1", "steer me")
        await client.accepted(chat, pending("q1", attach()))
        await client.accepted(chat, pending("q2", attach()))
        await client.accepted(chat, pending("q2", attach(endTurn="s1")))
        await client.accepted(chat, pending("q3", attach()))
        await client.accepted(chat, pending("q3", user_message("nothing")))
        await client.accepted(SOURCE, {"type": "chat/truncated", "turnId": "s1"})
        await client.accepted(chat, pending("st", user_message("go on"), "steering"))
        await client.until(lambda: {} if len(client.states[chat]["turns"]) == 4 else None)
        assert read(client.states[chat]["turns"][-1]) == [[], [BOTH], [ONE], []]


async def test_an_agent_reads_the_annotations_that_are_attached() -> None:
    async with embed(Reader()) as url, open_client(url) as client:
        chat = await at_source(client)
        await client.subscribe(NOTES)
        place = {"start": {"line": 3, "character": 0}, "end": {"line": 4, "character": 2}}
        origin = annotated_by(client.version, SESSION, SOURCE, "s1")
        first = {"id": "n1", **origin, "resource": "file:///a.py", "resolved": False}
        first |= {"range": place, "entries": [{"id": "e", "text": "why?"}]}
        second = {"id": "n2", **origin, "resource": "file:///b.py", "resolved": False}
        second |= {"entries": [{"id": "e", "text": {"markdown": "*done*"}}]}
        for annotation in (first, second):
            await client.accepted(NOTES, {"type": "annotations/set", "annotation": annotation})
        resolved = {"type": "annotations/updated", "annotationId": "n2", "resolved": True}
        await client.accepted(NOTES, resolved)
        one, two = "file:///a.py, lines 4 to 5\n- why?", "file:///b.py (resolved)\n- *done*"
        everything = attach(NOTES, "annotations")
        assert await send(client, chat, "t1", everything) == [[f"{one}\n\n{two}"]]
        some = attach(NOTES, "annotations", annotationIds=["n2", "gone"])
        (*_, last) = await send(client, chat, "t2", some)
        assert last == [two]


@pytest.mark.parametrize("way", ["turn", "queue", "first message", "fork"])
async def test_turns_that_something_names_are_shown_to_those_who_hold_the_end_only(
    way: str,
) -> None:
    async with embed(Reader()) as url, open_client(url) as client, open_client(url, "b") as narrow:
        chat = await at_source(client)
        await client.run_turn(SOURCE, "s3", "question s3")
        await narrow.initialize()
        await narrow.subscribe(SOURCE, view={"turns": 1})
        message = attach(endTurn="s2")
        if way == "turn":
            await send(client, chat, "t1", message)
        elif way == "queue":
            await client.accepted(chat, pending("q", message))
        elif way == "first message":
            await client.request("createChat", channel=SESSION, chat="c:/n", initialMessage=message)
        else:
            fork = forked_from(client.version, SESSION, "s2")
            await client.request("createSession", channel="s:/2", **fork)
        await narrow.ping()
        assert [turn["id"] for turn in narrow.states[SOURCE]["turns"]] == ["s2", "s3"]


class Teller(Agent):
    """Answers with the attachments of its message and of those before it, whole."""

    provider, display_name = "teller", "Teller"

    async def run(self, turn: Turn) -> None:
        messages = [*(past["message"] for past in turn.history), turn.message]
        await turn.write(json.dumps([message.get("attachments", []) for message in messages]))


@pytest.mark.parametrize("way", ["at once", "queued"])
async def test_what_an_editor_keeps_with_an_attachment_reaches_the_agent_and_everybody_else(
    tmp_path: Path, way: str
) -> None:
    file: Json = {"type": "resource", "uri": (tmp_path / "a.py").as_uri(), "label": "a.py"}
    file |= {"displayKind": "file", "_meta": {"path": "a.py", "of": {"the": ["editor", 1]}}}
    notes = {"type": "annotations", "resource": NOTES, "label": "notes", "_meta": {"shown": True}}
    message = user_message("look", attachments=[file, notes])
    async with embed(Teller(), default_directory=tmp_path) as url, open_client(url) as client:
        await client.initialize()
        chat = await client.ready_session(SESSION)
        await client.subscribe(chat)
        if way == "at once":
            await send(client, chat, "t1", message)
        else:
            await client.accepted(chat, pending("q1", message))
            started = await client.action(chat, "chat/turnStarted", queuedMessageId="q1")
            await client.turn_end(chat, started["turnId"])
        given = read(client.states[chat]["turns"][0])[-1]
        assert given[0] == file
        assert given[1]["_meta"] == {"shown": True}
        assert client.states[chat]["turns"][0]["message"]["attachments"] == [file, notes]
        # In its history as well.
        assert (await send(client, chat, "t2", user_message("again")))[0] == given
