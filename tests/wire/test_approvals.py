"""Approvals on the wire: `/run` asks first, anybody answers, and nobody waits for ever."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from tests.wire.client import open_client, user_message
from tests.wire.demonstrating import OPTIONS, asked, demo
from tests.wire.hosting import ServedHost, embed, serve
from tests.wire.talking import (
    INPUT_NEEDED,
    NEWEST,
    OLDEST,
    Chat,
    call_in,
    calls_of,
    confirmed,
    parts_of,
    said,
)
from tests.wire.terminal_blocks import blocks_of, opened, shown_by, until_printed

pytestmark = pytest.mark.asyncio(loop_scope="module")

Json = dict[str, Any]

# Short enough to wait for, long enough to be asked in.
SHORT = 0.3


async def test_run_asks_first_and_everybody_sees_what_is_asked(
    shared_host: ServedHost, tmp_path: Path
) -> None:
    async with demo(shared_host, tmp_path, OLDEST) as chat:
        call = await asked(chat, "t1", "/run echo hello")
        (call,) = (part["toolCall"] for part in parts_of(chat.state, "toolCall"))
        assert call["confirmationTitle"] == "Run this command?"
        assert call["invocationMessage"] == "Run echo hello"
        assert call["toolInput"] == "echo hello"
        assert call["editable"] is True
        assert [option["id"] for option in call["options"]] == OPTIONS
        assert [option["kind"] for option in call["options"]] == ["approve"] * 2 + ["deny"] * 2
        assert [option["group"] for option in call["options"]] == [0, 0, 1, 1]
        await chat.client.ping()
        (needed,) = chat.waiting
        assert (needed["kind"], needed["chat"]) == ("toolConfirmation", chat.uri)
        assert (needed["turnId"], needed["toolCall"]) == ("t1", call)
        assert chat.state["status"] & 31 == await chat.status() == INPUT_NEEDED
        await chat.answer(confirmed("t1", call, True))
        await chat.end("t1")
        await chat.assert_at_rest()


@pytest.mark.parametrize("answerer", [0, 1], ids=[NEWEST, OLDEST])
async def test_either_client_may_approve_and_the_other_sees_it_at_once(
    shared_host: ServedHost, tmp_path: Path, answerer: int
) -> None:
    async with demo(shared_host, tmp_path, OLDEST) as chat:
        call = await asked(chat, "t1", "/run echo hello; echo oops >&2")
        one, other = chat.clients[answerer], chat.clients[1 - answerer]
        answer = confirmed("t1", call, True)
        envelope = await chat.answer(answer, one)
        seen = await other.envelope(
            chat.uri, lambda e: e["action"]["type"] == "chat/toolCallConfirmed"
        )
        assert seen["serverSeq"] == envelope["serverSeq"]
        assert seen["origin"]["clientId"] == one.client_id
        turn = await chat.end("t1")
        (call,) = calls_of(turn)
        assert (call["confirmed"], call["success"]) == ("user-action", True)
        assert shown_by(call) == "hello\noops\n"
        assert call["structuredContent"] == {"exitCode": 0, "truncated": False}
        assert said(turn) == "The command ended with exit code 0."
        await chat.assert_at_rest()


async def test_of_two_answers_the_first_counts_and_the_second_is_refused(
    shared_host: ServedHost, tmp_path: Path
) -> None:
    async with demo(shared_host, tmp_path, OLDEST) as chat:
        call = await asked(chat, "t1", "/run echo hello")
        yes, no = (confirmed("t1", call, approved) for approved in (True, False))
        envelopes = await asyncio.gather(
            chat.clients[0].dispatched(chat.uri, yes), chat.clients[1].dispatched(chat.uri, no)
        )
        refused = [e for e in envelopes if "rejectionReason" in e]
        assert len(refused) == 1
        assert "does not wait for confirmation" in refused[0]["rejectionReason"]
        approved = refused[0]["action"] == no
        (call,) = calls_of(await chat.end("t1"))
        assert call["status"] == ("completed" if approved else "cancelled")
        await chat.assert_at_rest()


async def test_allowing_once_is_asked_again_and_allowing_in_the_session_is_not(
    shared_host: ServedHost, tmp_path: Path
) -> None:
    async with demo(shared_host, tmp_path) as chat:
        for number, option in enumerate(("allow-once", "allow-in-session")):
            call = await asked(chat, f"t{number}", "/run true")
            await chat.answer(confirmed(f"t{number}", call, True, selectedOptionId=option))
            (call,) = calls_of(await chat.end(f"t{number}"))
            assert call["selectedOption"]["id"] == option
        (call,) = calls_of(await chat.run("t2", "/run echo unasked"))
        assert (call["confirmed"], call["success"]) == ("setting", True)
        assert shown_by(call) == "unasked\n"
        async with demo(shared_host, tmp_path / "elsewhere") as other:
            # What one session allows says nothing about another.
            await asked(other, "t1", "/run true")


async def test_what_is_allowed_in_a_session_stays_allowed_after_a_restart(
    own_host: ServedHost, tmp_path: Path
) -> None:
    async with demo(own_host, tmp_path) as chat:
        call = await asked(chat, "t1", "/run true")
        await chat.answer(confirmed("t1", call, True, selectedOptionId="allow-in-session"))
        await chat.end("t1")
        session, uri = chat.session, chat.uri
    await own_host.kill()
    await own_host.start()
    async with open_client(own_host.url, "again") as client:
        await client.initialize(session, uri)
        again = Chat(uri, session, [client])
        (call,) = calls_of(await again.run("t2", "/run true"))
        assert (call["confirmed"], call["success"]) == ("setting", True)


@pytest.mark.parametrize("answerer", [0, 1], ids=[NEWEST, OLDEST])
async def test_what_somebody_makes_of_a_command_is_what_runs(
    shared_host: ServedHost, tmp_path: Path, answerer: int
) -> None:
    async with demo(shared_host, tmp_path, OLDEST) as chat:
        call = await asked(chat, "t1", "/run touch old")
        edit = confirmed("t1", call, True, editedToolInput="touch new; echo made")
        await chat.answer(edit, chat.clients[answerer])
        (call,) = calls_of(await chat.end("t1"))
        assert call["toolInput"] == "touch new; echo made"
        assert shown_by(call) == "made\n"
        assert os.listdir(tmp_path) == ["new"]
        await chat.assert_at_rest()


async def test_a_command_that_is_denied_does_not_run_and_the_agent_learns_why(
    shared_host: ServedHost, tmp_path: Path
) -> None:
    async with demo(shared_host, tmp_path, OLDEST) as chat:
        call = await asked(chat, "t1", "/run touch forbidden")
        deny = confirmed(
            *("t1", call, False),
            selectedOptionId="deny-with-reason",
            reasonMessage="too dangerous",
            userSuggestion=user_message("list the files instead"),
        )
        await chat.answer(deny)
        turn = await chat.end("t1")
        (call,) = calls_of(turn)
        assert (call["status"], call["reason"]) == ("cancelled", "denied")
        assert call["reasonMessage"] == "too dangerous"
        assert call["selectedOption"]["id"] == "deny-with-reason"
        assert said(turn) == (
            "Then I will not. You said: too dangerous You suggest: list the files instead"
        )
        assert turn["state"] == "complete"
        assert os.listdir(tmp_path) == []
        await chat.assert_at_rest()


async def test_plain_denials_and_skips_need_no_reason(
    shared_host: ServedHost, tmp_path: Path
) -> None:
    async with demo(shared_host, tmp_path) as chat:
        for number, more in enumerate(({"selectedOptionId": "deny"}, {"reason": "skipped"})):
            call = await asked(chat, f"t{number}", "/run touch forbidden")
            await chat.answer(confirmed(f"t{number}", call, False, **more))
            assert said(await chat.end(f"t{number}")) == "Then I will not."
        assert os.listdir(tmp_path) == []


async def test_answers_that_do_not_fit_the_question_are_refused_and_it_stays_open(
    shared_host: ServedHost, tmp_path: Path
) -> None:
    async with demo(shared_host, tmp_path, OLDEST) as chat:
        call = await asked(chat, "t1", "/edit a.txt text")
        before = chat.state
        for client in chat.clients:
            for action, reason in (
                (confirmed("t1", call, True, selectedOptionId="perhaps"), "no option perhaps"),
                (confirmed("t1", call, True, selectedOptionId="deny"), "means to deny"),
                (confirmed("t1", call, False, selectedOptionId="allow-once"), "means to approve"),
                (confirmed("t1", call, True, editedToolInput="{}"), "may not be edited"),
                (confirmed("t0", call, True), "not the one that is running"),
                (confirmed("t1", {"toolCallId": "x"}, True), "no tool call x"),
            ):
                assert reason in await client.rejected(chat.uri, action)
        assert chat.state == before
        assert len(chat.waiting) == 1
        await chat.answer(confirmed("t1", call, False))
        await chat.end("t1")


async def test_a_command_that_fails_says_with_which_code(
    shared_host: ServedHost, tmp_path: Path
) -> None:
    async with demo(shared_host, tmp_path) as chat:
        call = await asked(chat, "t1", "/run echo before; exit 7")
        await chat.answer(confirmed("t1", call, True))
        turn = await chat.end("t1")
        (call,) = calls_of(turn)
        assert call["success"] is False
        assert call["error"] == {"message": "exit code 7"}
        assert shown_by(call) == "before\n"
        assert (turn["state"], said(turn)) == ("complete", "The command ended with exit code 7.")


async def test_output_is_shown_while_a_command_runs(
    shared_host: ServedHost, tmp_path: Path
) -> None:
    async with demo(shared_host, tmp_path, OLDEST) as chat:
        call = await asked(chat, "t1", "/run echo first; read line < gate; echo $line")
        os.mkfifo(tmp_path / "gate")
        await chat.answer(confirmed("t1", call, True))
        for client in chat.clients:
            await until_printed(client, await opened(client, chat.uri), "first\r\n")
        (tmp_path / "gate").write_text("second\n")
        (call,) = calls_of(await chat.end("t1"))
        assert shown_by(call) == "first\nsecond\n"
        await chat.assert_at_rest()


async def test_a_long_output_ends_as_a_reference_that_can_be_read(
    shared_host: ServedHost, tmp_path: Path
) -> None:
    async with demo(shared_host, tmp_path, OLDEST) as chat:
        call = await asked(chat, "t1", "/run seq 1 20000")
        await chat.answer(confirmed("t1", call, True))
        (call,) = calls_of(await chat.end("t1"))
        (terminal,) = blocks_of(call)
        assert terminal["result"]["truncated"] is True
        _, text, reference = call["content"]
        assert text["text"].endswith("\n20000\n")
        assert reference["type"] == "resource"
        read = await chat.client.request("resourceRead", uri=reference["uri"])
        assert read["data"] == "".join(f"{number}\n" for number in range(1, 20001))
        assert reference["sizeHint"] == len(read["data"])
        await chat.assert_at_rest()


async def test_a_prompt_outlives_the_connection_that_caused_it(
    shared_host: ServedHost, tmp_path: Path
) -> None:
    async with demo(shared_host, tmp_path) as chat:
        await asked(chat, "t1", "/run echo patience")
        first = chat.client
        first.abort()
        await first.closed
        async with open_client(shared_host.url, first.client_id) as again:
            await again.resume(first)
            chat.clients = [again]
            call = await call_in(again, chat.uri, "pending-confirmation")
            assert len(chat.waiting) == 1
            await chat.answer(confirmed("t1", call, True))
            (call,) = calls_of(await chat.end("t1"))
            assert call["success"] is True
            await chat.assert_at_rest()


async def test_somebody_who_watches_only_the_session_can_answer(
    shared_host: ServedHost, tmp_path: Path
) -> None:
    async with (
        demo(shared_host, tmp_path) as chat,
        open_client(shared_host.url, "only the session") as watcher,
    ):
        await asked(chat, "t1", "/run echo from afar")
        await watcher.initialize(chat.session)
        (needed,) = watcher.states[chat.session]["inputNeeded"]
        await watcher.dispatch(
            needed["chat"], confirmed(needed["turnId"], needed["toolCall"], True)
        )
        (call,) = calls_of(await chat.end("t1"))
        assert call["success"] is True
        await watcher.action(chat.session, "session/inputNeededRemoved", id=needed["id"])
        assert "inputNeeded" not in watcher.states[chat.session]


@pytest.mark.parametrize(
    ("text", "reason", "reply"),
    [
        ("/run touch forbidden", "skipped", "Then I will not. You said: nobody answered in time"),
        ("/edit forbidden text", "skipped", "Then I will not. You said: nobody answered in time"),
        ("/review", "result-denied", "The report is withdrawn."),
    ],
)
async def test_a_tool_call_that_nobody_answers_is_given_up_and_the_turn_goes_on(
    tmp_path: Path, text: str, reason: str, reply: str
) -> None:
    async with embed(prompt_timeout=SHORT) as url, demo(url, tmp_path, OLDEST) as chat:
        turn = await chat.run("t1", text)
        (call,) = calls_of(turn)
        assert (call["status"], call["reason"]) == ("cancelled", reason)
        if reason == "skipped":
            assert call["reasonMessage"] == "nobody answered in time"
        assert (turn["state"], said(turn)) == ("complete", reply)
        shown = await chat.client.action(chat.session, "session/inputNeededSet")
        assert shown["request"]["kind"] == "toolConfirmation"
        assert os.listdir(tmp_path) == []
        await chat.assert_at_rest()


async def test_serve_takes_the_time_after_which_nobody_is_waited_for(tmp_path: Path) -> None:
    async with (
        serve(tmp_path / "data", "--prompt-timeout", str(SHORT)) as host,
        demo(host, tmp_path) as chat,
    ):
        turn = await chat.run("t1", "/ask")
        assert said(turn) == "You chose to cancel."
        await chat.assert_at_rest()
