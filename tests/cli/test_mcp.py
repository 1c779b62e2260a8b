"""``agenthost mcp`` and ``agenthost customizations``, beside a host with a session full of both."""

from __future__ import annotations

import asyncio
import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from tests.cli.running import Cli
from tests.mcp.servers import ANSWERING
from tests.mcp.signing_in import locked_in
from tests.wire.hosting import PATIENCE

pytestmark = pytest.mark.asyncio(loop_scope="module")

pytest.importorskip("mcp", reason="MCP servers need the extra")

Json = dict[str, Any]

# What a terminal would obey, in a server's every word.
EVIL = "\x1b]0;owned\x07\x1b[2Jevil\u202e"


def program(code: str = "") -> Json:
    """Declare a server that is a Python program."""
    return {"command": sys.executable, "args": ["-ISc", f"{ANSWERING}\n{code}\nserve()"]}


SERVERS: Json = {
    "echo": program('sys.stderr.write("listening \\x1b[31mred\\n"); sys.stderr.flush()'),
    "missing": {"command": "/no/such/program"},
    "asks": {"command": "x", "args": ["${input:key}"]},
    "evil": program(
        f"def call(number, *_): send(id=number, result={{**text({EVIL!r}), 'isError': True}})\n"
        f"tools = [{{'name': 't', 'title': {EVIL!r}, 'inputSchema': {{'type': 'object'}}}}]"
    ),
    # A name that nobody could print.
    EVIL + "n" * 2_000: {"command": "/no/such/thing"},
}


def lay_out(folder: Path) -> None:
    """Put something of every kind into a folder, good and broken."""
    (folder / ".mcp.json").write_text(json.dumps({"mcpServers": SERVERS}))
    (folder / "AGENTS.md").write_text("Be brief.")
    for name, text in {
        "skills/tidy/SKILL.md": "---\nname: tidy\ndescription: Tidies up\n---\nTidy.",
        "skills/broken/SKILL.md": "---\nname: broken\n\nwithout an end",
        "agents/reviewer.md": "---\nname: reviewer\n---\nYou review.",
        "agents/evil.md": f"---\nname: evil\ndescription: '{EVIL.encode().hex()}'\n---\n{EVIL}",
    }.items():
        path = folder / ".agents" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


@pytest_asyncio.fixture(loop_scope="module", scope="module", autouse=True)
async def session(cli: Cli) -> str:
    """A session in a folder with all of it; nobody has trusted anything."""
    lay_out(cli.cwd)
    async with cli.client() as client:
        made = await client.sessions.create(keep=True, directories=[cli.cwd.as_uri()])
        async with asyncio.timeout(PATIENCE):
            await made.customizations.loaded()
        await made.rename("brought")
        return made.uri


def rows(out: str) -> list[str]:
    return [" ".join(row.split()) for row in out.splitlines()]


def is_safe(text: str) -> bool:
    return all(row.isprintable() for row in text.splitlines()) and "\u202e" not in text


# Customizations.


async def test_what_a_session_is_brought_is_listed_with_what_is_wrong(cli: Cli) -> None:
    listed = await cli.main("customizations", "brought")
    assert (listed.code, is_safe(listed.out)) == (0, True)
    found = rows(listed.out)
    assert found[0] == "KIND NAME STATE FROM ABOUT"
    assert "rule AGENTS.md on ." in found
    assert "skill tidy on .agents/skills Tidies up" in found
    assert "agent reviewer on .agents/agents" in [row.rstrip() for row in found]
    assert any(row.startswith("skill broken unusable .agents/skills") for row in found)
    assert any(row.startswith("server asks unusable .mcp.json") for row in found)
    assert max(map(len, listed.out.splitlines())) < 400
    assert re.search(r"customizations \S+ --problems", listed.err)
    wrong = (await cli.main("customizations", "brought", "--problems")).out
    assert f"skill broken  {cli.cwd}/.agents/skills/broken/SKILL.md\n  the front matter" in wrong
    assert f"server asks  {cli.cwd}/.mcp.json\n  it asks for an input" in wrong
    assert "tidy" not in wrong


