"""A coding task through ``llm``, against a server that speaks the model API's wire form.

The model looks at a program that has a mistake, repairs it, and runs the tests; people see the
files, the terminal and the changes.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from agenthost.agents.llm import LlmAgent
from agenthost.testing import talk
from tests.agents.llm.openai_server import Say, ToolUse, model_server
from tests.wire.terminal_blocks import blocks_of
from tests.workspace.git.repositories import commit, git

WRONG = "def add(a, b):\n    return a - b\n"
RIGHT = "def add(a, b):\n    return a + b\n"
CHECK = "import unittest\nfrom adding import add\n\n\nclass Adds(unittest.TestCase):\n"
CHECK += "    def test_adds(self):\n        self.assertEqual(add(1, 2), 3)\n"
# Without bytecode: of a file repaired within the second in which it was compiled, and as long as
# before, Python would run what it was.
TESTS = f"{sys.executable} -B -m unittest -v test_adding"


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
        async with talk(agent, folder=repository) as chat:
            turn = await chat.say("the test fails: repair it", approve=True)
            assert turn.text == "It adds now."
            assert (repository / "adding.py").read_text() == RIGHT

            # The tests ran in terminals, which can be opened; the model was told what they said.
            _, failed, edited, passed = turn.calls
            codes = [
                blocks_of(dict(call.state))[0]["result"]["exitCode"] for call in (failed, passed)
            ]
            assert codes == [1, 0]
            shown = await chat.client.terminals.open(blocks_of(dict(passed.state))[0]["resource"])
            assert "OK" in shown.text
            told = [m["content"] for m in server.requests[-1]["messages"] if m["role"] == "tool"]
            assert "AssertionError: -1 != 3" in told[1]
            assert told[1].endswith("(exit code 1)")
            assert told[3].endswith("(exit code 0)")
            assert "\x1b" not in told[3]
            assert "\r" not in told[3]

            # And the change is seen as one: in the call, of the turn, and of the session.
            assert edited.diff.endswith("-    return a - b\n+    return a + b\n")
            changes = chat.session.changes
            views = [await changes.open(turn=turn.turn["id"])]
            views += [await changes.open(kind) for kind in ("session", "uncommitted")]
            for view in views:
                await view.channel.until(lambda state: bool(state["files"]))
                (file,) = await view.ready()
                assert file["id"] == (repository / "adding.py").as_uri()
                assert view.counts == (1, 1)
                assert await view.texts(file) == (WRONG, RIGHT)
