"""A link to MCP servers without a process: servers that follow a script of the test's.

Handles, events and failures are the real ones; only what a worker would do is played here.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from agenthost.mcp.link import McpWorker
from agenthost.mcp.server_handle import McpServerHandle
from agenthost.mcp.types import Challenge, McpFailed
from agenthost.protocol.common import JsonObject

__all__ = ["FakeCall", "FakeWorker", "Script", "said"]


def said(text: str) -> JsonObject:
    """Return a tool's result that is a text."""
    return {"content": [{"type": "text", "text": text}]}


@dataclass
class FakeCall:
    """A call that a script answers."""

    server: McpServerHandle
    id: str
    tool: str
    arguments: JsonObject
    traceparent: str | None
    progress: Callable[[str], None]

    async def elicit(self, params: JsonObject) -> JsonObject:
        """Ask a person in the name of this call."""
        return await self._ask("elicit", params)

    async def sample(self, params: JsonObject) -> JsonObject:
        """Ask a model in the name of this call."""
        return await self._ask("sample", params)

    def demand(self, challenge: Challenge) -> None:
        """Say that this call waits for a token; ``Script.given`` has what comes."""
        told = {"event": "authRequired", "call": self.id, "challenge": challenge.to_json()}
        self.server.told(told)

    async def _ask(self, what: str, params: JsonObject) -> JsonObject:
        return await self.server.answer({"ask": what, "call": self.id, "params": params})


async def _echo(call: FakeCall) -> JsonObject:
    return said(str(call.arguments))


@dataclass
class Script:
    """How a server behaves."""

    tools: tuple[str, ...] = ("echo",)
    call: Callable[[FakeCall], Awaitable[JsonObject]] = _echo
    # Is wanted at the start, unless the token comes with it.
    challenge: Challenge | None = None
    token: str | None = None
    # Why it does not start.
    error: str | None = None
    # What came by ``give_token``, and requests of clients.
    given: list[str] = field(default_factory=list)
    requests: list[tuple[str, JsonObject]] = field(default_factory=list)


class FakeWorker(McpWorker):
    """Plays servers by their declared names."""

    def __init__(self, **scripts: Script) -> None:
        super().__init__()
        self._scripts = scripts

    async def ask(
        self,
        command: JsonObject,
        *,
        start: bool = False,
        patience: float | None = None,
        progress: Callable[[str], None] | None = None,
    ) -> JsonObject:
        if "server" not in command:
            return {}
        server = self._servers[command["server"]]
        script = self._scripts[server.declaration.name]
        match command["do"]:
            case "start":
                self._start(server, script, command["token"])
            case "stop":
                if server.state in ("starting", "ready"):
                    self._state(server, "stopped")
            case "call" | "request" if server.state != "ready":
                raise McpFailed("it is not running", "closed")
            case "call":
                return await script.call(
                    FakeCall(
                        server, command["call"], command["tool"], command["arguments"],
                        command["traceparent"], progress or (lambda text: None),
                    )
                )  # fmt: skip
            case "request":
                script.requests.append((command["method"], command["params"]))
        return {}

    def tell(self, command: JsonObject) -> None:
        if command["do"] == "token":
            server = self._servers[command["server"]]
            self._scripts[server.declaration.name].given.append(command["token"])

    def crash(self, server: McpServerHandle, detail: str = "it was killed by SIGKILL") -> None:
        """Let a server end by itself."""
        self._state(server, "error", detail=detail)

    def _start(self, server: McpServerHandle, script: Script, token: str | None) -> None:
        self._state(server, "starting")
        if script.error is not None:
            self._state(server, "error", detail=script.error)
        elif script.challenge is not None and token != script.token:
            self._state(server, "authRequired", challenge=script.challenge.to_json())
        else:
            server.told({"event": "tools", "tools": [_tool(name) for name in script.tools]})
            self._state(server, "ready")

    def _state(self, server: McpServerHandle, kind: str, **more: Any) -> None:
        server.told({"event": "state", "kind": kind, "detail": "", "challenge": None, **more})


def _tool(name: str) -> JsonObject:
    return {
        "name": name,
        "title": name.title(),
        "description": f"The tool {name}.",
        "inputSchema": {"type": "object"},
        "meta": None,
        "readOnly": False,
        "destructive": True,
    }