async def test_programs_are_told_all_of_it(cli: Cli) -> None:
    items = (await cli.main("customizations", "brought", "--json")).json
    by_name = {item["name"]: item for item in items}
    tidy, broken = by_name["tidy"], by_name["broken"]
    assert (tidy["kind"], tidy["enabled"], tidy["problem"]) == ("skill", True, None)
    assert tidy["uri"].endswith(".agents/skills/tidy/SKILL.md")
    assert broken["problem"]
    assert by_name["echo"]["state"] == {"kind": "stopped"}
    assert by_name["echo"]["trust"]["state"] == "untrusted"


async def test_switching_says_what_counts_then(cli: Cli) -> None:
    off = await cli.main("customizations", "disable", "tidy", "--session", "brought")
    assert (off.code, off.out) == (0, "disabled  tidy in this session\n")
    on = await cli.main("customizations", "enable", "tidy", "--session", "brought", "--global")
    assert on.out == "enabled  tidy everywhere\n"
    again = await cli.main(
        "customizations", "enable", "tidy", "reviewer", "--session", "brought", "--json"
    )
    assert [item["enabled"] for item in again.json] == [True, True]


async def test_a_host_that_has_them_switched_off_says_so(cli: Cli, session: str) -> None:
    async with cli.client() as client:
        brought = await client.sessions.get(session)
        try:
            await cli.main("config", "customizations.enabled", "false")
            await brought.channel.until(lambda _: not list(brought.customizations))
            none = await cli.main("customizations", "brought")
            assert "Customizations are switched off on this host." in none.err
            assert "config customizations.enabled true" in none.err
        finally:
            await cli.main("config", "customizations.enabled", "true")
            await brought.channel.until(lambda _: brought.customizations.servers())


async def test_what_is_not_there_is_refused_with_what_is(cli: Cli) -> None:
    done = await cli.main("customizations", "disable", "nothing", "--session", "brought")
    assert done.code == 1
    assert "nothing is called 'nothing'; there are" in done.err
    assert is_safe(done.err.replace("\n", ""))
    misuse = await cli.main("customizations", "disable", "--session", "brought")
    assert (misuse.code, "name what to disable" in misuse.err) == (2, True)
    assert (await cli.main("customizations", "brought", "--global")).code == 2
    unclear = await cli.main("customizations", "enable", "evil", "--session", "brought", "--json")
    assert unclear.json["error"]["kind"] == "ambiguous"


async def test_a_wrong_custom_agent_is_refused_with_the_right_ones(cli: Cli) -> None:
    done = await cli("send", "hi", "--session", "brought", "--agent-file", "revewer")
    assert done.code == 1
    assert "nothing is called 'revewer'; there are" in done.err
    assert "reviewer" in done.err


# Servers.


async def test_a_server_is_trusted_started_asked_read_and_stopped(cli: Cli) -> None:
    listed = rows((await cli.main("mcp", "--session", "brought")).out)
    assert any(row.startswith("echo stopped .mcp.json not trusted yet: ") for row in listed)
    refused = await cli.main("mcp", "start", "echo", "--session", "brought")
    assert refused.code == 1
    assert f"nobody has trusted {cli.cwd}" in refused.err
    assert f"mcp trust echo --session brought --data-dir {cli.data_dir}` trusts it" in refused.err
    trusted = await cli.main("mcp", "trust", "echo", "--session", "brought")
    assert trusted.out.startswith(f"trusted  echo: {sys.executable} -ISc ")
    assert (await cli.main("mcp", "start", "echo", "--session", "brought")).out == "ready  echo\n"
    called = await cli.main("mcp", "call", "echo", "echo", '{"a": 1}', "--session", "brought")
    assert (called.code, called.out) == (0, '{"a": 1}\n')
    tools = await cli.main("mcp", "call", "echo", "--session", "brought")
    assert rows(tools.out)[1] == "echo"
    log = await cli.main("mcp", "log", "echo", "--session", "brought")
    assert "listening red" in log.out
    stopped = await cli.main("mcp", "stop", "echo", "--session", "brought", "--json")
    assert [outcome["done"] for outcome in stopped.json] == [True]
    idle = await cli.main("mcp", "call", "echo", "echo", "--session", "brought")
    assert (idle.code, "is not running" in idle.err) == (1, True)


