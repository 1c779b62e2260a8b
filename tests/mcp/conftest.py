"""A worker for each test, which leaves no process."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from agenthost.mcp.link import McpWorker
from agenthost.mcp.process_marks import below
from agenthost.mcp.server_handle import McpServerHandle
from agenthost.mcp.types import ServerDeclaration
from tests.children import is_alive
from tests.mcp.recording import RecordedEvents

Serve = Callable[[ServerDeclaration], tuple[McpServerHandle, RecordedEvents]]


@pytest.fixture
async def worker() -> AsyncIterator[McpWorker]:
    worker = McpWorker()
    yield worker
    known = below(worker.pid) if worker.pid is not None else []
    await worker.close()
    assert [pid for pid in known if is_alive(pid)] == []


@pytest.fixture
def serve(worker: McpWorker, tmp_path: Path) -> Serve:
    def serve(declaration: ServerDeclaration) -> tuple[McpServerHandle, RecordedEvents]:
        events = RecordedEvents()
        roots = [tmp_path.as_uri()]
        handle = worker.server(declaration, folder=str(tmp_path), roots=roots, events=events)
        return handle, events

    return serve
