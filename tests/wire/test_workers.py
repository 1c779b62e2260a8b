"""Workers on the wire: a chat of their own that says where it comes from, and its boss's view."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from agenthost.agents import Agent, AgentError, Turn
from tests.wire.client import open_client, user_message
from tests.wire.hosting import ServedHost, embed
from tests.wire.talking import (
    ERROR,
    IDLE,
    INPUT_NEEDED,
    NEWEST,
    OLDEST,
    Chat,
    at_chat,
    call_in,
    calls_of,
    cancelled,
    confirmed,
    said,
)
from tests.wire.wording import failure_of

pytestmark = pytest.mark.asyncio(loop_scope="module")

Json = dict[str, Any]


async def worker_of(chat: Chat) -> str:
    """Wait until the running turn announces a worker; subscribe everybody to its chat."""
    block: Json = await chat.client.until(lambda: announced(chat.state.get("activeTurn")))
    for client in chat.clients:
        await client.subscribe(block["resource"])
    worker: str = block["resource"]
    return worker


def announced(turn: Json | None) -> Json | None:
    """Return the block with which a tool call of a turn points to its worker."""
    for call in calls_of(turn) if turn is not None else ():
        for block in call.get("content", ()):
            if block["type"] == "subagent":
                found: Json = block
                return found
    return None


def entry_of(chat: Chat, worker: str) -> Json:
    """Return a chat's line in the catalogue of its session."""
    chats = chat.client.states[chat.session]["chats"]
    found: Json = next(entry for entry in chats if entry["resource"] == worker)
    return found


def turns_of(state: Json) -> Iterator[Json]:
    """Give the turns of a chat, the one under way last."""
    yield from state["turns"]
    yield from [state["activeTurn"]] if "activeTurn" in state else []


@asynccontextmanager
async def at_work(host: ServedHost, name: str, text: str) -> AsyncIterator[tuple[Chat, str]]:
    """Clients at a turn whose worker has been told ``text``."""
    async with at_chat(host.url, name, OLDEST) as chat:
        await chat.start("t1", f"/subagent {text}")
        worker = await worker_of(chat)
        # Its chat is there before its turn is.
        await chat.client.until(lambda: next(turns_of(chat.client.states[worker]), None))
        yield chat, worker


async def test_a_worker_answers_in_a_chat_that_says_where_it_comes_from(
    shared_host: ServedHost,
) -> None:
    async with at_chat(shared_host.url, "answers", OLDEST) as chat:
        turn = await chat.run("t1", "/subagent hello")
        (call,) = calls_of(turn)
        block = announced(turn)
        assert block is not None
        assert block["title"] == "Worker"
        state = await chat.client.subscribe(block["resource"])
        origin = {"kind": "tool", "chat": chat.uri, "toolCallId": call["toolCallId"]}
        assert (state["origin"], state["interactivity"]) == (origin, "read-only")
        (work,) = state["turns"]
        assert work["message"] == {"text": "hello", "origin": {"kind": "tool"}}
        assert (work["state"], said(work)[:18]) == ("complete", "You said **hello**")
        # The call says the same, and so does the catalogue.
        assert call["content"] == [block, {"type": "text", "text": said(work)}]
        assert call["success"] is True
        assert said(turn) == f"The worker is complete: {said(work)}"
        entry = entry_of(chat, block["resource"])
        assert entry == {key: state[key] for key in entry}
        assert len(chat.client.states[chat.session]["chats"]) == 2
        assert chat.client.states[chat.session]["defaultChat"] == chat.uri
        await chat.assert_at_rest()


async def test_the_worker_is_announced_before_it_speaks(shared_host: ServedHost) -> None:
    async with at_chat(shared_host.url, "order", OLDEST) as chat:
        turn = await chat.run("t1", "/subagent hello")
        block = announced(turn)
        assert block is not None
        worker, order = block["resource"], []
        for message in chat.client.received:
            action = message.get("params", {}).get("action", {})
            names = (action.get("chat"), action.get("summary", {}).get("resource"))
            content = action.get("content")
            if worker in names or (isinstance(content, list) and block in content):
                order.append(action["type"])
        assert order[:3] == [
            *("session/chatAdded", "chat/toolCallContentChanged", "session/chatUpdated")
        ]


