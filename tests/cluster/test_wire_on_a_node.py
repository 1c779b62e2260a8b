"""Some of the protocol's tests on a node of a cluster; ``make wire-cluster`` runs all of them.

In a process of their own: what they run on is decided when they are imported.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parent.parent.parent
PATIENCE = 300
# Quick ones of each kind: what is said, numbered, streamed, resumed, translated, and refused.
CHOSEN = (
    "test_mcp_turns.py::test_clients_start_and_stop_a_server_and_stopping_leaves_no_process",
    "test_mcp_turns.py::test_requests_that_a_server_never_answers_keep_no_others_waiting",
    "test_messages.py",
    "test_order.py",
    "test_streaming.py",
    "test_reconnect.py::test_a_second_connection_of_a_client_ends_the_first",
    "test_reconnect.py::test_who_comes_back_is_told_what_changed_in_the_list",
    "test_resume.py::test_what_nobody_waits_for_any_more_is_closed_when_the_turn_goes_on",
    "test_sessions.py::test_uris_in_use_and_unknown_agents_are_refused",
)


@pytest.mark.timeout(PATIENCE + 60)
async def test_a_node_does_what_a_host_does() -> None:
    tests = [f"tests/wire/{name}" for name in CHOSEN]
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", *tests),
        cwd=REPOSITORY,
        env={**os.environ, "AGENTHOST_TEST_CLUSTER": "1"},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        async with asyncio.timeout(PATIENCE):
            told, _ = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode == 0, told.decode()
    assert "skipped" not in told.decode()
