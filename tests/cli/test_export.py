"""``agenthost export`` against a real host."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest

from tests.cli.running import Cli

pytestmark = pytest.mark.asyncio(loop_scope="module")

# More turns than a host sends at once when it is not asked for all.
MANY = 120


async def test_a_session_is_exported_whole(cli: Cli) -> None:
    uri = await cli.new("/think")
    for prompt in ("/run ls", "/ask", "/subagent hello", "/fail"):
        options = ("--approve", "always", "--answer", "name=Ada", "-q")
        await cli("send", prompt, "--session", uri, *options)
    text, document = await cli("export", uri), await cli.main("export", uri, "--json")
    assert text.code == document.code == 0
    assert text.out.startswith(f"# /think\n\n- session: `{uri}`\n")
    for piece in (
        "<summary>Reasoning</summary>",
        "<summary>Tool: Shell: Ran the command (done)</summary>",
        "```\nfile.txt\n```",
        "- What is your name? **Ada**",
        "## Chat: Worker",
        "> **Error:** the demo agent failed",
    ):
        assert piece in text.out
    assert document.json["session"]["resource"] == uri
    assert "createdAt" in document.json["session"]
    main, worker = document.json["chats"]
    assert [turn["message"]["text"] for turn in main["turns"]] == [
        "/think", "/run ls", "/ask", "/subagent hello", "/fail",
    ]  # fmt: skip
    assert worker["origin"]["chat"] == main["resource"]


async def test_no_turn_is_left_out_of_a_long_chat(cli: Cli) -> None:
    async with cli.client() as client:
        session = await client.sessions.create()
        chat = await session.chat(turns=1)
        for number in range(MANY):
            await chat.ask(f"number {number}")
    done = await cli.main("export", session.uri, "--format", "json")
    texts = [turn["message"]["text"] for turn in done.json["chats"][0]["turns"]]
    assert texts == [f"number {number}" for number in range(MANY)]


async def test_a_file_is_written_whole_or_not_at_all(cli: Cli, tmp_path: Path) -> None:
    await cli.new("to a file")
    path = tmp_path / "out.json"
    path.write_text("old")
    done = await cli.main("export", "to a file", "--format", "json", "--output", str(path))
    assert (done.code, done.out, done.err) == (0, "", "")
    assert json.loads(path.read_text())["session"]["title"] == "to a file"
    nowhere = await cli.main("export", "to a file", "-o", str(tmp_path / "no" / "where"))
    assert nowhere.code == 1
    assert "cannot be written" in nowhere.err
    assert os.listdir(tmp_path) == ["out.json"]


async def test_a_device_is_written_to_and_not_replaced(cli: Cli) -> None:
    await cli.new("to nowhere")
    done = await cli.main("export", "to nowhere", "-o", "/dev/null")
    assert (done.code, done.out) == (0, "")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


async def test_misuse_and_unknown_sessions_are_refused(cli: Cli) -> None:
    both = await cli.main("export", "x", "--json", "--format", "markdown")
    unknown = await cli.main("export", "ahp-session:/nope")
    format = await cli.main("export", "x", "--format", "pdf")
    assert (both.code, unknown.code, format.code) == (2, 1, 2)
    assert "exclude each other" in both.err
    assert "there is no session ahp-session:/nope" in unknown.err
