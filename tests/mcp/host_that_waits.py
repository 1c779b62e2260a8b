"""A host, as far as its MCP servers know, that a test kills: starts the server named in its words.

Prints the worker's process and those of the server, one line, then waits.
"""

import asyncio
import sys

from agenthost.mcp.link import McpWorker
from agenthost.mcp.process_marks import below
from tests.mcp.recording import RecordedEvents
from tests.mcp.servers import declared


async def main() -> None:
    worker = McpWorker()
    events = RecordedEvents()
    server = worker.server(declared(*sys.argv[1:]), folder="/", roots=[], events=events)
    await server.start()
    # The server says when all of its children are there.
    await events.until(lambda: b"all here" in events.log)
    assert worker.pid is not None
    print(*below(worker.pid), flush=True)
    await asyncio.Event().wait()


asyncio.run(main())
