"""Declarations: what they are known by, and which cannot be started."""

from __future__ import annotations

import pytest

from agenthost.mcp.types import McpFailed, ServerDeclaration

GOOD = ServerDeclaration("a", command=("run", "it"), env={"A": "1", "B": "2"}, cwd="sub")
HTTP = ServerDeclaration("a", url="https://example.com/mcp", headers={"X-Key": "1"})


@pytest.mark.parametrize("declaration", [GOOD, HTTP])
def test_a_declaration_travels_whole(declaration: ServerDeclaration) -> None:
    assert ServerDeclaration.from_json(declaration.to_json()) == declaration
    assert declaration.problem() is None


def test_the_digest_is_that_of_what_runs() -> None:
    same = ServerDeclaration(
        "a", command=("run", "it"), env={"B": "2", "A": "1"}, cwd="sub", start_timeout=5
    )
    assert same.digest == GOOD.digest


@pytest.mark.parametrize(
    "other",
    [
        ServerDeclaration("b", command=("run", "it"), env={"A": "1", "B": "2"}, cwd="sub"),
        ServerDeclaration("a", command=("run it",), env={"A": "1", "B": "2"}, cwd="sub"),
        ServerDeclaration("a", command=("run", "it"), env={"A": "1", "B": "3"}, cwd="sub"),
        ServerDeclaration("a", command=("run", "it"), env={"A": "1", "B": "2"}),
    ],
)
def test_whatever_changes_what_runs_changes_the_digest(other: ServerDeclaration) -> None:
    assert other.digest != GOOD.digest


@pytest.mark.parametrize(
    ("declaration", "problem"),
    [
        (ServerDeclaration("a"), "either a command or a url"),
        (ServerDeclaration("a", command=("a",), url="http://b"), "either a command or a url"),
        (ServerDeclaration("a", command=()), "empty"),
        (ServerDeclaration("a", command=("",)), "empty"),
        (ServerDeclaration("a", command=("a\0b",)), "character"),
        (ServerDeclaration("a", command=("a",), env={"A=B": "1"}), "character"),
        (ServerDeclaration("a", command=("a",), env={"": "1"}), "character"),
        (ServerDeclaration("a", url="file:///etc/passwd"), "no http"),
        (ServerDeclaration("a", url="http://"), "no http"),
        (ServerDeclaration("a", url="http://[::1"), "no http"),
        (ServerDeclaration("a", url="http://a:99999/"), "no http"),
        (ServerDeclaration("a", url="http://a", headers={"A": "1\r\nB: 2"}), "character"),
    ],
)
def test_what_cannot_be_started_says_why(declaration: ServerDeclaration, problem: str) -> None:
    assert problem in (declaration.problem() or "")


def test_a_variable_of_the_host_stands_where_it_was_named() -> None:
    declaration = ServerDeclaration(
        "a",
        command=("run", "${env:A}"),
        env={"KEY": "<${env:A}${env:B}>"},
        cwd="${env:B}",
        host_variables=("A", "B"),
    )
    filled = declaration.with_host_variables({"A": "${env:B}", "B": "b", "C": "c"})
    assert filled.command == ("run", "${env:B}")
    assert filled.env == {"KEY": "<${env:B}b>"}
    assert filled.cwd == "b"


def test_only_the_variables_that_were_named_are_given() -> None:
    declaration = ServerDeclaration("a", command=("${env:A}", "${env:C}"), host_variables=("A",))
    assert declaration.with_host_variables({"A": "a", "C": "c"}).command == ("a", "${env:C}")
    other = ServerDeclaration("a", command=("${env:A}", "${env:C}"), host_variables=("A", "C"))
    assert other.digest != declaration.digest


def test_a_variable_that_the_host_lacks_is_told() -> None:
    declaration = ServerDeclaration("a", command=("${env:A}",), host_variables=("A",))
    with pytest.raises(McpFailed, match="A is not set where this host runs"):
        declaration.with_host_variables({})
