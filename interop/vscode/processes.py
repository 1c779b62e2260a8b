"""The processes of a run: our host, VS Code's server. Whatever happens, they end with it."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from interop.vscode.prepare import Tools
from interop.vscode.wire import WireLog

__all__ = ["Process", "ServedHost", "VSCodeServer", "free_port"]

# Seconds until a process must listen, and until it must have ended by itself.
START = 60.0
END = 10.0

SETTINGS = {
    "chat.disableAIFeatures": False,
    "chat.agentHost.enabled": True,
    # Nobody signs in here: the agents need no account.
    "chat.agentHost.allowSignedOutWhenUsable": True,
    "chat.remoteAgentHostsEnabled": True,
    "workbench.startupEditor": "none",
    "workbench.enableExperiments": False,
    "security.workspace.trust.enabled": False,
    "telemetry.telemetryLevel": "off",
    "extensions.autoCheckUpdates": False,
    "update.mode": "none",
    # Or else what terminals show is painted, and cannot be read in the page.
    "terminal.integrated.gpuAcceleration": "off",
}


def free_port() -> int:
    """Return a port of this machine that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class Process:
    """One process with everything that it starts: a process group of its own."""

    def __init__(self, name: str, log: Path) -> None:
        self.name = name
        self.log = log
        self._process: asyncio.subprocess.Process | None = None

    async def start(self, command: Sequence[str | Path], port: int) -> None:
        """Start it, and wait until it listens."""
        with self.log.open("ab") as log:
            self._process = await asyncio.create_subprocess_exec(
                *map(str, command),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        async with asyncio.timeout(START):
            while not await _listens(port):
                if self._process.returncode is not None:
                    raise RuntimeError(f"{self.name} did not start, see {self.log}")
                await asyncio.sleep(0.1)

    async def kill(self) -> None:
        """End it as a crash would."""
        await self._signal(signal.SIGKILL)

    async def stop(self) -> None:
        """Ask it to end, then insist."""
        with suppress(TimeoutError):
            await self._signal(signal.SIGTERM)
        # What it started may outlive it.
        with suppress(TimeoutError):
            await self._signal(signal.SIGKILL)

    async def _signal(self, number: signal.Signals) -> None:
        if self._process is None:
            return
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, number)
        async with asyncio.timeout(END):
            await self._process.wait()


class ServedHost(Process):
    """``agenthost serve``, with a wire log."""

    def __init__(self, command: Path, folder: Path, root: Path, origin: str) -> None:
        super().__init__("agenthost serve", folder / "host.log")
        self.port = free_port()
        self.wire = WireLog()
        self._folder = folder
        self._command = command
        self._root = root
        self._origin = origin

    @property
    def token(self) -> str:
        """What lets clients in."""
        return (self._folder / "data" / "token").read_text().strip()

    async def serve(self) -> None:
        """Start it, or start it anew with the data it had."""
        log = self._folder / f"wire-{len(self.wire.files) + 1}.jsonl"
        self.wire.begin(log)
        options = ("--port", str(self.port), "--data-dir", self._folder / "data")
        more = ("--root", self._root, "--allow-origin", self._origin, "--wire-log", log)
        await self.start((self._command, "serve", *options, *more), self.port)


class VSCodeServer(Process):
    """VS Code's server, whose windows find their agents in our host."""

    def __init__(self, tools: Tools, folder: Path) -> None:
        super().__init__("VS Code's server", folder / "vscode.log")
        self.port = free_port()
        self.workspace = folder / "workspace"
        self._tools = tools
        self._data = folder / "vscode"

    @property
    def origin(self) -> str:
        """Where its pages come from."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def page(self) -> str:
        """The window with the workspace."""
        return f"{self.origin}/?folder={self.workspace}"

    async def serve(self, host: ServedHost) -> None:
        """Start it beside a running host."""
        for scope in ("Machine", "User"):
            settings = self._data / "data" / scope / "settings.json"
            settings.parent.mkdir(parents=True)
            settings.write_text(json.dumps(SETTINGS))
        command: tuple[str | Path, ...] = (
            self._tools.node(), self._tools.server,
            "--host", "127.0.0.1", "--port", str(self.port),
            "--without-connection-token", "--accept-server-license-terms",
            "--server-data-dir", self._data, "--user-data-dir", self._data / "data",
            "--default-folder", self.workspace,
            "--agent-host-bridge-host", "127.0.0.1",
            "--agent-host-bridge-port", str(host.port),
            "--agent-host-bridge-connection-token", host.token,
        )  # fmt: skip
        await self.start(command, self.port)


async def _listens(port: int) -> bool:
    try:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
    except OSError:
        return False
    writer.close()
    with suppress(OSError):
        await writer.wait_closed()
    return True
