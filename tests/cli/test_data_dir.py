from __future__ import annotations

from pathlib import Path

from agenthost.cli.data_dir import default_data_dir


def test_the_variable_wins_everywhere() -> None:
    named = {"AGENTHOST_DATA_DIR": "/srv/agents", "XDG_DATA_HOME": "/xdg"}
    assert default_data_dir(named, "linux") == Path("/srv/agents")
    assert default_data_dir(named, "darwin") == Path("/srv/agents")
    assert default_data_dir({"AGENTHOST_DATA_DIR": "~/a"}, "linux") == Path.home() / "a"


def test_linux_follows_xdg_and_ignores_what_xdg_says_to_ignore() -> None:
    home = Path.home() / ".local" / "share" / "agenthost"
    assert default_data_dir({"XDG_DATA_HOME": "/xdg"}, "linux") == Path("/xdg/agenthost")
    for ignored in ({}, {"XDG_DATA_HOME": ""}, {"XDG_DATA_HOME": "relative"}):
        assert default_data_dir(ignored, "linux") == home


def test_macos_has_its_own_place() -> None:
    expected = Path.home() / "Library" / "Application Support" / "agenthost"
    assert default_data_dir({"XDG_DATA_HOME": "/xdg"}, "darwin") == expected
