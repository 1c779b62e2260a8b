"""The tools that an agent's file names, as several products spell them."""

from __future__ import annotations

import pytest

from agenthost.agents.llm.allowed_tools import allowed_tools
from tests.agents.brought import a_tool

OWN = {
    "list_files": "List files",
    "read_file": "Read file",
    "search_files": "Search files",
    "edit_file": "Edit file",
    "run_command": "Run command",
}
MCP = [a_tool("ask", "db", title="Ask it"), a_tool("drop", "db"), a_tool("send", "mail")]


@pytest.mark.parametrize(
    ("wanted", "names"),
    [
        (["read"], {"list_files", "read_file"}),
        (["Read", "Grep"], {"list_files", "read_file", "search_files"}),
        (["Bash(git:*)"], {"run_command"}),
        (["editFiles", "runCommands"], {"edit_file", "run_command"}),
        (["Edit file"], {"edit_file"}),
        (["db/*"], {"db__ask", "db__drop"}),
        (["db/ask"], {"db__ask"}),
        (["mcp__db__ask", "mcp__mail"], {"db__ask", "mail__send"}),
        (["db__drop"], {"db__drop"}),
        (["Ask it"], {"db__ask"}),
        (["look"], {"look"}),
        (["agent"], set()),
        (["*"], {*OWN, "look", "db__ask", "db__drop", "mail__send"}),
    ],
)
def test_a_name_stands_for_the_tools_that_it_means(wanted: list[str], names: set[str]) -> None:
    allowed = allowed_tools(wanted, OWN, ["look"], MCP)
    assert allowed.names == frozenset(names)
    assert allowed.problem is None


def test_no_names_mean_all_tools() -> None:
    allowed = allowed_tools([], OWN)
    assert allowed.allows("anything")


def test_unknown_names_are_told_each_once_and_not_without_end() -> None:
    allowed = allowed_tools(["read", "fly", "fly", *(f"x{n}" for n in range(500))], OWN)
    assert allowed.names == frozenset({"list_files", "read_file"})
    assert allowed.problem == "fly, x0, x1, x2, x3, x4, x5, x6 and 493 more"
