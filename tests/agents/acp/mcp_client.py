"""As little of an MCP client as an agent needs to use a tool, without a library."""

from __future__ import annotations

import asyncio
import json
from typing import Any

__all__ = ["McpClient"]


class McpClient:
    """As little of an MCP client as it takes to use a tool."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._ids = 0

    @classmethod
    async def start(cls, server: Any) -> McpClient:
        env = {variable.name: variable.value for variable in server.env}
        pipe = asyncio.subprocess.PIPE
        made = cls(
            await asyncio.create_subprocess_exec(
                server.command, *server.args, env=env, stdin=pipe, stdout=pipe, limit=2**23
            )
        )
        info = {"name": "tester", "version": "1"}
        await made.ask("initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo=info)
        made._send({"method": "notifications/initialized"})
        return made

    def _send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    async def ask(self, method: str, **params: Any) -> dict[str, Any]:
        assert self._process.stdout is not None
        self._ids += 1
        self._send({"id": self._ids, "method": method, "params": params})
        while line := await self._process.stdout.readline():
            message: dict[str, Any] = json.loads(line)
            if message.get("id") == self._ids:
                return message
        return {"error": {"message": "the server has ended"}}

    async def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        await self._process.wait()
