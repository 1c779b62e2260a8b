"""``agenthost inspect`` on the log of a real host, and on a connection to it."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

from tests.cli.running import Cli

pytestmark = pytest.mark.asyncio(loop_scope="module")


def logged(method: str, number: int = 1) -> str:
    message = {"jsonrpc": "2.0", "id": number, "method": method, "params": {}}
    entry = {"time": "2026-05-17T12:00:00.000Z", "connection": "c1", "direction": "in"}
    return json.dumps({**entry, "message": message}) + "\n"


async def test_a_log_is_a_conversation_that_can_be_read(cli: Cli) -> None:
    await cli("send", "hello")
    await cli.main("sessions", "show", "ahp-session:/nope")
    done = await cli("inspect", str(cli.wire_log))
    assert done.code == 0
    assert "→ initialize #1 root://" in done.out
    assert "← = initialize #1" in done.out
    assert "chat/turnStarted" in done.out
    assert "\x1b" not in done.out
    assert cli.host.token not in done.out


async def test_a_log_is_filtered(cli: Cli) -> None:
    session = await cli.new("/run ls")
    await cli.main("sessions", "show", "ahp-session:/nope")
    log = str(cli.wire_log)
    errors = await cli.main("inspect", log, "--errors", "--json")
    assert errors.lines
    assert all(line["error"] for line in errors.lines)
    assert errors.lines[-1]["method"] == "subscribe"
    calls = await cli.main("inspect", log, "--method", "chat/toolCall*", "--json")
    assert {line["action"] for line in calls.lines} >= {"chat/toolCallStart", "chat/toolCallReady"}
    channel = await cli.main("inspect", log, "--channel", session, "--json")
    assert {line["channel"] for line in channel.lines} == {session}


async def test_a_growing_log_is_followed_through_rotation(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text(logged("first") + logged("half")[:20])
    async with cli.running("inspect", str(path), "--follow") as inspecting:
        assert "first" in await inspecting.line()
        with path.open("a") as file:
            file.write(logged("half")[20:])
        assert "half #1" in await inspecting.line()
        path.rename(tmp_path / "log.1")
        path.write_text(logged("rotated"))
        assert "rotated" in await inspecting.line()
        # Shorter than what was read: it was cut and written anew.
        path.write_text(logged("again"))
        assert "again" in await inspecting.line()
        done = await inspecting.end(signal.SIGINT)
    assert (done.code, done.err) == (130, "")


async def test_standard_input_and_an_unfinished_line_are_read(alone: Cli) -> None:
    done = await alone("inspect", "-", stdin=logged("ping") + "\nnot json\n" + logged("x")[:30])
    lines = done.out.splitlines()
    assert done.code == 0
    assert "ping" in lines[0]
    assert ["no JSON" in line for line in lines] == [False, True, True]


async def test_a_live_connection_is_shown_as_it_happens(cli: Cli) -> None:
    uri = await cli.new("live")
    async with cli.running("inspect", "--live", "live", "--json") as inspecting:
        assert json.loads(await inspecting.line())["method"] == "initialize"
        await inspecting.until('"kind": "response", "method": "subscribe", "channel": "ahp-chat:/')
        await cli("send", "more", "--session", uri)
        seen = json.loads(await inspecting.until('"action": "chat/turnStarted"'))
        assert (seen["from"], seen["kind"]) == ("host", "notification")
        done = await inspecting.end(signal.SIGINT)
    assert (done.code, done.err) == (130, "")


async def test_a_file_without_a_message_is_no_log(alone: Cli, tmp_path: Path) -> None:
    for text in ("hello\n{}\n[1]\n", ""):
        (tmp_path / "letter").write_text(text)
        done = await alone.main("inspect", str(tmp_path / "letter"))
        assert done.code == 1
        assert "there is no message in" in done.err
        told = await alone.main("inspect", str(tmp_path / "letter"), "--json")
        assert told.lines[-1]["error"]["exitCode"] == 1
    (tmp_path / "letter").write_text("hello\n" + logged("ping"))
    assert (await alone.main("inspect", str(tmp_path / "letter"), "--errors")).code == 0


async def test_what_cannot_be_inspected_is_said(alone: Cli) -> None:
    nothing = await alone.main("inspect")
    missing = await alone.main("inspect", "no such file")
    nobody = await alone.main("inspect", "--live")
    assert (nothing.code, missing.code, nobody.code) == (2, 1, 3)
    assert "no such file cannot be read" in missing.err
    assert "agenthost serve" in nobody.err
