"""No process of a server outlives it, whoever is killed, and a call whose server dies fails."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from asyncio.subprocess import PIPE
from pathlib import Path

import pytest

from agenthost.mcp import link, server_handle, worker_process
from agenthost.mcp.link import McpWorker
from agenthost.mcp.process_marks import below
from agenthost.mcp.types import McpFailed
from tests.children import gone, is_alive
from tests.mcp.conftest import Serve
from tests.mcp.servers import ANSWERING, REPOSITORY, declared, python_server

# Never answers a call, and says that it got it.
STUCK = "def call(*_): print('called', file=sys.stderr, flush=True)"
# Starts children that leave its group, its session and its environment, and that want to stay.
# Whoever stays as an orphan is a child of the worker's.
STUBBORN = """
import signal, subprocess
signal.signal(signal.SIGTERM, signal.SIG_IGN)
stay = "trap '' TERM HUP INT; echo; sleep 600 & wait; sleep 600"
def child(*words, **how):
    started = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, **how)
    started.stdout.readline()
child("sh", "-c", stay)
child("sh", "-c", stay, start_new_session=True)
child("sh", "-c", stay, start_new_session=True, env={"PATH": os.environ["PATH"]})
child("sh", "-c", f"setsid sh -c \\"{stay}\\" & sleep 0")
print("all here", file=sys.stderr, flush=True)
"""


def _is_known(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


def started_by(worker: McpWorker) -> list[int]:
    assert worker.pid is not None
    return below(worker.pid, itself=False)


async def test_stopping_leaves_nobody_of_those_who_want_to_stay(
    worker: McpWorker, serve: Serve
) -> None:
    server, events = serve(python_server(STUBBORN))
    await server.start()
    await events.until(lambda: b"all here" in events.log)
    pids = started_by(worker)
    assert len(pids) >= 8
    await server.stop()
    assert [pid for pid in pids if is_alive(pid)] == []
    # Not even as somebody whom nobody has buried.
    assert [pid for pid in pids if _is_known(pid)] == []
    assert worker.pid is not None
    assert is_alive(worker.pid)


async def test_a_server_that_is_killed_ends_its_calls_with_the_reason(
    worker: McpWorker, serve: Serve
) -> None:
    server, events = serve(python_server(STUCK))
    await server.start()
    call = asyncio.create_task(server.call("echo", {}, call="1"))
    await events.until(lambda: b"called" in events.log)
    os.kill(started_by(worker)[0], signal.SIGKILL)
    with pytest.raises(McpFailed, match="killed by SIGKILL") as caught:
        await call
    assert caught.value.kind == "closed"
    await events.until(lambda: events.kinds[-1] == "error")
    assert "killed by SIGKILL" in events.detail
    with pytest.raises(McpFailed, match="killed by SIGKILL"):
        await server.call("echo", {}, call="2")
    assert await server.start() == "ready"


async def test_a_killed_worker_ends_its_calls_and_leaves_nobody_and_is_replaced(
    worker: McpWorker, serve: Serve
) -> None:
    server, events = serve(python_server(STUBBORN + STUCK))
    other, other_events = serve(python_server(""))
    await server.start()
    await other.start()
    await events.until(lambda: b"all here" in events.log)
    call = asyncio.create_task(server.call("echo", {}, call="1"))
    await events.until(lambda: b"called" in events.log)
    pids = started_by(worker)
    known = [pid for pid in pids if _has_the_mark(pid)]
    assert len(known) >= 8
    before = worker.pid
    assert before is not None
    os.kill(before, signal.SIGKILL)
    with pytest.raises(McpFailed, match="process that runs MCP servers has ended"):
        await call
    await events.until(lambda: events.kinds[-1] == "error")
    assert other_events.kinds[-1] == "error"
    await gone(*known)
    # What left its environment too can only be found by the worker.
    for pid in set(pids) - set(known):
        os.kill(pid, signal.SIGKILL)

    assert await other.start() == "ready"
    assert worker.pid not in (None, before)
    result = await other.call("echo", {"again": 1}, call="2")
    assert result["content"][0]["text"] == '{"again": 1}'


async def test_of_a_worker_that_was_killed_no_pipe_is_kept_even_if_a_stranger_holds_it() -> None:
    process = await worker_process.WorkerProcess.start(lambda _: None)
    errors = os.readlink(f"/proc/{process.pid}/fd/2")
    stranger = os.open(f"/proc/{process.pid}/fd/2", os.O_WRONLY)
    try:
        assert len(_ends_here(errors)) == 2
        await process.kill()
        async with asyncio.timeout(60):
            while _ends_here(errors) != [stranger]:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
    finally:
        os.close(stranger)


def _ends_here(pipe: str) -> list[int]:
    """Return which of this process's descriptors are ends of a pipe."""
    found = []
    for name in os.listdir("/proc/self/fd"):
        with contextlib.suppress(FileNotFoundError):
            if os.readlink(f"/proc/self/fd/{name}") == pipe:
                found.append(int(name))
    return found


