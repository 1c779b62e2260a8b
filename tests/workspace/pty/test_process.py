"""Programs on real ptys: their end and that of all they started, floods, input that waits."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from agenthost.workspace.pty import process
from agenthost.workspace.pty.process import MOST_INPUT, READ_AT_ONCE, InputRefused, Pty
from agenthost.workspace.pty.shells import ShellLaunch, one_command
from tests.children import gone, is_alive
from tests.flags import eventually
from tests.workspace.pty.running import (
    PATIENCE,
    RunningTerminal,
    keepers,
    parent,
    shell,
    variables,
)


def running(line: str, folder: Path) -> RunningTerminal:
    return RunningTerminal(one_command(line, shell("bash"), variables(folder)), folder)


async def ended(terminal: RunningTerminal) -> int | None:
    async with asyncio.timeout(PATIENCE):
        return await terminal.pty.ended()


@pytest.mark.parametrize(
    ("line", "code"),
    [("echo a; exit 3", 3), ("echo a; kill -9 $$", 137), ("echo a; kill $$", 143)],
)
async def test_a_program_ends_with_its_code_after_all_of_its_output(
    line: str, code: int, tmp_path: Path
) -> None:
    async with running(line, tmp_path) as terminal:
        assert await ended(terminal) == code
        assert terminal.text.split() == ["a"]
        with pytest.raises(InputRefused, match="has ended"):
            terminal.type("x")
        terminal.pty.resize(9, 9)
    assert not terminal.pty.running


async def test_what_cannot_be_started_says_why(tmp_path: Path) -> None:
    missing = ShellLaunch(("/nowhere/program",), {})
    with pytest.raises(FileNotFoundError):
        async with RunningTerminal(missing, tmp_path):
            pass
    with pytest.raises(FileNotFoundError):
        async with running("true", tmp_path / "gone"):
            pass
    before = len(os.listdir("/proc/self/fd"))
    with pytest.raises(PermissionError):
        async with RunningTerminal(ShellLaunch((str(tmp_path),), {}), tmp_path):
            pass
    assert len(os.listdir("/proc/self/fd")) == before


async def test_a_folder_may_be_given_by_its_descriptor(tmp_path: Path) -> None:
    folder = tmp_path / "old"
    folder.mkdir()
    descriptor = os.open(folder, os.O_PATH)
    try:
        folder.rename(tmp_path / "new")
        output = bytearray()
        launch = one_command(["/bin/pwd"], "/bin/sh", variables(tmp_path))
        pty = await Pty.start(launch.words, env=launch.env, cwd=descriptor, on_output=output.extend)
        assert await pty.ended() == 0
    finally:
        os.close(descriptor)
    assert output.decode().strip() == str(tmp_path / "new")


def written(folder: Path) -> list[int]:
    """Return the ids that programs have written down."""
    return [int(file.read_text() or 0) for file in folder.glob("*.pid")]


async def ready(terminal: RunningTerminal) -> None:
    await terminal.until(lambda: "ready" in terminal.text)


# One in the background, one in a session of its own, one that was disowned by its parent, and one
# that has taken all precautions to be left alone.
LEFT_BEHIND = """
sleep 300 & echo $! > a.pid
setsid sh -c 'echo $$ > b.pid; exec sleep 301' &
setsid sh -c 'setsid sh -c "echo \\$\\$ > c.pid; exec sleep 302" & exit' &
(trap '' HUP TERM INT; exec setsid nohup sh -c 'echo $$ > d.pid; exec sleep 303') > /dev/null 2>&1 &
while ! [ -s a.pid -a -s b.pid -a -s c.pid -a -s d.pid ]; do sleep 0.01; done
echo ready
"""


@pytest.mark.parametrize("how", ["exit", "end", "kill"])
async def test_nothing_outlives_its_terminal(how: str, tmp_path: Path) -> None:
    line = f"{LEFT_BEHIND} exit 5" if how == "exit" else f"trap '' HUP; {LEFT_BEHIND} sleep 304"
    async with running(line, tmp_path) as terminal:
        await ready(terminal)
        children = written(tmp_path)
        assert len(children) == 4
        if how != "exit":
            assert all(map(is_alive, children))
        if how == "kill":
            os.kill(terminal.pty.pid, signal.SIGKILL)
        if how == "end":
            terminal.pty.end()
        code = await ended(terminal)
        assert not any(map(is_alive, [terminal.pty.pid, *children]))
        assert code == (5 if how == "exit" else 137)


async def test_a_stopped_program_ends_with_its_terminal(tmp_path: Path) -> None:
    async with running("echo ready; kill -STOP $$", tmp_path) as terminal:
        await ready(terminal)
        terminal.pty.end()
        await ended(terminal)
        assert not is_alive(terminal.pty.pid)


async def test_should_the_keeper_be_killed_its_shell_ends_too(tmp_path: Path) -> None:
    async with running("trap '' HUP; echo ready; sleep 300", tmp_path) as terminal:
        await ready(terminal)
        os.kill(parent(terminal.pty.pid), signal.SIGKILL)
        assert await ended(terminal) is None
        await gone(terminal.pty.pid)


async def test_a_program_that_stops_its_keeper_ends_all_the_same(tmp_path: Path) -> None:
    line = (
        f"trap '' HUP; {LEFT_BEHIND.replace('echo ready', '')} kill -STOP $PPID; echo ready; wait"
    )
    async with running(line, tmp_path) as terminal:
        await ready(terminal)
        children = written(tmp_path)
        await eventually(lambda: stopped(parent(terminal.pty.pid)))
        terminal.pty.end()
        await ended(terminal)
        assert not any(map(is_alive, [terminal.pty.pid, *children]))


async def test_what_keeps_its_keeper_from_working_is_killed(tmp_path: Path) -> None:
    stop = "while :; do kill -STOP $KEEPER; done"
    line = f"trap '' HUP; {LEFT_BEHIND.replace('echo ready', '')} export KEEPER=$PPID;"
    line += f" setsid sh -c 'trap \"\" HUP; {stop}' & echo ready; {stop}"
    async with running(line, tmp_path) as terminal:
        await ready(terminal)
        children = written(tmp_path)
        terminal.pty.insist()
        await ended(terminal)
        await gone(terminal.pty.pid, *children)


def stopped(process: int) -> bool:
    return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "T"


HOST = """
import asyncio, os, sys
from agenthost.workspace.pty.process import Pty
async def main():
    ready = asyncio.Event()
    pty = await Pty.start(
        ["/bin/sh", "-c", sys.argv[1]], env=dict(os.environ), cwd=".",
        on_output=lambda data: ready.set() if b"ready" in data else None,
    )
    await ready.wait()
    print(pty.pid, flush=True)
    await asyncio.sleep(600)
