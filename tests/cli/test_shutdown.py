"""A process that was told to stop ends in time, whatever it does, and with the right code."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# Seconds after which the processes here will not end any more: what they wait for takes longer.
PATIENCE = 60.0
TOO_LATE = "agenthost: the host did not stop in time and was ended\n"

# As ``agenthost serve`` does it, with a code that nothing else gives.
SCRIPT = """
import asyncio, sys, threading, time
from agenthost.cli import shutdown

shutdown.STOP_LIMIT = float(sys.argv[2])
stopping, code = shutdown.Shutdown(), 3


async def serve(how):
    stopping.listen()
    try:
        match how:
            case "a job" | "a failure":
                asyncio.get_running_loop().run_in_executor(None, time.sleep, 1000)
            case "a thread":
                threading.Thread(target=time.sleep, args=(1000,)).start()
        print("listens", flush=True)
        match how:
            case "sleeping":
                time.sleep(1000)
            case "looping":
                while True:
                    pass
            case "a failure":
                raise OSError("the disk is full")
        await stopping.requested.wait()
    finally:
        stopping.finish()
        stopped.set()


async def serve_or_tell(how):
    try:
        await serve(how)
    except OSError:
        stopping.fail()


stopped, sleep = threading.Event(), time.sleep
if sys.argv[1] in ("a job", "a failure"):
    # A busy machine must not take all the time for the clean part of the stop.
    shutdown.time = type("Time", (), {"sleep": lambda limit: (stopped.wait(), sleep(limit))})
asyncio.run(serve_or_tell(sys.argv[1]))
sys.exit(stopping.leave(code))
"""


@contextmanager
def running(how: str, limit: float) -> Iterator[subprocess.Popen[str]]:
    """Run the script until it listens for signals, and see to it that it ends."""
    command = [sys.executable, "-c", SCRIPT, how, str(limit)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, cwd=ROOT) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "listens\n"
            yield process
        finally:
            process.kill()


def end_of(process: subprocess.Popen[str]) -> tuple[int, str]:
    """Ask a process to stop; return its exit code and what it said."""
    process.send_signal(signal.SIGTERM)
    _, said = process.communicate(timeout=PATIENCE)
    return process.returncode, said


@pytest.mark.parametrize("how", ["sleeping", "looping"])
def test_a_host_whose_own_loop_is_blocked_is_ended_when_its_time_is_up(how: str) -> None:
    with running(how, limit=0.1) as process:
        assert end_of(process) == (1, TOO_LATE)


def test_a_job_that_never_ends_does_not_spoil_a_clean_stop() -> None:
    # Python waits for it before ``leave`` could say with which code to end.
    with running("a job", limit=0.1) as process:
        assert end_of(process) == (0, "")


def test_nobody_waits_for_a_thread_that_is_left_over_until_the_time_is_up() -> None:
    with running("a thread", limit=1000.0) as process:
        assert end_of(process) == (3, "")


def test_a_host_that_fails_by_itself_ends_though_a_job_never_does() -> None:
    with running("a failure", limit=0.1) as process:
        _, said = process.communicate(timeout=PATIENCE)
        assert (process.returncode, said) == (1, "")
