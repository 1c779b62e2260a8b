"""``agenthost agents``: what could be offered here, and why something is not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agenthost.agents import Agent, Turn
from agenthost.cli.main import main

HERE = "tests.cli.test_agents"


class Silent(Agent):
    provider, display_name = "silent", "Silent One"

    async def run(self, turn: Turn) -> None:
        pass


class Broken(Silent):
    def __init__(self) -> None:
        raise OSError("no battery")


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run where no configuration file is."""
    monkeypatch.chdir(tmp_path)


def test_every_agent_has_a_line_and_one_without_a_description_its_name(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["agents", "--agent", f"{HERE}:Silent"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["yes", f"{HERE}:Silent", "Silent", "One"]
    assert any(line.startswith("yes  demo") for line in lines)


def test_one_that_was_asked_for_and_cannot_be_had_is_an_error_that_says_why(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["agents", "--agent", f"{HERE}:Broken"]) == 1
    line = capsys.readouterr().out.splitlines()[0]
    assert line.startswith(f"no   {HERE}:Broken")
    assert "no battery" in line


def test_the_list_is_to_be_had_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["agents", "--json", "--agent", f"{HERE}:Broken"]) == 1
    broken, *others = json.loads(capsys.readouterr().out)
    assert (broken["source"], broken["provider"]) == ("named", None)
    assert "no battery" in broken["problem"]
    demo = next(item for item in others if item["spec"] == "demo")
    assert (demo["provider"], demo["displayName"], demo["problem"]) == ("demo", "Demo", None)


def test_the_file_here_is_read_without_being_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "agenthost.toml").write_text(f'agents = ["{HERE}:Silent"]')
    assert main(["agents"]) == 0
    assert f"{HERE}:Silent" in capsys.readouterr().out


@pytest.mark.parametrize("text", [None, "agents = ["], ids=["missing", "broken"])
def test_a_file_that_was_named_must_be_there_and_make_sense(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str | None
) -> None:
    path = tmp_path / "mine.toml"
    if text is not None:
        path.write_text(text)
    assert main(["agents", "--config", str(path)]) == 1
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith("agenthost: ")
    assert "mine.toml" in told.err
