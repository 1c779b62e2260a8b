"""An agent's program: how it is ended, and how much of what it says is kept."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from pathlib import Path

import pytest

from agenthost.agents.acp.connection.agent_process import (
    LAST_LINES,
    LONGEST_WORDS,
    AgentProcess,
    Redactor,
)
from agenthost.mcp.process_marks import below
from tests.children import gone

redact = Redactor({"MY_TOKEN": "abc.def", "PATH": "/usr/bin:/bin", "SHORT_KEY": "ab"})
# Starts a program as the host does, passes on its first line, and waits.
RUNNER = """
import asyncio, os, sys
from agenthost.agents.acp.connection.agent_process import AgentProcess

async def run():
    process = await AgentProcess.start("it", sys.argv[1:], cwd="/", env=dict(os.environ))
    print((await process.stdout.readline()).decode(), end="", flush=True)
    await process.exited.wait()

asyncio.run(run())
"""


async def started(script: str, folder: Path) -> AgentProcess:
    env = {"PATH": os.environ["PATH"], "API_KEY": "hush-hush"}
    return await AgentProcess.start("it", ["/bin/sh", "-c", script], cwd=str(folder), env=env)


async def test_a_program_that_ends_with_its_input_is_not_signalled(tmp_path: Path) -> None:
    process = await started("trap 'exit 9' TERM; cat; exit 4", tmp_path)
    await process.end(patience=10)
    assert process.exit_description == "ended with exit code 4"


@pytest.mark.parametrize(
    ("script", "fate"),
    [
        ("echo ready; exec sleep 600", "was killed by SIGTERM"),
        ("trap '' TERM; echo ready; while :; do sleep 0.1; done", "was killed by SIGKILL"),
    ],
)
async def test_a_program_that_does_not_is_ended_firmly(
    tmp_path: Path, script: str, fate: str
) -> None:
    process = await started(script, tmp_path)
    assert await process.stdout.readline() == b"ready\n"
    await process.end(patience=0)
    assert process.exit_description == fate


async def test_what_a_program_leaves_behind_ends_with_it(tmp_path: Path) -> None:
    process = await started("trap '' TERM; sleep 600 & echo $!; sh -c 'sleep 600'", tmp_path)
    child = int(await process.stdout.readline())
    process.kill()
    await process.end(patience=0)
    await gone(process.pid, child)


async def test_an_end_without_time_leaves_no_process_and_no_watcher(tmp_path: Path) -> None:
    before = {*below(os.getpid(), itself=False)}
    process = await started("trap '' TERM; echo ready; while :; do sleep 0.1; done", tmp_path)
    assert await process.stdout.readline() == b"ready\n"
    # The program, and who watches over it.
    mine = {*below(os.getpid(), itself=False)} - before
    assert len(mine) >= 2
    ending = asyncio.create_task(process.end(patience=600))
    await asyncio.wait({ending}, timeout=0)
    ending.cancel()
    with pytest.raises(asyncio.CancelledError):
        await ending
    await gone(*mine)
    # Nothing more is read: what the loop holds of it has been closed.
    assert await process.stdout.read() == b""
    # The loop of this test ends once it has heard of both ends itself.
    await process.exited.wait()
    await process._guard.release()


async def test_of_what_it_complains_the_last_lines_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("agenthost.agents.acp.connection.agent_process.MOST_LOGGED", 20)
    # All of it is read, however slowly.
    monkeypatch.setattr("agenthost.agents.acp.connection.agent_process.TERMINATION_GRACE", 60.0)
    caplog.set_level(logging.DEBUG, "agenthost.agents.acp")
    script = "i=0; while [ $i -lt 500 ]; do echo line $i $API_KEY >&2; i=$((i+1)); done"
    long = "head -c 100000 /dev/zero | tr '\\0' x >&2"
    process = await started(f"{script}; {long}", tmp_path)
    await process.exited.wait()
    *lines, last = (await process.stderr_tail()).split("\n")
    await process.end(patience=0)
    assert len(lines) == LAST_LINES - 1
    assert set(last) == {"x"}
    assert len(last) == LONGEST_WORDS
    assert len(caplog.records) == 21
    assert "the rest is not logged" in caplog.messages[-1]
    assert "hush" not in caplog.text


async def test_a_program_that_is_not_there_is_an_os_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        await AgentProcess.start("it", ["no-such-program"], cwd=str(tmp_path), env={})


async def test_a_program_that_does_not_mind_its_input_ends_when_the_host_is_killed() -> None:
    script = "echo $$; exec sleep 600"
    runner = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", RUNNER, "/bin/sh", "-c", script), stdout=asyncio.subprocess.PIPE
    )
    assert runner.stdout is not None
    pid = int(await runner.stdout.readline())
    runner.kill()
    await runner.wait()
    await gone(pid)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("it is abc.def, said twice: abc.def", "it is ***, said twice: ***"),
        ("/usr/bin:/bin is no secret, nor is ab", "/usr/bin:/bin is no secret, nor is ab"),
        ("Authorization: Bearer eyJhbGciOi.x", "Authorization: Bearer ***"),
        ('{"api_key": "0123", "a": 1}', '{"api_key": "***", "a": 1}'),
        ("password=hunter2 and more", "password=*** and more"),
        ("sk-proj-0123456789abcdef failed", "*** failed"),
        ("ghp_0123456789abcdefghij", "***"),
        ("the task is skewed", "the task is skewed"),
    ],
)
def test_what_looks_like_a_secret_is_hidden(text: str, shown: str) -> None:
    assert redact(text) == shown
