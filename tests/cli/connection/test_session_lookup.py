"""Finding the session that a text means; a new one is not made for what is not there."""

from __future__ import annotations

from typing import Any

import pytest

from agenthost.cli.connection.session_lookup import match_sessions
from tests.cli.running import Cli

on_the_host = pytest.mark.asyncio(loop_scope="module")


def summary(uri: str, title: str, *, archived: bool = False) -> Any:
    return {"resource": uri, "title": title, "status": 1 | (64 if archived else 0)}


SESSIONS = [
    summary("ahp-session:/3f2a-1", "Release the parser"),
    summary("ahp-session:/3f2b-2", "Release"),
    summary("ahp-session:/77", "release", archived=True),
    summary("copilot:/9/x", "Rewrite 77 tests"),
]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("ahp-session:/77", ["ahp-session:/77"]),
        ("3f2a-1", ["ahp-session:/3f2a-1"]),
        ("3f2b", ["ahp-session:/3f2b-2"]),
        ("3f2", ["ahp-session:/3f2a-1", "ahp-session:/3f2b-2"]),
        ("x", ["copilot:/9/x"]),
        # An id comes before a title that mentions it.
        ("77", ["ahp-session:/77"]),
        # A whole title comes before a part of one, and what is not archived before what is.
        ("RELEASE", ["ahp-session:/3f2b-2"]),
        ("PARSER", ["ahp-session:/3f2a-1"]),
        ("re", ["ahp-session:/3f2a-1", "ahp-session:/3f2b-2", "copilot:/9/x"]),
        ("nothing", []),
        ("", []),
    ],
)
def test_a_text_means_the_sessions_that_its_best_reading_finds(text: str, found: list[str]) -> None:
    assert [item["resource"] for item in match_sessions(SESSIONS, text)] == found


# A new session.


@on_the_host
@pytest.mark.parametrize("command", [("send", "hello"), ("chat",)])
@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (("--dir", "no/such/folder"), "no/such/folder does not exist"),
        (("--dir", "A-FILE"), "a-file is not a directory"),
        (("--dir", "file:///no/such/folder"), "--dir: /no/such/folder does not exist"),
        (("--model", "nope"), "--model: demo has no model 'nope'; it has demo"),
        (("--model", "Demo"), "--model: demo has no model 'Demo'; did you mean demo?"),
    ],
)
async def test_what_is_not_there_is_refused_before_anything_is_made(
    cli: Cli, command: tuple[str, ...], options: tuple[str, ...], problem: str
) -> None:
    file = cli.cwd / "a-file"
    file.write_text("")
    options = tuple(str(file) if word == "A-FILE" else word for word in options)
    before = await cli.main("sessions", "--all", "--json")
    # Without standard input a chat would end at once.
    done = await cli.main(*command, *options, "--json")
    assert done.code == 2
    assert problem in done.err
    assert done.lines[-1]["error"]["kind"] == "usage"
    assert (await cli.main("sessions", "--all", "--json")).json == before.json


@on_the_host
async def test_in_a_session_that_exists_the_model_is_its_agent_s(cli: Cli) -> None:
    uri = await cli.new("first")
    done = await cli.main("send", "more", "--session", uri, "--model", "nope")
    assert (done.code, "demo has no model 'nope'" in done.err) == (2, True)
    assert (await cli("send", "more", "--session", uri, "--model", "demo")).code == 0


@on_the_host
async def test_a_folder_of_another_machine_is_for_its_host_to_judge(cli: Cli) -> None:
    there = ("--url", cli.host.address, "--token", cli.host.token)
    done = await cli("send", "hello", "--dir", "file:///not/here", *there)
    assert "does not exist" not in done.err
