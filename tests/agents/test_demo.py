from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from agenthost.agents import AgentError, SessionContext
from agenthost.agents.demo import Demo
from agenthost.agents.turn_port import Worker
from tests.agents.failures import failure, is_resumable
from tests.agents.fakes import FakePort, make_turn
from tests.agents.llm.talking import talk_to, text_of

Json = dict[str, Any]


async def run(text: str, folder: Path | None = None) -> FakePort:
    """Let the demo agent answer a message that needs nobody."""
    port = FakePort(text)
    directories = [folder.as_uri()] if folder is not None else []
    turn = make_turn(port, session=SessionContext("s:/1", directories))
    port.workers = {"hello": Worker("c:/worker", "hello!", "complete")}
    await Demo().run(turn)
    return port


def said(port: FakePort) -> str:
    return "".join(part["content"] for part in port.parts if part["kind"] == "markdown")


def test_it_is_what_the_host_offers_without_any_other() -> None:
    info = Demo().info()
    assert (info["provider"], info["displayName"]) == ("demo", "Demo")
    assert [model["id"] for model in info["models"]] == ["demo"]
    assert "protectedResources" not in info
    assert [tool["name"] for tool in Demo.tools] == ["list", "shell", "edit"]


def test_every_command_says_what_it_does() -> None:
    for name, command in Demo.commands.items():
        assert command.__doc__, name


async def test_words_are_echoed_as_markdown() -> None:
    assert said(await run("  hello there ")).startswith("You said **hello there**.")


async def test_help_lists_every_command() -> None:
    listed = said(await run("/help")).splitlines()
    assert [line.split("`")[1][1:] for line in listed] == list(Demo.commands)


@pytest.mark.parametrize(
    ("text", "length"), [("/stream 3", 72), ("/stream 3 100", 300), ("/stream 0", 0)]
)
async def test_stream_writes_what_it_is_told(text: str, length: int) -> None:
    assert len(said(await run(text))) == length


async def test_the_folder_is_listed_in_order(tmp_path: Path) -> None:
    for name in ("b", "a"):
        (tmp_path / name).touch()
    port = await run("/tool", tmp_path)
    assert port.call["content"] == [{"type": "text", "text": "a\nb"}]


async def test_a_worker_answers() -> None:
    assert said(await run("/subagent hello")) == "The worker is complete: hello!"
    assert said(await run("/subagent")) == "The worker is complete: hello!"


@pytest.mark.parametrize("name", ["../a", "/a", "link/a", "x/../../a"])
async def test_nothing_outside_of_the_folder_is_written(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "link").symlink_to(tmp_path)
    (folder / "x").mkdir()
    with pytest.raises(AgentError, match="outside of the working directories"):
        await run(f"/edit {name} text", folder)
    assert sorted(os.listdir(tmp_path)) == ["folder"]


@pytest.mark.parametrize("text", ["/tool", "/edit a b"])
async def test_tools_need_a_folder(text: str, tmp_path: Path) -> None:
    for folder in (None, tmp_path / "missing"):
        with pytest.raises(AgentError, match="no folder to work in"):
            await run(text, folder)


@pytest.mark.parametrize(
    "text",
    [
        "/stream x",
        "/stream -1",
        "/stream 1.5",
        "/slow 1 2",
        "/run",
        "/edit",
        "/what",
        "/client-tool",
        "/client-tool look {",
    ],
)
async def test_what_makes_no_sense_is_refused_with_what_would(text: str, tmp_path: Path) -> None:
    with pytest.raises(AgentError, match=r"usage: /|/help lists"):
        await run(text, tmp_path)


async def test_a_failure_can_be_such_that_the_turn_goes_on(tmp_path: Path) -> None:
    async with talk_to(Demo(), tmp_path) as talk:
        assert not is_resumable(await talk.say("t1", "/fail"))
        failed = await talk.say("t2", "/fail resumable")
        assert (failure(failed)["errorType"], is_resumable(failed)) == ("demoFailure", True)
        turn = await talk.resume("t2")
        assert turn["state"] == "complete"
        assert text_of(turn) == ("This will not end well. And yet it does, at the second attempt.")
