"""A server from the registry of Python packages, as people run it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from agenthost.mcp.link import McpWorker
from agenthost.mcp.process_marks import below
from tests.children import is_alive
from tests.mcp.conftest import Serve
from tests.mcp.servers import declared

TIME = str(Path(sys.executable).parent / "mcp-server-time")


async def test_a_server_from_pypi_is_started_called_and_stopped(
    worker: McpWorker, serve: Serve
) -> None:
    server, events = serve(declared(TIME))
    assert await server.start() == "ready"
    assert events.kinds == ["starting", "ready"]
    assert {tool.name for tool in events.offered[0]} == {"get_current_time", "convert_time"}
    schema = events.offered[0][0].input_schema
    assert schema["type"] == "object"

    result = await server.call("get_current_time", {"timezone": "Europe/Berlin"}, call="1")
    assert json.loads(result["content"][0]["text"])["timezone"] == "Europe/Berlin"

    assert worker.pid is not None
    pids = below(worker.pid, itself=False)
    assert pids
    await server.stop()
    assert [pid for pid in pids if is_alive(pid)] == []
    assert events.kinds[-1] == "stopped"


def test_the_host_does_not_import_the_package() -> None:
    check = "import agenthost.mcp.link, sys; sys.exit(bool({'mcp', 'mcp_types'} & {*sys.modules}))"
    subprocess.run([sys.executable, "-c", check], check=True)
