"""One run of a server: from its start, through its calls, to an end that leaves nothing.

One task enters and leaves the official client, for its cancel scopes must not cross tasks. Calls
are tasks of their own.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Coroutine
from typing import Any

import anyio
from mcp import Client
from mcp.client.session import IncomingMessage
from mcp_types import (
    METHOD_NOT_FOUND,
    Implementation,
    LoggingMessageNotificationParams,
    ToolListChangedNotification,
)
from msgspec import Struct
from msgspec.structs import replace

from agenthost.mcp.limits import PATIENCE_ASKED
from agenthost.mcp.types import Challenge, McpFailed, ServerDeclaration, ServerState
from agenthost.mcp.worker.auth import Demand
from agenthost.mcp.worker.carriers import Carrier, HttpCarrier, StdioCarrier
from agenthost.mcp.worker.failures import failure, is_refusal_to_initialize
from agenthost.mcp.worker.host_pipe import HostPipe
from agenthost.mcp.worker.log_output import LogOutput
from agenthost.mcp.worker.questions import ServerQuestions
from agenthost.mcp.worker.redaction import GivenSecrets
from agenthost.mcp.worker.running_calls import RunningCalls
from agenthost.mcp.worker.tool_list import list_tools
from agenthost.protocol.common import JsonObject
from agenthost.version import __version__

# Seconds in which several changes are one, between two looks at the tools, and for one look.
_CHANGES = 0.2
_BETWEEN_LISTS = 2.0
_LIST_PATIENCE = 30.0
# Characters of one log notice.
_LONGEST_NOTICE = 4096
# Seconds in which a call that lost its server learns why.
_EXPLANATION = 3.0


class Outcome(Struct, frozen=True):
    """How a run, or an attempt at one, ended."""

    state: ServerState
    detail: str = ""
    challenge: Challenge | None = None


class _Refused(Exception):
    """The server wants no `initialize`, so another way is tried."""


class ServerRun:
    """A server that is started, works, and ends."""

    def __init__(self, host: HostPipe, command: JsonObject, mark: str) -> None:
        self._host = host
        self._server: int = command["server"]
        self._declaration = ServerDeclaration.from_json(command["declaration"])
        self._folder: str | None = command["folder"]
        self._token: str | None = command["token"]
        self._mark = mark
        self.calls = RunningCalls()
        self._questions = ServerQuestions(host, self._server, self.calls, command["roots"])
        self._secrets = GivenSecrets(self._declaration, self._token)
        self._log = LogOutput(self._send_log)
        self._stop = asyncio.Event()
        # Set when the start has an outcome, when the end has a reason, and when nothing is left.
        self.settled = asyncio.Event()
        self.reasoned = asyncio.Event()
        self.finished = asyncio.Event()
        # What is, or was, told last.
        self.outcome = Outcome("starting")
        # There while it is ready.
        self.client: Client | None = None
        self._carrier: Carrier | None = None
        self._scope: anyio.CancelScope | None = None
        # What the server wanted instead of starting.
        self._demand: Demand | None = None
        self._tools_changed = asyncio.Event()
        self._deadline = anyio.current_time() + self._declaration.start_timeout
        self._tasks: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """Start the server, keep it until its end, and tell of both."""
        await self._tell(self.outcome)
        logging = asyncio.create_task(self._log.run(), name="log output")
        try:
            outcome = await self._whole_run()
        except Exception as error:
            outcome = Outcome("error", failure(error).text)
        finally:
            logging.cancel()
        await self._log.flush(everything=True)
        await self._tell(outcome)
        self.settled.set()
        self.reasoned.set()
        self.finished.set()

    async def stop(self) -> None:
        """Stop it, in whatever state it is; nothing of it is left afterwards."""
        self._stop.set()
        if self.client is None and self._scope is not None:
            self._scope.cancel()
        await self.finished.wait()

    def give_token(self, token: str) -> None:
        """Let what waits for a token go on."""
        self._secrets.add(token)
        if self._carrier is not None:
            self._carrier.give_token(token)

    async def explained(self, error: BaseException) -> McpFailed:
        """Return what to tell of a call that failed; the end of its server says more than it."""
        told = failure(error)
        told.text = self._secrets.hidden_text(told.text)
        if told.kind != "closed":
            return told
        self._in_background(self._look_whether_it_is_there())
        try:
            async with asyncio.timeout(_EXPLANATION):
                await self.reasoned.wait()
        except TimeoutError:
            if self.client is not None:
                return told
        return await self.ended()

    async def ended(self) -> McpFailed:
        """Return how it ended, once that is known; for one that is ending, or has ended."""
        await self.reasoned.wait()
        outcome = self.outcome
        stopped = "the server was stopped" if outcome.state == "stopped" else "it is not running"
        return McpFailed(outcome.detail or stopped, "closed")

    async def _whole_run(self) -> Outcome:
        if (problem := self._declaration.problem()) is not None:
            return Outcome("error", problem)
        try:
            return await self._attempt("legacy")
        except _Refused:
            return await self._attempt("auto")

    async def _attempt(self, mode: str) -> Outcome:
        if self._stop.is_set():
            return Outcome("stopped")
        try:
            carrier = await self._open()
        except McpFailed as refusal:
            return Outcome("error", refusal.text)
        self._carrier = carrier
        error: BaseException | None = None
        try:
            with anyio.CancelScope(deadline=self._deadline) as self._scope:
                if self._stop.is_set():
                    self._scope.cancel()
                try:
                    async with self._client(carrier, mode) as client:
                        await self._serve(client, carrier, self._scope)
                except Exception as raised:
                    error = raised
            was_ready = self.settled.is_set()
            if error is not None and mode == "legacy" and not was_ready:
                self._check_refusal(error)
            outcome = await self._how_it_ended(carrier, error, was_ready)
            self.outcome = replace(outcome, detail=self._secrets.hidden_text(outcome.detail))
            self.reasoned.set()
            return self.outcome
        finally:
            self._carrier = None
            with anyio.CancelScope(shield=True):
                await carrier.end()

    def _check_refusal(self, error: BaseException) -> None:
        if not self._stop.is_set() and self._demand is None and is_refusal_to_initialize(error):
            raise _Refused

    async def _open(self) -> Carrier:
        if self._declaration.command is None:
            return HttpCarrier(self._declaration, self._token, self._demanded)
        return await StdioCarrier.open(self._declaration, self._folder, self._mark, self._log)

    def _client(self, carrier: Carrier, mode: str) -> Client:
        return Client(
            carrier.transport(),
            mode=mode,
            sampling_callback=self._questions.sample,
            elicitation_callback=self._questions.elicit,
            list_roots_callback=self._questions.list_roots,
            logging_callback=self._noticed,
            message_handler=self._heard,
            client_info=Implementation(name="agenthost", version=__version__),
            cache=None,
        )

    async def _serve(self, client: Client, carrier: Carrier, scope: anyio.CancelScope) -> None:
        """Be ready, until the server is stopped, given up, or gone."""
        await self._list_tools(client)
        scope.deadline = math.inf
        self.client = client
        listing = asyncio.create_task(self._list_again(client), name="tools again")
        await self._tell(Outcome("ready"))
        self.settled.set()
        gate = carrier.gate
        ends = [self._stop.wait(), gate.broken.wait(), gate.ended.wait(), carrier.gone()]
        waiting = [asyncio.ensure_future(end) for end in ends]
        try:
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self.client = None
            for task in (*waiting, listing):
                task.cancel()
        # Saying good-bye may need a token, or an answer, that never comes.
        scope.deadline = anyio.current_time() + PATIENCE_ASKED

    async def _how_it_ended(
        self, carrier: Carrier, error: BaseException | None, was_ready: bool
    ) -> Outcome:
        if self._stop.is_set():
            return Outcome("stopped")
        if self._demand is not None and not was_ready:
            return await self._sign_in(carrier, self._demand)
        if carrier.gate.reason is not None:
            return Outcome("error", carrier.gate.reason)
        if error is None and not was_ready:
            seconds = self._declaration.start_timeout
            told = McpFailed(f"it was not ready after {seconds:g} seconds", "timeout")
        else:
            told = McpFailed("", "closed") if error is None else failure(error)
            if not was_ready and told.code == METHOD_NOT_FOUND:
                told = McpFailed(f"it does not speak MCP: {told.text}", "refused")
        return Outcome("error", await carrier.explain(told))

    async def _sign_in(self, carrier: Carrier, demand: Demand) -> Outcome:
        try:
            return Outcome("authRequired", "", await carrier.describe(demand))
        except McpFailed as error:
            return Outcome("error", error.text)

    def _demanded(self, demand: Demand) -> None:
        """Take note that the server wants a token: instead of starting, or for a call."""
        if self.client is not None:
            self._in_background(self._tell_demand(demand))
        elif not self.settled.is_set() and self._scope is not None:
            self._demand = demand
            self._scope.cancel()

    async def _tell_demand(self, demand: Demand) -> None:
        if (carrier := self._carrier) is None:
            return
        try:
            challenge = await carrier.describe(demand)
        except McpFailed as error:
            carrier.gate.give_up(error.text)
            return
        await self._send(
            "authRequired",
            call=None if demand.call is None else demand.call.id,
            challenge=challenge.to_json(),
        )

    async def _look_whether_it_is_there(self) -> None:
        """Give up a server whose connection failed a call, if it does not answer at all."""
        client, carrier = self.client, self._carrier
        if client is None or carrier is None:
            return
        try:
            async with asyncio.timeout(_EXPLANATION):
                await self._list_tools(client)
        except Exception as error:
            told = failure(error)
            # An end that is known has a better reason.
            if told.kind in ("closed", "timeout") and not carrier.gate.ended.is_set():
                carrier.gate.give_up(told.text)

    def _in_background(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _list_tools(self, client: Client) -> None:
        tools, note = await list_tools(client)
        if self._carrier is not None and (wrong := self._carrier.gate.left_out):
            note = f"{wrong} tools are described wrongly and cannot be offered; {note}".rstrip("; ")
        if note:
            self._log.add(note.encode() + b"\n")
        has_resources = client.server_capabilities.resources is not None
        await self._send("tools", tools=tools, resources=has_resources)

    async def _list_again(self, client: Client) -> None:
        """List the tools whenever they changed, but not as often as a server says so."""
        while True:
            await self._tools_changed.wait()
            await asyncio.sleep(_CHANGES)
            self._tools_changed.clear()
            try:
                async with asyncio.timeout(_LIST_PATIENCE):
                    await self._list_tools(client)
            except Exception as error:
                self._log.add(f"its tools cannot be listed: {failure(error)}\n".encode())
            await asyncio.sleep(_BETWEEN_LISTS)

    async def _heard(self, message: IncomingMessage) -> None:
        if isinstance(message, ToolListChangedNotification):
            self._tools_changed.set()

    async def _noticed(self, params: LoggingMessageNotificationParams) -> None:
        # Never waits: the client starts a task for each notice, and counts none.
        text = params.data if isinstance(params.data, str) else repr(params.data)
        origin = f"{params.logger}: " if params.logger else ""
        self._log.add(f"[{params.level}] {origin}{text[:_LONGEST_NOTICE]}\n".encode())

    async def _send_log(self, data: bytes) -> None:
        # Any bytes, one by one, as characters that JSON can carry.
        await self._send("output", text=self._secrets.hidden(data).decode("latin-1"))

    async def _tell(self, outcome: Outcome) -> None:
        self.outcome = outcome
        challenge = None if outcome.challenge is None else outcome.challenge.to_json()
        await self._send("state", kind=outcome.state, detail=outcome.detail, challenge=challenge)

    async def _send(self, event: str, **told: object) -> None:
        await self._host.send({"event": event, "server": self._server, **told})
