"""``agenthost terminal`` in scripts: list, open, look at and end terminals of a host."""

from __future__ import annotations

import asyncio

import pytest
import pytest_asyncio

from agenthost.cli.connection.terminal_lookup import match_terminals
from agenthost.protocol.terminal import TerminalInfo
from tests.cli.running import Cli, Done
from tests.wire.hosting import PATIENCE

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(loop_scope="module", scope="module", autouse=True)
async def session(cli: Cli) -> str:
    """A session that terminals can be opened for."""
    return await cli.new("hello")


async def opened(cli: Cli, *words: str) -> str:
    """Open a terminal; return the beginning of its id."""
    done = await cli.main("terminal", "new", *words, "--json")
    assert done.code == 0, done.err
    return str(done.json["id"])[:8]


async def shown(cli: Cli, id: str, text: str) -> Done:
    """Look at a terminal until a text is there."""
    async with asyncio.timeout(PATIENCE):
        while text not in (done := await cli.main("terminal", "show", id)).out:
            pass
    return done


async def test_a_terminal_is_opened_listed_shown_and_removed(cli: Cli, session: str) -> None:
    id = await opened(cli, "--title", "dev server", "--run", "printf 'a\\033[31mb\\n'; pwd")
    # The prompt may hold the folder's name too, but not at the beginning of a line.
    done = await shown(cli, id, f"\n{cli.cwd}")
    assert "ab\n" in done.out.replace("\r", "")
    assert "\x1b" not in done.out
    listed = await cli.main("terminal")
    heading, *rows = listed.out.splitlines()
    assert heading.split() == ["ID", "TITLE", "STATUS", "USED", "BY"]
    mine = next(row for row in rows if row.startswith(id))
    assert mine.split() == [id, "dev", "server", "running", "session", session[-36:][:8]]
    removed = await cli.main("terminal", "kill", "dev", "--json")
    assert [outcome["done"] for outcome in removed.json] == [True]
    assert id not in (await cli.main("terminal", "list")).out


async def test_where_it_begins_can_be_chosen(cli: Cli) -> None:
    below = cli.cwd / "below"
    below.mkdir()
    id = await opened(cli, "--dir", str(below), "--run", "pwd")
    await shown(cli, id, f"\n{below}")
    await cli.main("terminal", "kill", id)


async def test_its_commands_and_what_they_ended_with_are_told_to_programs(cli: Cli) -> None:
    id = await opened(cli, "--run", "(exit 7)")
    async with asyncio.timeout(PATIENCE):
        while not (state := (await cli.main("terminal", "show", id, "--json")).json)["commands"]:
            pass
        while not state["commands"][0]["isComplete"]:
            state = (await cli.main("terminal", "show", id, "--json")).json
    assert state["commands"][0]["commandLine"] == "(exit 7)"
    assert state["commands"][0]["exitCode"] == 7
    assert state["cwd"] == str(cli.cwd)
    await cli.main("terminal", "kill", id)


async def test_terminals_of_another_session_are_left_out_of_a_sessions_list(cli: Cli) -> None:
    other = await cli.new("another")
    id = await opened(cli, other)
    assert id in (await cli.main("terminal", "list", other)).out
    third = await cli.new("a third")
    empty = await cli.main("terminal", "list", third)
    assert empty.out == ""
    assert f"terminal new --attach --data-dir {cli.data_dir}` opens one" in empty.err
    await cli.main("terminal", "kill", id)


async def test_to_attach_without_a_terminal_is_refused_with_what_works_instead(cli: Cli) -> None:
    id = await opened(cli)
    done = await cli("terminal", "attach", id)
    assert done.code == 2
    assert "must be a terminal" in done.err
    hint = done.err.split("`")[1]
    assert hint == f"agenthost terminal show {id} --data-dir {cli.data_dir}"
    assert (await cli(*hint.split()[1:])).code == 0
    assert (await cli("terminal", "new", "--attach")).code == 2
    await cli.main("terminal", "kill", id)


async def test_what_is_not_there_is_told(cli: Cli) -> None:
    missing = await cli.main("terminal", "show", "nothing")
    assert missing.code == 1
    assert "no terminal matches 'nothing'" in missing.err
    gone = await cli.main("terminal", "kill", "ahp-terminal:/gone", "--json")
    assert gone.code == 1
    assert gone.json[0]["error"] == "there is no such terminal"


def info(uri: str, title: str, *, ended: bool = False) -> TerminalInfo:
    return {
        "resource": uri,
        "title": title,
        "claim": {"kind": "client", "clientId": "c"},
        "lifecycle": {"status": "exited"} if ended else {"status": "running"},
    }


async def test_a_terminal_that_runs_is_meant_before_one_that_ended() -> None:
    old, new = info("ahp-terminal:/1", "bash", ended=True), info("ahp-terminal:/2", "bash")
    assert match_terminals([old, new], "bash") == [new]
    assert match_terminals([old], "BA") == [old]
    assert match_terminals([old, new], "1") == [old]
    assert match_terminals([old, new], "") == []
