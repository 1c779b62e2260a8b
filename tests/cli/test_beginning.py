"""What a conversation begins with: folders and models that are not there are refused."""

from __future__ import annotations

import pytest

from tests.cli.running import Cli

pytestmark = pytest.mark.asyncio(loop_scope="module")


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


async def test_in_a_session_that_exists_the_model_is_its_agent_s(cli: Cli) -> None:
    uri = await cli.new("first")
    done = await cli.main("send", "more", "--session", uri, "--model", "nope")
    assert (done.code, "demo has no model 'nope'" in done.err) == (2, True)
    assert (await cli("send", "more", "--session", uri, "--model", "demo")).code == 0


async def test_a_folder_of_another_machine_is_for_its_host_to_judge(cli: Cli) -> None:
    there = ("--url", cli.host.address, "--token", cli.host.token)
    done = await cli("send", "hello", "--dir", "file:///not/here", *there)
    assert "does not exist" not in done.err
