"""``--wire-log`` keeps every message both ways, so that what clients saw can be played back."""

from __future__ import annotations

import json
import re
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from agenthost.host.clients.wire_log import MOST_RAW
from agenthost.protocol import SUPPORTED_VERSIONS, reduce
from agenthost.protocol.reducer_registry import kind_of
from tests.wire.client import NOW, open_client, promised
from tests.wire.hosting import serve

ROOT = "ahp-root://"
SESSION = "ahp-session:/logged"

Json = dict[str, Any]


def read(path: Path) -> list[Json]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def connection_of(lines: list[Json], client_id: str) -> str:
    """Return how the log calls a client's connection."""
    for line in lines:
        if line.get("message", {}).get("params", {}).get("clientId") == client_id:
            name: str = line["connection"]
            return name
    raise AssertionError(f"{client_id} never initialized")


def messages(lines: list[Json], connection: str, direction: str) -> list[Json]:
    return [
        line["message"]
        for line in lines
        if (line["connection"], line["direction"]) == (connection, direction)
    ]


def played_back(received: Iterable[Json], version: str) -> dict[str, Json]:
    """Apply what a client was sent, from its first snapshot of each channel on."""
    states: dict[str, Any] = {}
    for message in received:
        result = message.get("result") or {}
        for snapshot in (*result.get("snapshots", ()), *filter(None, [result.get("snapshot")])):
            states.setdefault(snapshot["resource"], snapshot["state"])
        params = message.get("params", {})
        if message.get("method") != "action" or "rejectionReason" in params:
            continue
        channel, action = params["channel"], params["action"]
        kind = kind_of(action["type"])
        assert kind is not None
        states[channel] = reduce(kind, states[channel], action, now=NOW, version=version)
    return states


@pytest.mark.parametrize("version", [SUPPORTED_VERSIONS[0], SUPPORTED_VERSIONS[-1]])
async def test_the_log_has_every_message_both_ways_and_plays_back_to_the_final_state(
    tmp_path: Path, version: str
) -> None:
    path = tmp_path / "logs" / "wire.jsonl"
    async with serve(tmp_path / "data", "--wire-log", str(path)) as host:
        async with (
            open_client(host.url, "worker") as worker,
            open_client(host.url, "watcher", version) as watcher,
        ):
            await worker.initialize(ROOT)
            chat = await worker.ready_session(SESSION)
            await worker.subscribe(chat)
            await watcher.initialize(ROOT, SESSION, chat)
            for turn, text in enumerate(("hello", "/stream 200", "/think", "/fail")):
                await worker.run_turn(chat, f"t{turn}", text)
            await worker.accepted(chat, {"type": "chat/truncated", "turnId": "t1"})
            assert await worker.rejected(chat, {"type": "chat/delta"})
            assert (await worker.refusal("disposeChat", channel="none")).code == -32008
            await watcher.ping()
            # Fresh from the host, and not what the watcher made of what it was sent.
            async with open_client(host.url, "checker", version) as checker:
                await checker.initialize()
                final = {channel: await checker.fresh(channel) for channel in (SESSION, chat)}
        assert await host.stop() == 0
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    lines = read(path)
    for line in lines:
        assert line.keys() == {"time", "connection", "direction", "message"}
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", line["time"])
    for client in (worker, watcher):
        connection = connection_of(lines, client.client_id)
        assert messages(lines, connection, "in") == client.sent
        assert messages(lines, connection, "out") == client.received
    states = played_back(messages(lines, connection_of(lines, "watcher"), "out"), version)
    for channel, state in final.items():
        assert promised(states[channel]) == promised(state)
    assert len(final[chat]["turns"]) == 2


async def test_what_is_no_message_is_kept_as_text_in_part_and_without_tokens(
    tmp_path: Path,
) -> None:
    path = tmp_path / "wire.jsonl"
    frames = [
        b"garbage",
        b"\xff\xfe\x00",
        b"x" * 100_000,
        b'[{"method": "authenticate", "params": {"token": "s3cret\\"s3cret"}}]',
        b'{"method": "authenticate", "params": {"token": "s3cret',
        b"see http://127.0.0.1/?tkn=s3cret&x=1, Authorization: Bearer s3cret",
        b'{"x":' * 300 + b"1" + b"}" * 300,
    ]
    async with serve(tmp_path / "data", "--wire-log", str(path)) as host:
        async with open_client(host.url, "babbler") as client:
            for frame in frames:
                await client.exchange(frame, text=False)
            await client.initialize()
        assert await host.stop() == 0
    assert "s3cret" not in path.read_text()
    raw = [line["raw"] for line in read(path) if "raw" in line]
    assert len(raw) == len(frames)
    assert raw[0] == "garbage"
    assert len(raw[2]) == MOST_RAW
    assert "authenticate" in raw[3]
    assert "127.0.0.1" in raw[5]


async def test_the_token_of_authenticate_is_redacted_and_the_rest_of_it_kept(
    tmp_path: Path,
) -> None:
    path = tmp_path / "wire.jsonl"
    async with serve(tmp_path / "data", "--wire-log", str(path)) as host:
        async with open_client(host.url, "signing in") as client:
            await client.initialize()
            params = {"resource": "https://api.example.org", "token": "s3cret"}
            assert (await client.refusal("authenticate", **params)).code == -32602
        assert await host.stop() == 0
    (sent,) = (m for m in messages(read(path), "c1", "in") if m["method"] == "authenticate")
    assert sent["params"] == {"channel": ROOT, **params, "token": "[redacted]"}
    assert "s3cret" not in path.read_text()


async def test_a_restart_appends_and_closes_the_file_to_others(tmp_path: Path) -> None:
    path = tmp_path / "wire.jsonl"
    path.write_text('{"from": "before"}\n')
    path.chmod(0o644)
    async with serve(tmp_path / "data", "--wire-log", str(path)) as host:
        async with open_client(host.url, "first") as client:
            await client.initialize()
        assert await host.stop() == 0
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        before = read(path)
        await host.start()
        async with open_client(host.url, "second") as client:
            await client.initialize()
        assert await host.stop() == 0
    assert before[0] == {"from": "before"}
    assert read(path)[: len(before)] == before
    assert len(read(path)) == 2 * len(before) - 1
