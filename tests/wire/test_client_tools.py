"""Tools that clients run: who may, what is shown meanwhile, and what if the owner is gone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest

from agenthost.agents import Agent, Turn
from tests.wire.client import WireClient, open_client
from tests.wire.hosting import ServedHost, embed
from tests.wire.talking import (
    IDLE,
    IN_PROGRESS,
    OLDEST,
    Chat,
    at_chat,
    call_in,
    calls_of,
    completed,
    result_confirmed,
    said,
)
from tests.wire.wording import failure_of

pytestmark = pytest.mark.asyncio(loop_scope="module")

Json = dict[str, Any]

# Seconds that an impatient agent waits.
IMPATIENCE = 0.2


def tools(client: WireClient, *names: str) -> Json:
    """Return the action with which a client offers tools."""
    definitions = [
        {"name": name, "title": f"The {name}", "inputSchema": {"type": "object"}} for name in names
    ]
    entry = {"clientId": client.client_id, "displayName": "Somebody", "tools": definitions}
    return {"type": "session/activeClientSet", "activeClient": entry}


@asynccontextmanager
async def offered(url: str, name: str, **options: Any) -> AsyncIterator[tuple[Chat, WireClient]]:
    """A chat, and besides its first client one that offers the tool ``look``."""
    async with at_chat(url, name, OLDEST, **options) as chat:
        owner = chat.clients[1]
        await owner.accepted(chat.session, tools(owner, "look"))
        yield chat, owner


async def asked(chat: Chat, turn_id: str = "t1", text: str = '/client-tool look {"at": 1}') -> Json:
    """Start a turn that calls a client's tool, and wait until everybody sees it run."""
    await chat.start(turn_id, text)
    for client in chat.clients:
        await call_in(client, chat.uri, "running")
    return await call_in(chat.client, chat.uri, "running")


async def test_the_owner_is_asked_shows_its_progress_and_answers(shared_host: ServedHost) -> None:
    async with offered(shared_host.url, "progress") as (chat, owner):
        call = await asked(chat)
        assert call["contributor"] == {"kind": "client", "clientId": owner.client_id}
        assert (call["toolName"], call["displayName"]) == ("look", "The look")
        assert (call["toolInput"], call["confirmed"]) == ('{"at": 1}', "not-needed")
        await chat.client.ping()
        (needed,) = chat.waiting
        assert (needed["kind"], needed["clientId"]) == ("toolClientExecution", owner.client_id)
        assert needed["toolCall"] == call
        # It waits for a program, not for a person.
        assert await chat.status() == IN_PROGRESS
        target = {"turnId": "t1", "toolCallId": call["toolCallId"]}
        for text in ("I see", "I see a cat"):
            content = [{"type": "text", "text": text}]
            shown = {"type": "chat/toolCallContentChanged", **target, "content": content}
            await chat.answer(shown, owner)
            await call_in(chat.client, chat.uri, "running", content=content)
        result = {"content": [{"type": "text", "text": "a cat"}]}
        await chat.answer(completed("t1", call, result=result), owner)
        turn = await chat.end("t1")
        assert (turn["state"], said(turn)) == ("complete", "The client answered: a cat")
        (call,) = calls_of(turn)
        assert (call["status"], call["success"]) == ("completed", True)
        await chat.assert_at_rest()


async def test_the_owner_may_say_again_that_it_runs_a_call_or_deny_it(
    shared_host: ServedHost,
) -> None:
    async with offered(shared_host.url, "denies") as (chat, owner):
        call = await asked(chat)
        target = {"turnId": "t1", "toolCallId": call["toolCallId"]}
        confirmed = {"type": "chat/toolCallConfirmed", **target}
        goes_ahead = {**confirmed, "approved": True, "confirmed": "not-needed"}
        denied = {**confirmed, "approved": False, "reason": "denied", "reasonMessage": "not here"}
        for action in (goes_ahead, denied):
            # Nobody else may, for it is not theirs.
            reason = await chat.client.rejected(chat.uri, action)
            assert reason == "the tool call does not wait for confirmation: it is running"
        before = chat.state
        await owner.accepted(chat.uri, goes_ahead)
        await chat.client.ping()
        assert chat.state == before
        await owner.accepted(chat.uri, denied)
        turn = await chat.end("t1")
        (call,) = calls_of(turn)
        assert (call["status"], call["success"]) == ("completed", False)
        assert call["error"] == {"message": "not here", "code": "denied"}
        assert said(turn) == "The client's tool failed: not here"
        await chat.assert_at_rest()


