"""Calls that come too late are told how their server ended, as those are that it ended in."""

from __future__ import annotations

import asyncio
from typing import cast

import pytest

from agenthost.mcp.types import McpFailed
from agenthost.mcp.worker.host_pipe import HostPipe
from agenthost.mcp.worker.server_calls import call_tool, send_request
from agenthost.mcp.worker.server_run import Outcome, ServerRun
from agenthost.protocol.common import JsonObject
from tests.mcp.servers import declared

CALL: JsonObject = {"id": 1, "tool": "echo", "arguments": {}, "call": "1", "traceparent": None}
NOBODY = cast("HostPipe", None)


def ending() -> ServerRun:
    """Return a run that was ready and is not any more; why, it has yet to find out."""
    declaration = declared("server").to_json()
    command = {"server": 1, "declaration": declaration, "folder": None, "roots": [], "token": None}
    run = ServerRun(NOBODY, command, "mark")
    run.outcome = Outcome("ready")
    run.settled.set()
    return run


@pytest.mark.parametrize(
    ("outcome", "told"),
    [
        (Outcome("error", "it was killed by SIGKILL"), "it was killed by SIGKILL"),
        (Outcome("stopped"), "the server was stopped"),
    ],
)
async def test_what_comes_before_the_reason_is_known_waits_for_it(
    outcome: Outcome, told: str
) -> None:
    run = ending()
    request: JsonObject = {"method": "ping", "params": {}}
    late = [
        asyncio.create_task(call_tool(run, NOBODY, CALL)),
        asyncio.create_task(send_request(run, request)),
    ]
    # As far as they get without knowing more.
    await asyncio.sleep(0)
    run.outcome = outcome
    run.reasoned.set()
    for each in late:
        with pytest.raises(McpFailed, match=told):
            await each


async def test_one_that_has_not_started_is_not_waited_for() -> None:
    run = ending()
    run.settled.clear()
    with pytest.raises(McpFailed, match="it is not running"):
        await call_tool(run, NOBODY, CALL)
