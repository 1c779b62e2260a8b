"""Stopping a host: everybody is told, everything is kept, and it does not take long."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.flags import eventually
from tests.wire.client import ROOT, WireClient, open_client, user_message
from tests.wire.hosting import ServedHost, refusal, serve
from tests.wire.mirrors import assert_ascending, assert_mirrors, texts
from tests.wire.on_cluster import ON_CLUSTER, STORE
from tests.wire.wording import failure_of

Json = dict[str, Any]
VERSIONS = ("1.0.0", "0.9.0", "0.8.0", "0.7.0", "0.5.0")
SESSION = "ahp-session:/s1"
STOPPING = "the host is shutting down"

# Seconds after which a host will not stop any more. One that takes ten is ended by itself, with
# another code than a clean stop has.
PROMPT = 60.0

# What a host leaves behind when it has stopped, and nothing else.
KEPT = {"agenthost.sqlite", "agenthost.sqlite.lock", "token", "workspace", "logs"}
if ON_CLUSTER:
    KEPT = {"realm", "node-name", "token", "workspace", "logs"}


async def enter_clients(host: ServedHost, stack: AsyncExitStack) -> tuple[list[WireClient], str]:
    """Open a client of each version that follows a session and its chat."""
    clients = []
    for version in VERSIONS:
        client = await stack.enter_async_context(open_client(host.url, f"c{version}", version))
        await client.initialize(ROOT)
        clients.append(client)
    chat = await clients[0].ready_session(SESSION)
    for client in clients:
        await client.subscribe(SESSION)
        await client.subscribe(chat)
        # Found after the session is ready, and told then.
        await client.until(lambda c=client: {} if "customizations" in c.states[SESSION] else None)  # type: ignore[misc]
    return clients, chat


async def stop_promptly(host: ServedHost, number: signal.Signals = signal.SIGTERM) -> None:
    pid = host.pid
    async with asyncio.timeout(PROMPT):
        assert await host.stop(number) == 0
    assert "Traceback" not in host.output
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def check_was_told(client: WireClient, chat: str, turn_id: str) -> None:
    """The last thing the client heard was that its turn ended, and then why."""
    assert client.closed.result() == (1001, STOPPING)
    state = client.states[chat]
    assert "activeTurn" not in state
    assert state["turns"][-1]["id"] == turn_id
    assert failure_of(state["turns"][-1]) == {"errorType": "hostStopped", "message": STOPPING}
    assert_ascending(client)


@pytest.mark.parametrize(
    "number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP], ids=lambda number: number.name
)
async def test_a_signal_during_a_turn_ends_the_turn_then_the_connections_then_the_host(
    tmp_path: Path, number: signal.Signals
) -> None:
    async with serve(tmp_path / "data") as host:
        async with AsyncExitStack() as stack:
            clients, chat = await enter_clients(host, stack)
            await clients[0].start_turn(chat, "t1", "/slow 60")
            queued = {"type": "chat/pendingMessageSet", "kind": "queued", "id": "q1"}
            await clients[1].dispatched(chat, {**queued, "message": user_message("later")})
            await stop_promptly(host, number)
            for client in clients:
                await client.closed
                check_was_told(client, chat, "t1")
        assert set(os.listdir(host.data_dir)) == KEPT
        assert os.listdir(tmp_path) == ["data"]
        await host.start()
        await check_resumption(host, clients, chat)


async def check_resumption(host: ServedHost, before: list[WireClient], chat: str) -> None:
    """After a clean stop there is nothing to catch up with: the clients held the final state."""
    for former in before:
        async with open_client(host.url, former.client_id, former.version) as client:
            result = await client.resume(former)
            assert result["type"] == "replay"
            assert [e for e in result["actions"] if e["channel"] != ROOT] == []
            await assert_mirrors(client)
            assert [message["id"] for message in client.states[chat]["queuedMessages"]] == ["q1"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=lambda number: number.name)
async def test_more_signals_do_not_spoil_a_clean_stop(
    tmp_path: Path, number: signal.Signals
) -> None:
    async with serve(tmp_path / "data") as host:
        async with open_client(host.url, "c") as client:
            await client.initialize()
            chat = await client.ready_session(SESSION)
            await client.subscribe(chat)
            await client.start_turn(chat, "t1", "/slow 60")
            async with asyncio.timeout(PROMPT):
                while host.running:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(host.pid, number)
                    await asyncio.sleep(0.001)
            await client.closed
            check_was_told(client, chat, "t1")
        assert await host.wait() == 0
        assert set(os.listdir(host.data_dir)) == KEPT


STUCK_AGENT = """
import asyncio, os, signal, threading, time
from agenthost.agents import Agent