async def test_nobody_else_may_answer_for_the_owner(shared_host: ServedHost) -> None:
    async with offered(shared_host.url, "not yours") as (chat, owner):
        call = await asked(chat)
        target = {"turnId": "t1", "toolCallId": call["toolCallId"]}
        shown = {"type": "chat/toolCallContentChanged", **target, "content": []}
        before = chat.state
        for action in (completed("t1", call), completed("t1", call, False), shown):
            reason = await chat.client.rejected(chat.uri, action)
            assert reason == "this tool call belongs to another client"
        assert chat.state == before
        await chat.answer(completed("t1", call), owner)
        assert (await chat.end("t1"))["state"] == "complete"
        await chat.assert_at_rest()


async def test_a_failure_of_the_owner_is_told_to_the_agent(shared_host: ServedHost) -> None:
    async with offered(shared_host.url, "failure") as (chat, owner):
        call = await asked(chat)
        await chat.answer(completed("t1", call, False), owner)
        turn = await chat.end("t1")
        assert said(turn) == "The client's tool failed: it did not work"
        await chat.assert_at_rest()


@pytest.mark.parametrize("approved", [True, False])
async def test_an_owner_may_want_its_result_to_be_approved(
    shared_host: ServedHost, approved: bool
) -> None:
    async with offered(shared_host.url, f"approve-{approved}") as (chat, owner):
        call = await asked(chat)
        await chat.answer(completed("t1", call, requiresResultConfirmation=True), owner)
        await call_in(chat.client, chat.uri, "pending-result-confirmation")
        await chat.answer(result_confirmed("t1", call, approved))
        turn = await chat.end("t1")
        answer = (
            "The client answered: " if approved else "The client's tool failed: no reason given"
        )
        assert said(turn) == answer
        await chat.assert_at_rest()


async def test_a_tool_that_nobody_offers_is_an_error_that_names_it(
    shared_host: ServedHost,
) -> None:
    async with offered(shared_host.url, "unknown") as (chat, _):
        turn = await chat.run("t1", "/client-tool listen {}")
        assert failure_of(turn) == {
            "errorType": "unknownTool",
            "message": "no attached client offers the tool listen",
        }
        assert calls_of(turn) == []


async def test_of_two_owners_the_one_who_started_the_turn_is_asked(
    shared_host: ServedHost,
) -> None:
    async with offered(shared_host.url, "both") as (chat, other):
        await chat.client.accepted(chat.session, tools(chat.client, "look"))
        call = await asked(chat)
        assert call["contributor"]["clientId"] == chat.client.client_id
        await chat.answer(completed("t1", call), chat.client)
        await chat.end("t1")
        await other.start_turn(chat.uri, "t2", "/client-tool look {}")
        call = await call_in(chat.client, chat.uri, "running")
        assert call["contributor"]["clientId"] == other.client_id
        await chat.answer(completed("t2", call), other)
        await chat.end("t2")


async def test_a_call_whose_owner_vanishes_fails_after_the_grace_and_the_turn_goes_on() -> None:
    async with (
        embed(active_grace=1) as url,
        offered(url, "vanishing") as (chat, owner),
        open_client(url, "another") as another,
    ):
        await another.initialize(chat.uri)
        call = await asked(chat)
        owner.abort()
        chat.clients.remove(owner)
        await owner.closed
        # While the owner may still come back, nobody takes its place.
        reason = await another.rejected(chat.uri, completed("t1", call))
        assert reason == "this tool call belongs to another client"
        turn = await chat.end("t1")
        assert turn["state"] == "complete"
        assert said(turn) == "The client's tool failed: the client that runs this tool left"
        (call,) = calls_of(turn)
        assert (call["status"], call["success"]) == ("completed", False)
        assert call["error"]["code"] == "clientLeft"
        assert chat.client.states[chat.session]["activeClients"] == []
        await chat.assert_at_rest()
        # Coming back now is too late for that call.
        async with open_client(url, owner.client_id, OLDEST) as late:
            await late.resume(owner)
            assert "no turn" in await late.rejected(chat.uri, completed("t1", call))


