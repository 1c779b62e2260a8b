"""What the pages about customizations and MCP servers print, run as if somebody pasted it."""

from __future__ import annotations

import ast
import asyncio
import inspect
import os
import re
import shlex
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
import pytest_asyncio

from agenthost.client import connect
from tests.cli.running import Cli, serving

pytestmark = pytest.mark.asyncio(loop_scope="module")

DOCS = Path(__file__).parents[2] / "docs"


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def cli(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Cli]:
    """The command line beside a host that finds the programs of this environment."""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    with mock.patch.dict(os.environ, PATH=path):
        async with serving(tmp_path_factory.mktemp("docs"), "--agent", "demo") as running:
            yield running


def example(page: str, language: str) -> str:
    """Return the first block of a page in a language."""
    found = re.search(rf"^```{language}\n(.*?)^```$", (DOCS / page).read_text(), re.M | re.S)
    assert found is not None
    return found[1]


async def pasted(cli: Cli, script: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """Run a script and return what it prints; commands that can run in this process do."""
    files, name, rest = script.partition("\nagenthost ")
    folder = await asyncio.to_thread(made_by, files, cli.cwd)
    monkeypatch.chdir(folder)
    here = Cli(cli.data_dir, folder, cli.host)
    printed = ""
    for line in f"{name}{rest}".strip().splitlines():
        word, command, *arguments = shlex.split(line)
        assert word == "agenthost", line
        # One that handles signals needs a process of its own.
        started = here(command, *arguments) if command == "send" else here.main(command, *arguments)
        done = await started
        assert done.code == 0, (line, done.err)
        printed += done.out
    return printed


def made_by(script: str, cwd: Path) -> Path:
    """Run a script in a shell; return the folder that it ends in."""
    done = subprocess.run(["bash", "-ec", f"{script}\npwd"], cwd=cwd, stdout=-1, check=True)
    return Path(done.stdout.decode().splitlines()[-1])


async def run(source: str, names: dict[str, Any]) -> None:
    code = compile(source, "example", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    made = eval(code, names)
    if inspect.isawaitable(made):
        await made


async def test_the_customizations_of_the_page_are_found_and_used(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    printed = await pasted(cli, example("customizations.md", "sh"), monkeypatch)
    rows = [" ".join(row.split()) for row in printed.splitlines()]
    assert "rule AGENTS.md on ." in rows
    assert any(row.startswith("skill tidy on .agents/skills Sorts the files") for row in rows)
    assert any(row.startswith("agent reviewer on .agents/agents Reads changes") for row in rows)
    assert "disabled tidy in this folder" in rows


async def test_the_server_of_the_page_is_trusted_started_asked_and_stopped(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("mcp", reason="MCP servers need the extra")
    printed = await pasted(cli, example("mcp.md", "sh"), monkeypatch)
    rows = [" ".join(row.split()) for row in printed.splitlines()]
    assert "time stopped .mcp.json not trusted yet: mcp-server-time" in rows
    assert "trusted time: mcp-server-time" in rows
    assert "ready time" in rows
    assert '"timezone": "Europe/Berlin"' in printed
    assert "`time` answered:" in printed
    assert rows[-1] == "stopped time"


async def test_the_python_of_the_pages_runs(
    cli: Cli, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / ".mcp.json").write_text('{"mcpServers": {"time": {"command": "mcp-server-time"}}}')
    names = {"connect": connect, "url": cli.host.address, "token": cli.host.token}
    await run(example("customizations.md", "python"), dict(names))
    assert "greet True None" in capsys.readouterr().out
    pytest.importorskip("mcp", reason="MCP servers need the extra")
    await run(example("mcp.md", "python"), {**names, "folder": tmp_path})
    printed = capsys.readouterr().out
    assert "{'kind': 'ready'}" in printed
    assert "datetime" in printed
