"""The path of an action begins and ends where it should, and passes no room without need."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
# Modules that an ordinary turn may pass. What is added to its path adds to what everybody reads.
MOST_MODULES = 100
# Rooms that have nothing for the traced turn: it declares no servers, is in no repository, attaches
# nothing, and its agent asks for no tokens and brings nothing.
NOT_CONCERNED = {
    "host/channels/canvas/canvases",
    "host/channels/changeset/checkpoint_book",
    "host/channels/changeset/compute",
    "host/channels/session/participants",
    "host/channels/terminal/terminals",
    "host/customizations/tree",
    "host/customizations/turn_customizations",
    "host/mcp/servers",
    "host/root_config",
    "host/trust/credentials",
}


def test_the_rooms_that_it_leaves_out_are_there() -> None:
    missing = {name for name in NOT_CONCERNED if not (ROOT / f"agenthost/{name}.py").is_file()}
    assert missing == set()


def test_the_path_leads_from_the_socket_to_the_agent_and_back() -> None:
    command = [sys.executable, "-m", "tools.path_of_an_action", "--brief"]
    printed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    modules, _, counts = printed.partition("\n\n")
    names = [line.split()[0] for line in modules.splitlines()]
    assert names[0] == "host/transports/websocket_transport"
    assert {"host/clients/dispatch", "host/log/writer", "agents/turn"} <= set(names)
    # What the client does, and what comes behind the word, is no part of it.
    assert not any(name.startswith("client/") for name in names)
    assert NOT_CONCERNED & set(names) == set()
    assert len(names) <= MOST_MODULES
    assert counts.startswith(f"all: {len(names)} modules, ")
