"""A coding task through ``llm``, against a server that speaks the model API's wire form.

The model looks at a program that has a mistake, repairs it, and runs the tests; people see the
files, the terminal and the changes.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from agenthost.agents.llm import LlmAgent
from tests.agents.llm.openai_server import Say, ToolUse, model_server
from tests.agents.llm.talking import SESSION, Talk, calls_of, talk_to, text_of
from tests.wire.client import WireClient
from tests.wire.terminal_blocks import blocks_of, text_in
from tests.workspace.git.repositories import commit, git

Json = dict[str, Any]

WRONG = "def add(a, b):\n    return a - b\n"
RIGHT = "def add(a, b):\n    return a + b\n"
CHECK = "import unittest\nfrom adding import add\n\n\nclass Adds(unittest.TestCase):\n"
CHECK += "    def test_adds(self):\n        self.assertEqual(add(1, 2), 3)\n"
TESTS = f"{sys.executable} -m unittest -v test_adding"


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with a program that has a mistake, and a test that says so."""
    monkeypatch.delenv("GIT_DIR")
    folder = tmp_path / "repository"
    folder.mkdir()
    (folder / "adding.py").write_text(WRONG)
    (folder / "test_adding.py").write_text(CHECK)
    (folder / ".gitignore").write_text("__pycache__/\n")
    git(folder, "init", "-q", "-b", "main")
    commit(folder, "first")
    return folder


def use(name: str, number: int, **arguments: str) -> Say:
    """Return a model's answer that uses one tool."""
    return Say(ToolUse(name, json.dumps(arguments), id=f"call_{number}"))


async def approve(talk: Talk, tool: str) -> None:
    """Wait until a tool asks, and allow it."""
    call = await talk.call(tool, "pending-confirmation")
    await talk.answer("t1", call, True, selectedOptionId="allow-once")
    await talk.client.until(
        lambda: {} if _status(talk, call["toolCallId"]) != "pending-confirmation" else None
    )


def _status(talk: Talk, id: str) -> str:
    turns = [*talk.state["turns"], *filter(None, [talk.state.get("activeTurn")])]
    calls = [call for turn in turns for call in calls_of(turn)]
    return str(next(call["status"] for call in calls if call["toolCallId"] == id))


async def changed_files(client: WireClient, changeset: str) -> list[Json]:
    """Open a changeset and wait until it is computed; return its files."""
    await client.subscribe(changeset)

    def ready() -> Json | None:
        state = client.states[changeset]
        return state if state["status"] == "ready" and state["files"] else None

    files: list[Json] = (await client.until(ready))["files"]
    return files


async def test_a_model_repairs_a_program_and_people_see_all_of_it(repository: Path) -> None:
    async with model_server() as server:
        server.will(
            use("read_file", 1, path="adding.py"),
            use("run_command", 2, command=TESTS),
            use("edit_file", 3, path="adding.py", old_text="a - b", new_text="a + b"),
            use("run_command", 4, command=TESTS),
            Say("It adds now."),
        )
        agent = LlmAgent(["openai:tiny"], base_url=server.base_url, api_key="sk-x")
        async with talk_to(agent, repository) as talk:
            client = talk.client
            await talk.start("t1", "the test fails: repair it")
            for tool in ("run_command", "edit_file", "run_command"):
                await approve(talk, tool)
            turn = await talk.end("t1")
            assert text_of(turn) == "It adds now."
            assert (repository / "adding.py").read_text() == RIGHT

            # The tests ran in terminals, which can be opened; the model was told what they said.
            _, failed, edited, passed = calls_of(turn)
            codes = [blocks_of(call)[0]["result"]["exitCode"] for call in (failed, passed)]
            assert codes == [1, 0]
            shown = await client.subscribe(blocks_of(passed)[0]["resource"])
            assert "OK" in text_in(shown)
            told = [m["content"] for m in server.requests[-1]["messages"] if m["role"] == "tool"]
            assert "AssertionError: -1 != 3" in told[1]
            assert told[1].endswith("(exit code 1)")
            assert told[3].endswith("(exit code 0)")
            assert "\x1b" not in told[3]
            assert "\r" not in told[3]

            # And the change is seen as one: in the call, of the turn, and of the session.
            (edit,) = [block for block in edited["content"] if block["type"] == "fileEdit"]
            assert edit["diff"] == {"added": 1, "removed": 1}
            for changeset in ("turn/t1", "session", "uncommitted"):
                (file,) = await changed_files(client, f"{SESSION}/changeset/{changeset}")
                assert file["id"] == (repository / "adding.py").as_uri()
                assert file["edit"]["diff"] == {"added": 1, "removed": 1}
                sides = [file["edit"][side]["content"]["uri"] for side in ("before", "after")]
                texts = [(await client.request("resourceRead", uri=uri))["data"] for uri in sides]
                assert texts == [WRONG, RIGHT]
