"""Declarations of MCP servers, from people and from those who wish us ill."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agenthost.customizations.reading import ReadFile
from agenthost.customizations.server_declarations import (
    MOST_ARGUMENTS,
    declared_servers,
    server_customization,
)
from agenthost.customizations.variables import Variables
from agenthost.mcp.types import ServerDeclaration

FOLDERS = Variables(folder="/work", plugin="/plugins/p")


def declared(said: object) -> ServerDeclaration:
    found = server_customization("x", said, "", FOLDERS)
    assert found.problem is None
    assert found.server is not None
    return found.server


def problem(said: object, name: str = "x") -> str:
    found = server_customization(name, said, "", FOLDERS)
    assert found.server is None
    assert found.problem is not None
    return found.problem


# What is declared


def test_a_command_with_everything() -> None:
    said = {
        "type": "stdio",
        "command": "uvx",
        "args": ["--port", 8080, True, "${workspaceFolder}/x"],
        "env": {"A": "1", "B": 2, "C": None},
        "cwd": "${PLUGIN_ROOT}",
    }
    assert declared(said) == ServerDeclaration(
        "x",
        command=("uvx", "--port", "8080", "true", "/work/x"),
        env={"A": "1", "B": "2"},
        cwd="/plugins/p",
    )


@pytest.mark.parametrize("kind", [None, "http", "streamable-http", "streamableHttp"])
def test_a_url_with_everything(kind: str | None) -> None:
    said = {
        "url": "https://mcp.example:8443/mcp?x=1",
        "headers": {"X-Key": "abc"},
        "oauth": {"clientId": "me", "clientSecret": "s"},
    }
    said |= {"type": kind} if kind else {}
    assert declared(said) == ServerDeclaration(
        "x",
        url="https://mcp.example:8443/mcp?x=1",
        headers={"X-Key": "abc"},
        oauth_client=("me", "s"),
    )


def test_a_registered_client_needs_no_secret() -> None:
    said = {"url": "http://x.example", "auth": {"CLIENT_ID": "me"}}
    assert declared(said).oauth_client == ("me", None)


def test_what_is_shown_of_a_server_has_no_arguments_and_no_query() -> None:
    command = {"command": "uvx", "args": ["--token", "hush"], "env": {"K": "hush"}}
    url = {"url": "https://u:hush@mcp.example/?key=hush", "headers": {"K": "hush"}}
    shown = [server_customization("x", said, "", FOLDERS).description for said in (command, url)]
    assert shown == ["runs uvx", "at mcp.example"]


def test_another_declaration_has_another_digest() -> None:
    base: dict[str, Any] = {"command": "x", "args": ["a"], "env": {"A": "1", "B": "2"}}
    same = {"env": {"B": "2", "A": "1"}, "args": ["a"], "command": "x"}
    assert declared(base).digest == declared(same).digest
    others: list[dict[str, Any]] = [
        {**base, "command": "y"},
        {**base, "args": ["a", ""]},
        {**base, "args": ["b"]},
        {**base, "env": {"A": "1"}},
        {**base, "cwd": "/"},
        {"url": "http://x"},
        {"url": "http://x", "headers": {"a": "b"}},
    ]
    digests = {declared(said).digest for said in [base, *others]}
    assert len(digests) == len(others) + 1


# What is not


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        (7, "no object"),
        ({}, "no `command`"),
        ({"command": " "}, "no `command`"),
        ({"command": ["a"]}, "`command` is no text"),
        ({"command": "a\0b"}, "`command` is no text"),
        ({"command": "x", "args": "a b"}, "`args`"),
        ({"command": "x", "args": [None]}, "`args`"),
        ({"command": "x", "args": ["a"] * (MOST_ARGUMENTS + 1)}, "`args`"),
        ({"command": "x", "args": ["x" * 30_000] * 6}, "too long"),
        ({"command": "x", "env": []}, "`env`"),
        ({"command": "x", "env": ["A=1"]}, "`env`"),
        ({"command": "x", "env": {"A=B": "1"}}, "`env`"),
        ({"command": "x", "env": {"": "1"}}, "`env`"),
        ({"command": "x", "env": {"A": "\0"}}, "`env`"),
        ({"command": "x", "env": {"A": {"B": 1}}}, "`env`"),
        ({"command": "x", "cwd": 7}, "`cwd`"),
        ({"command": "x", "envFile": ".env"}, "envFile"),
        ({"command": "x", "disabled": True}, "switched off"),
        ({"type": "sse", "url": "http://x"}, "`sse`"),
        ({"type": "carrier pigeon"}, "`type`"),
        ({"type": ["stdio"]}, "`type`"),
        ({"url": "file:///etc/passwd"}, "`url`"),
        ({"url": "http://"}, "`url`"),
        ({"url": "http://x:99999"}, "`url`"),
        ({"url": "http://[x"}, "`url`"),
        ({"url": "http://x/\r\nHost: y"}, "`url`"),
        ({"url": "javascript:alert(1)"}, "`url`"),
        ({"type": "http", "command": "x"}, "`url`"),
        ({"url": "http://x", "headers": {"A": "b\r\nC: d"}}, "`headers`"),
        ({"url": "http://x", "headers": {"A B": "c"}}, "`headers`"),
        ({"url": "http://x", "headers": {"A": "é"}}, "`headers`"),
    ],
)
def test_what_cannot_be_started_has_a_problem(said: object, reason: str) -> None:
    assert reason in problem(said)


def test_a_name_that_cannot_be_shown_has_a_problem() -> None:
    assert "name" in problem({"command": "x"}, "")
    assert "name" in problem({"command": "x"}, "n" * 200)
    assert "name" in problem({"command": "x"}, "\x00\x01")
    assert "name" in problem({"command": "x"}, "trusted\u202e")


# Variables


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("${workspaceFolder}/a", "/work/a"),
        ("${CLAUDE_PLUGIN_ROOT}", "/plugins/p"),
        ("${env:KEY}-${KEY}", "k-k"),
        ("${OTHER:-default}", "default"),
        ("${KEY:-default}", "k"),
        ("${}", "${}"),
        ("$HOME ${home} ${a b}", "$HOME ${home} ${a b}"),
        ("--key=${OTHER}", "--key=${env:OTHER}"),
        ("${${KEY}}", "${k}"),
        ("no variable {x} $", "no variable {x} $"),
    ],
)
def test_variables_in_arguments(text: str, value: str) -> None:
    said = {"command": "x", "args": [text], "env": {"KEY": "k"}}
    assert declared(said).command == ("x", value)


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ({"command": "x", "args": ["${input:token}"]}, "asks for an input"),
        ({"command": "x", "args": ["${command:pick}"]}, "an editor's command"),
        ({"command": "x", "args": ["${config:a.b}"]}, "an editor's setting"),
        ({"command": "x", "args": ["${env:}"]}, "a variable of the host's environment"),
        ({"command": "x", "args": ["${env:A B}"]}, "A B of the host's environment"),
        ({"command": "x", "env": {"A": "${AGENTHOST_TOKEN}"}}, "AGENTHOST_TOKEN of the host's"),
    ],
)
def test_what_is_not_given_is_a_problem(said: object, reason: str) -> None:
    assert reason in problem(said)


@pytest.mark.parametrize(
    ("said", "names"),
    [
        ({"command": "x", "args": ["${env:HOME}"]}, ("HOME",)),
        ({"command": "${HOME}/x"}, ("HOME",)),
        ({"command": "x", "cwd": "${HOME}"}, ("HOME",)),
        ({"command": "x", "env": {"KEY": "${KEY}"}}, ("KEY",)),
        ({"command": "x", "args": ["${KEY}"], "env": {"KEY": "a${KEY}"}}, ("KEY",)),
        ({"command": "x", "env": {"A": "${B}", "B": "${A}"}}, ("A", "B")),
        ({"url": "https://x/?${env:SECRET}"}, ("SECRET",)),
        ({"url": "https://x", "headers": {"A": "Bearer ${TOKEN}"}}, ("TOKEN",)),
        ({"command": "x", "args": ["${KEY}"], "env": {"KEY": "k"}}, ()),
        ({"command": "x", "args": ["--key", "${KEY}", "${key}"]}, ("KEY",)),
        ({"command": "/bin/sh", "args": ["-c", "echo ${HOME}"]}, ()),
        ({"command": "sh", "args": ["-c", "echo ${env:HOME}"]}, ("HOME",)),
    ],
)
def test_what_is_wanted_of_the_hosts_environment_is_named_and_not_read(
    said: object, names: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("A", "B", "HOME", "KEY", "SECRET", "TOKEN"):
        monkeypatch.setenv(name, "hush")
    found = declared(said)
    assert found.host_variables == names
    assert "hush" not in str(found)
    filled = found.with_host_variables(dict.fromkeys(names, "hush"))
    assert "${env:" not in str(filled)
    assert ("hush" in str(filled)) == bool(names)
    assert filled.host_variables == ()


def test_a_folder_that_is_not_on_this_machine_is_a_problem() -> None:
    said = {"command": "${PLUGIN_ROOT}/x"}
    found = server_customization("x", said, "", Variables(folder="/work"))
    assert found.problem == "there is no folder on this machine for ${PLUGIN_ROOT}"


def test_values_do_not_grow_without_bound() -> None:
    said = {"command": "x", "args": ["${A}" * 8_000], "env": {"A": "a" * 30_000}}
    assert "becomes too long" in problem(said)


# Files


def servers(text: str, most: int = 10) -> list[tuple[str, str | None]]:
    found = declared_servers(ReadFile("f/mcp.json", text), FOLDERS, most)
    return [(one.name, one.problem) for one in found]


def test_a_broken_server_does_not_hide_the_others() -> None:
    text = '{"mcpServers": {"a": {"command": "x"}, "b": 7, "c": {"url": "http://x"}}}'
    assert servers(text) == [("a", None), ("b", "it is declared by no object"), ("c", None)]


@pytest.mark.parametrize("name", ["mcpServers", "servers"])
def test_servers_stand_under_either_name(name: str) -> None:
    assert servers(json.dumps({name: {"a": {"command": "x"}}, "inputs": []})) == [("a", None)]


def test_servers_may_stand_without_a_name_around_them() -> None:
    assert servers('{"a": {"command": "x"}}') == [("a", None)]
    found = declared_servers(ReadFile("", '{"a": {"command": "x"}}'), FOLDERS, 10)
    assert found[0].range == (0, 1, 0, 22)


@pytest.mark.parametrize("text", ["{}", '{"servers": {}}', '{"other": 1}'])
def test_a_file_may_declare_nothing(text: str) -> None:
    assert servers(text) == []


@pytest.mark.parametrize("text", ["", "[]", "{", '{"mcpServers": []}', '{"servers": null}'])
def test_a_file_that_cannot_be_read_is_one_entry_with_the_problem(text: str) -> None:
    [(name, why)] = servers(text)
    assert name == "mcp.json"
    assert why


def test_a_file_declares_no_more_than_are_taken() -> None:
    text = json.dumps({"servers": {str(number): {"command": "x"} for number in range(50)}})
    assert len(servers(text, most=3)) == 3


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20)
    | st.sampled_from(["${env:A}", "${A}", "http://x", "stdio", "http", "${workspaceFolder}"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)  # fmt: skip
_KEYS = st.sampled_from(
    ["command", "args", "env", "cwd", "url", "headers", "type", "oauth", "auth", "disabled"]
)


@given(st.text(max_size=20), _VALUES | st.dictionaries(_KEYS, _VALUES))
def test_no_declaration_raises(name: str, said: object) -> None:
    found = server_customization(name, said, "", FOLDERS)
    assert (found.server is None) == (found.problem is not None)
    assert found.name


@given(st.text() | st.dictionaries(st.sampled_from(["servers", "x"]), _VALUES).map(json.dumps))
def test_no_file_raises(text: str) -> None:
    for one in declared_servers(ReadFile("mcp.json", text), FOLDERS, 10):
        assert (one.server is None) == (one.problem is not None)
