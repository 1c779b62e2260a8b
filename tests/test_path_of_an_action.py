"""The tool that lists the path of an action runs, and its list begins and ends where it should."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent


def test_the_path_leads_from_the_socket_to_the_agent_and_back() -> None:
    command = [sys.executable, "-m", "tools.path_of_an_action", "--brief"]
    printed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    modules, _, counts = printed.partition("\n\n")
    names = [line.split()[0] for line in modules.splitlines()]
    assert names[0] == "host/transports/websocket_transport"
    assert {"host/clients/dispatch", "host/log/writer", "agents/turn"} <= set(names)
    # What the client does, and what comes behind the word, is no part of it.
    assert not any(name.startswith("client/") for name in names)
    assert counts.startswith(f"all: {len(names)} modules, ")
