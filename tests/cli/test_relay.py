"""``agenthost relay``: the far end of ``ssh://``, as a process."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

from agenthost.client import command, connect
from agenthost.local_host import announce

RELAY = (sys.executable, "-m", "agenthost.cli.main", "relay", "--stdio", "--data-dir")
PATIENCE = 60


async def test_what_is_wrong_is_one_line_for_the_other_end(tmp_path: Path) -> None:
    with announce(tmp_path, "ws://127.0.0.1:9", tmp_path / "token"):
        said = await _error(tmp_path)
        assert said["agenthost"] == "noToken"
        assert "is gone" in said["message"]
    # The port of the discard service: nobody listens there.
    with announce(tmp_path, "ws://127.0.0.1:9", None):
        said = await _error(tmp_path)
        assert said["agenthost"] == "unreachable"
        assert "cannot be reached" in said["message"]


async def _error(data_dir: Path) -> dict[str, str]:
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        *RELAY, str(data_dir), stdin=pipe, stdout=pipe, stderr=pipe
    )
    async with asyncio.timeout(PATIENCE):
        out, said = await process.communicate()
    assert out == b""
    assert process.returncode == 3
    told: dict[str, str] = json.loads(said)
    return told


async def test_without_a_host_this_one_client_is_served(tmp_path: Path) -> None:
    # The greeting is for ssh; a client that reads it as a message would end.
    script = '"$@" | sed -u 1d'
    served = command("sh", "-c", script, "sh", *RELAY, str(tmp_path))
    async with asyncio.timeout(PATIENCE), connect(served) as client:
        chat = await (await client.sessions.create("demo")).chat()
        assert "hello" in await chat.ask("hello")
