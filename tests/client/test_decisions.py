"""What an agent waits for, against a real host: approvals and answers, in every version."""

from __future__ import annotations

from typing import Any

import pytest

from agenthost.client import (
    ChatEvent,
    ConfirmationNeeded,
    Question,
    QuestionClosed,
    Rejected,
    ToolCallChanged,
)
from agenthost.protocol import SUPPORTED_VERSIONS
from tests.client.talking import EACH_VERSION, collect, open_chat, text_of
from tests.client.world import World

Json = dict[str, Any]


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
    assert last["status"] == "cancelled"
    assert last["reason"] == "denied"
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
