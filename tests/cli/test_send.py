"""``agenthost send`` against a real host: what goes where, what is approved, how it ends."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shlex
import signal
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from agenthost.agents import Agent, AgentError, Turn
from agenthost.agents.common_settings import COMMON_SETTINGS
from agenthost.cli.commands.send import send
from agenthost.cli.connection import host_connection as connecting
from agenthost.cli.main import build_parser
from agenthost.client import connect
from agenthost.protocol import SUPPORTED_VERSIONS
from tests.cli.running import Cli, serving
from tests.wire.hosting import PATIENCE, embed

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def turn_state(cli: Cli, session: str) -> Any:
    done = await cli.main("export", session, "--json")
    return done.json["chats"][0]["turns"][-1]["state"]


async def until_running(cli: Cli, title: str) -> str:
    """Wait until the session with a title is at work; return its URI."""
    async with cli.client() as client, asyncio.timeout(PATIENCE):
        async for sessions in client.sessions.watch():
            for uri, summary in sessions.items():
                if summary["title"] == title and summary["status"] & 8:
                    return uri
    raise AssertionError("the catalogue ended")


async def test_the_answer_is_all_that_goes_to_standard_output(cli: Cli) -> None:
    done = await cli("send", "hello")
    assert done.code == 0
    assert done.out.rstrip() == ("You said **hello**.\n\nSay `/help` to see what else I can do.")
    assert done.out.endswith("\n")
    assert done.err.startswith("session ahp-session:/")
    assert "\x1b" not in done.out + done.err


async def test_a_prompt_comes_from_standard_input_too(cli: Cli) -> None:
    done = await cli("send", "-", "--quiet", stdin="from a pipe\n")
    assert (done.code, done.err) == (0, "")
    assert "from a pipe" in done.out
    silent = await cli("send", "--quiet", stdin="from a pipe\n")
    assert (silent.code, silent.out) == (0, done.out)


@pytest.mark.parametrize("more", [(), ("--verbose",)])
async def test_what_a_command_of_one_s_own_prints_is_the_answer(
    cli: Cli, more: tuple[str, ...]
) -> None:
    done = await cli("send", "!echo six times seven is $((6*7))", *more)
    assert (done.code, done.out) == (0, "six times seven is 42\n")
    assert "seven is 42" not in done.err


async def test_a_session_is_continued_by_its_title(cli: Cli) -> None:
    session = await cli.new("a title of its own")
    done = await cli("send", "again", "--session", "title of its own", "--json")
    assert done.json["session"] == session
    exported = await cli.main("export", session, "--json")
    texts = [turn["message"]["text"] for turn in exported.json["chats"][0]["turns"]]
    assert texts == ["a title of its own", "again"]


async def test_a_new_session_works_where_it_is_told_to(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "here.txt").touch()
    done = await cli("send", "/tool", "--dir", str(tmp_path), "--agent", "demo", "--json")
    assert done.json["toolCalls"][0]["output"] == "here.txt"


# Approvals


async def test_without_a_policy_a_command_is_denied_and_the_code_is_4(cli: Cli) -> None:
    done = await cli("send", "/run touch ran-without-approval")
    assert done.code == 4
    assert done.out.startswith("Then I will not.")
    assert "denied: Shell" in done.err
    assert "--approve tool=shell would allow it" in done.err
    assert not (cli.cwd / "ran-without-approval").exists()


async def test_an_approved_command_runs(cli: Cli) -> None:
    done = await cli("send", "/run ls", "--approve", "always")
    assert done.code == 0
    assert done.out == "The command ended with exit code 0.\n"
    assert "approved: Shell" in done.err


async def test_tools_are_approved_by_name(cli: Cli) -> None:
    named, other = await asyncio.gather(
        cli("send", "/run ls", "--approve", "tool=edit", "--approve", "tool=shell", "--json"),
        cli("send", "/run ls", "--approve", "tool=edit", "--json"),
    )
    assert named.code == named.json["exitCode"] == 0
    (call,) = named.json["toolCalls"]
    assert (call["tool"], call["status"], call["success"]) == ("shell", "completed", True)
    assert call["output"] == "file.txt"
    assert other.code == other.json["exitCode"] == 4
    (call,) = other.json["toolCalls"]
    assert (call["status"], call["reason"]) == ("cancelled", "denied")


async def test_a_result_is_approved_by_the_same_policy(cli: Cli) -> None:
    denied, approved = await asyncio.gather(
        cli("send", "/review"), cli("send", "/review", "--approve", "tool=report")
    )
    assert (denied.code, denied.out) == (4, "The report is withdrawn.\n")
    assert (approved.code, approved.out) == (0, "The report is accepted.\n")


async def test_the_policy_holds_for_workers_as_well(cli: Cli) -> None:
    denied, approved = await asyncio.gather(
        cli("send", "/subagent /run ls"), cli("send", "/subagent /run ls", "--approve", "always")
    )
    assert denied.code == 4
    assert "Then I will not" in denied.out
    assert approved.code == 0
    assert "exit code 0" in approved.out


@pytest.mark.parametrize("version", SUPPORTED_VERSIONS)
async def test_all_of_it_works_in_every_version_of_the_protocol(
    cli: Cli, version: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(connecting, "connect", partial(connect, versions=[version]))
    given = ("--url", cli.host.address, "--token", cli.host.token, "--json")

    async def sent(*arguments: str) -> Any:
        args = build_parser("send").parse_args(["send", *arguments, *given])
        code = await send(args)
        document = json.loads(capsys.readouterr().out)
        assert document["exitCode"] == code
        return document

    worker = await sent("/subagent /run ls", "--approve", "always")
    assert worker["text"] == "The worker is complete: The command ended with exit code 0."
    asked = await sent("/ask", "--answer", "name=Ada")
    assert asked["text"].startswith('- name: "Ada"')
    assert (await sent("/review"))["exitCode"] == 4


# Questions


async def test_questions_are_answered_from_the_command_line(cli: Cli) -> None:
    answers = ["name=Ada", "age=36", "height=1.7", "happy=yes", "colour=mauve", "fruit=apple,pear"]
    options = [word for answer in answers for word in ("--answer", answer)]
    done = await cli("send", "/ask", *options)
    assert done.code == 0
    assert done.out.splitlines() == [
        '- name: "Ada"',
        "- age: 36",
        "- height: 1.7",
        "- happy: true",
        '- colour: "mauve"',
        '- fruit: ["apple", "pear"]',
    ]


async def test_a_question_without_its_answer_is_declined(cli: Cli) -> None:
    done = await cli("send", "/ask", "--answer", "age=36", "--json")
    assert done.code == 0
    assert done.json["text"] == "You chose to decline."
    assert done.json["questions"][0]["response"] == "decline"
    assert "--answer name=" in done.err


@pytest.mark.parametrize("answer", ["age=old", "age=1000"])
async def test_an_answer_that_does_not_fit_is_the_caller_s_mistake(cli: Cli, answer: str) -> None:
    done = await cli("send", "/ask", "--answer", "name=Ada", "--answer", answer)
    assert done.code == 1
    assert done.out == "You chose to decline.\n"
    assert "an --answer does not fit its question" in done.err


async def test_an_answer_to_nothing_is_mentioned(cli: Cli) -> None:
    done = await cli("send", "hello", "--answer", "name=Ada")
    assert done.code == 0
    assert "--answer name=" in done.err


# Endings


async def test_a_document_says_it_all(cli: Cli) -> None:
    done = await cli("send", "/think", "--json")
    assert done.code == 0
    told = done.json
    assert told["session"].startswith("ahp-session:/")
    assert told["chat"].startswith("ahp-chat:/")
    assert told["state"] == "complete"
    assert told["text"] == "I thought about it, and the answer is yes."
    assert told["reasoning"].startswith("Let me see.")
    assert told["toolCalls"] == told["questions"] == []
    assert told["error"] is None


async def test_reasoning_and_tool_output_are_for_those_who_ask(cli: Cli) -> None:
    quiet, verbose = await asyncio.gather(cli("send", "/think"), cli("send", "/think", "-v"))
    assert "Let me see" not in quiet.err
    assert "Let me see. A question deserves an answer." in verbose.err
    assert quiet.out == verbose.out


async def test_what_tools_do_is_told_as_they_do_it(cli: Cli) -> None:
    words = ("send", "/run printf 'a\\033[2J\\nb'; exit 3", "--approve", "always", "-v")
    done = await cli(*words)
    told = done.err.splitlines()
    assert "a" in told
    assert told.count("b") == 1
    assert "\x1b" not in done.err
    (cli.cwd / "edited.txt").write_text("before\n")
    done = await cli("send", "/edit edited.txt after", "--approve", "always", "-v")
    assert f"edited {cli.cwd}/edited.txt +1 -1\n  @@ -1 +1 @@\n  -before\n  +after\n" in done.err
    brief = await cli("send", "/edit edited.txt afterwards", "--approve", "always")
    assert f"edited {cli.cwd}/edited.txt" in brief.err
    assert "+afterwards" not in brief.err


async def test_a_turn_that_fails_ends_with_1_and_its_reason(cli: Cli) -> None:
    text, document = await asyncio.gather(cli("send", "/fail"), cli("send", "/fail", "--json"))
    assert text.code == document.code == 1
    assert text.out == "This will not end well.\n"
    assert "the demo agent failed" in text.err
    assert document.json["state"] == "error"
    assert document.json["error"]["errorType"] == "demoFailure"


class Stumbler(Agent):
    """Fails at first, and gets up when it is resumed."""

    provider, display_name = "stumbler", "Stumbler"

    async def run(self, turn: Turn) -> None:
        if not turn.is_resumed:
            await turn.write("So far so good.")
            raise AgentError("the network is down", resumable=True)
        await turn.write("Here I am again.")


async def test_a_turn_that_failed_is_resumed_and_only_what_is_new_is_printed(alone: Cli) -> None:
    async with embed(Stumbler()) as url:
        failed = await alone("send", "go", "--url", url)
        assert (failed.code, failed.out) == (1, "So far so good.\n")
        assert "the network is down" in failed.err
        (pasted,) = re.findall(r"to go on from there: agenthost (.+)", failed.err)
        done = await alone(*shlex.split(pasted))
        assert (done.code, done.out) == (0, "Here I am again.\n")
        again = await alone(*shlex.split(pasted))
        assert (again.code, again.out) == (1, "")
        assert "did not fail" in again.err


async def test_a_document_says_whether_a_turn_can_be_resumed(alone: Cli) -> None:
    async with embed(Stumbler()) as url:
        failed = (await alone("send", "go", "--json", "--url", url)).json
        assert (failed["state"], failed["resumable"]) == ("error", True)
        session = failed["session"]
        options = ("--resume", "--session", session, "--json", "--url", url)
        told = (await alone("send", *options)).json
        assert (told["state"], told["resumable"]) == ("complete", False)
        assert told["turn"] == failed["turn"]
        assert told["text"] == "So far so good.\n\nHere I am again."


@pytest.mark.parametrize(
    "options", [(), ("--new",), ("--session", "x", "text"), ("--session", "x", "--model", "m")]
)
async def test_resuming_takes_a_session_and_nothing_else(
    alone: Cli, options: tuple[str, ...]
) -> None:
    done = await alone("send", "--resume", *options)
    assert done.code == 2
    assert "--resume goes with --session" in done.err


async def test_a_turn_that_takes_too_long_is_cancelled(cli: Cli) -> None:
    done = await cli("send", "/slow 60", "--timeout", "0.2", "--json")
    assert done.code == done.json["exitCode"] == 1
    assert done.json["state"] == "cancelled"
    assert "not ended within 0.2 s" in done.err
    assert await turn_state(cli, done.json["session"]) == "cancelled"


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
async def test_a_signal_cancels_the_turn(cli: Cli, number: signal.Signals, code: int) -> None:
    title = f"/slow {60 + number}"
    async with cli.running("send", title, "--quiet") as sending:
        session = await until_running(cli, title)
        done = await sending.end(number)
    assert done.code == code
    assert "cancelling the turn" in done.err
    assert "Traceback" not in done.err
    assert await turn_state(cli, session) == "cancelled"


async def test_a_turn_whose_answer_nobody_reads_is_cancelled(cli: Cli) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    code, err = await cli.with_output(writing, "send", "/stream 1000000")
    assert (code, "Traceback" in err) == (141, False)
    (session,) = re.findall(r"ahp-session:\S+", err)
    assert await turn_state(cli, session) == "cancelled"


async def test_a_host_that_dies_and_comes_back_ends_the_turn_with_an_error(tmp_path: Path) -> None:
    async with serving(tmp_path) as cli, cli.running("send", "/slow 60") as sending:
        await until_running(cli, "/slow 60")
        await cli.host.kill()
        # On another port: where that is stands in the data directory.
        await cli.host.start()
        done = await sending.end()
    assert done.code == 1
    assert "connection lost" in done.err
    assert "connected again" in done.err
    assert "the turn failed" in done.err


# Misuse and refusals


MISUSE = {
    ("send", "x", "--approve", "maybe"): "--approve 'maybe': use",
    ("send", "x", "--approve", "tool="): "--approve 'tool=': use",
    ("send", "x", "--answer", "Ada"): "not of the form ID=VALUE",
    ("send", "x", "--session", "s", "--dir", "."): "for new sessions",
    ("send", "-"): "the prompt is empty",
    ("send",): "the prompt is empty",
    ("send", "x", "--timeout", "0"): "above 0",
    ("send", "x", "--timeout", "soon"): "above 0",
    ("send", "x", "--new", "--session", "s"): "not allowed with",
    ("send", "x", "--url", "ftp://box"): "not the address of a host",
}


async def test_misuse_ends_with_2(alone: Cli) -> None:
    for arguments, says in MISUSE.items():
        done = await alone.main(*arguments)
        assert (done.code, done.out) == (2, ""), arguments
        assert says in done.err


async def test_what_the_host_refuses_ends_with_1_and_a_sentence(cli: Cli) -> None:
    agent, session = await asyncio.gather(
        cli("send", "x", "--agent", "nobody"), cli("send", "x", "--session", "ahp-session:/nope")
    )
    assert (agent.code, session.code) == (1, 1)
    assert "nobody" in agent.err
    assert "there is no session ahp-session:/nope" in session.err
    assert "Traceback" not in agent.err + session.err


async def test_a_chat_that_is_busy_refuses_a_second_prompt(cli: Cli) -> None:
    async with cli.running("send", "/slow 59", "--quiet") as sending:
        session = await until_running(cli, "/slow 59")
        done = await cli("send", "and this?", "--session", session)
        assert done.code == 1
        assert done.err.splitlines()[-1].startswith("agenthost: ")
        await sending.end(signal.SIGINT)


async def test_without_a_host_the_code_is_3_and_a_hint_says_how_to_start_one(alone: Cli) -> None:
    done = await alone("send", "x")
    assert (done.code, done.out) == (3, "")
    assert "agenthost serve" in done.err


async def test_with_a_wrong_token_the_code_is_3_and_a_hint_names_the_option(cli: Cli) -> None:
    wrong = "w" * 43
    option, variable = await asyncio.gather(
        cli("send", "x", "--token", wrong),
        cli("send", "x", AGENTHOST_URL=f"http://{cli.host.address}", AGENTHOST_TOKEN=wrong),
    )
    for done in (option, variable):
        assert (done.code, done.out) == (3, "")
        assert "401" in done.err
        assert "--token" in done.err
        assert wrong not in done.err


async def test_a_host_is_reached_by_address_and_token_from_elsewhere(
    cli: Cli, tmp_path: Path
) -> None:
    elsewhere = Cli(tmp_path / "empty", tmp_path)
    given = ("--url", cli.host.address, "--token", cli.host.token)
    assert (await elsewhere("send", "hello", *given)).code == 0


# Sessions of which nothing is left, and settings.


async def sessions_and_trash(cli: Cli) -> tuple[set[str], set[str]]:
    """Return what the host lists, and what is in its trash."""
    async with cli.client() as client:
        listed = {summary["resource"] for summary in await client.sessions.list()}
        return listed, {entry["session"] for entry in await client.sessions.trash()}


async def test_of_an_ephemeral_session_nothing_is_left(cli: Cli) -> None:
    before = await sessions_and_trash(cli)
    answered, failed = await asyncio.gather(
        cli("send", "hello", "--ephemeral"), cli("send", "/fail", "--ephemeral")
    )
    assert (answered.code, "You said **hello**." in answered.out) == (0, True)
    assert (failed.code, "the demo agent failed" in failed.err) == (1, True)
    # There is nothing to go back to.
    assert "session" not in answered.err + failed.err
    assert await sessions_and_trash(cli) == before


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 143)]
)
async def test_an_interrupted_ephemeral_session_is_gone_as_well(
    cli: Cli, number: signal.Signals, code: int
) -> None:
    title, before = f"/slow {160 + number}", await sessions_and_trash(cli)
    async with cli.running("send", title, "--ephemeral") as sending:
        await until_running(cli, title)
        done = await sending.end(number)
    assert done.code == code
    assert "Traceback" not in done.err
    assert await sessions_and_trash(cli) == before


async def test_an_ephemeral_session_ends_with_its_terminal(cli: Cli) -> None:
    title, before = "/slow 190", await sessions_and_trash(cli)
    ours, theirs = os.openpty()
    command = (sys.executable, "-m", "agenthost.cli.main", "send", title, "--ephemeral")
    process = await asyncio.create_subprocess_exec(
        *("setsid", "--ctty", *command, "--data-dir", str(cli.data_dir)),
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    try:
        await until_running(cli, title)
    finally:
        # The kernel tells the process, which can write nothing from then on.
        os.close(ours)
    async with asyncio.timeout(PATIENCE):
        await process.wait()
    assert await sessions_and_trash(cli) == before


async def test_an_ephemeral_session_is_a_new_one(alone: Cli) -> None:
    done = await alone.main("send", "hello", "--ephemeral", "--session", "x")
    assert (done.code, "not allowed with" in done.err) == (2, True)


class Obedient(Agent):
    """Tells how its session is set."""

    provider, display_name = "obedient", "Obedient"

    def config_schema(self, *_: Any, **__: Any) -> dict[str, Any]:
        return {"type": "object", "properties": dict(COMMON_SETTINGS)}

    async def run(self, turn: Turn) -> None:
        await turn.write(str(turn.config.get("autoApprove")))


async def test_settings_are_the_new_session_s_or_change_an_old_one(alone: Cli) -> None:
    async with embed(Obedient()) as url:
        options = ("go", "--json", "--url", url)
        new = (await alone("send", *options, "--set", "autoApprove=edits")).json
        assert new["text"] == "edits"
        again = (*options, "--session", new["session"])
        changed = (await alone("send", *again, "--set", "AUTOAPPROVE=default")).json
        assert changed["text"] == "default"


@pytest.mark.parametrize(
    ("pair", "why"),
    [
        ("isolaton=folder", "did you mean isolation?"),
        ("colour=red", "there are directory, isolation"),
        ("isolation", "must be KEY=VALUE"),
    ],
)
async def test_a_setting_that_there_is_not_is_misuse_and_nothing_is_made(
    cli: Cli, pair: str, why: str
) -> None:
    before = await sessions_and_trash(cli)
    done = await cli.main("send", "hello", "--set", pair, "--json")
    assert (done.code, why in done.err) == (2, True)
    assert done.json["error"]["exitCode"] == 2
    assert await sessions_and_trash(cli) == before
