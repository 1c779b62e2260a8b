"""The client against a real host: everything people do, in every version the two may speak."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from agenthost.agents.demo import Demo
from agenthost.client import (
    Backoff,
    CannotConnect,
    ChannelGone,
    Chat,
    ChatEvent,
    Client,
    ClientClosed,
    ConfirmationNeeded,
    Connected,
    CreationFailed,
    Lagged,
    PartAdded,
    Question,
    QuestionClosed,
    Reasoning,
    Rejected,
    Reset,
    Session,
    Text,
    ToolCallChanged,
    ToolRun,
    TurnEnded,
    TurnFailed,
    TurnStarted,
    Unsupported,
    connect,
    websocket,
)
from agenthost.client.events import chat_events
from agenthost.errors import (
    InvalidParams,
    LocalProtocolError,
    ProviderNotFound,
    SessionAlreadyExists,
    SessionNotFound,
)
from agenthost.protocol import NEWEST, SUPPORTED_VERSIONS
from agenthost.transport import Transport
from tests.client.world import Backing, World
from tests.wire.agents import Puppet
from tests.wire.hosting import serve

Json = dict[str, Any]

EACH_VERSION = pytest.mark.parametrize("version", SUPPORTED_VERSIONS)


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with World(Demo(), Puppet(), default_directory=tmp_path) as made, asyncio.timeout(30):
        yield made


async def open_chat(client: Client) -> tuple[Session, Chat]:
    session = await client.sessions.create()
    return session, await session.chat()


async def collect(
    chat: Chat, text: str, act: Callable[[ChatEvent], object] = lambda event: None
) -> list[ChatEvent]:
    """Send a message, act on what happens, and return all events."""
    events: list[ChatEvent] = []
    async for event in chat.send(text):
        events.append(event)
        act(event)
    return events


def text_of(events: list[ChatEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, Text))


# Turns


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
    await chat.steer("left")
    other = await (await (await world.join("b")).sessions.get(session.uri)).chat()
    stream = other.follow()
    assert stream is not None
    told: list[ChatEvent] = []
    async for event in stream:
        told.append(event)
        if "left" in text_of(told):
            chat.cancel()
    assert isinstance(told[0], TurnStarted)
    assert text_of(told) == "You steer me: left\n\n"
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


# Decisions


@EACH_VERSION
async def test_a_call_is_approved_with_an_edited_input(world: World, version: str) -> None:
    _, chat = await open_chat(await world.join("a", version))

    def approve(event: ChatEvent) -> None:
        if isinstance(event, ConfirmationNeeded):
            assert event.call.get("toolInput") == "echo first"
            chat.approve(event.call, option="allow-once", edited_input="echo second")

    events = await collect(chat, "/run echo first", approve)
    calls = [event.call for event in events if isinstance(event, ToolCallChanged)]
    assert calls[-1]["status"] == "completed"
    assert calls[-1]["toolInput"] == "echo second"
    assert "second" in str(calls[-1]["content"])
    assert "exit code 0" in text_of(events)


@EACH_VERSION
async def test_a_call_is_denied_with_a_reason(world: World, version: str) -> None:
    _, chat = await open_chat(await world.join("a", version))

    def deny(event: ChatEvent) -> None:
        if isinstance(event, ConfirmationNeeded):
            chat.deny(event.call["toolCallId"], reason="not here", suggestion="use ls")

    events = await collect(chat, "/run rm -rf", deny)
    (last,) = [e.call for e in events if isinstance(e, ToolCallChanged)][-1:]
    assert (last["status"], last["reason"]) == ("cancelled", "denied")
    assert "use ls" in text_of(events)


@EACH_VERSION
@pytest.mark.parametrize("accepts", [True, False])
async def test_a_result_is_approved_or_not(world: World, version: str, accepts: bool) -> None:
    _, chat = await open_chat(await world.join("a", version))

    def decide(event: ChatEvent) -> None:
        if isinstance(event, ConfirmationNeeded):
            assert event.call["status"] == "pending-result-confirmation"
            chat.approve(event.call) if accepts else chat.deny(event.call)

    events = await collect(chat, "/review", decide)
    assert ("accepted" if accepts else "withdrawn") in text_of(events)


@EACH_VERSION
async def test_questions_of_every_kind_are_answered(world: World, version: str) -> None:
    _, chat = await open_chat(await world.join("a", version))
    answers = {
        "name": "Ada",
        "age": 36,
        "height": 1.7,
        "happy": False,
        "colour": "purple",
        "fruit": ["apple", "plum"],
    }

    def answer(event: ChatEvent) -> None:
        if isinstance(event, Question):
            chat.draft_answer(event.request, "name", "A")
            chat.answer(event.request, answers)

    events = await collect(chat, "/ask", answer)
    for told in ('name: "Ada"', "age: 36", "happy: false", '"plum"', "purple"):
        assert told in text_of(events)


@EACH_VERSION
@pytest.mark.parametrize("way", ["decline", "dismiss"])
async def test_questions_may_be_left_unanswered(world: World, version: str, way: str) -> None:
    _, chat = await open_chat(await world.join("a", version))
    events = await collect(
        chat,
        "/ask",
        lambda event: getattr(chat, way)(event.request) if isinstance(event, Question) else None,
    )
    response = {"decline": "decline", "dismiss": "cancel"}[way]
    assert text_of(events) == f"You chose to {response}."
    if version in SUPPORTED_VERSIONS[:3]:
        closed = [event for event in events if isinstance(event, QuestionClosed)]
        assert [event.response for event in closed] == [response]


async def test_what_is_not_there_cannot_be_decided_on(world: World) -> None:
    _, chat = await open_chat(await world.join("a"))
    with pytest.raises(LookupError, match="no tool call"):
        chat.approve("nothing")
    with pytest.raises(LookupError, match="no open request"):
        chat.decline("nothing")


async def test_the_first_answer_wins_and_the_second_is_told(world: World) -> None:
    session, chat = await open_chat(await world.join("a"))
    other = await (await (await world.join("b")).sessions.get(session.uri)).chat()
    stream = chat.send("/run echo hi")
    await other.channel.until(lambda state: state["status"] & 24 == 24)
    (part,) = other.state["activeTurn"]["responseParts"]
    assert part["kind"] == "toolCall"
    first, second = chat.approve(part["toolCall"]), other.deny(part["toolCall"])
    await first
    with pytest.raises(Rejected):
        await second
    assert "exit code 0" in await stream.text()


@EACH_VERSION
async def test_a_session_says_what_waits_in_the_chats_that_are_followed(
    world: World, version: str
) -> None:
    session, chat = await open_chat(await world.join("a", version))
    stream = chat.send("/run echo hello")
    async for event in stream:
        if isinstance(event, ConfirmationNeeded):
            await session.channel.until(lambda _: session.input_needed)
            (need,) = session.input_needed
            assert need["kind"] == "toolConfirmation"
            assert need["chat"] == chat.uri
            assert need["turnId"] == stream.turn_id
            assert need["toolCall"]["toolCallId"] == event.call["toolCallId"]
            await chat.deny(event.call)
    await session.channel.until(lambda _: not session.input_needed)


async def test_somebody_who_only_watches_the_session_can_decide(world: World) -> None:
    session, chat = await open_chat(await world.join("a"))
    client = await world.join("b")
    watched = await client.sessions.get(session.uri)
    stream = chat.send("/run echo hi")
    await watched.channel.until(lambda state: state.get("inputNeeded"))
    (needed,) = watched.input_needed
    assert needed["kind"] == "toolConfirmation"
    action = {
        "type": "chat/toolCallConfirmed",
        "turnId": needed["turnId"],
        "toolCallId": needed["toolCall"]["toolCallId"],
        "approved": True,
        "confirmed": "user-action",
    }
    assert (await client.dispatch(needed["chat"], action))["action"] == action
    assert "exit code 0" in await stream.text()


# Sessions


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


async def drain(iterator: AsyncIterator[Any]) -> None:
    async for _ in iterator:
        pass


async def test_a_session_that_cannot_get_ready_says_why(world: World) -> None:
    client = await world.join("a")
    with pytest.raises(ProviderNotFound):
        await client.sessions.create("nobody")
    with pytest.raises(InvalidParams):
        await client.sessions.create("puppet")
    puppet = world._agents[1]
    assert isinstance(puppet, Puppet)
    puppet.trouble = RuntimeError("broken")
    with pytest.raises(CreationFailed):
        await client.sessions.create("puppet", config={"mode": "ask"})
    session = await client.sessions.create("puppet", config={"mode": "ask"}, wait=False)
    with pytest.raises(CreationFailed):
        await session.chat()


async def test_a_session_that_did_not_get_ready_is_not_followed_any_more(world: World) -> None:
    client = await world.join("a")
    puppet = world._agents[1]
    assert isinstance(puppet, Puppet)
    puppet.trouble = RuntimeError("broken")
    with pytest.raises(CreationFailed):
        await client.sessions.create("puppet", uri="ahp-session:/p", config={"mode": "act"})
    assert "ahp-session:/p" not in client._core.channels


async def test_the_settings_of_the_host_are_changed_or_not(world: World) -> None:
    client = await world.join("a")
    with pytest.raises(Rejected):
        await client.configure({"no such setting": 1})


async def test_settings_are_asked_for_chosen_and_changed(world: World) -> None:
    client = await world.join("a")
    offered = await client.sessions.config("puppet", values={"mode": "act"})
    assert offered["values"] == {"mode": "act", "depth": 3}
    session = await client.sessions.create("puppet", config=offered["values"])
    await session.configure({"depth": 5})
    assert session.config == {"mode": "act", "depth": 5}
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
    session, _ = await open_chat(await world.join("a", version))
    notes = await session.annotations()
    place = {"start": {"line": 1, "character": 0}, "end": {"line": 2, "character": 0}}
    id, adding = notes.add("file:///a.py", "Why?", turn_id="t", range=place)
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


# Windows


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
    while await window.load_earlier():
        pass
    said = [turn["message"]["text"] for turn in window.state["turns"]]
    assert said == [f"turn {number}" for number in range(5)]
    assert not await window.load_earlier()
    world.wires["reader"].cut(0, 0)
    await client.request("ping")
    await chat.ask("turn 5")
    await window.channel.until(lambda state: len(state["turns"]) == 6)


# Tools


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


# The client itself


async def test_a_client_can_be_asked_what_it_is_connected_to(world: World) -> None:
    client = await world.join("a")
    assert client.version == NEWEST
    assert client.host["serverInfo"]["name"] == "agenthost"
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
    assert len(text_of(list(chat_events(before, chat.state)))) >= 10_000


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
    calls = [event.call for event in events if isinstance(event, ToolCallChanged)]
    assert calls[-1]["content"][0]["type"] == "subagent"
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
    held = {**theirs.channel.mirror.raw, "modifiedAt": ""}
    assert held == {**seen.mirror.raw, "modifiedAt": ""}
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


# Hosts that end


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