def forever():
    while True:
        pass


def storm():
    while True:
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGTERM)


class Stuck(Agent):
    provider, display_name = "stuck", "Stuck"

    async def run(self, turn):
        await turn.write("I am stuck")
        match turn.text:
            case "looping":
                forever()
            case "sleeping":
                time.sleep(1000)
            case "in a job":
                await asyncio.to_thread(time.sleep, 1000)
            case "with a thread" | "raising a storm":
                threading.Thread(target=time.sleep, args=(1000,)).start()
                self.storm = turn.text != "with a thread"
                await asyncio.Event().wait()

    async def close(self):
        if getattr(self, "storm", False):
            threading.Thread(target=storm).start()
"""


@pytest.mark.parametrize(
    "how", ["looping", "sleeping", "in a job", "with a thread", "raising a storm"]
)
async def test_whatever_an_agent_does_the_host_ends_and_keeps_everything(
    tmp_path: Path, how: str
) -> None:
    (tmp_path / "stuck.py").write_text(STUCK_AGENT)
    options = ("--agent", "stuck:Stuck")
    async with serve(tmp_path / "data", *options, cwd=tmp_path) as host:
        async with open_client(host.url) as client:
            await client.initialize()
            chat = await client.ready_session(SESSION, provider="stuck")
            await client.subscribe(chat)
            await client.start_turn(chat, "t1", how)
            await client.action(chat, "chat/delta")
            await client.ping()
            # Bounded by the patience of ``stop``; without an end there is none.
            assert await host.stop() == 0
            await client.closed
            check_was_told(client, chat, "t1")
        await host.start()
        async with open_client(host.url, "late") as client:
            await client.initialize()
            (turn,) = (await client.subscribe(chat))["turns"]
            assert (texts(turn), failure_of(turn)["errorType"]) == ("I am stuck", "hostStopped")
        assert await host.stop() == 0


async def started_ignoring(number: signal.Signals, data: Path) -> ServedHost:
    """Start a host as a shell does that ignores a signal: what is ignored stays so in a child."""
    handler = signal.signal(number, signal.SIG_IGN)
    try:
        host = ServedHost(data)
        await host.start()
    finally:
        signal.signal(number, handler)
    return host


async def test_a_hangup_is_nothing_to_a_host_that_was_told_to_ignore_it(tmp_path: Path) -> None:
    # As under nohup.
    host = await started_ignoring(signal.SIGHUP, tmp_path / "data")
    os.kill(host.pid, signal.SIGHUP)
    async with open_client(host.url, "c") as client:
        await client.initialize()
    await stop_promptly(host)


async def test_a_host_in_the_background_of_a_script_is_stopped_like_any_other(
    tmp_path: Path,
) -> None:
    # As by a script's `agenthost serve &`.
    host = await started_ignoring(signal.SIGINT, tmp_path / "data")
    assert await host.stop(signal.SIGINT) == 0


async def test_a_stream_is_cut_off_where_the_clients_can_see_it(tmp_path: Path) -> None:
    """Clients that lag behind a fast stream still get all of it, its end, and the goodbye."""
    async with serve(tmp_path / "data") as host:
        async with AsyncExitStack() as stack:
            clients, chat = await enter_clients(host, stack)
            await clients[0].start_turn(chat, "t1", "/stream 1000000")
            for client in clients:
                await client.action(chat, "chat/delta")
            await stop_promptly(host)
            for client in clients:
                await client.closed
                check_was_told(client, chat, "t1")
        (text,) = {texts(client.states[chat]["turns"][0]) for client in clients}
        await host.start()
        async with open_client(host.url, "late") as client:
            await client.initialize()
            assert texts((await client.subscribe(chat))["turns"][0]) == text


async def test_an_agent_that_is_slow_to_let_go_does_not_hold_up_the_stop(tmp_path: Path) -> None:
    (tmp_path / "clinging.py").write_text(CLINGING_AGENT)
    options = ("--agent", "clinging:Clinging")
    async with (
        serve(tmp_path / "data", *options, cwd=tmp_path) as host,
        open_client(host.url) as client,
    ):
        await client.initialize()
        chat = await client.ready_session(SESSION, provider="clinging")
        await client.subscribe(chat)
        await client.start_turn(chat, "t1", "hold on")
        await client.action(chat, "chat/responsePart")
        await stop_promptly(host)
        await client.closed
        check_was_told(client, chat, "t1")


CLINGING_AGENT = """
import asyncio

from agenthost.agents import Agent


