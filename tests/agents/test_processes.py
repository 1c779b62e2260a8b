from __future__ import annotations

import asyncio
import os
import resource
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from agenthost.agents import processes
from agenthost.agents.processes import (
    MOST_OUTPUT,
    PASS,
    CommandResult,
    command_environment,
    program_environment,
    run_command,
)
from tests.children import gone
from tests.time_limits import TimeLimits

PATIENCE = 60.0
SECRETS = [
    "AGENTHOST_TOKEN", "AGENTHOST_LLM_API_KEY", "OPENAI_API_KEY", "OPENAI_API_KEY_2", "api_key",
    "GITHUB_TOKEN", "AWS_SECRET_ACCESS_KEY", "DB_PASSWORD", "CLIENT_SECRET", "PGPASSWD",
]  # fmt: skip
PLAIN = [
    "PATH", "HOME", "AGENTHOST_URL", "SSH_AUTH_SOCK", "TOKENIZERS_PARALLELISM", "MAX_TOKENS",
    "PASSWORD_STORE_DIR", "KEYBOARD", "AUTHOR",
]  # fmt: skip
GIVEN = {name: f"value of {name}" for name in (*SECRETS, *PLAIN)}
# A program that does nothing but run a command, and pass on what it prints.
RUNNER = """
import asyncio, sys
from agenthost.agents.processes import run_command

async def passed_on(text):
    print(text, end="", flush=True)

asyncio.run(run_command(sys.argv[1], on_output=passed_on))
"""
needs_pidfd = pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="needs a system with pidfd")


class Printed:
    """Gathers what a command prints, and tells when it is enough."""

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self._more = asyncio.Event()

    async def __call__(self, text: str) -> None:
        self.pieces.append(text)
        self._more.set()

    async def numbers(self, count: int) -> list[int]:
        """Wait until so many numbers have been printed."""
        async with asyncio.timeout(PATIENCE):
            while "".join(self.pieces).count("\n") < count:
                self._more.clear()
                await self._more.wait()
        return [int(line) for line in "".join(self.pieces).split()]


@asynccontextmanager
async def running(command: str, count: int) -> AsyncIterator[tuple[asyncio.Task[Any], list[int]]]:
    """Run a command that prints process ids, and give them once they are there."""
    printed = Printed()
    task = asyncio.create_task(run_command(command, on_output=printed))
    try:
        yield task, await printed.numbers(count)
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_output_and_errors_arrive_together_in_order() -> None:
    result = await run_command("echo one; echo two >&2; echo three")
    assert result == CommandResult(0, "one\ntwo\nthree\n", False)


@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("exit 0", 0),
        ("exit 7", 7),
        ("kill -TERM $$", 128 + signal.SIGTERM),
        ("kill -KILL $$", 128 + signal.SIGKILL),
        ("no-such-program-anywhere", 127),
        (["sh", "-c", "exit 3"], 3),
    ],
)
async def test_the_exit_code_says_how_it_ended(command: str | list[str], code: int) -> None:
    assert (await run_command(command)).exit_code == code


async def test_a_program_gets_its_arguments_as_they_are() -> None:
    result = await run_command(["printf", "%s|", "a b", "$HOME", "*"])
    assert result.output == "a b|$HOME|*|"


async def test_a_command_runs_where_it_is_told_with_what_it_is_given(tmp_path: Path) -> None:
    (tmp_path / "here").touch()
    result = await run_command("echo * $NAME", cwd=tmp_path, env={"NAME": "Ann"})
    assert result.output == "here Ann\n"


async def test_a_command_reads_nothing() -> None:
    assert (await run_command("cat; echo done")).output == "done\n"


async def test_a_command_leads_a_process_group_and_a_session_of_its_own() -> None:
    result = await run_command("ps -o pid=,pgid=,sid= -p $$")
    pid, group, session = result.output.split()
    assert pid == group == session
    assert int(group) != os.getpgrp()


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"command": ["/no/such/program"]}, "No such file"),
        ({"command": "true", "cwd": "/no/such/folder"}, "No such file"),
        ({"command": "true", "cwd": "/etc/passwd"}, "Not a directory"),
        ({"command": ["/etc/passwd"]}, "Permission denied"),
        ({"command": "echo a\0b"}, "a character that none may"),
    ],
)
async def test_what_cannot_be_run_raises_and_leaks_nothing(
    options: dict[str, Any], reason: str
) -> None:
    before = await open_files()
    with pytest.raises(OSError, match=reason):
        await run_command(**options)
    assert await open_files() == before


