"""A chat in lines of JSON: what commands look like, and a whole conversation with a real host."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from agenthost.agents import Agent, AgentError, Turn
from agenthost.cli.interactive.json_lines import BadCommand, link_json, read_command
from agenthost.client import Closed, Connected, Connecting, Reconnecting
from agenthost.protocol import NEWEST
from tests.wire.hosting import embed

PATIENCE = 60.0


def test_a_line_is_text_to_send_or_a_command() -> None:
    assert read_command("hello there\n") == {"do": "send", "text": "hello there"}
    assert read_command("  \n") is None
    assert read_command('{"do": "cancel"}') == {"do": "cancel"}


@pytest.mark.parametrize(
    "text",
    [
        "{",
        '{"do": "dance"}',
        "{}",
        '{"do": "send"}',
        '{"do": []}',
        '{"do": "send", "text": "\\ud800"}',
    ],
)
def test_what_looks_like_a_command_and_is_none_is_refused(text: str) -> None:
    with pytest.raises(BadCommand):
        read_command(text)


def test_the_state_of_the_connection_is_an_event() -> None:
    assert link_json(Connected(NEWEST, "replay"))["resumed"] == "replay"
    assert link_json(Reconnecting("gone", 1.23456, 2))["delay"] == 1.235
    assert link_json(Connecting())["state"] == "connecting"
    assert link_json(Closed(ValueError("no")))["error"] == "no"


class Piped:
    """``agenthost chat --json`` with both ends of its pipes."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self.process = process
        self._in, self._out = process.stdin, process.stdout

    def say(self, command: dict[str, Any] | str) -> None:
        text = command if isinstance(command, str) else json.dumps(command)
        self._in.write(f"{text}\n".encode())

    def end(self) -> None:
        self._in.write_eof()

    async def heard(self) -> str:
        """Read on to the end of a turn, and return its text."""
        pieces = []
        while (told := await self.until("text", "turnEnded"))["event"] == "text":
            pieces.append(told["text"])
        assert told["state"] == "complete"
        return "".join(pieces)

    async def until(self, *events: str) -> dict[str, Any]:
        """Read on to one of these events."""
        async with asyncio.timeout(PATIENCE):
            while line := await self._out.readline():
                told: dict[str, Any] = json.loads(line)
                if told["event"] in events:
                    return told
        raise AssertionError(f"there was no {events}")


@asynccontextmanager
async def piped(url: str, *options: str) -> AsyncIterator[Piped]:
    command = (sys.executable, "-m", "agenthost.cli.main", "chat", "--json", "--url", url, *options)
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        *command, stdin=pipe, stdout=pipe, limit=1 << 24, env={**os.environ, "LANG": "C.UTF-8"}
    )
    try:
        yield Piped(process)
    finally:
        if process.returncode is None:
            process.kill()
        # The pipes are closed with it.
        await process.communicate()


class Stumbler(Agent):
    """Fails at first, and gets up when it is resumed."""

    provider, display_name = "stumbler", "Stumbler"

    async def run(self, turn: Turn) -> None:
        if not turn.is_resumed:
            raise AgentError("the network is down", resumable=True)
        await turn.write("Here I am again.")


async def test_a_script_can_resume_a_turn_that_failed() -> None:
    async with embed(Stumbler()) as url, piped(url) as chat:
        chat.say({"do": "resume"})
        refused = await chat.until("refused")
        assert "no turn to resume" in refused["reason"]
        chat.say("go")
        ended = await chat.until("turnEnded")
        assert (ended["state"], ended["resumable"]) == ("error", True)
        chat.say({"do": "resume"})
        assert (await chat.until("turnResumed"))["turn"] == ended["turn"]
        assert await chat.heard() == "Here I am again."
        chat.end()


async def test_a_script_can_approve_answer_and_leave_when_all_is_done(tmp_path: Path) -> None:
    async with embed(default_directory=tmp_path) as url, piped(url) as chat:
        attached = await chat.until("attached")
        assert attached["state"]["turns"] == []
        chat.say("/run echo one")
        needed = await chat.until("confirmationNeeded")
        assert needed["options"][0]["id"] == "allow-once"
        call = needed["toolCall"]["id"]
        chat.say({"do": "approve", "toolCallId": "nobody"})
        assert "nobody" in (await chat.until("refused"))["reason"]
        chat.say({"do": "approve", "toolCallId": call, "input": "echo edited"})
        assert (await chat.until("turnEnded"))["state"] == "complete"
        chat.say({"do": "send", "text": "/ask"})
        asked = (await chat.until("question"))["request"]
        chat.say({"do": "answer", "requestId": asked["id"], "answers": {"name": ""}})
        assert "at least 1" in (await chat.until("refused"))["reason"]
        chat.say({"do": "answer", "requestId": asked["id"], "answers": {"name": "Ada"}})
        assert (await chat.until("questionClosed"))["response"] == "accept"
        await chat.until("turnEnded")
        chat.say("{not json}")
        assert "not valid JSON" in (await chat.until("refused"))["reason"]
        chat.say("last words")
        chat.end()
        assert "last words" in await chat.heard()
        async with asyncio.timeout(PATIENCE):
            assert await chat.process.wait() == 0


async def test_when_the_input_ends_a_question_that_nobody_can_answer_is_not_waited_for() -> None:
    async with embed() as url, piped(url) as chat:
        chat.say("/review")
        chat.end()
        await chat.until("confirmationNeeded")
        async with asyncio.timeout(PATIENCE):
            assert await chat.process.wait() == 0


async def test_leaving_does_not_wait_for_a_running_turn() -> None:
    async with embed() as url, piped(url) as chat:
        chat.say("/slow 60")
        await chat.until("turnStarted")
        chat.say({"do": "steer", "text": "hey"})
        assert "hey" in (await chat.until("text"))["text"]
        chat.say({"do": "leave"})
        async with asyncio.timeout(PATIENCE):
            assert await chat.process.wait() == 0