class Clinging(Agent):
    provider, display_name = "clinging", "Clinging"

    async def run(self, turn):
        try:
            await turn.write("I hold on")
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(60)
"""


async def test_a_second_signal_ends_a_host_that_would_wait_for_an_agent(tmp_path: Path) -> None:
    (tmp_path / "stubborn.py").write_text(STUBBORN_AGENT)
    options = ("--agent", "stubborn:Stubborn")
    async with (
        serve(tmp_path / "data", *options, cwd=tmp_path) as host,
        open_client(host.url) as client,
    ):
        await client.initialize()
        chat = await client.ready_session(SESSION, provider="stubborn")
        await client.subscribe(chat)
        await client.start_turn(chat, "t1", "hold on")
        await client.action(chat, "chat/responsePart")
        os.kill(host.pid, signal.SIGTERM)
        await eventually(lambda: "asked to let go" in host.output)
        # Asked only once, it would run out of time and end with 1.
        await stop_promptly(host)
        assert "did not stop in time" not in host.output
        await client.closed
        check_was_told(client, chat, "t1")


STUBBORN_AGENT = """
import asyncio

from agenthost.agents import Agent
from agenthost.host.turns import runner

# More than the host has in all.
runner.CANCEL_GRACE = 1000.0


class Stubborn(Agent):
    provider, display_name = "stubborn", "Stubborn"

    async def run(self, turn):
        try:
            await turn.write("I hold on")
            await asyncio.Event().wait()
        finally:
            print("asked to let go", flush=True)
            await asyncio.sleep(1000)
"""


async def test_what_waits_to_be_gathered_leaves_before_the_goodbye(tmp_path: Path) -> None:
    async with serve(tmp_path / "data") as host, open_client(host.url) as client:
        await client.initialize()
        chat = await client.ready_session(SESSION)
        await client.subscribe(chat)
        await client.start_turn(chat, "t1", "/slow 60")
        # What comes from the session would take the rest along.
        await client.send({"method": "unsubscribe", "params": {"channel": SESSION}})
        await client.subscribe(chat, delivery={"maxLatencyMs": 5000})
        await stop_promptly(host)
        await client.closed
        check_was_told(client, chat, "t1")


async def test_an_idle_host_stops_and_its_clients_are_told(tmp_path: Path) -> None:
    async with serve(tmp_path / "data") as host, open_client(host.url) as client:
        await client.initialize(ROOT)
        await stop_promptly(host)
        assert await client.closed == (1001, STOPPING)


async def test_a_damaged_database_is_reported_and_left_as_it_is(tmp_path: Path) -> None:
    data = tmp_path / "data"
    async with serve(data) as host:
        await host.stop()
    file = data / STORE
    # The header stays, so that it still looks like a database at first sight.
    content = file.read_bytes()
    damaged = content[:100] + b"\xff" * (len(content) - 100)
    file.write_bytes(damaged)
    code, out, err = await refusal("--port", "0", "--data-dir", str(data))
    assert code == 1
    assert out == ""
    assert err.startswith(f"agenthost: {file} is damaged")
    assert "It was not changed" in err
    assert len(err.splitlines()) == 1
    assert file.read_bytes() == damaged


@pytest.mark.parametrize("content", [b"", b"this is no database at all\n" * 50])
async def test_a_file_that_is_no_database_is_reported_and_left_as_it_is(
    tmp_path: Path, content: bytes
) -> None:
    data = tmp_path / "data"
    file = data / STORE
    file.parent.mkdir(parents=True)
    file.write_bytes(content)
    code, out, err = await refusal("--port", "0", "--data-dir", str(data))
    assert (code, out) == (1, "")
    assert f"{file.name} is " in err
    assert file.read_bytes() == content


async def test_a_second_host_on_the_same_data_is_refused(tmp_path: Path) -> None:
    async with serve(tmp_path / "data") as host, open_client(host.url) as client:
        code, out, err = await refusal("--port", "0", "--data-dir", str(host.data_dir))
        assert (code, out) == (1, "")
        assert err.startswith("agenthost: ")
        assert f"in use by another host (process {host.pid})" in err
        # The first one has not noticed.
        await client.initialize()


async def test_a_port_in_use_is_reported(tmp_path: Path) -> None:
    async with serve(tmp_path / "data") as host:
        port = host.address.rpartition(":")[2]
        code, out, err = await refusal("--port", port, "--data-dir", str(tmp_path / "other"))
        assert (code, out) == (1, "")
        assert err.startswith("agenthost: ")
        assert port in err
        assert "in use" in err
        assert len(err.splitlines()) == 1