asyncio.run(main())
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
async def test_nothing_outlives_a_host_that_is_killed(number: int, tmp_path: Path) -> None:
    line = f"trap '' HUP; {LEFT_BEHIND} sleep 304"
    host = await asyncio.create_subprocess_exec(
        sys.executable, "-c", HOST, line, stdout=subprocess.PIPE, cwd=tmp_path
    )
    assert host.stdout is not None
    bash = int(await host.stdout.readline())
    children = [bash, *written(tmp_path)]
    assert all(map(is_alive, children))
    host.send_signal(number)
    await host.wait()
    await gone(*children)


async def test_a_flood_comes_in_bounded_pieces_and_leaves_the_loop_alone(tmp_path: Path) -> None:
    sizes: list[int] = []
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0)
            turns += 1

    launch = one_command("head -c 3000000 /dev/zero", "/bin/sh", variables(tmp_path))
    counting = asyncio.create_task(count())
    pty = await Pty.start(
        launch.words,
        env=launch.env,
        cwd=str(tmp_path),
        on_output=lambda data: sizes.append(len(data)),
    )
    assert await pty.ended() == 0
    counting.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await counting
    assert sum(sizes) == 3_000_000
    assert max(sizes) <= READ_AT_ONCE
    # Between any two pieces everybody else had a turn.
    assert turns > len(sizes)


async def test_those_who_do_not_keep_up_get_time_but_stop_nothing(tmp_path: Path) -> None:
    async with running("head -c 200000 /dev/zero", tmp_path) as terminal:
        terminal.behind = True
        assert await ended(terminal) == 0
        assert terminal.received == 200_000


