"""Sessions and their chats against a real host: made, found, listed, forked and paged."""

from __future__ import annotations

from typing import Any

import pytest

from agenthost.agents import AgentError
from agenthost.client import (
    ChannelGone,
    ClientClosed,
    Rejected,
    TurnFailed,
    Unsupported,
)
from agenthost.errors import (
    InvalidParams,
    ProviderNotFound,
    SessionAlreadyExists,
    SessionNotFound,
)
from agenthost.protocol.common import TextRange
from tests.client.talking import EACH_VERSION, drain, open_chat
from tests.client.world import World
from tests.wire.agents import Puppet

Json = dict[str, Any]


async def test_sessions_are_created_found_listed_renamed_archived_and_disposed(
    world: World,
) -> None:
    client = await world.join("a")
    session = await client.sessions.create("demo", uri="ahp-session:/mine")
    assert session.uri == "ahp-session:/mine"
    await session.rename("Mine")
    await session.mark_read(False)
    await session.archive()
    assert session.state["status"] & 64
    await client.sessions.archive(session.uri, False)
    listed = {summary["resource"]: summary for summary in await client.sessions.list()}
    assert listed[session.uri]["title"] == "Mine"
    with pytest.raises(SessionAlreadyExists):
        await client.sessions.create(uri=session.uri)
    await client.sessions.dispose(session.uri)
    assert await client.sessions.list() == []
    with pytest.raises(ChannelGone):
        await session.channel.until(lambda state: False)
    with pytest.raises(SessionNotFound):
        await client.sessions.dispose(session.uri)
    with pytest.raises(SessionNotFound):
        await client.sessions.get(session.uri)


async def test_the_catalogue_is_read_page_by_page(world: World) -> None:
    client = await world.join("a")
    for number in range(5):
        await client.sessions.create(uri=f"ahp-session:/{number}")
    first = await client.sessions.page(limit=2)
    second = await client.sessions.page(limit=2, cursor=first["nextCursor"])
    assert len({s["resource"] for s in (*first["items"], *second["items"])}) == 4
    assert len(await client.sessions.list()) == 5


@EACH_VERSION
async def test_the_catalogue_is_followed_over_a_drop(world: World, version: str) -> None:
    client, other = await world.join("a", version), await world.join("b")
    catalogue = client.sessions.watch()
    assert await anext(catalogue) == {}
    session = await other.sessions.create()
    await session.rename("Named")
    sessions = await anext(catalogue)
    while not any(summary["title"] == "Named" for summary in sessions.values()):
        sessions = await anext(catalogue)
    world.wires["a"].cut(0, 0)
    await session.dispose()
    while await anext(catalogue):
        pass
    await client.aclose()
    with pytest.raises(ClientClosed):
        await drain(catalogue)


async def test_a_session_that_cannot_get_ready_says_why(world: World) -> None:
    client = await world.join("a")
    with pytest.raises(ProviderNotFound):
        await client.sessions.create("nobody")
    with pytest.raises(InvalidParams):
        await client.sessions.create("puppet")
    puppet = world._agents[1]
    assert isinstance(puppet, Puppet)
    puppet.trouble = AgentError("no licence", "noLicence")
    session = await client.sessions.create("puppet", config={"mode": "ask"})
    chat = await session.chat()
    with pytest.raises(TurnFailed, match="no licence"):
        await chat.ask("hello")
    # The next turn tries again.
    puppet.trouble = None
    await chat.ask("hello again")


async def test_the_settings_of_the_host_are_changed_or_not(world: World) -> None:
    client = await world.join("a")
    with pytest.raises(Rejected):
        await client.configure({"welcome": 1})


async def test_settings_are_asked_for_chosen_and_changed(world: World) -> None:
    client = await world.join("a")
    offered = await client.sessions.config("puppet", values={"mode": "act"})
    # What every session can be told of where it works stands beside what the agent offers.
    where = {"isolation": "folder", "directory": ""}
    assert offered["values"] == {"mode": "act", "depth": 3, **where}
    session = await client.sessions.create("puppet", config=offered["values"])
    await session.configure({"depth": 5})
    assert session.config == {"mode": "act", "depth": 5, **where}
    with pytest.raises(Rejected):
        await session.configure({"mode": "ask"})
    assert session.config["mode"] == "act"


async def test_chats_and_sessions_are_forked(world: World) -> None:
    client = await world.join("a")
    session, chat = await open_chat(client)
    await chat.ask("one")
    await chat.ask("two")
    first = chat.state["turns"][0]["id"]
    fork = await session.fork_chat(chat.uri, first)
    assert [turn["id"] for turn in fork.state["turns"]] == [first]
    side = await session.side_chat(chat.uri, first, "passage")
    assert side.state["turns"] == []
    fresh = await session.create_chat("straight away")
    await fresh.channel.until(lambda state: state["turns"])
    assert len(session.chats) == 4
    await fresh.dispose()
    assert len(session.chats) == 3
    with pytest.raises(ChannelGone):
        await fresh.channel.until(lambda state: False)
    forked = await session.fork(first)
    assert len((await forked.chat()).state["turns"]) == 1


async def test_a_side_chat_cannot_be_asked_of_an_old_host(world: World) -> None:
    session, chat = await open_chat(await world.join("a", "0.6.0"))
    await chat.ask("one")
    with pytest.raises(Unsupported, match="side chats"):
        await session.side_chat(chat.uri, chat.state["turns"][0]["id"])


@EACH_VERSION
async def test_annotations_are_made_answered_resolved_and_removed(
    world: World, version: str
) -> None:
    session, chat = await open_chat(await world.join("a", version))
    await chat.ask("hello")
    (turn,) = chat.state["turns"]
    notes = await session.annotations()
    place: TextRange = {"start": {"line": 1, "character": 0}, "end": {"line": 2, "character": 0}}
    id, adding = notes.add("file:///a.py", "Why?", turn_id=turn["id"], range=place)
    assert notes[id]["entries"][0]["text"] == "Why?"
    await adding
    await notes.reply(id, "Because.")
    await notes.resolve(id)
    assert notes[id]["resolved"] is True
    await notes.remove_entry(id, notes[id]["entries"][0]["id"])
    assert [entry["text"] for entry in notes[id]["entries"]] == ["Because."]
    await notes.remove(id)
    assert notes.state["annotations"] == []
    with pytest.raises(KeyError):
        notes[id]


@EACH_VERSION
async def test_older_turns_are_loaded_when_asked_for(world: World, version: str) -> None:
    session, chat = await open_chat(await world.join("writer"))
    for number in range(5):
        await chat.ask(f"turn {number}")
    client = await world.join("reader", version)
    entered = await client.sessions.get(session.uri)
    window = await entered.chat(turns=2)
    if version != "0.5.0":
        assert len(window.state["turns"]) == 2
    await window.load_all()
    said = [turn["message"]["text"] for turn in window.state["turns"]]
    assert said == [f"turn {number}" for number in range(5)]
    assert not await window.load_earlier()
    world.wires["reader"].cut(0, 0)
    await client.request("ping")
    await chat.ask("turn 5")
    await window.channel.until(lambda state: len(state["turns"]) == 6)
