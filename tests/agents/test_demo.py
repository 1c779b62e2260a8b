from __future__ import annotations

import os
from pathlib import Path

import pytest

from agenthost.agents import AgentError, SessionContext
from agenthost.agents.demo import Demo
from agenthost.testing import DECLINE, talk
from tests.agents.fakes import FakePort, make_turn


def test_it_is_what_the_host_offers_without_any_other() -> None:
    info = Demo().info()
    assert (info["provider"], info["displayName"]) == ("demo", "Demo")
    assert [model["id"] for model in info["models"]] == ["demo"]
    assert "protectedResources" not in info
    assert [tool["name"] for tool in Demo.tools] == ["list", "shell", "edit"]


def test_every_command_says_what_it_does() -> None:
    for name, command in Demo.commands.items():
        assert command.__doc__, name


async def test_it_answers_and_lists_its_commands(tmp_path: Path) -> None:
    async with talk(Demo(), folder=tmp_path) as chat:
        echoed = await chat.say("  hello there ")
        assert echoed.text.startswith("You said **hello there**.")
        listed = (await chat.say("/help")).text.splitlines()
        assert [line.split("`")[1][1:] for line in listed] == list(Demo.commands)
        for text, length in (("/stream 3", 72), ("/stream 3 100", 300), ("/stream 0", 0)):
            assert len((await chat.say(text)).text) == length
        for text in ("/subagent hello there", "/subagent hello"):
            worker = (await chat.say(text)).text
            assert worker.startswith("The worker is complete: You said **hello")
        for name in ("b", "a"):
            (tmp_path / name).touch()
        assert (await chat.say("/tool")).calls["list"].output == "a\nb"


async def test_nothing_outside_of_the_folder_is_written(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    (folder / "x").mkdir(parents=True)
    (folder / "link").symlink_to(tmp_path)
    async with talk(Demo(), folder=folder) as chat:
        for name in ("../a", "/a", "link/a", "x/../../a"):
            turn = await chat.say(f"/edit {name} text", approve=True)
            assert turn.error == f"{name} lies outside of the working directories"
    assert sorted(os.listdir(tmp_path)) == ["folder"]


@pytest.mark.parametrize("text", ["/tool", "/edit a b"])
async def test_tools_need_a_folder(text: str, tmp_path: Path) -> None:
    for directories in ([], [(tmp_path / "missing").as_uri()]):
        turn = make_turn(FakePort(text), session=SessionContext("s:/1", directories))
        with pytest.raises(AgentError, match="no folder to work in"):
            await Demo().run(turn)


async def test_what_makes_no_sense_is_refused_with_what_would() -> None:
    commands = ["/stream x", "/stream -1", "/stream 1.5", "/slow 1 2", "/run", "/edit"]
    async with talk(Demo()) as chat:
        for text in (*commands, "/client-tool", "/client-tool look {"):
            assert (await chat.say(text)).error_type == "badArguments", text
        assert "/help lists" in ((await chat.say("/what")).error or "")


async def test_what_it_asks_for_is_done_when_people_approve(tmp_path: Path) -> None:
    async with talk(Demo(), folder=tmp_path) as chat:
        ran = await chat.say("/run echo hello", approve="shell")
        assert (ran.calls["shell"].succeeded, ran.calls["shell"].output) == (True, "hello\n")
        assert ran.text == "The command ended with exit code 0."
        denied = await chat.say("/edit a.txt text", approve=False)
        assert (denied.text, denied.calls["edit"].status) == ("Then I will not.", "cancelled")
    assert os.listdir(tmp_path) == []


async def test_it_asks_a_question_of_every_kind() -> None:
    given = {"name": "Ada", "age": 36, "height": 1.7, "happy": True, "colour": "green"}
    async with talk(Demo()) as chat:
        turn = await chat.say("/ask", answers={**given, "fruit": ["apple", "plum"]})
        assert turn.text.splitlines()[0] == '- name: "Ada"'
        assert '- colour: "green"' in turn.text.splitlines()
        assert (await chat.say("/ask", answers=[DECLINE] * 6)).text == "You chose to decline."


async def test_a_failure_can_be_such_that_the_turn_goes_on() -> None:
    async with talk(Demo()) as chat:
        failed = await chat.say("/fail resumable")
        assert (failed.error_type, failed.text) == ("demoFailure", "This will not end well.")
        turn = await chat.resume()
        assert turn.state == "complete"
        assert turn.text == "This will not end well. And yet it does, at the second attempt."
        await chat.say("/fail")
        with pytest.raises(LookupError):
            await chat.resume()