async def test_binary_output_is_text_that_json_can_carry(tmp_path: Path) -> None:
    async with running("head -c 200000 /dev/urandom", tmp_path) as terminal:
        assert await ended(terminal) == 0
        json.dumps(terminal.text).encode()
        terminal.text.encode()


async def test_a_large_paste_arrives_whole(tmp_path: Path) -> None:
    line = "stty raw -echo; echo ready; head -c 300000 | cksum"
    text = "0123456789" * 30_000
    check = ["cksum"]
    expected = await asyncio.to_thread(subprocess.check_output, check, input=text, text=True)
    async with running(line, tmp_path) as terminal:
        await ready(terminal)
        terminal.type(text)
        assert await ended(terminal) == 0
        assert terminal.text.split()[-2:] == expected.split()


async def test_a_program_that_does_not_read_is_not_typed_at_for_ever(tmp_path: Path) -> None:
    async with running("stty raw -echo; echo ready; sleep 300", tmp_path) as terminal:
        await ready(terminal)
        terminal.type("x" * (MOST_INPUT - 1))
        with pytest.raises(InputRefused, match="does not read"):
            terminal.type("x" * MOST_INPUT)


async def test_a_program_may_let_go_of_its_terminal_and_take_it_again(tmp_path: Path) -> None:
    line = "exec 0<&- 1>&- 2>&-; sleep 0.1; echo back > /dev/tty; sleep 0.4; exit 4"
    async with running(line, tmp_path) as terminal:
        assert await ended(terminal) == 4
        assert terminal.text.split() == ["back"]


async def test_thousands_of_resizes_do_no_harm(tmp_path: Path) -> None:
    async with RunningTerminal.interactive("bash", tmp_path) as terminal:
        for number in range(10_000):
            terminal.pty.resize(2 + number % 200, 2 + number % 50)
        terminal.pty.resize(90, 30)
        assert (await terminal.run("stty size"))[1].split() == ["30", "90"]


async def test_whoever_does_not_wait_for_the_start_leaves_nothing(tmp_path: Path) -> None:
    launch = one_command("echo $$ > a.pid; sleep 300", "/bin/sh", variables(tmp_path))
    start = Pty.start(launch.words, env=launch.env, cwd=str(tmp_path), on_output=lambda data: None)
    starting = asyncio.create_task(start)
    await asyncio.sleep(0)
    starting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await starting
    await gone(*keepers())
    # If it was started at all before its keeper noticed that nobody wants it.
    assert not any(map(is_alive, written(tmp_path)))


async def test_a_loop_that_closes_during_the_start_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, may_spawn = threading.Event(), threading.Event()
    started: list[subprocess.Popen[bytes]] = []
    spawn = process._spawn

    def spawn_late(*arguments: Any) -> Any:
        begun.set()
        may_spawn.wait()
        spawned = spawn(*arguments)
        started.append(spawned.keeper)
        return spawned

    monkeypatch.setattr(process, "_spawn", spawn_late)
    launch = one_command("sleep 300", "/bin/sh", variables(tmp_path))
    start = Pty.start(launch.words, env=launch.env, cwd=str(tmp_path), on_output=lambda data: None)
    starting = asyncio.create_task(start)
    await eventually(begun.is_set)
    # As a loop does it, which waits for nothing else afterwards.
    for task in asyncio.all_tasks() - {asyncio.current_task()}:
        task.cancel()
    may_spawn.set()
    with pytest.raises(asyncio.CancelledError):
        await starting
    await eventually(lambda: bool(started) and started[0].returncode is not None)


async def test_a_program_that_ends_at_once_is_told_like_any_other(tmp_path: Path) -> None:
    launch = one_command(["/bin/echo", "a"], "/bin/sh", variables(tmp_path))
    for _ in range(10):
        output = bytearray()
        pty = await Pty.start(launch.words, env=launch.env, cwd="/", on_output=output.extend)
        # Nothing is told to those who do not know yet who tells it.
        assert not output
        assert (await pty.ended(), bytes(output)) == (0, b"a\r\n")
