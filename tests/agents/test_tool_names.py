"""Names of MCP servers' tools: fit for every model, and never two alike."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agenthost.agents.tool_names import TOOL_NAME, mcp_tool_names

names = st.text(st.characters(exclude_categories=()), max_size=100) | st.sampled_from(
    ["a", "a__b", "b__c", "c", "a b", "a_b", "__", "time"]
)


@pytest.mark.parametrize(
    ("server", "tool", "name"),
    [
        ("time", "get_current_time", "time__get_current_time"),
        ("my-server", "do-it", "my-server__do-it"),
    ],
)
def test_a_plain_name_says_server_and_tool(server: str, tool: str, name: str) -> None:
    assert mcp_tool_names([("c-1", server, tool)]) == [name]


def test_what_does_not_fit_is_shortened_and_still_says_whose_it_is() -> None:
    long, odd = mcp_tool_names([("c-1", "files", "x" * 500), ("c-2", "Günters Server", "löschen")])
    assert long.startswith("files__xxxx")
    assert len(long) == 64
    assert odd.startswith("G_nters_Server__l_schen_")


def test_servers_named_alike_have_different_tools_and_others_keep_their_names() -> None:
    one, two, other = mcp_tool_names(
        [("c-1", "db", "ask"), ("c-2", "db", "ask"), ("c-3", "x", "y")]
    )
    assert one != two
    assert other == "x__y"
    assert mcp_tool_names([("c-2", "db", "ask"), ("c-1", "db", "ask")]) == [two, one]


def test_a_name_made_to_look_like_another_tool_is_not_mistaken_for_it() -> None:
    marked = mcp_tool_names([("c-1", "a b", "t")])[0]
    server, _, tool = marked.partition("__")
    assert len(set(mcp_tool_names([("c-1", "a b", "t"), ("c-2", server, tool)]))) == 2


@given(st.lists(st.tuples(names, names, names), max_size=12))
def test_all_names_fit_and_all_are_different(tools: list[tuple[str, str, str]]) -> None:
    made = mcp_tool_names(tools)
    assert len(made) == len(tools) == len(set(made))
    assert all(TOOL_NAME.fullmatch(name) for name in made)
