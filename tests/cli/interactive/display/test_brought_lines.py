"""Servers, custom agents and the approval mode, as the chat shows them."""

from __future__ import annotations

from typing import Any

import pytest

from agenthost.cli.interactive.display.brought_lines import (
    BroughtItems,
    agents_lines,
    approval_mode,
    approval_modes,
    approval_word,
    approvals_lines,
    busy_server_line,
    server_kinds,
    server_notes,
    servers_in,
    servers_lines,
)
from agenthost.cli.interactive.display.styled_text import StyledLine, text_of
from agenthost.client.customizations import CustomizationItem
from tests.client.bringing import PLUGIN, SERVER, SKILLS

Json = dict[str, Any]

SCHEMA: Json = {
    "type": "object",
    "properties": {
        "autoApprove": {
            "type": "string",
            "title": "Approvals",
            "enum": ["default", "edits", "autoApprove"],
            "enumLabels": ["Ask first", "Allow edits", "Allow everything"],
        }
    },
}
MODES = approval_modes(SCHEMA)


def session(**state: Any) -> Json:
    return {"customizations": [SKILLS, {**SERVER, "state": state}]}


def servers(**state: Any) -> list[CustomizationItem]:
    return servers_in(session(**state))


def texts(lines: list[StyledLine]) -> list[str]:
    return [text_of(each) for each in lines]


def test_a_server_that_is_not_there_yet_takes_one_line() -> None:
    (told,) = texts(busy_server_line(servers(kind="starting", blocking=True), 80))
    assert told == "⧉ time … starting · /servers"
    needed = {"reason": "required", "resource": {"resource": "https://x.example"}}
    (told,) = texts(busy_server_line(servers(kind="authRequired", **needed), 80))
    assert told == "⧉ time ⚿ needs sign-in · /servers"


@pytest.mark.parametrize("kind", ["ready", "stopped"])
def test_a_server_that_needs_nothing_takes_no_line(kind: str) -> None:
    assert busy_server_line(servers(kind=kind), 80) == []


def test_many_servers_still_take_one_line() -> None:
    many = [{**SERVER, "id": f"c-{n}", "state": {"kind": "starting"}} for n in range(32)]
    (told,) = texts(busy_server_line(servers_in({"customizations": many}), 200))
    assert "and 28 more" in told


def test_a_failure_is_told_once_and_one_that_was_there_before_is_not() -> None:
    failed = servers(kind="error", error={"errorType": "e", "message": "no\x1b[2J uvx"})
    before = server_kinds(servers(kind="starting"))
    (told,) = texts(list(server_notes(before, failed)))
    assert told == "✗ the MCP server time failed: no uvx"
    assert not list(server_notes(server_kinds(failed), failed))
    assert not list(server_notes({}, failed))


def test_a_sign_in_says_what_to_do() -> None:
    needed = {"reason": "required", "resource": {"resource": "https://x.example"}}
    before = server_kinds(servers(kind="starting"))
    (told,) = texts(list(server_notes(before, servers(kind="authRequired", **needed))))
    assert "`agenthost mcp login time` hands over a token" in told


def test_lists_say_what_there_is_and_what_can_be_done() -> None:
    listed = texts(servers_lines(session(kind="ready"), 80))
    assert listed[1].split() == ["time", "ready"]
    assert "/servers start|stop|restart NAME" in listed[-2]
    (child,) = PLUGIN["children"]
    agent = CustomizationItem(child, PLUGIN)  # type: ignore[arg-type]
    assert texts(agents_lines([agent], child["uri"], 80))[1].split() == ["*reviewer"]
    assert "no custom agents" in texts(agents_lines([], None, 80))[0]
    assert "no MCP servers" in texts(servers_lines({}, 80))[0]


@pytest.mark.parametrize(
    ("word", "mode"),
    [
        ("edits", "edits"),
        ("ask", "default"),
        ("Everything", "autoApprove"),
        ("autoapprove", "autoApprove"),
        ("allow edits", "edits"),
        ("allow", None),
        ("nothing", None),
    ],
)
def test_a_mode_is_meant_by_its_name_or_what_people_call_it(word: str, mode: str | None) -> None:
    assert approval_mode(MODES, word) == mode


def test_the_bar_is_silent_while_everything_is_asked_about() -> None:
    assert approval_word(MODES, None) == approval_word(MODES, "default") == ""
    assert approval_word(MODES, "edits") == "allow edits"
    assert approval_word([], "strange\x1b[2J") == "strange"


def test_modes_are_listed_with_the_current_one_marked() -> None:
    listed = texts(approvals_lines(MODES, "edits"))
    assert listed[1:4] == [
        "  default  Ask first",
        " *edits  Allow edits",
        "  autoApprove  Allow everything",
    ]
    assert texts(approvals_lines(MODES, None))[1].startswith(" *default")
    assert "no approval modes" in texts(approvals_lines(approval_modes(None), None))[0]


def test_a_tree_is_looked_through_when_it_changes_and_not_when_it_is_drawn() -> None:
    state, items = session(kind="ready"), BroughtItems()
    first = items.update(state).servers
    assert items.update({**state, "title": "another"}).servers is first
    assert items.update(session(kind="ready")).servers is not first
    assert items.agent_name(None) == ""
    plugin = {"customizations": [PLUGIN]}
    assert items.update(plugin).agent_name(PLUGIN["children"][0]["uri"]) == "reviewer"
    assert items.agent_name("file:///gone.md") == "file:///gone.md"
