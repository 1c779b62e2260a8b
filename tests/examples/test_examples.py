"""Every example does what it says, on this machine, without a network."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from agenthost.agents import from_pydantic_ai
from agenthost.testing import Allow, Deny, run_turn, talk
from tests.agents.llm.openai_server import Failure, Say, ToolUse, model_server
from tests.agents.llm.scripted import Call, Script
from tests.examples.loading import EXAMPLES, load
from tests.workspace.git.repositories import git

HERE = sorted(path.name for path in EXAMPLES.iterdir() if path.is_dir())


@pytest.mark.parametrize("name", HERE)
def test_each_is_listed_and_says_how_to_run_it(name: str) -> None:
    readme = (EXAMPLES / name / "README.md").read_text()
    assert f"[{name}]({name}/)" in (EXAMPLES / "README.md").read_text()
    assert f"examples/{name}/" in (EXAMPLES.parent / "docs" / "examples.md").read_text()
    assert f"cd examples/{name}\n" in readme
    assert len(readme.splitlines()) <= 20
    for module, attribute in re.findall(r"(?:--agent|uvicorn) (agent|app):(\w+)", readme):
        pytest.importorskip("langgraph" if name == "langgraph_agent" else "agenthost")
        assert hasattr(load(name, module), attribute)


async def test_a_pydantic_ai_agent() -> None:
    example = load("pydantic_ai_agent")
    script = Script(Call("forecast", {"city": "Rome"}), "Sunny, 19 degrees.")
    # Its own models would need a key; the agent and its tools are the same.
    agent = from_pydantic_ai(example.weather, deps=lambda turn: turn)
    with example.weather.override(model=script.model):
        async with talk(agent) as chat:
            turn = await chat.say("What is the weather in Rome?")
    assert turn.text == "Sunny, 19 degrees."
    assert turn.calls["forecast"].output == "Tomorrow in Rome: sunny, 19 degrees."
    assert (example.agent.provider, len(example.agent.models)) == ("weather", 1)


def test_a_langgraph_graph() -> None:
    pytest.importorskip("langgraph")
    turn = run_turn(load("langgraph_agent").Writer(), "bees")
    assert turn.text == "- what bees is\n- why bees matters\n"
    assert [call.name for call in turn.calls] == ["outline", "write"]


async def test_a_loop_by_hand() -> None:
    example = load("openai_loop")
    async with model_server() as server:
        server.will(
            Say("Let me see. ", ToolUse("clock", "{}")),
            Say("It is Monday."),
            Say(ToolUse("hammer", "{}")),
            Say("I have none."),
            Failure(503, {"error": {"message": "busy"}}),
        )
        agent = example.OpenAiLoop(server.base_url, "tiny")
        async with talk(agent) as chat:
            turn = await chat.say("What day is it?")
            assert turn.text == "Let me see. It is Monday."
            assert "UTC" in turn.calls["clock"].output
            told = [message["role"] for message in server.requests[1]["messages"]]
            assert told == ["user", "assistant", "tool"]
            turn = await chat.say("Hit it.")
            assert turn.calls["hammer"].error == "there is no tool hammer"
            # It knows what was said before.
            assert server.requests[2]["messages"][1]["content"] == "Let me see. It is Monday."
            failed = await chat.say("And now?")
            assert "503" in (failed.error or "")


async def test_a_tool_that_asks_first(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a")
    async with talk(load("tool_with_approval").Archivist(), folder=tmp_path) as chat:
        denied = await chat.say("a.txt", answers=["mine"], approve=Deny("not today"))
        assert denied.text == "Not packed. not today"
        changed = Allow(input="tar -cf plain.tar a.txt")
        assert (await chat.say("a.txt", answers=["plain"], approve=changed)).state == "complete"
        assert (tmp_path / "plain.tar").exists()
        turn = await chat.say("a.txt", answers=["mine"], approve="pack")
        assert turn.calls["pack"].input == "tar -czf mine.tar.gz -- a.txt"
        assert turn.text == "`mine.tar.gz` is there."
    assert (tmp_path / "mine.tar.gz").stat().st_size > 0


async def test_a_scripted_reviewer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GIT_DIR")
    _changed_repository(tmp_path)
    async with talk(load("scripted_reviewer").Reviewer(), folder=tmp_path) as chat:
        notes = await chat.session.annotations()
        turn = await chat.say("review")
        assert turn.text == "- `a.py:2` Is this print meant to stay?\n"
        assert "+print(2)" in turn.calls["diff"].output
        await notes.channel.until(lambda state: bool(state["annotations"]))
        (note,) = notes.state["annotations"]
        assert note["resource"] == (tmp_path / "a.py").as_uri()
        assert note["range"]["start"] == {"line": 1, "character": 0}


def test_a_reviewer_needs_a_repository() -> None:
    turn = run_turn(load("scripted_reviewer").Reviewer(), "review")
    assert turn.error == "this folder is not a git repository"


def _changed_repository(folder: Path) -> None:
    git(folder, "init", "-q", "-b", "main")
    (folder / "a.py").write_text("one = 1\nthree = 3\n")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "one")
    (folder / "a.py").write_text("one = 1\nprint(2)\nthree = 3\n")


def test_a_team() -> None:
    turn = run_turn(load("team").Team(), "moving to Rome")
    assert turn.text == (
        "**Optimist**: Moving to Rome could be great.\n\n"
        "**Critic**: Moving to Rome will take longer than you think.\n\n"
    )
    assert [call.input["role"] for call in turn.calls] == ["optimist", "critic"]


def test_a_host_in_a_web_application() -> None:
    testing = pytest.importorskip("fastapi.testclient", exc_type=ImportError)
    app = load("fastapi_app", "app").app
    with testing.TestClient(app) as web:
        told = web.post("/ask", params={"text": "hello"}).json()
        assert told["answer"] == "HELLO"
        assert web.get("/host").json()["url"].startswith("ws://127.0.0.1:")
