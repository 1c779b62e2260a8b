"""A turn without a host: its chat is reduced by the protocol's own reducers, in memory."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from agenthost.agents import SessionContext, Turn
from agenthost.agents.api import AgentError
from agenthost.agents.mcp_tools import NO_MCP, BridgeAddress, BridgedCall, TurnMcp
from agenthost.agents.processes import command_environment, run_command
from agenthost.agents.terminal_run import command_line
from agenthost.agents.tracing import TracingProviders
from agenthost.agents.turn_customizations import NO_CUSTOMIZATIONS, TurnCustomizations
from agenthost.agents.turn_port import (
    AgentTerminal,
    Interactivity,
    TerminalEnd,
    TerminalsUnsupported,
    TurnPort,
    Worker,
)
from agenthost.protocol import reduce

__all__ = ["FakePort", "make_turn"]

_T = TypeVar("_T")
Json = dict[str, Any]

NOW = "1970-01-01T00:00:09.999Z"
TURN = "t1"
# Seconds that anything here may take before the test is broken rather than slow.
PATIENCE = 60.0


class FakeTerminal:
    """A command that runs without a terminal, as little of one as agents can tell."""

    def __init__(self, port: FakePort, title: str, line: str) -> None:
        self.uri, self.title = f"ahp-terminal:/{port.new_id('terminal')}", title
        self._port, self._line = port, line
        self._printed = ""
        # Set by somebody who lets it go on in the background.
        self.detached = asyncio.Event()
        self.task: asyncio.Task[TerminalEnd] | None = None

    async def run(self, command: str | Sequence[str], cwd: str | None, env: Any) -> TerminalEnd:
        try:
            result = await run_command(
                command, cwd=cwd, env=command_environment(env), on_output=self._take
            )
        except asyncio.CancelledError:
            return TerminalEnd(129, self._printed, truncated=False)
        output = result.output.replace("\n", "\r\n")
        return TerminalEnd(result.exit_code, output, result.truncated)

    async def _take(self, text: str) -> None:
        self._printed += text.replace("\n", "\r\n")

    async def wait(self) -> TerminalEnd:
        assert self.task is not None
        detaching = asyncio.ensure_future(self.detached.wait())
        await asyncio.wait({self.task, detaching}, return_when=asyncio.FIRST_COMPLETED)
        detaching.cancel()
        if self.task.cancelled():
            # Before it began.
            return TerminalEnd(129, "", truncated=False)
        if self.task.done():
            return self.task.result()
        return TerminalEnd(None, self._printed, truncated=False, detached=True)

    async def output(self) -> str:
        return self._printed

    def end(self) -> None:
        assert self.task is not None
        self.task.cancel()

    async def kill(self) -> None:
        self.end()
        assert self.task is not None
        await asyncio.wait({self.task})

    async def run_on(self, label: str) -> asyncio.Future[TerminalEnd]:
        if self._port.most_works <= len(self._port.works):
            raise AgentError("too many works", "tooMuchBackgroundWork")
        work = {"kind": "shell", "id": self.uri.rpartition("/")[2], "label": label}
        work |= {"command": self._line, "terminal": self.uri}
        return await self._port.start_work(work, self.exited)

    async def exited(self) -> TerminalEnd:
        assert self.task is not None
        try:
            return await asyncio.shield(self.task)
        except asyncio.CancelledError:
            self.end()
            raise


class FakePort:
    """What a host does for a turn, as little of it as agents can tell."""

    def __init__(
        self, text: str = "go", *, prompt_timeout: float | None = None, locale: str | None = None
    ) -> None:
        self.prompt_timeout = prompt_timeout
        self.locale = locale
        self.can_show_reviews = True
        self.customizations: TurnCustomizations = NO_CUSTOMIZATIONS
        self.mcp: TurnMcp = NO_MCP
        # The bridges that programs are given, and what their calls come to.
        self.bridges: Sequence[BridgeAddress] = ()
        self.bridged: BridgedCall | None = None
        self.trace: str | None = None
        self.tracing: TracingProviders | None = None
        # What was told about the session.
        self.title: str | None = None
        self.meta: Json = {}
        self.notes: list[Json] = []
        self.resume_state: Mapping[str, Any] | None = None
        # What runs beside the turns, by its id.
        self.works: dict[str, asyncio.Task[Any]] = {}
        self.most_works = 32
        # What was opened; None where this host has no terminals.
        self.terminals: list[FakeTerminal] | None = []
        self.most_terminals = 16
        self.client: str | None = "c1"
        self.session_state: Json = {"activeClients": []}
        # Every action of the agent, and what it stored and was allowed.
        self.actions: list[Json] = []
        self.stored: dict[str, tuple[bytes, str | None]] = {}
        self.allowed: set[str] = set()
        self.tokens: dict[str, str] = {}
        self.canvases: dict[str, dict[str, str | None]] = {}
        # What clients serve.
        self.published: dict[str, bytes] = {}
        # How workers end, by what they are told.
        self.workers: dict[str, Worker | AgentError] = {}
        self.state: Json = {"resource": "c:/1", "title": "", "status": 1, "turns": []}
        self._looks: list[Callable[[Json], None]] = []
        self._numbers = itertools.count(1)
        message = {"text": text, "origin": {"kind": "user"}}
        self.act({"type": "chat/turnStarted", "turnId": TURN, "startedAt": NOW, "message": message})

    def act(self, action: Json) -> None:
        """Apply what somebody else does to the chat."""
        self.state = reduce("chat", self.state, action, now=NOW)
        for look in list(self._looks):
            look(self.state)

    @property
    def parts(self) -> list[Json]:
        """The answer so far."""
        parts: list[Json] = self.state["activeTurn"]["responseParts"]
        return parts

    @property
    def call(self) -> Json:
        """The newest tool call."""
        return [part["toolCall"] for part in self.parts if part["kind"] == "toolCall"][-1]  # type: ignore[no-any-return]

    @property
    def steps(self) -> list[str]:
        """What the agent did, by the last word of each action."""
        return [action["type"].partition("/")[2] for action in self.actions]

    async def until_status(self, status: str, **fields: Any) -> Json:
        """Wait until the newest tool call has a status, and these fields."""
        wanted = {"status": status, **fields}

        def look(_: Mapping[str, Any]) -> Json | None:
            calls = [part["toolCall"] for part in self.parts if part["kind"] == "toolCall"]
            found = calls and {key: calls[-1].get(key) for key in wanted} == wanted
            return calls[-1] if found else None

        async with asyncio.timeout(PATIENCE):
            return await self.wait_for(look)

    async def until_asked(self) -> Json:
        """Wait until the agent has asked something, and return the request."""

        def look(_: Mapping[str, Any]) -> Json | None:
            open = (p for p in self.parts if p["kind"] == "inputRequest" and "response" not in p)
            return next((part["request"] for part in open), None)

        async with asyncio.timeout(PATIENCE):
            return await self.wait_for(look)

    def answer(self, action_type: str, **fields: Any) -> None:
        """Do something to the newest tool call, as a client would."""
        target = {"turnId": TURN, "toolCallId": self.call["toolCallId"]}
        self.act({"type": f"chat/toolCall{action_type}", **target, **fields})

    def end_turn(self) -> None:
        """End the turn under the agent's feet."""
        self.act({"type": "chat/turnCancelled", "turnId": TURN, "duration": 1})

    # What a turn asks for.

    async def open_bridges(self, run: BridgedCall) -> Sequence[BridgeAddress]:
        self.bridged = run
        return self.bridges

    def emit(self, action: Json) -> None:
        self.actions.append(action)
        self.act(action)

    async def flow(self) -> None:
        await asyncio.sleep(0)

    async def may_act(self) -> None:
        await self.flow()

    async def wait_for(self, look: Callable[[Mapping[str, Any]], _T | None]) -> _T:
        found: asyncio.Future[_T] = asyncio.get_running_loop().create_future()

        def look_again(state: Json) -> None:
            seen = look(state)
            if seen is not None and not found.done():
                found.set_result(seen)

        look_again(self.state)
        self._looks.append(look_again)
        try:
            return await found
        finally:
            self._looks.remove(look_again)

    async def next_steering(self) -> Mapping[str, Any]:
        pending: Json = await self.wait_for(lambda state: state.get("steeringMessage"))
        self.emit({"type": "chat/pendingMessageRemoved", "kind": "steering", "id": pending["id"]})
        message: Mapping[str, Any] = pending["message"]
        return message

    def new_id(self, prefix: str) -> str:
        return f"{prefix}-{next(self._numbers)}"

    def rename(self, title: str) -> None:
        self.title = title

    def set_meta(self, key: str, value: Any) -> None:
        self.meta[key] = value

    async def annotate(self, annotation: Json) -> None:
        self.notes.append(annotation)

    def keep(self, state: Mapping[str, Any] | None) -> None:
        self.resume_state = state

    async def store_content(
        self, data: bytes, content_type: str | None, name: str | None = None
    ) -> Json:
        uri = f"ahp-content:/{len(self.stored)}"
        self.stored[uri] = (data, content_type)
        return {"uri": uri, "sizeHint": len(data)}

    async def run_worker(
        self,
        text: str,
        *,
        title: str,
        tool_call_id: str,
        interactivity: Interactivity,
        announce: Callable[[str], None],
    ) -> Worker:
        announce("c:/worker")
        await asyncio.sleep(0)
        end = self.workers[text]
        if isinstance(end, AgentError):
            raise end
        return end

    async def open_terminal(
        self,
        command: str | Sequence[str],
        *,
        title: str,
        tool_call_id: str | None,
        cwd: str | None,
        env: Mapping[str, str] | None,
    ) -> AgentTerminal:
        if self.terminals is None:
            raise TerminalsUnsupported("this host has no terminals", "noTerminals")
        if len(self.terminals) >= self.most_terminals:
            raise AgentError("there are too many terminals", "tooManyTerminals")
        if cwd is not None and not Path(cwd).is_dir():  # noqa: ASYNC240
            raise AgentError("the command could not be started: no such directory", "notStarted")
        terminal = FakeTerminal(self, title, command_line(command))
        terminal.task = asyncio.ensure_future(terminal.run(command, cwd, env))
        self.terminals.append(terminal)
        return terminal

    async def read_published(self, uri: str) -> bytes:
        if uri not in self.published:
            raise AgentError(f"nobody here knows {uri}", "attachmentUnreadable")
        return self.published[uri]

    async def open_canvas(self, described: Mapping[str, str]) -> str:
        uri = f"ahp-canvas:/{len(self.canvases)}"
        self.canvases[uri] = dict(described)
        return uri

    async def update_canvas(self, uri: str, changes: Mapping[str, str | None]) -> None:
        self.canvases[uri] = {**self.canvases[uri], **changes}

    async def close_canvas(self, uri: str) -> None:
        self.canvases.pop(uri, None)

    async def start_work(self, work: Json, run: Callable[[], Awaitable[_T]]) -> asyncio.Future[_T]:
        self.act({"type": "chat/backgroundWorkSet", "work": {**work, "startedAt": NOW}})
        task = asyncio.ensure_future(_awaited(run))
        removed = {"type": "chat/backgroundWorkRemoved", "id": work["id"]}
        task.add_done_callback(lambda _: self.act(removed))
        self.works[work["id"]] = task
        return task

    async def start_worker(
        self,
        text: str,
        work: Json,
        *,
        title: str,
        tool_call_id: str,
        interactivity: Interactivity,
        announce: Callable[[str], None],
    ) -> asyncio.Future[Worker]:
        async def run() -> Worker:
            known: Json = {"title": title, "tool_call_id": tool_call_id}
            known |= {"interactivity": interactivity, "announce": lambda chat: None}
            return await self.run_worker(text, **known)

        announce("c:/worker")
        return await self.start_work({**work, "chat": "c:/worker"}, run)

    async def stop_work(self, id: str) -> bool:
        return id in self.works and self.works[id].cancel()

    def is_allowed(self, tool: str) -> bool:
        return tool in self.allowed

    def allow(self, tool: str) -> None:
        self.allowed.add(tool)

    def credential(self, resource: str) -> str | None:
        return self.tokens.get(resource)

    def reject_credential(self, resource: str) -> None:
        self.tokens.pop(resource, None)


async def _awaited(run: Callable[[], Awaitable[_T]]) -> _T:
    return await run()


def make_turn(port: FakePort, **options: Any) -> Turn:
    """Return the agent's side of the port's turn."""
    active, seam = port.state["activeTurn"], _as_port(port)
    defaults: Json = {"history": [], "session": SessionContext("s:/1")}
    return Turn(seam, id=TURN, chat="c:/1", message=active["message"], **{**defaults, **options})


def _as_port(port: FakePort) -> TurnPort:
    return port