async def test_what_is_run_leaks_nothing_either() -> None:
    before = await open_files()
    await run_command("echo done")
    with pytest.raises(TimeoutError):
        await run_command("exec sleep 1000", timeout=0.01)
    assert await open_files() == before


async def open_files() -> int:
    """Count the open files, once the event loop has closed what it was told to."""
    await run_command("true")
    for _ in range(5):
        await asyncio.sleep(0)
    return len(os.listdir("/proc/self/fd"))


async def test_bytes_that_are_no_text_are_replaced() -> None:
    result = await run_command(r"printf 'a\377b\303\244\303'")
    assert result.output == "a\ufffdbä\ufffd"


async def test_a_character_that_comes_in_two_pieces_stays_one() -> None:
    result = await run_command(r"printf '\303'; sleep 0.05; printf '\244'")
    assert result.output == "ä"


async def test_output_is_handed_on_while_the_command_runs(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "gate")
    printed = Printed()
    task = asyncio.create_task(
        run_command("echo 1; read x < gate; echo 2", cwd=tmp_path, on_output=printed)
    )
    assert await printed.numbers(1) == [1]
    await asyncio.to_thread((tmp_path / "gate").write_text, "go\n")
    assert (await task).output == "1\n2\n"
    assert "".join(printed.pieces) == "1\n2\n"


async def test_many_small_pieces_are_handed_on_together() -> None:
    printed = Printed()
    result = await run_command("for i in $(seq 1 3000); do echo $i; done", on_output=printed)
    assert "".join(printed.pieces) == result.output
    assert result.output.count("\n") == 3000
    assert len(printed.pieces) < 300


async def test_of_a_hundred_megabytes_the_end_is_kept_and_memory_stays_small() -> None:
    printed = Printed()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    result = await run_command("head -c 100000000 /dev/zero; echo end; exit 5", on_output=printed)
    assert (result.exit_code, result.truncated) == (5, True)
    assert len(result.output) == MOST_OUTPUT
    assert result.output.endswith("\0end\n")
    assert printed.pieces[-1].endswith("\0end\n")
    assert max(map(len, printed.pieces)) <= MOST_OUTPUT
    # In kilobytes.
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000


async def test_output_that_just_fits_is_not_called_truncated() -> None:
    result = await run_command(f"head -c {MOST_OUTPUT} /dev/zero")
    assert (len(result.output), result.truncated) == (MOST_OUTPUT, False)


async def test_one_character_more_drops_the_first() -> None:
    result = await run_command(f"printf x; head -c {MOST_OUTPUT} /dev/zero")
    assert (len(result.output), result.truncated) == (MOST_OUTPUT, True)
    assert "x" not in result.output


@needs_pidfd
@pytest.mark.parametrize("trap", ["", "trap '' TERM; "], ids=["willing", "stubborn"])
async def test_a_command_ends_when_whoever_runs_it_is_killed(trap: str) -> None:
    command = f"{trap}echo $$; sleep 1000 & echo $!; wait; sleep 1000"
    runner = await asyncio.create_subprocess_exec(
        sys.executable, "-c", RUNNER, command, stdout=asyncio.subprocess.PIPE
    )
    assert runner.stdout is not None
    pids = [int(await runner.stdout.readline()) for _ in range(2)]
    runner.kill()
    await runner.wait()
    for pid in pids:
        await gone(pid)


