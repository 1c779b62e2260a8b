"""Customizations that come with an agent: read where it names a folder, else shown as they are."""

from __future__ import annotations

from typing import Any

from agenthost.host.customizations.agent_customizations import agent_tree, plugin_folders
from agenthost.host.customizations.enablement import SessionDecisions

FOLDER: Any = {"type": "plugin", "id": "1", "uri": "file:///opt/p", "name": "p"}
OWN: Any = {
    "type": "plugin",
    "id": "1",
    "uri": "builtin:own",
    "name": "own",
    "children": [{"type": "skill", "id": "1", "uri": "builtin:own/a", "name": "a"}],
}
PLACE: Any = {
    "type": "directory",
    "id": "1",
    "uri": "file:///opt/s",
    "name": "s",
    "contents": "skill",
    "writable": False,
}


def test_a_plugin_in_a_folder_is_read_and_everything_else_is_shown_as_it_is() -> None:
    assert list(plugin_folders([FOLDER, OWN, PLACE])) == ["file:///opt/p"]
    shown: Any = agent_tree("llm", [FOLDER, OWN, PLACE], SessionDecisions())
    own, place = shown
    assert own["children"][0]["name"] == "a"
    assert place["enabled"] is True
    # Whatever ids the agent uses, those of the session are its own.
    ids = {own["id"], own["children"][0]["id"], place["id"]}
    assert len(ids) == 3
    assert all(id.startswith("c-") for id in ids)
    other: Any = agent_tree("acp", [OWN], SessionDecisions())
    assert other[0]["id"] != own["id"]
    # What the agent describes is not changed.
    assert OWN["children"][0]["id"] == "1"


def test_what_was_decided_about_them_holds() -> None:
    off = SessionDecisions(
        {"plugin builtin:own": False, "skill builtin:own/a": False},
        everywhere={"directory file:///opt/s skill": False},
    )
    shown: Any = agent_tree("llm", [OWN, PLACE], off)
    own, place = shown
    assert own["enablement"] == [{"kind": "session", "enabled": False}]
    assert own["children"][0]["enabled"] is False
    assert place["enabled"] is False