async def test_nobody_talks_to_a_worker(shared_host: ServedHost) -> None:
    async with at_work(shared_host, "read-only", "/slow 1000") as (chat, worker):
        message = user_message("hello")
        pending = {"type": "chat/pendingMessageSet", "id": "m1", "message": message}
        for client in chat.clients:
            for action in (
                {**pending, "kind": "steering"},
                {**pending, "kind": "queued"},
                {"type": "chat/draftChanged", "draft": message},
            ):
                reason = await client.rejected(worker, action)
                assert reason == "this chat is read-only: it takes no messages"
        await chat.cancel("t1")
        await chat.end("t1")
        reason = await chat.client.rejected(worker, chat.client.turn_started("t2", "hello"))
        assert reason == "this chat is read-only: it takes no messages"
        assert len((await chat.client.fresh(worker))["turns"]) == 1


@pytest.mark.parametrize("answerer", [0, 1], ids=[NEWEST, OLDEST])
async def test_anybody_answers_what_a_worker_asks(shared_host: ServedHost, answerer: int) -> None:
    async with at_work(shared_host, f"asks {answerer}", "/run echo done") as (chat, worker):
        client = chat.clients[answerer]
        call = await call_in(client, worker, "pending-confirmation")
        await chat.client.ping()
        (needed,) = chat.waiting
        assert (needed["kind"], needed["chat"]) == ("toolConfirmation", worker)
        assert await chat.status() == INPUT_NEEDED
        assert entry_of(chat, worker)["status"] & 31 == INPUT_NEEDED
        await client.accepted(worker, confirmed(needed["turnId"], call, True))
        turn = await chat.end("t1")
        assert said(turn) == "The worker is complete: The command ended with exit code 0."
        await chat.assert_at_rest()


async def test_what_a_worker_may_do_in_the_session_its_boss_may_too(
    shared_host: ServedHost,
) -> None:
    async with at_work(shared_host, "allowed", "/run true") as (chat, worker):
        call = await call_in(chat.client, worker, "pending-confirmation")
        turn_id = chat.client.states[worker]["activeTurn"]["id"]
        allow = confirmed(turn_id, call, True, selectedOptionId="allow-in-session")
        await chat.client.accepted(worker, allow)
        await chat.end("t1")
        (call,) = calls_of(await chat.run("t2", "/run true"))
        assert call["confirmed"] == "setting"


async def test_a_worker_that_fails_fails_its_call_and_the_boss_goes_on(
    shared_host: ServedHost,
) -> None:
    async with at_chat(shared_host.url, "fails", OLDEST) as chat:
        turn = await chat.run("t1", "/subagent /fail")
        block = announced(turn)
        assert block is not None
        (call,) = calls_of(turn)
        assert (call["status"], call["success"]) == ("completed", False)
        assert call["error"] == {"message": "the demo agent failed, as it was told to"}
        assert turn["state"] == "complete"
        assert said(turn) == "The worker is error: the demo agent failed, as it was told to"
        (work,) = (await chat.client.fresh(block["resource"]))["turns"]
        assert (work["state"], failure_of(work)["errorType"]) == ("error", "demoFailure")
        assert entry_of(chat, block["resource"])["status"] & 31 == ERROR


END: dict[str, Callable[[Chat, str], Any]] = {
    "cancelled": lambda chat, worker: chat.client.accepted(
        worker, cancelled(chat.client, chat.client.states[worker]["activeTurn"]["id"])
    ),
    "truncated": lambda chat, worker: chat.client.accepted(worker, {"type": "chat/truncated"}),
    "disposed": lambda chat, worker: chat.client.request("disposeChat", channel=worker),
}


