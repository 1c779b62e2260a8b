"""``agenthost watch`` on what is beside the turns: canvases, background work, chats that move."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from agenthost.cli.commands.watch import _Printer, _SessionWatch
from agenthost.client import connect
from tests.cli.running import Cli
from tests.client.scripted import CHAT, PATIENCE, SESSION, ScriptedHost, Side, snapshot
from tests.wire.hosting import embed
from tests.wire.painting import PAGE, Painter

Json = dict[str, Any]

CANVAS = "ahp-canvas:/1"
WORK = {"id": "w", "kind": "shell", "label": "Server", "command": "npm start", "startedAt": "x"}


class Told:
    """What was printed, line by line, as it comes."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys
        self._events: list[Json] = []

    async def next(self, event: str) -> Json:
        """Wait for the next line of that event; others before it are passed over."""
        async with asyncio.timeout(PATIENCE):
            while True:
                while self._events:
                    found = self._events.pop(0)
                    if found["event"] == event:
                        return found
                await asyncio.sleep(0)
                self._events += map(json.loads, self._capsys.readouterr().out.splitlines())


@asynccontextmanager
async def watched(
    capsys: pytest.CaptureFixture[str], **chat: Any
) -> AsyncIterator[tuple[Side, Told]]:
    """A watch of a session with one chat."""
    host = ScriptedHost()
    client = host.client()
    summary = {"resource": CHAT, "title": "Chat", "status": 1, "modifiedAt": "x"}
    async with asyncio.timeout(2 * PATIENCE):
        side = await host.welcome(client)
        try:
            following = asyncio.create_task(client.sessions.get(SESSION))
            await side.subscribed(snapshot(SESSION, 10, chats=[summary]))
            watch = _SessionWatch(client, await following, _Printer(as_json=True))
            watching = asyncio.create_task(watch.run())
            await side.subscribed(snapshot(CHAT, 10, **chat))
            try:
                yield side, Told(capsys)
            finally:
                watching.cancel()
                await asyncio.gather(watching, return_exceptions=True)
        finally:
            await client.aclose()


def canvas(seq: int, **members: Any) -> Json:
    state = {"instanceId": "i", "extensionId": "demo", "canvasId": "preview", **members}
    return {"resource": CANVAS, "state": state, "fromSeq": seq}


async def test_a_canvas_is_told_as_it_changes_and_when_it_is_closed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    async with watched(capsys) as (side, told):
        listed = {"type": "chat/canvasesChanged", "canvases": [{"resource": CANVAS}]}
        side.action(CHAT, 11, listed)
        await side.subscribed(canvas(11, title="Preview"))
        shown = await told.next("canvas")
        assert (shown["chat"], shown["canvas"], shown["title"]) == (CHAT, CANVAS, "Preview")
        assert "url" not in shown
        state = canvas(12, title="Preview", url="http://127.0.0.1:3000/")["state"]
        side.action(CANVAS, 12, {"type": "canvas/stateChanged", "canvas": state})
        assert (await told.next("canvas"))["url"] == "http://127.0.0.1:3000/"
        side.action(CHAT, 13, {**listed, "canvases": []})
        closed = await told.next("canvasClosed")
        assert (closed["title"], "url" in closed) == ("Preview", False)
        assert (await side.next("unsubscribe"))["params"]["channel"] == CANVAS


async def test_work_that_runs_already_is_told_and_its_end_too(
    capsys: pytest.CaptureFixture[str],
) -> None:
    async with watched(capsys, backgroundWork=[WORK]) as (side, told):
        assert (await told.next("backgroundWork"))["work"] == WORK
        side.action(CHAT, 11, {"type": "chat/backgroundWorkRemoved", "id": "w"})
        assert (await told.next("backgroundWorkEnded"))["work"] == WORK


async def test_a_chat_that_moved_elsewhere_is_not_followed_on(
    capsys: pytest.CaptureFixture[str],
) -> None:
    async with watched(capsys) as (side, told):
        side.action(SESSION, 11, {"type": "session/chatRemoved", "chat": CHAT})
        await side.subscribed(snapshot(CHAT, 12))
        assert (await told.next("chatRemoved"))["chat"] == CHAT
        side.action(CHAT, 13, {"type": "chat/backgroundWorkSet", "work": WORK})
        side.action(SESSION, 14, {"type": "session/titleChanged", "title": "Later"})
        lines: list[str] = []
        while not any('"title": "Later"' in line for line in lines):
            await asyncio.sleep(0)
            lines += capsys.readouterr().out.splitlines()
        assert not any("backgroundWork" in line for line in lines)


async def test_a_page_that_an_agent_shows_is_told_by_the_command(alone: Cli) -> None:
    async with embed(Painter()) as url, connect(url) as client, asyncio.timeout(PATIENCE * 3):
        session = await client.sessions.create()
        chat = await session.chat()
        options = (session.uri, "--url", url, "--json")
        async with alone.running("watch", *options) as watching:
            await watching.until('"present"')
            await chat.ask("open Mock-up")
            shown = json.loads(await watching.until('"canvas"'))
            assert (shown["title"], shown["url"]) == ("Mock-up", PAGE)
            await chat.ask("close")
            closed = json.loads(await watching.until('"canvasClosed"'))
            assert closed["canvas"] == shown["canvas"]


async def test_work_in_the_background_is_told_by_the_commands(alone: Cli) -> None:
    async with embed() as url, connect(url) as client, asyncio.timeout(PATIENCE * 3):
        session = await client.sessions.create()
        chat = await session.chat()
        async with (
            alone.running("watch", session.uri, "--url", url) as watching,
            alone.running("chat", session.uri, "--url", url, "--json") as piped,
        ):
            await watching.until("present")
            await piped.until('"attached"')
            await chat.ask("/background 600")
            assert "sleep 600" in await watching.until("  background ")
            begun = json.loads(await piped.until('"backgroundWork"'))
            assert begun["work"]["command"] == "sleep 600"
            await chat.ask("/background stop")
            assert "sleep 600" in await watching.until("  ended ")
            ended = json.loads(await piped.until('"backgroundWorkEnded"'))
            assert ended["work"]["id"] == begun["work"]["id"]