async def test_an_owner_that_comes_back_in_time_may_finish_its_call() -> None:
    async with embed(active_grace=10) as url, offered(url, "returning") as (chat, owner):
        call = await asked(chat)
        owner.abort()
        await owner.closed
        async with open_client(url, owner.client_id, OLDEST) as again:
            await again.resume(owner)
            chat.clients[1] = again
            await chat.answer(completed("t1", call), again)
            turn = await chat.end("t1")
            assert calls_of(turn)[0]["success"] is True
            await chat.assert_at_rest()


@pytest.mark.parametrize("how", ["unsubscribes", "withdraws"])
async def test_a_call_whose_owner_leaves_the_session_fails_at_once(
    shared_host: ServedHost, how: str
) -> None:
    async with offered(shared_host.url, how) as (chat, owner):
        await asked(chat)
        if how == "unsubscribes":
            await owner.send({"method": "unsubscribe", "params": {"channel": chat.session}})
        else:
            gone = {"type": "session/activeClientRemoved", "clientId": owner.client_id}
            await owner.accepted(chat.session, gone)
        turn = await chat.end("t1")
        assert said(turn) == "The client's tool failed: the client that runs this tool left"
        await chat.client.ping()
        assert chat.waiting == []
        assert await chat.status() == IDLE


class Caller(Agent):
    """Calls a client's tool with very little patience, several at once where it is told to."""

    provider, display_name = "caller", "Caller"

    async def run(self, turn: Turn) -> None:
        if turn.text == "impatient":
            ended = await turn.call_client_tool("look", timeout=IMPATIENCE)
            await turn.write(f"{ended['status']}: {ended['error']['code']}")
            return
        calls = [turn.call_client_tool("look", number) for number in range(3)]
        results: list[Mapping[str, Any]] = await asyncio.gather(*calls)
        await turn.write(" ".join(result["pastTenseMessage"] for result in results))


async def test_an_owner_that_takes_too_long_is_not_waited_for() -> None:
    async with embed(Caller()) as url, offered(url, "slow") as (chat, owner):
        turn = await chat.run("t1", "impatient")
        assert said(turn) == "completed: timeout"
        (call,) = calls_of(turn)
        assert call["error"]["message"] == "the client did not answer in time"
        assert "no turn" in await owner.rejected(chat.uri, completed("t1", call))
        await chat.assert_at_rest()


async def test_several_calls_at_once_are_answered_in_any_order() -> None:
    async with embed(Caller()) as url, offered(url, "several") as (chat, owner):
        await chat.start("t1", "several")
        for number in (2, 0, 1):
            call = await call_in(owner, chat.uri, "running", toolInput=str(number))
            message = {"pastTenseMessage": f"looked at {number}"}
            await chat.answer(completed("t1", call, result=message), owner)
        turn = await chat.end("t1")
        assert said(turn) == "looked at 0 looked at 1 looked at 2"
        await chat.assert_at_rest()


async def test_a_restart_gives_the_owner_time_to_come_back(own_host: ServedHost) -> None:
    async with offered(own_host.url, "restart") as (chat, owner):
        await chat.run("t1", "hello")
        await own_host.kill()
        await own_host.start()
        async with open_client(own_host.url, owner.client_id, OLDEST) as again:
            await again.resume(owner)
            chat.clients = [again]
            entries = again.states[chat.session]["activeClients"]
            assert [entry["clientId"] for entry in entries] == [owner.client_id]
            await again.start_turn(chat.uri, "t2", "/client-tool look {}")
            call = await call_in(again, chat.uri, "running")
            await chat.answer(completed("t2", call))
            assert said(await chat.end("t2")) == "The client answered: "