async def test_what_was_decided_is_listed_and_can_be_taken_back(cli: Cli) -> None:
    await cli.main("mcp", "trust", "echo", "--session", "brought")
    listed = rows((await cli.main("mcp", "trusted")).out)
    assert listed[0] == "SERVER DECISION BY WHEN FOLDER"
    assert f"echo trusted owner just now {cli.cwd}" in listed
    assert (await cli.main("mcp", "forget", str(cli.cwd))).out == f"forgotten  {cli.cwd}\n"
    nothing = await cli.main("mcp", "trusted")
    assert (nothing.out, "Nothing was decided" in nothing.err) == ("", True)


async def test_a_server_that_cannot_start_says_why(cli: Cli) -> None:
    await cli.main("mcp", "trust", "missing", "--session", "brought")
    done = await cli.main("mcp", "start", "missing", "--session", "brought", "--json")
    assert done.code == 1
    assert "/no/such/program" in done.json[0]["error"]
    assert "mcp log missing" in done.err


async def test_a_servers_words_drive_no_terminal(cli: Cli) -> None:
    await cli.main("mcp", "trust", "evil", "--session", "brought")
    assert (await cli.main("mcp", "start", "evil", "--session", "brought")).code == 0
    called = await cli.main("mcp", "call", "evil", "t", "--session", "brought")
    assert called.code == 1
    tools = await cli.main("mcp", "call", "evil", "--session", "brought")
    whole = await cli.main("mcp", "--session", "brought")
    for text in (called.out, called.err, tools.out, whole.out):
        assert is_safe(text), text


async def test_misuse_is_told_before_anything_is_asked(cli: Cli) -> None:
    bad = await cli.main("mcp", "call", "echo", "echo", "[1]", "--session", "brought")
    assert (bad.code, "not a JSON object" in bad.err) == (2, True)
    unknown = await cli.main("mcp", "start", "nobody", "--session", "brought", "--json")
    assert unknown.json["error"]["kind"] == "notFound"
    needless = await cli.main("mcp", "login", "echo", "--session", "brought", stdin="t\n")
    assert (needless.code, "asks for no token" in needless.err) == (1, True)


async def test_a_token_lets_a_server_in_and_a_wrong_one_is_told(cli: Cli, tmp_path: Path) -> None:
    async with locked_in(tmp_path) as locked:
        folder = cli.cwd / "locked"
        folder.mkdir()
        declared = {"mcpServers": {"locked": {"type": "http", "url": locked.url}}}
        (folder / ".mcp.json").write_text(json.dumps(declared))
        async with cli.client() as client:
            made = await client.sessions.create(keep=True, directories=[folder.as_uri()])
            await made.rename("behind a door")
            await made.customizations.loaded()
        at = ("--session", "behind a door")
        await cli.main("mcp", "trust", "locked", *at)
        shut = await cli.main("mcp", "start", "locked", *at)
        assert (shut.code, f"it needs a token for {locked.url}" in shut.err) == (1, True)
        assert "mcp login locked" in shut.err
        assert "locked needs sign-in" in rows((await cli.main("mcp", *at)).out)[1]
        wrong = await cli.main("mcp", "login", "locked", "--token-stdin", *at, stdin="bad\n")
        assert (wrong.code, "does not take this token" in wrong.err) == (1, True)
        opened = await cli.main("mcp", "login", "locked", "--token-stdin", *at, stdin="good\n")
        assert (opened.code, opened.out) == (0, "ready  locked\n"), opened.err
        for done in (shut, wrong, opened):
            assert "good" not in done.out + done.err
