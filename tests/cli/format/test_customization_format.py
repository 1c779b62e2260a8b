"""Customizations as people read them: short, safe, and with what is wrong first."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agenthost.cli.commands.customizations import customization_table
from agenthost.cli.commands.mcp import server_table
from agenthost.cli.format.customization_format import (
    MOST_NAME,
    about,
    cell,
    customization_json,
    far_text,
    problem_lines,
    servers_text,
    state_word,
    where,
)
from agenthost.cli.format.terminal_text import Ink, columns
from agenthost.client.customizations import CustomizationItem, customization_items
from tests.client.bringing import PLUGIN, SERVER, SKILLS

Json = dict[str, Any]

HOSTILE = "\x1b]0;owned\x07\x1b[2J\u202eevil\r\n\x00" + "n" * 1_000_000


def items(*entries: Json) -> list[CustomizationItem]:
    return list(customization_items({"customizations": list(entries)}))


def server(**changes: Any) -> CustomizationItem:
    return items({**SERVER, **changes})[0]


def test_a_table_tells_what_each_is_where_it_lies_and_what_is_wrong() -> None:
    rows = customization_table(items(SKILLS, PLUGIN, SERVER)[1:], ["file:///r"], None, Ink(False))
    assert [" ".join(row.split()) for row in rows] == [
        "KIND NAME STATE FROM ABOUT",
        "skill tidy on .agents/skills Tidies up",
        "skill broken unusable .agents/skills line 3: this is no YAML",
        "plugin review on plugin review",
        "agent reviewer on plugin review",
        "server time stopped .mcp.json",
    ]


@pytest.mark.parametrize(
    ("decisions", "word"),
    [
        ([{"kind": "session", "enabled": False}], "off in this session"),
        ([{"kind": "workspace", "uri": "file:///r", "enabled": False}], "off in this folder"),
        ([{"kind": "global", "enabled": False}], "off everywhere"),
        ([{"kind": "session", "enabled": True}, {"kind": "global", "enabled": False}], "stopped"),
    ],
)
def test_what_is_off_says_for_how_much(decisions: list[Json], word: str) -> None:
    assert state_word(server(enablement=decisions))[0] == word


def test_what_is_in_a_plugin_that_is_off_is_off_as_far_as_that() -> None:
    off = [{"kind": "global", "enabled": False}]
    _, agent = items({**PLUGIN, "enablement": off})
    assert state_word(agent)[0] == "off everywhere"


@pytest.mark.parametrize(
    ("state", "word", "told"),
    [
        ({"kind": "ready"}, "ready", ""),
        ({"kind": "starting", "blocking": True}, "starting", "the turn waits for it"),
        (
            {
                "kind": "authRequired",
                "reason": "required",
                "resource": {"resource": "https://x.example/mcp"},
            },
            "needs sign-in",
            "at https://x.example/mcp",
        ),
        ({"kind": "error", "error": {"errorType": "e", "message": "no uvx"}}, "failed", "no uvx"),
        ({"kind": "resting"}, "resting", ""),
    ],
)
def test_a_server_says_how_it_fares(state: Json, word: str, told: str) -> None:
    assert state_word(server(state=state))[0] == word
    assert about(server(state=state)) == told


def test_a_server_that_nobody_trusted_says_so() -> None:
    trust = {"agenthost/trust": {"folder": "file:///r", "state": "untrusted"}}
    assert about(server(_meta=trust)) == "not trusted yet"
    runs = {"agenthost/runs": "uvx mcp-server-time"}
    assert about(server(_meta=runs)) == "uvx mcp-server-time"
    assert about(server(_meta={**trust, **runs})) == "not trusted yet: uvx mcp-server-time"


def test_a_problem_is_told_in_full_with_the_file_that_has_it() -> None:
    _, _, broken = items(SKILLS)
    told = "line 1\nline 2 " + "x" * 300
    spoilt = CustomizationItem({**broken.value, "_meta": {"agenthost/problem": told}})  # type: ignore[arg-type]
    first, *more = problem_lines(spoilt)
    assert first == "skill broken  /r/.agents/skills/broken/SKILL.md"
    assert more == ["  line 1", f"  line 2 {'x' * 300}"]


def test_a_declaration_that_cannot_be_used_is_no_stopped_server() -> None:
    spoilt = server(_meta={"agenthost/problem": "asks for an input"})
    assert state_word(spoilt)[0] == "unusable"
    assert about(spoilt) == "asks for an input"


def test_what_a_client_brought_says_so() -> None:
    _, agent = items({**PLUGIN, "clientId": "editor"})
    assert where(agent, ["file:///r"]) == "client, plugin review"


def test_hostile_words_are_short_and_obeyed_by_no_terminal() -> None:
    entry = {
        **SKILLS,
        "uri": f"file:///{HOSTILE}",
        "children": [
            {
                "type": "skill",
                "id": "c-x",
                "uri": HOSTILE,
                "name": HOSTILE,
                "description": HOSTILE,
                "_meta": {"agenthost/problem": HOSTILE},
            }
        ],
    }
    error = {"errorType": "e", "message": HOSTILE}
    bad = {**SERVER, "name": HOSTILE, "state": {"kind": "error", "error": error}}
    tables = [
        *customization_table(items(entry)[1:], [], None, Ink(False)),
        *server_table(items(bad), [], None, Ink(False)),
    ]
    for row in tables:
        assert row.isprintable()
        assert columns(row) < 500
        assert "\u202e" not in row
    assert json.loads(json.dumps(customization_json(items(bad)[0])))["name"] == HOSTILE


def test_a_session_names_its_servers_and_the_host_that_it_runs_at() -> None:
    ready = {**SERVER, "state": {"kind": "ready"}}
    many = [{**SERVER, "id": f"c-{number}"} for number in range(9)]
    assert servers_text({"customizations": [SKILLS, ready]}) == "time ready"
    assert servers_text({"customizations": many}).endswith("and 4 more")
    assert servers_text({}) == far_text({}) == ""
    far = {"host": "box", "session": "ahp-session:/s", "url": "ws://box:8765;rm"}
    told = "box; there: agenthost chat ahp-session:/s --url 'ws://box:8765;rm'"
    assert far_text({"_meta": {"agenthost/far": far}}) == told


@given(st.text(), st.integers(1, 200))
def test_a_cell_is_printable_and_fits(text: str, most: int) -> None:
    shown = cell(text, most)
    assert columns(shown) <= most
    assert "\n" not in shown
    assert "\x1b" not in shown


def test_names_are_clipped() -> None:
    assert columns(cell("n" * 100, MOST_NAME)) == MOST_NAME