@pytest.mark.parametrize("how", END)
async def test_a_boss_does_not_wait_for_a_worker_that_was_taken_away(
    shared_host: ServedHost, how: str
) -> None:
    async with at_work(shared_host, how, "/slow 1000") as (chat, worker):
        await END[how](chat, worker)
        turn = await chat.end("t1")
        assert turn["state"] == "complete"
        assert said(turn).startswith("The worker is cancelled: ")
        (call,) = calls_of(turn)
        assert (call["status"], call["success"]) == ("completed", False)
        await chat.client.ping()
        assert chat.waiting == []
        assert await chat.status() == IDLE


async def test_workers_of_workers_end_somewhere(shared_host: ServedHost) -> None:
    async with at_chat(shared_host.url, "deep", OLDEST) as chat:
        turn = await chat.run("t1", "/subagent " * 9 + "hello")
        assert turn["state"] == "complete"
        chats = chat.client.states[chat.session]["chats"]
        assert len(chats) == 1 + 4
        deepest = (await chat.client.fresh(chats[-1]["resource"]))["turns"][0]
        assert failure_of(deepest) == {
            "errorType": "tooDeep",
            "message": "workers may not start workers any deeper",
        }
        assert calls_of(deepest)[0]["error"]["message"] == failure_of(deepest)["message"]
        # Each says who called it.
        for boss, entry in itertools.pairwise(chats):
            assert entry["origin"]["chat"] == boss["resource"]


async def test_a_crash_ends_workers_and_bosses_alike(own_host: ServedHost) -> None:
    async with at_work(own_host, "crash", "/run true") as (chat, worker):
        await call_in(chat.client, worker, "pending-confirmation")
        await chat.client.ping()
        await own_host.kill()
        await own_host.start()
        async with open_client(own_host.url, "again") as client:
            await client.initialize(chat.session, chat.uri, worker)
            assert "inputNeeded" not in client.states[chat.session]
            for uri in (chat.uri, worker):
                (turn,) = client.states[uri]["turns"]
                assert turn["state"] == "error"
                (call,) = calls_of(turn)
                assert (call["status"], call["reason"]) == ("cancelled", "skipped")
            again = Chat(chat.uri, chat.session, [client])
            assert said(await again.run("t2", "/subagent hello")).startswith("The worker is")


class Boss(Agent):
    """Has several workers at once, seen and unseen."""

    provider, display_name = "boss", "Boss"

    async def run(self, turn: Turn) -> None:
        if turn.message["origin"]["kind"] == "tool":
            if turn.text == "trip":
                raise AgentError("tripped")
            await turn.write(f"{turn.text} done")
            return
        done = await asyncio.gather(*(self.delegate(turn, text) for text in turn.text.split()))
        await turn.write(", ".join(done))

    async def delegate(self, turn: Turn, text: str) -> str:
        async with turn.tool("worker", input=text) as call:
            worker = await call.delegate(text, title=text.title(), interactivity="hidden")
            return worker.error or worker.text


async def test_several_workers_at_once_each_have_a_chat_of_their_own() -> None:
    async with embed(Boss()) as url, at_chat(url, "several", OLDEST) as chat:
        turn = await chat.run("t1", "walk trip run")
        assert said(turn) == "walk done, tripped, run done"
        calls = calls_of(turn)
        assert [call["success"] for call in calls] == [True, False, True]
        chats = chat.client.states[chat.session]["chats"][1:]
        assert [entry["interactivity"] for entry in chats] == ["hidden"] * 3
        # They are made beside each other, in any order.
        titles = {entry["origin"]["toolCallId"]: entry["title"] for entry in chats}
        assert [titles[call["toolCallId"]] for call in calls] == ["Walk", "Trip", "Run"]
        reason = await chat.client.rejected(
            chats[0]["resource"], chat.client.turn_started("t2", "hello")
        )
        assert reason == "this chat is hidden: it takes no messages"
        await chat.assert_agreed()