def _has_the_mark(pid: int) -> bool:
    with open(f"/proc/{pid}/environ", "rb") as file:
        return b"AGENTHOST_MCP=" in file.read()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
async def test_when_the_host_is_gone_so_is_everybody_else(number: int) -> None:
    command = (sys.executable, "-c", f"{ANSWERING}\n{STUBBORN}\nserve()")
    host = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.mcp.host_that_waits", *command, stdout=PIPE, cwd=REPOSITORY
    )
    assert host.stdout is not None
    pids = [int(word) for word in (await host.stdout.readline()).split()]
    assert len(pids) >= 9
    host.send_signal(number)
    await host.wait()
    await gone(*pids)
    assert [pid for pid in pids if is_alive(pid)] == []


async def test_a_start_that_is_stopped_ends_at_once(worker: McpWorker, serve: Serve) -> None:
    code = "import sys; print('here', file=sys.stderr, flush=True); sys.stdin.read()"
    server, events = serve(python_server(code, answering=False))
    start = asyncio.create_task(server.start())
    await events.until(lambda: b"here" in events.log)
    await server.stop()
    assert await start == "stopped"
    assert started_by(worker) == []


async def test_a_stop_right_after_a_start_is_a_stop(worker: McpWorker, serve: Serve) -> None:
    server, events = serve(python_server(""))
    start = asyncio.create_task(server.start())
    await asyncio.sleep(0)
    await server.stop()
    assert await start == "stopped"
    assert started_by(worker) == []
    assert events.kinds[-1] == "stopped"


async def test_a_start_is_stopped_also_where_the_worker_had_to_be_killed_for_it(
    worker: McpWorker, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    other, _ = serve(python_server(""))
    server, events = serve(python_server(""))
    await other.start()
    stuck = worker.pid
    assert stuck is not None
    os.kill(stuck, signal.SIGSTOP)
    monkeypatch.setattr(server_handle, "STOP_PATIENCE", 0.2)
    start = asyncio.create_task(server.start())
    await asyncio.sleep(0)
    await server.stop()
    assert await start == "stopped"
    assert events.kinds == ["stopped"]


async def test_a_worker_that_is_stuck_is_killed(
    worker: McpWorker, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    server, events = serve(python_server(""))
    other, other_events = serve(python_server(""))
    await server.start()
    await other.start()
    pids = started_by(worker)
    stuck = worker.pid
    assert stuck is not None
    os.kill(stuck, signal.SIGSTOP)
    monkeypatch.setattr(server_handle, "STOP_PATIENCE", 0.2)
    await server.stop()
    await gone(stuck, *pids)
    assert events.kinds[-1] == "stopped"
    await other_events.until(lambda: other_events.kinds[-1] == "error")


async def test_a_host_that_stops_does_not_wait_for_a_worker_that_is_stuck(
    worker: McpWorker, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    server, events = serve(python_server(STUBBORN))
    await server.start()
    await events.until(lambda: b"all here" in events.log)
    pids = started_by(worker)
    stuck = worker.pid
    assert stuck is not None
    os.kill(stuck, signal.SIGSTOP)
    monkeypatch.setattr(link, "CLOSE_PATIENCE", 0.2)
    monkeypatch.setattr(worker_process, "_PATIENCE", 0.2)
    async with asyncio.timeout(server_handle.STOP_PATIENCE - 1):
        await worker.close()
    # Also those who cleared their environment.
    await gone(stuck, *pids)


async def test_nothing_is_started_once_the_host_stops(worker: McpWorker, serve: Serve) -> None:
    server, events = serve(python_server(""))
    await worker.close()
    assert await server.start() == "error"
    assert events.detail == "this host is stopping"


async def test_a_start_while_it_runs_is_a_restart(worker: McpWorker, serve: Serve) -> None:
    server, events = serve(python_server(""))
    await server.start()
    before = started_by(worker)
    assert await server.start() == "ready"
    assert not {*before} & {*started_by(worker)}
    assert events.kinds == ["starting", "ready", "stopped", "starting", "ready"]


async def test_a_program_that_is_not_there_is_an_error_that_names_it(serve: Serve) -> None:
    server, events = serve(declared("no-such-program-here"))
    assert await server.start() == "error"
    assert "no-such-program-here: No such file" in events.detail
    with pytest.raises(McpFailed, match="no-such-program-here"):
        await server.call("echo", {}, call="1")


async def test_a_program_that_ends_says_why(serve: Serve) -> None:
    code = "import sys; sys.exit('no key: set API_KEY')"
    server, events = serve(python_server(code, answering=False))
    assert await server.start() == "error"
    assert events.detail == "it ended with exit code 1: no key: set API_KEY"


async def test_a_server_gets_what_is_declared_and_no_secret_of_the_hosts(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "secret")
    code = "def call(number, *_): send(id=number, result=text(json.dumps(dict(os.environ))))"
    server, _ = serve(python_server(code, env={"DECLARED": "yes"}))
    await server.start()
    told = (await server.call("echo", {}, call="1"))["content"][0]["text"]
    assert '"DECLARED": "yes"' in told
    assert "ANTHROPIC_API_KEY" not in told
