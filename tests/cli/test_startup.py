"""What a command loads before it does anything: no more than it needs, so that it starts quickly.

Counted in modules and not in milliseconds, which a busy machine has other ideas about.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

# Each takes several milliseconds, and none is needed to talk to a host.
NOT_FOR_CLIENTS = (
    "acp",
    "agenthost.agents",
    "agenthost.host",
    "agenthost.cli.interactive",
    "agenthost.protocol.common",
    "agenthost.protocol.envelopes",
    "agenthost.protocol.schema.unions",
    "agenthost.protocol.versions.v",
    "agenthost.protocol.wire_types",
    "jsonschema",
    "markdown_it",
    "prompt_toolkit",
    "pydantic",
    "pygments",
    "segno",
    "sqlite3",
    "wcwidth",
)
NOT_FOR_FILES = (
    *NOT_FOR_CLIENTS,
    "agenthost.client",
    "agenthost.protocol.versions",
    "asyncio",
    "msgspec",
)
NOT_FOR_ITSELF = (*NOT_FOR_FILES, "agenthost.tokens", "dataclasses", "json", "websockets")
# What a host needs once clients or agents are at work.
NOT_TO_LISTEN = (
    "acp",
    "agenthost.agents.acp",
    "agenthost.client",
    "agenthost.cli.interactive",
    "agenthost.host.channels.terminal.host_terminal",
    "agenthost.protocol.commands",
    "agenthost.protocol.common",
    "agenthost.protocol.envelopes",
    "agenthost.protocol.wire_types",
    "agenthost.protocol.versions.v0_6_0_to_v0_5_2",
    "agenthost.workspace.git.checkpoints",
    "agenthost.workspace.pty.osc",
    "agenthost.workspace.watching",
    "cryptography",
    "ctypes",
    "google",
    "http_ece",
    "httpx2",
    "jsonschema",
    "markdown_it",
    "mcp",
    "mcp_types",
    "opentelemetry",
    "prompt_toolkit",
    "py_vapid",
    "pydantic",
    "pygments",
    "yaml",
)

RUN = """
import sys
from agenthost.cli.main import main
try:
    main(sys.argv[1:])
except SystemExit:
    pass
print(*sys.modules, file=sys.stderr)
"""
READY = """
import asyncio, sys
from agenthost.agents.loader import load_agents
from agenthost.host import Host, SqliteStore
from agenthost.host.transports import WebSocketServer

opened = WebSocketServer.__aenter__

async def open_and_look(server):
    found = await opened(server)
    print(*sys.modules, file=sys.stderr)
    return found

WebSocketServer.__aenter__ = open_and_look

async def serve():
    async with Host(load_agents([]), store=SqliteStore(sys.argv[1])) as host:
        await host.listen(port=0)

asyncio.run(serve())
"""


def loaded(script: str, *words: str) -> set[str]:
    """Return the modules that a new process has loaded in the end."""
    command = [sys.executable, "-c", script, *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    return set(done.stderr.split())


def among(modules: set[str], names: tuple[str, ...]) -> set[str]:
    """Return those of the modules that are one of the named, or a part of one."""
    return {
        module
        for module in modules
        for name in names
        if module == name or module.startswith((f"{name}.", f"{name}_", f"{name}0"))
    }


@pytest.mark.parametrize(
    "command",
    [
        *("sessions", "send", "chat", "watch", "diff", "terminal", "files"),
        *("automations", "export", "inspect", "doctor"),
    ],
)
def test_a_command_for_a_host_loads_no_host_and_no_validators(command: str) -> None:
    modules = loaded(RUN, command, "--help")
    assert "agenthost.cli.commands." + command in modules
    assert among(modules, NOT_FOR_CLIENTS) == set()


@pytest.mark.parametrize("command", ["token", "qr"])
def test_a_command_for_files_loads_no_client(command: str) -> None:
    modules = loaded(RUN, command, "--help")
    assert "agenthost.tokens" in modules
    assert among(modules, NOT_FOR_FILES) == set()


@pytest.mark.parametrize("command", ["backup", "restore", "migrate", "logs"])
def test_a_command_for_the_data_directory_loads_neither_host_nor_client(command: str) -> None:
    modules = loaded(RUN, command, "--help")
    assert "agenthost.cli.commands." + command in modules
    assert among(modules, NOT_FOR_FILES) == set()


def test_the_version_is_told_without_loading_a_command() -> None:
    modules = loaded(RUN, "--version")
    assert among(modules, (*NOT_FOR_ITSELF, "importlib.metadata")) == set()
    assert among(modules, ("agenthost.cli.commands",)) == set()


def test_the_store_comes_without_the_rest_of_the_host() -> None:
    # What is loaded makes each look for garbage longer, and a commit waits for its end.
    modules = loaded("import sys, agenthost.host.store; print(*sys.modules, file=sys.stderr)")
    assert among(modules, ("agenthost.host.host", "agenthost.host.channels", "websockets")) == set()


def test_serve_listens_before_it_loads_what_its_clients_need(tmp_path: Path) -> None:
    modules = loaded(READY, str(tmp_path / "store.sqlite"))
    assert "agenthost.host.host" in modules
    assert among(modules, NOT_TO_LISTEN) == set()
