"""``serve --reload``: an agent's code is read again between turns."""

from __future__ import annotations

import itertools
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from agenthost.agents.loader import ENTRY_POINTS, UnknownAgent, load_agents
from agenthost.agents.reloading import ReloadingAgent, module_folder
from agenthost.testing import talk

Write = Callable[..., None]

AGENT = """
import asyncio
from agenthost.agents import Agent
from {helper} import WORD

class Mine(Agent):
    provider, display_name = "mine", {name!r}
    log = []

    async def start_session(self, session):
        self.log.append(("start", WORD))

    async def end_session(self, session):
        self.log.append(("end", WORD))

    async def close(self):
        self.log.append(("close", WORD))

    async def run(self, turn):
        await turn.write(WORD + " ")
        if turn.text == "wait":
            await turn.next_steering()
        await turn.write(WORD)
"""


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Write]:
    """Write modules of an agent; each later than the one before, by as little as can be told."""
    monkeypatch.syspath_prepend(tmp_path)
    before = set(sys.modules)
    times = itertools.count(1_700_000_000_000_000_000)

    def write(word: str | None = None, text: str = AGENT, name: str = "Mine") -> None:
        if word is not None:
            path = tmp_path / "reloaded_helper.py"
            path.write_text(f"WORD = {word!r}\n")
            os.utime(path, ns=(0, next(times)))
        path = tmp_path / "reloaded_agent.py"
        path.write_text(text.format(helper="reloaded_helper", name=name))
        # Of the same time, unless its length says that it is another.
        os.utime(path, ns=(0, 1))

    yield write
    for name in set(sys.modules) - before:
        if name.startswith("reloaded_"):
            del sys.modules[name]


SPEC = "reloaded_agent:Mine"


async def test_the_next_turn_has_the_new_code_and_its_helpers(write: Write, tmp_path: Path) -> None:
    write("one")
    agent = ReloadingAgent(SPEC)
    first: Any = agent._now.agent
    async with talk(agent) as chat:
        assert (await chat.say("hi")).text == "one one"
        running = chat.start("wait")
        await running.until("one")
        write("two")
        other = await chat.session.create_chat()
        assert await other.ask("hi") == "two two"
        assert first.log == [("start", "one")]
        await running.steer("go on")
        # What was under way ends as it began; then nobody needs the old agent any more.
        assert (await running.end()).text == "one one"
        assert first.log == [("start", "one"), ("end", "one"), ("close", "one")]
        assert (await chat.say("hi")).text == "two two"
        assert agent._now.agent is not first
    assert sorted(os.listdir(tmp_path)) == ["reloaded_agent.py", "reloaded_helper.py"]


async def test_nothing_is_loaded_again_without_a_change(write: Write) -> None:
    write("one")
    agent = ReloadingAgent(SPEC)
    first = agent._now.agent
    async with talk(agent) as chat:
        for _ in range(2):
            assert (await chat.say("hi")).notices == ()
    assert agent._now.agent is first


async def test_a_broken_file_leaves_the_old_agent_and_says_so_once(
    write: Write, tmp_path: Path
) -> None:
    write("one")
    missing = tmp_path / "reloaded_missing.py"
    async with talk(ReloadingAgent(SPEC)) as chat:
        await chat.say("hi")
        write(text="def broken(:\n")
        turn = await chat.say("hi")
        assert turn.text == "one one"
        assert turn.notices == (
            "The agent was not reloaded: agent reloaded_agent:Mine cannot be made: invalid syntax"
            f" ({tmp_path}/reloaded_agent.py, line 1)",
        )
        assert (await chat.say("hi")).notices == ()
        write("two", "import reloaded_missing\n" + AGENT)
        assert "No module named 'reloaded_missing'" in (await chat.say("hi")).notices[0]
        # No file that was loaded changes when what was missing is there.
        missing.write_text("")
        turn = await chat.say("hi")
        assert (turn.text, turn.notices) == ("two two", ())


async def test_clients_are_told_of_what_has_changed(write: Write) -> None:
    write("one")
    async with talk(ReloadingAgent(SPEC)) as chat:
        await chat.say("hi")
        write("two", name="Renamed")
        await chat.say("hi")
        root = await chat.client.root.until(
            lambda state: state["agents"][0]["displayName"] == "Renamed"
        )
        assert root is not None


async def test_another_provider_needs_another_host(write: Write) -> None:
    write("one")
    async with talk(ReloadingAgent(SPEC)) as chat:
        await chat.say("hi")
        write("two", AGENT.replace('"mine"', '"yours"'))
        turn = await chat.say("hi")
    assert turn.text == "one one"
    assert "calls itself 'yours' instead of 'mine'" in turn.notices[0]


@pytest.mark.parametrize(
    "spec",
    ["demo", "acp:x=y", "json:loads", "agenthost.agents.demo:Demo", "nowhere.at:All", "pytest:x"],
)
def test_what_people_do_not_write_here_is_not_reloaded(spec: str) -> None:
    assert module_folder(spec) is None
    with pytest.raises(UnknownAgent, match="cannot be reloaded"):
        ReloadingAgent(spec)


@pytest.mark.parametrize("files", [["__init__.py", "agent.py"], ["agent.py"]])
def test_of_a_package_all_around_it_counts(
    files: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "src" / "reloaded_package"
    package.mkdir(parents=True)
    for name in files:
        (package / name).touch()
    monkeypatch.syspath_prepend(tmp_path / "src")
    assert module_folder("reloaded_package.agent:Agent") == (tmp_path / "src").resolve()


@pytest.mark.parametrize(
    ("broken", "why"),
    [
        ("import sys; sys.exit(3)", "SystemExit: 3 ({file}, line 1"),
        ("WORD = dict()['word']", "KeyError: 'word' ({file}, line 1"),
        ("WORD = '\0'", "null bytes ("),
        ("", "cannot import name 'WORD'"),
        (None, "No module named 'reloaded_helper'"),
    ],
    ids=["leaves", "fails", "binary", "empty", "gone"],
)
async def test_whatever_a_file_does_the_turn_under_way_and_the_old_agent_go_on(
    write: Write, tmp_path: Path, broken: str | None, why: str
) -> None:
    write("one")
    helper = tmp_path / "reloaded_helper.py"
    async with talk(ReloadingAgent(SPEC)) as chat:
        running = chat.start("wait")
        await running.until("one")
        if broken is None:
            helper.unlink()
        else:
            helper.write_text(broken)
        other = await chat.session.create_chat()
        assert await other.ask("hi") == "one one"
        told: Any = other.state["turns"][-1]["responseParts"][0]
        assert why.format(file=helper) in told["content"]
        await running.steer("go on")
        assert (await running.end()).text == "one one"
        write("two")
        assert (await chat.say("hi")).text == "two two"


async def test_an_entry_point_of_what_is_installed_for_editing_is_reloaded(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("one")
    about = tmp_path / "mine-1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: mine\nVersion: 1\n")
    (about / "entry_points.txt").write_text(f"[{ENTRY_POINTS}]\nmine = {SPEC}\n")
    (agent,) = [agent for agent in load_agents(["mine"], reload=True) if agent.provider == "mine"]
    async with talk(agent) as chat:
        assert (await chat.say("hi")).text == "one one"
        write("two")
        assert (await chat.say("hi")).text == "two two"