@needs_pidfd
@pytest.mark.parametrize(
    "command",
    [
        "echo $$; sleep 1000 & echo $!; sleep 1000",
        "trap '' TERM; echo $$; sleep 1000 & echo $!; sleep 1000",
        "echo $$; (trap '' TERM; sh -c 'echo $$; sleep 1000; true') & sleep 1000",
        "exec 2>&-; echo $$; sleep 1000 >/dev/null & echo $!; exec >/dev/null; sleep 1000",
    ],
    ids=["willing", "stubborn", "stubborn grandchild", "silent"],
)
async def test_cancelling_ends_everybody_in_the_group(command: str) -> None:
    async with running(command, 2) as (task, pids):
        for pid in pids:
            os.kill(pid, 0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        for pid in pids:
            await gone(pid)


@needs_pidfd
async def test_cancelling_again_while_it_is_being_ended_leaves_nobody() -> None:
    async with running("trap '' TERM; echo $$; sleep 1000 & echo $!; sleep 1000", 2) as (
        task,
        pids,
    ):
        task.cancel()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        for pid in pids:
            await gone(pid)


@needs_pidfd
async def test_cancelling_at_any_early_moment_leaves_nobody(tmp_path: Path) -> None:
    for steps in range(30):
        task = asyncio.create_task(run_command("echo $$ >> pids; exec sleep 1000", cwd=tmp_path))
        for _ in range(steps):
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    # Some got as far as saying who they are.
    (tmp_path / "pids").touch()
    for pid in map(int, (tmp_path / "pids").read_text().split()):
        await gone(pid)


@needs_pidfd
async def test_when_the_time_is_up_everybody_is_ended_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    limits, printed = TimeLimits(monkeypatch), Printed()
    command = "echo $$; sleep 1000 & echo $!; sleep 1000"
    running = asyncio.create_task(run_command(command, on_output=printed, timeout=500))
    pids = await printed.numbers(2)
    limits.run_out(500)
    with pytest.raises(TimeoutError):
        await running
    await gone(*pids)


@needs_pidfd
async def test_children_that_a_command_leaves_behind_end_with_it() -> None:
    result = await run_command("sleep 1000 & echo $!")
    assert result.exit_code == 0
    await gone(int(result.output))


@needs_pidfd
async def test_what_children_still_print_after_the_command_is_taken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(processes, "LEFTOVER_GRACE", PATIENCE)
    result = await run_command("(sleep 0.1; echo late; echo later) & echo early")
    assert result.output == "early\nlate\nlater\n"


@needs_pidfd
async def test_a_child_that_left_the_group_is_not_waited_for(tmp_path: Path) -> None:
    child = "setsid sh -c 'echo $$; touch started; exec sleep 1000'"
    wait = "while ! test -e started; do sleep 0.01; done"
    result = await run_command(f"{child} & {wait}", cwd=tmp_path)
    pid = int(result.output)
    # Nobody's child and in nobody's group any more; it is only not waited for.
    os.kill(pid, signal.SIGKILL)
    await gone(pid)


async def test_a_reader_that_fails_ends_the_command() -> None:
    async def fail(text: str) -> None:
        raise ValueError("cannot take it")

    with pytest.raises(ValueError, match="cannot take it"):
        await run_command("echo $$; sleep 1000", on_output=fail)


async def test_a_slow_reader_gets_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "LEFTOVER_GRACE", 0.01)
    pieces: list[str] = []

    async def slowly(text: str) -> None:
        await asyncio.sleep(0.05)
        pieces.append(text)

    result = await run_command("head -c 60000 /dev/zero; echo end", on_output=slowly)
    assert result.output.endswith("end\n")
    assert "".join(pieces) == result.output


def test_a_command_gets_everything_but_secrets() -> None:
    assert command_environment(given=GIVEN).keys() == set(PLAIN)


def test_a_command_gets_the_secrets_that_are_named() -> None:
    given = {**GIVEN, PASS: " GITHUB_TOKEN, AWS_*,,PA"}
    seen = command_environment({"API_KEY": "told"}, given)
    assert seen["API_KEY"] == "told"
    assert seen.keys() - set(PLAIN) == {"GITHUB_TOKEN", "AWS_SECRET_ACCESS_KEY", "API_KEY", PASS}


def test_a_program_gets_the_keys_that_are_not_the_hosts() -> None:
    seen = program_environment({"MORE": "x"}, GIVEN)
    ours = {"AGENTHOST_TOKEN", "AGENTHOST_LLM_API_KEY"}
    assert seen.keys() == GIVEN.keys() - ours | {"MORE"}


async def test_a_running_command_has_no_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENTHOST_TOKEN", "hush")
    monkeypatch.setenv("SOME_API_KEY", "hush")
    monkeypatch.setenv("PLAIN", "word")
    look = "echo $AGENTHOST_TOKEN $SOME_API_KEY $PLAIN"
    assert (await run_command(look)).output == "word\n"
    monkeypatch.setenv(PASS, "SOME_*")
    assert (await run_command(look)).output == "hush word\n"
    told = {"AGENTHOST_TOKEN": "told"}
    assert (await run_command(look, env=told)).output == "told\n"
