"""A turn of an ACP agent that failed goes on: in the agent's own session, or told what it did."""

from __future__ import annotations

import asyncio
from pathlib import Path

from agenthost.agents.acp.sessions.history_text import CONTINUE
from tests.agents.acp.stage import UNDER_TEST, Json, acp_agent, spoken, staged, stored
from tests.agents.acp.test_continuity import kill, remembered
from tests.agents.failures import failure, is_resumable
from tests.wire.talking import Chat, said


async def resume(chat: Chat, turn_id: str) -> Json:
    """Take a turn up again and wait for its end."""
    before = len(chat.client.received)
    await chat.answer({"type": "chat/turnResume", "turnId": turn_id})
    await chat.client.until(lambda: _ended(chat, before))
    turn: Json = chat.state["turns"][-1]
    assert turn["id"] == turn_id
    return turn


def _ended(chat: Chat, since: int) -> Json | None:
    actions = [m.get("params", {}).get("action", {}) for m in chat.client.received[since:]]
    endings = ("chat/turnComplete", "chat/turnCancelled", "chat/error")
    return next((action for action in actions if action.get("type") in endings), None)


def loading(folder: Path) -> dict[str, str]:
    sessions = folder / "sessions"
    sessions.mkdir(exist_ok=True)
    return {"ACP_STORE": str(sessions)}


async def test_an_agent_that_failed_is_told_to_go_on_in_the_session_it_has(tmp_path: Path) -> None:
    async with staged(acp_agent(), tmp_path) as stage:
        chat = stage.default
        failed = await chat.run("t1", "/error once")
        assert is_resumable(failed)
        turn = await resume(chat, "t1")
        assert (turn["state"], len(chat.state["turns"])) == ("complete", 1)
        assert said(turn).endswith(f"You said: {CONTINUE}")
        assert await remembered(chat, "t2") == ["/error once", CONTINUE]


async def test_an_agent_that_can_load_goes_on_in_its_session_in_another_process(
    tmp_path: Path,
) -> None:
    async with stored(acp_agent(env=loading(tmp_path)), tmp_path) as chat:
        await chat.run("t0", "hello")
        await kill(chat, "t1")
        assert is_resumable(chat.state["turns"][-1])
        turn = await resume(chat, "t1")
        assert said(turn).endswith(f"You said: {CONTINUE}")
        assert await remembered(chat, "t2") == ["hello", "/wait", CONTINUE]


async def test_after_a_restart_of_the_host_the_session_is_loaded_and_nothing_told_again(
    tmp_path: Path,
) -> None:
    env = loading(tmp_path)
    async with stored(acp_agent(env=env), tmp_path) as chat:
        # The very first turn: nothing but what was kept names the agent's session.
        await kill(chat, "t1")
    async with stored(acp_agent(env=env), tmp_path, chat.uri) as chat:
        turn = await resume(chat, "t1")
        assert said(turn).endswith(f"You said: {CONTINUE}")
        assert await remembered(chat, "t2") == ["/wait", CONTINUE]


async def test_a_turn_that_the_stop_of_the_host_ended_goes_on_with_the_next_one(
    tmp_path: Path,
) -> None:
    env = loading(tmp_path)
    async with stored(acp_agent(env=env), tmp_path) as chat:
        await chat.run("t0", "hello")
        await chat.start("t1", "/stream")
        await spoken(chat, "more")
    async with stored(acp_agent(env=env), tmp_path, chat.uri) as chat:
        assert failure(chat.state["turns"][-1])["errorType"] == "hostStopped"
        turn = await resume(chat, "t1")
        assert turn["state"] == "complete"
        assert await remembered(chat, "t2") == ["hello", "/stream", CONTINUE]


async def test_an_agent_without_memory_is_told_the_message_and_what_it_has_done(
    tmp_path: Path,
) -> None:
    async with staged(acp_agent(), tmp_path) as stage:
        chat = stage.default
        await chat.run("t0", "hello")
        await kill(chat, "t1")
        turn = await resume(chat, "t1")
        assert turn["state"] == "complete"
        (told,) = await remembered(chat, "t2")
        assert "User: hello" in told
        assert "\n/wait\n" in told
        assert "You began to answer the message above" in told
        assert told.count("You said: hello") == 1


async def test_a_message_that_the_agent_never_got_is_sent_as_it_is(tmp_path: Path) -> None:
    program = tmp_path / "agent"
    async with staged(acp_agent([str(program)]), tmp_path) as stage:
        chat = stage.default
        failed = await chat.run("t1", "hello")
        assert failure(failed)["errorType"] == "agentNotStarted"
        assert is_resumable(failed)
        program.write_text(f"#!/bin/sh\nexec {' '.join(UNDER_TEST)}\n")
        program.chmod(0o755)
        turn = await resume(chat, "t1")
        assert (turn["state"], said(turn)) == ("complete", "You said: hello")


async def test_a_message_that_was_lost_on_the_way_is_sent_again(tmp_path: Path) -> None:
    env = loading(tmp_path)
    async with stored(acp_agent(env=env), tmp_path) as chat:
        await chat.run("t0", "hello")
        await kill(chat, "t1")
        (file,) = (tmp_path / "sessions").iterdir()
        # As an agent has it that writes down only what it has finished.
        file.write_text('["hello"]')
        turn = await resume(chat, "t1")
        hello, again = await remembered(chat, "t2")
        assert turn["state"] == "complete"
        assert (hello, again.splitlines()[0]) == ("hello", "/wait")


async def test_what_an_agent_refuses_cannot_be_taken_up_again(tmp_path: Path) -> None:
    async with staged(acp_agent(), tmp_path) as stage:
        turn = await stage.default.run("t1", "/stop refusal")
        assert failure(turn)["errorType"] == "refusal"
        assert not is_resumable(turn)


async def test_two_chats_keep_their_own_sessions_over_a_restart(tmp_path: Path) -> None:
    env = loading(tmp_path)
    async with stored(acp_agent(env=env), tmp_path) as chat:
        uri = "ahp-chat:/second"
        await chat.client.request("createChat", channel=chat.session, chat=uri)
        await chat.client.subscribe(uri)
        other = Chat(uri, chat.session, [chat.client])
        await chat.run("t0", "hello")
        await other.run("o0", "other")
        await asyncio.gather(chat.start("t1", "/stream"), other.start("o1", "/stream"))
        for one in (chat, other):
            await spoken(one, "more")
    async with stored(acp_agent(env=env), tmp_path, chat.uri) as chat:
        await chat.client.subscribe(uri)
        other = Chat(uri, chat.session, [chat.client])
        await resume(chat, "t1")
        await resume(other, "o1")
        assert await remembered(chat, "t2") == ["hello", "/stream", CONTINUE]
        assert await remembered(other, "o2") == ["other", "/stream", CONTINUE]
