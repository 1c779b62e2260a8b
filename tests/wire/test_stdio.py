"""One client on standard input and output: a JSON message per line, and not a byte besides."""

from __future__ import annotations

import asyncio
import itertools
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.wire import wording
from tests.wire.client import ROOT
from tests.wire.hosting import PATIENCE, start_serve
from tests.wire.talking import NEWEST

Json = dict[str, Any]
SESSION = "ahp-session:/s1"


class LineClient:
    """Speaks to a host that was started as a child."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self.process = process
        self.input = process.stdin
        self._output = process.stdout
        self._ids = itertools.count(1)
        self.actions: list[Json] = []

    async def request(self, method: str, **params: Any) -> Json:
        """Send a request and return its answer, keeping the actions that come before it."""
        id = next(self._ids)
        self.send({"id": id, "method": method, "params": {"channel": ROOT, **params}})
        while True:
            message = await self.read()
            if message.get("id") == id:
                return message

    def send(self, message: Json) -> None:
        self.input.write(orjson.dumps({"jsonrpc": "2.0", **message}) + b"\n")

    def dispatch(self, chat: str, action: Json) -> None:
        params = {"channel": chat, "clientSeq": 1, "action": action}
        self.send({"method": "dispatchAction", "params": params})

    async def read(self) -> Json:
        """Read one line, which must be a whole JSON-RPC message."""
        async with asyncio.timeout(PATIENCE):
            line = await self._output.readuntil(b"\n")
        message: Json = orjson.loads(line)
        assert message["jsonrpc"] == "2.0"
        if message.get("method") == "action":
            self.actions.append(message["params"]["action"])
        return message

    async def action(self, action_type: str) -> Json:
        """Read on until an action of a type has come."""
        while True:
            found = [action for action in self.actions if action["type"] == action_type]
            if found:
                return found[0]
            await self.read()

    async def rest(self) -> list[Json]:
        """Read to the end of output."""
        async with asyncio.timeout(PATIENCE):
            lines = (await self._output.read()).splitlines()
        return [orjson.loads(line) for line in lines]

    async def exit_code(self) -> int:
        async with asyncio.timeout(PATIENCE):
            return await self.process.wait()

    async def open_chat(self) -> str:
        """Shake hands, create a session and follow its chat."""
        await self.request("initialize", protocolVersions=[NEWEST], clientId="c1")
        await self.request("createSession", channel=SESSION)
        await self.request("subscribe", channel=SESSION)
        while True:
            answer = await self.request("subscribe", channel=SESSION)
            state = answer["result"]["snapshot"]["state"]
            if state["lifecycle"] == "ready":
                break
        chat: str = state["defaultChat"]
        await self.request("subscribe", channel=chat)
        return chat


@asynccontextmanager
async def stdio_client(
    data_dir: Path, *options: str, cwd: Path | None = None
) -> AsyncIterator[LineClient]:
    """Run a host as a child of this process."""
    process = await start_serve(
        "--stdio",
        "--data-dir",
        str(data_dir),
        *options,
        stdin=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        cwd=cwd,
    )
    try:
        yield LineClient(process)
    finally:
        if process.returncode is None:
            process.kill()
        # Reads what is left, so that no pipe stays open.
        await process.communicate()


def turn_started(text: str) -> Json:
    return wording.turn_started(NEWEST, "t1", text)


async def test_a_turn_runs_over_stdio_and_the_end_of_input_ends_the_host(tmp_path: Path) -> None:
    async with stdio_client(tmp_path / "data") as client:
        chat = await client.open_chat()
        client.dispatch(chat, turn_started("hello"))
        await client.action("chat/turnComplete")
        assert (await client.action("chat/delta"))["content"].startswith("You")
        client.input.close()
        assert all(message["jsonrpc"] == "2.0" for message in await client.rest())
        assert await client.exit_code() == 0
        assert client.process.stderr is not None
        assert await client.process.stderr.read() == b""


async def test_what_an_agent_prints_does_not_stand_between_the_messages(tmp_path: Path) -> None:
    (tmp_path / "chatty.py").write_text(CHATTY_AGENT)
    options = ("--agent", "chatty:Chatty")
    async with stdio_client(tmp_path / "data", *options, cwd=tmp_path) as client:
        chat = await client.open_chat()
        client.dispatch(chat, turn_started("hello"))
        await client.action("chat/turnComplete")
        client.input.close()
        await client.rest()
        assert await client.exit_code() == 0
        assert client.process.stderr is not None
        assert (await client.process.stderr.read()).split() == [b"printed", b"written"]


CHATTY_AGENT = """
import os

from agenthost.agents import Agent


class Chatty(Agent):
    provider, display_name = "chatty", "Chatty"

    async def run(self, turn):
        print("printed", flush=True)
        os.write(1, b"written\\n")
"""


async def test_what_was_asked_before_the_end_of_input_is_still_answered(tmp_path: Path) -> None:
    async with stdio_client(tmp_path / "data") as client:
        client.send({"id": 1, "method": "ping", "params": {"channel": ROOT}})
        client.input.close()
        assert await client.rest() == [{"jsonrpc": "2.0", "id": 1, "result": None}]
        assert await client.exit_code() == 0


async def test_a_line_that_is_no_json_is_answered_and_the_next_one_works(tmp_path: Path) -> None:
    async with stdio_client(tmp_path / "data") as client:
        client.input.write(b"what is this?\n\n")
        assert (await client.read())["error"]["code"] == -32700
        assert (await client.request("ping"))["result"] is None


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=["SIGTERM", "SIGINT"])
async def test_a_signal_ends_the_turn_before_the_output(
    tmp_path: Path, number: signal.Signals
) -> None:
    async with stdio_client(tmp_path / "data") as client:
        chat = await client.open_chat()
        client.dispatch(chat, turn_started("/slow 60"))
        await client.action("chat/turnStarted")
        client.process.send_signal(number)
        told = [m["params"]["action"] for m in await client.rest() if m.get("method") == "action"]
        (error,) = [action for action in told if action["type"] == "chat/error"]
        assert wording.failure_told(error)["errorType"] == "hostStopped"
        assert await client.exit_code() == 0


async def test_the_sessions_of_one_run_are_there_in_the_next(tmp_path: Path) -> None:
    async with stdio_client(tmp_path / "data") as client:
        chat = await client.open_chat()
        client.dispatch(chat, turn_started("hello"))
        await client.action("chat/turnComplete")
        client.input.close()
        await client.rest()
        assert await client.exit_code() == 0
    async with stdio_client(tmp_path / "data") as client:
        await client.request("initialize", protocolVersions=[NEWEST], clientId="c1")
        answer = await client.request("subscribe", channel=chat)
        assert answer["result"]["snapshot"]["state"]["turns"][0]["state"] == "complete"
