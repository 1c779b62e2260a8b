"""One declared server as the host holds it: started, called and stopped from here."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from agenthost.mcp.limits import MOST_CLIENT_REQUESTS
from agenthost.mcp.types import (
    Challenge,
    McpFailed,
    McpTool,
    ServerDeclaration,
    ServerEvents,
    ServerState,
)

if TYPE_CHECKING:
    from agenthost.protocol.common import JsonObject


# Seconds in which a worker that is not stuck starts itself and gives up a server, and in which it
# ends one that does not want to.
START_PATIENCE = 30.0
STOP_PATIENCE = 15.0


class _Link(Protocol):
    """What a handle needs of the link to the worker."""

    async def ask(
        self,
        command: JsonObject,
        *,
        start: bool = False,
        patience: float | None = None,
        progress: Callable[[str], None] | None = None,
    ) -> JsonObject: ...

    def tell(self, command: JsonObject) -> None: ...

    def forget(self, server: int) -> None: ...


class McpServerHandle:
    """One declared server; its methods may be called in any state."""

    def __init__(
        self,
        link: _Link,
        number: int,
        declaration: ServerDeclaration,
        folder: str | None,
        roots: tuple[str, ...],
        events: ServerEvents,
    ) -> None:
        self._link = link
        self._number = number
        self.declaration = declaration
        self._folder = folder
        self._roots = roots
        self._events = events
        # What was told last.
        self.state: ServerState = "stopped"
        # Whether it ended with its worker, and through no fault of its own.
        self.lost_worker = False
        # Whether it has resources that can be read.
        self.has_resources = False
        # How many requests of clients are not answered yet.
        self._requests = 0
        # How many stops are under way: what fails meanwhile was stopped.
        self._stops = 0
        # The resource that a token is wanted for.
        self._resource: str | None = None

    def runs(
        self, declaration: ServerDeclaration, folder: str | None, roots: tuple[str, ...]
    ) -> bool:
        """Say whether it is this that a start of it would run, and there."""
        return (declaration, folder, roots) == (self.declaration, self._folder, self._roots)

    async def start(self, token: str | None = None) -> ServerState:
        """Start the server, anew if it runs, and return the state that it reached.

        That is "ready", "authRequired", "error", or "stopped" by somebody else; all are told to
        the events too. Cancelled, the start goes on; ``stop`` ends it.
        """
        self.lost_worker = False
        command = {
            "do": "start",
            "server": self._number,
            "declaration": self.declaration.to_json(),
            "folder": self._folder,
            "roots": list(self._roots),
            "token": token,
        }
        try:
            patience = self.declaration.start_timeout + START_PATIENCE
            await self._link.ask(command, start=True, patience=patience)
        except McpFailed as error:
            if self._stops:
                self._set_state("stopped")
            else:
                self._set_state("error", error.text)
        return self.state

    async def stop(self) -> None:
        """Stop the server; no process of it is left afterwards."""
        self._stops += 1
        try:
            command = {"do": "stop", "server": self._number}
            await self._link.ask(command, patience=STOP_PATIENCE)
        except McpFailed:
            # A worker that is gone took the processes of its servers with it, or they were ended
            # since.
            pass
        finally:
            self._stops -= 1
        if self.state != "stopped":
            self._set_state("stopped")

    async def close(self) -> None:
        """Stop the server for good; this handle is of no more use."""
        await self.stop()
        self._link.forget(self._number)

    async def call(
        self,
        tool: str,
        arguments: JsonObject,
        *,
        call: str,
        progress: Callable[[str], None] | None = None,
        traceparent: str | None = None,
    ) -> JsonObject:
        """Call a tool and return its result in wire spelling; cancelled, the call is too.

        ``call`` names it in questions and demands that come up meanwhile.

        Raises:
            McpFailed: there is no result.
        """
        command = {
            "do": "call",
            "server": self._number,
            "tool": tool,
            "arguments": arguments,
            "call": call,
            "traceparent": traceparent,
        }
        return await self._link.ask(command, progress=progress)

    async def request(self, method: str, params: JsonObject) -> JsonObject:
        """Send a request of a client's own, as it is, and return the result.

        Raises:
            McpFailed: there is none, or no such request is passed on.
        """
        if self._requests >= MOST_CLIENT_REQUESTS:
            raise McpFailed(f"it has {self._requests} requests to answer already", "refused")
        self._requests += 1
        try:
            return await self._link.ask(
                {"do": "request", "server": self._number, "method": method, "params": params}
            )
        finally:
            self._requests -= 1

    def give_token(self, resource: str, token: str) -> None:
        """Give a token to the calls that wait for one for that resource."""
        if resource == self._resource:
            self._link.tell({"do": "token", "server": self._number, "token": token})

    def told(self, message: JsonObject) -> None:
        """Take what the worker tells of this server."""
        match message["event"]:
            case "state":
                challenge = message["challenge"]
                found = None if challenge is None else self._challenged(challenge)
                self._set_state(message["kind"], message["detail"], found)
            case "authRequired":
                self._events.auth_required(message["call"], self._challenged(message["challenge"]))
            case "tools":
                self.has_resources = message.get("resources", False)
                self._events.tools([_tool(told) for told in message["tools"]])
            case "output":
                self._events.output(message["text"].encode("latin-1"))

    async def answer(self, message: JsonObject) -> JsonObject:
        """Answer a question of the server."""
        ask = self._events.elicit if message["ask"] == "elicit" else self._events.sample
        return await ask(message["call"], message["params"])

    def worker_ended(self, why: str) -> None:
        """Take note that nothing runs this server any more."""
        if self.state in ("starting", "ready") and not self._stops:
            self.lost_worker = True
            self._set_state("error", why)

    def _challenged(self, told: JsonObject) -> Challenge:
        challenge = Challenge.from_json(told)
        self._resource = challenge.resource["resource"]
        return challenge

    def _set_state(
        self, kind: ServerState, detail: str = "", challenge: Challenge | None = None
    ) -> None:
        self.state = kind
        self._events.state(kind, detail, challenge)


def _tool(told: JsonObject) -> McpTool:
    return McpTool(
        name=told["name"],
        title=told["title"],
        description=told["description"],
        input_schema=told["inputSchema"],
        meta=told["meta"],
        read_only=told["readOnly"],
        destructive=told["destructive"],
    )
