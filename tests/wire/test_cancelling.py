"""Cancelling a turn, whatever it is doing: it ends at once, and nothing of it is left."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agenthost.agents import Agent, Turn
from tests.children import gone
from tests.flags import Flag, eventually
from tests.wire.client import WireClient
from tests.wire.hosting import ServedHost, embed, serve
from tests.wire.talking import (
    IDLE,
    OLDEST,
    Chat,
    at_chat,
    call_in,
    calls_of,
    cancelled,
    completed,
    confirmed,
    request_in,
    said,
)
from tests.wire.terminal_blocks import blocks_of, numbers_printed

pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="needs a system with pidfd"),
]

Json = dict[str, Any]

# Seconds in which a turn that is cancelled has ended for everybody; what it waits for takes 1,000.
SOON = 60.0
# A shell, a child that it leaves to itself, and one that has a child of its own: all print their
# ids and would run for a long time.
COMMAND = "echo $$; sleep 1000 & echo $!; sh -c 'echo $$; sleep 1000; true'"
STUBBORN = f"trap '' TERM; {COMMAND}"


async def assert_cancelled(chat: Chat, turn_id: str) -> Json:
    """Cancel the running turn: it ends soon, nothing waits, and the next one works."""
    async with asyncio.timeout(SOON):
        await chat.cancel(turn_id, chat.clients[-1])
        turn = await chat.end(turn_id)
    assert turn["state"] == "cancelled"
    assert all(call["status"] in ("completed", "cancelled") for call in calls_of(turn))
    await chat.client.ping()
    assert chat.waiting == []
    assert "activity" not in chat.state
    after = await chat.run(f"{turn_id} again", "hello")
    assert said(after).startswith("You said **hello**")
    await chat.assert_at_rest()
    return turn


async def pids_in(client: WireClient, chat: str, count: int = 3) -> list[int]:
    """Wait until a running command has printed so many process ids."""
    pids = await numbers_printed(client, chat, count)
    for pid in pids:
        # They exist, or nothing below would mean anything.
        os.kill(pid, 0)
    return pids


async def running_command(chat: Chat, turn_id: str, command: str = COMMAND) -> list[int]:
    """Start a command, let it run, and return its process ids."""
    await chat.start(turn_id, f"/run {command}")
    call = await call_in(chat.client, chat.uri, "pending-confirmation")
    await chat.answer(confirmed(turn_id, call, True))
    return await pids_in(chat.client, chat.uri)


async def worker_of(chat: Chat) -> str:
    """Wait until the running turn has a worker, subscribe to its chat and return it."""

    def find() -> Json | None:
        for call in calls_of(chat.state.get("activeTurn") or {"responseParts": []}):
            for block in call.get("content", ()):
                if block["type"] == "subagent":
                    found: Json = block
                    return found
        return None

    worker: str = (await chat.client.until(find))["resource"]
    await chat.client.subscribe(worker)
    return worker


async def test_while_it_streams(shared_host: ServedHost, tmp_path: Path) -> None:
    async with at_chat(shared_host.url, "streams", OLDEST) as chat:
        await chat.start("t1", "/stream 10000000 100")
        await chat.client.action(chat.uri, "chat/delta")
        turn = await assert_cancelled(chat, "t1")
        assert said(turn)
        for client in chat.clients:
            actions = [envelope["action"] for envelope in client.envelopes[chat.uri]]
            end = next(i for i, a in enumerate(actions) if a["type"] == "chat/turnCancelled")
            assert all(action.get("turnId") != "t1" for action in actions[end + 1 :])


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("/run touch forbidden", "pending-confirmation"),
        ("/edit forbidden text", "pending-confirmation"),
        ("/review", "pending-result-confirmation"),
    ],
)
async def test_while_it_waits_for_approval(
    shared_host: ServedHost, tmp_path: Path, text: str, status: str
) -> None:
    directories = [tmp_path.as_uri()]
    async with at_chat(
        shared_host.url, tmp_path.name, OLDEST, workingDirectories=directories
    ) as chat:
        await chat.start("t1", text)
        call = await call_in(chat.client, chat.uri, status)
        turn = await assert_cancelled(chat, "t1")
        (ended,) = calls_of(turn)
        assert (ended["status"], ended["reason"]) == ("cancelled", "skipped")
        # An answer that comes too late finds nothing to answer.
        assert "no turn" in await chat.client.rejected(chat.uri, confirmed("t1", call, True))
        assert os.listdir(tmp_path) == []


async def test_while_it_waits_for_an_answer(shared_host: ServedHost) -> None:
    async with at_chat(shared_host.url, "asks", OLDEST) as chat:
        await chat.start("t1", "/ask")
        request = await request_in(chat.client, chat.uri)
        turn = await assert_cancelled(chat, "t1")
        (part,) = turn["responseParts"]
        assert part["kind"] == "inputRequest"
        assert "response" not in part
        late = {"type": "chat/inputCompleted", "requestId": request["id"], "response": "decline"}
        assert "no open request" in await chat.client.rejected(chat.uri, late)


async def test_while_a_client_runs_its_tool(shared_host: ServedHost) -> None:
    async with at_chat(shared_host.url, "client tool", OLDEST) as chat:
        tool = {"name": "look", "inputSchema": {"type": "object"}}
        entry = {"clientId": chat.client.client_id, "tools": [tool]}
        await chat.client.accepted(
            chat.session, {"type": "session/activeClientSet", "activeClient": entry}
        )
        await chat.start("t1", "/client-tool look {}")
        call = await call_in(chat.client, chat.uri, "running")
        await assert_cancelled(chat, "t1")
        assert "no turn" in await chat.client.rejected(chat.uri, completed("t1", call))


async def test_while_it_works_and_can_be_steered(shared_host: ServedHost) -> None:
    async with at_chat(shared_host.url, "steered", OLDEST) as chat:
        await chat.start("t1", "/slow 1000")
        await chat.client.action(chat.uri, "chat/activityChanged", activity="working slowly")
        await assert_cancelled(chat, "t1")


@pytest.mark.parametrize("command", [COMMAND, STUBBORN], ids=["willing", "stubborn"])
async def test_while_it_runs_a_command(shared_host: ServedHost, command: str) -> None:
    async with at_chat(shared_host.url, f"runs {len(command)}", OLDEST) as chat:
        pids = await running_command(chat, "t1", command)
        turn = await assert_cancelled(chat, "t1")
        (call,) = calls_of(turn)
        assert (call["status"], call["reason"]) == ("cancelled", "skipped")
        for pid in pids:
            await gone(pid)


async def test_while_it_runs_what_somebody_made_of_its_command(shared_host: ServedHost) -> None:
    async with at_chat(shared_host.url, "edited", OLDEST) as chat:
        await chat.start("t1", "/run true")
        call = await call_in(chat.client, chat.uri, "pending-confirmation")
        await chat.answer(confirmed("t1", call, True, editedToolInput=COMMAND), chat.clients[1])
        pids = await pids_in(chat.client, chat.uri)
        await assert_cancelled(chat, "t1")
        for pid in pids:
            await gone(pid)


@pytest.mark.parametrize("text", ["/slow 1000", "/subagent /slow 1000", "/stream 10000000"])
async def test_while_it_has_a_worker(shared_host: ServedHost, text: str) -> None:
    async with at_chat(shared_host.url, f"worker {text}".replace("/", ""), OLDEST) as chat:
        await chat.start("t1", f"/subagent {text}")
        worker = await worker_of(chat)
        await assert_cancelled(chat, "t1")
        for entry in chat.client.states[chat.session]["chats"]:
            assert entry["status"] & 31 == IDLE
        fresh = await chat.client.fresh(worker)
        assert [turn["state"] for turn in fresh["turns"]] == ["cancelled"]


async def test_while_its_worker_waits_for_approval(shared_host: ServedHost) -> None:
    async with at_chat(shared_host.url, "worker waits", OLDEST) as chat:
        await chat.start("t1", "/subagent /run true")
        worker = await worker_of(chat)
        await call_in(chat.client, worker, "pending-confirmation")
        await chat.client.ping()
        (needed,) = chat.waiting
        assert (needed["kind"], needed["chat"]) == ("toolConfirmation", worker)
        await assert_cancelled(chat, "t1")
        (call,) = calls_of((await chat.client.fresh(worker))["turns"][0])
        assert (call["status"], call["reason"]) == ("cancelled", "skipped")


async def test_while_its_worker_runs_a_command(shared_host: ServedHost) -> None:
    async with at_chat(shared_host.url, "worker runs", OLDEST) as chat:
        await chat.start("t1", f"/subagent /run {COMMAND}")
        worker = await worker_of(chat)
        call = await call_in(chat.client, worker, "pending-confirmation")
        turn_id = chat.client.states[worker]["activeTurn"]["id"]
        await chat.client.accepted(worker, confirmed(turn_id, call, True))
        pids = await pids_in(chat.client, worker)
        await assert_cancelled(chat, "t1")
        for pid in pids:
            await gone(pid)


END: dict[str, Callable[[Chat], Any]] = {
    "the turn is truncated": lambda chat: chat.answer({"type": "chat/truncated"}),
    "the chat is disposed": lambda chat: chat.client.request("disposeChat", channel=chat.uri),
    "the session is disposed": lambda chat: chat.client.request(
        "disposeSession", channel=chat.session
    ),
}


@pytest.mark.parametrize("how", END)
@pytest.mark.parametrize("stored", ["kept", "deleted"])
async def test_a_command_ends_when(how: str, stored: str) -> None:
    disposal = "trash" if stored == "kept" else "delete"
    async with embed(disposal=disposal) as url, at_chat(url, "ends") as chat:
        pids = await running_command(chat, "t1")
        await END[how](chat)
        for pid in pids:
            await gone(pid)


async def test_a_command_ends_when_the_host_stops(own_host: ServedHost) -> None:
    async with at_chat(own_host.url, "stops") as chat:
        pids = await running_command(chat, "t1", STUBBORN)
        assert await own_host.stop() == 0
        for pid in pids:
            await gone(pid)


async def test_a_command_ends_by_itself_with_all_that_it_left_behind(
    shared_host: ServedHost,
) -> None:
    async with at_chat(shared_host.url, "left behind", OLDEST) as chat:
        await chat.start("t1", "/run sleep 1000 & echo $!")
        call = await call_in(chat.client, chat.uri, "pending-confirmation")
        await chat.answer(confirmed("t1", call, True))
        turn = await chat.end("t1")
        (call,) = calls_of(turn)
        assert call["success"] is True
        (terminal,) = blocks_of(call)
        await gone(int(terminal["result"]["preview"]))
        await chat.assert_at_rest()


class Deaf(Agent):
    """Does not hear when it is cancelled, at first."""

    provider, display_name = "deaf", "Deaf"

    def __init__(self) -> None:
        self.waits = Flag()
        self.may_stop = Flag()
        # What its attempts to go on led to.
        self.told: list[str] = []

    async def run(self, turn: Turn) -> None:
        if turn.text == "hello":
            await turn.write("You said **hello**")
            return
        await turn.write("I am ")
        self.waits.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            await self.may_stop.wait()
        for attempt in (turn.write("late"), turn.ask("really?"), turn.next_steering()):
            try:
                await attempt
            except asyncio.CancelledError:
                self.told.append("it is over")
        call = turn.tool("late")
        await call.__aenter__()


async def test_an_agent_that_does_not_stop_disturbs_nobody() -> None:
    agent = Deaf()
    async with embed(agent) as url, at_chat(url, "deaf", OLDEST) as chat:
        await chat.start("t1", "go")
        # What it wrote may be seen before its thread goes on, and would end it too early.
        await agent.waits.wait()
        # The chat works again while the agent still lingers, and what it does then is nothing.
        await assert_cancelled(chat, "t1")
        agent.may_stop.set()
        await chat.run("t2", "hello")
        # Its thread goes on beside ours.
        await eventually(lambda: len(agent.told) == 3)
        assert agent.told == ["it is over"] * 3
        await chat.assert_at_rest()
        assert [said(turn) for turn in chat.state["turns"]] == [
            *("I am ", "You said **hello**", "You said **hello**")
        ]


class Forking(Agent):
    """Leaves tasks behind that wait for people."""

    provider, display_name = "forking", "Forking"

    def __init__(self) -> None:
        self.left: list[asyncio.Task[Any]] = []

    async def run(self, turn: Turn) -> None:
        self.left = [asyncio.ensure_future(turn.next_steering())]
        self.left.append(asyncio.ensure_future(turn.ask("anybody there?")))
        await asyncio.sleep(0)


async def test_what_an_agent_leaves_waiting_ends_with_its_turn() -> None:
    agent = Forking()
    async with embed(agent) as url, at_chat(url, "forking", OLDEST) as chat:
        turn = await chat.run("t1", "go")
        assert turn["state"] == "complete"
        await eventually(lambda: all(task.done() for task in agent.left))
        assert all(task.cancelled() for task in agent.left)
        await chat.assert_at_rest()


async def test_only_the_running_turn_can_be_cancelled_and_only_once(
    shared_host: ServedHost,
) -> None:
    async with at_chat(shared_host.url, "once", OLDEST) as chat:
        early, wrong = (cancelled(chat.client, turn_id) for turn_id in ("t1", "t0"))
        assert "no turn to cancel" in await chat.client.rejected(chat.uri, early)
        await chat.start("t1", "/slow 1000")
        assert "not the one" in await chat.client.rejected(chat.uri, wrong)
        envelopes = await asyncio.gather(
            *(client.dispatched(chat.uri, cancelled(client, "t1")) for client in chat.clients)
        )
        refused = [envelope for envelope in envelopes if "rejectionReason" in envelope]
        assert len(refused) == 1
        assert "no turn to cancel" in refused[0]["rejectionReason"]
        await chat.end("t1")
        await chat.assert_at_rest()


@pytest.mark.parametrize("command", [COMMAND, STUBBORN], ids=["willing", "stubborn"])
async def test_a_command_does_not_outlive_a_host_that_is_killed(
    tmp_path: Path, command: str
) -> None:
    async with serve(tmp_path / "data", cwd=tmp_path) as host:
        async with at_chat(host.url, "orphans") as chat:
            pids = await running_command(chat, "t1", command)
            await host.kill()
        for pid in pids:
            await gone(pid)
