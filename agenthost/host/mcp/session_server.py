"""One MCP server of one session: how it fares, what it offers, and what its calls wait for.

Told by the worker what happens to the server, and by the session's turns and clients what is
wanted of it; publishes the one and carries out the other. Everything happens on the host's loop.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine, Sequence
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from agenthost.agents.api import AgentError
from agenthost.host.channels.chat.turn_facts import TurnFacts
from agenthost.host.channels.session.kind import SessionChannel
from agenthost.host.customizations.service import DeclaredServer
from agenthost.host.mcp import server_context
from agenthost.host.mcp.recent_failures import RecentFailures
from agenthost.host.mcp.server_context import RunningMcpCall, ServerContext, Token
from agenthost.host.mcp.server_states import ServerFare, auth_requirement
from agenthost.mcp.server_handle import McpServerHandle
from agenthost.mcp.types import Challenge, McpFailed, McpTool, ServerDeclaration, ServerState

if TYPE_CHECKING:
    from agenthost.host.channels.terminal.server_log import LogTerminal
    from agenthost.protocol.common import JsonObject

log = logging.getLogger(__name__)


class SessionServer:
    """A declared server, in whatever state it is."""

    def __init__(
        self, session: SessionChannel, declared: DeclaredServer, around: ServerContext
    ) -> None:
        self.session = session
        self.declared = declared
        self._around = around
        self.fare = ServerFare()
        # What it offers while it is ready.
        self.offered: tuple[McpTool, ...] = ()
        self.log: LogTerminal | None = None
        self.calls: dict[str, RunningMcpCall] = {}
        self.last_used = around.clock.monotonic()
        # Whether a person stopped it: turns leave it alone until a person starts it.
        self.is_left_alone = False
        # Whether it is to stop as soon as no turn needs it any more.
        self._is_retiring = False
        # Set while nobody needs to wait for its start.
        self.unblocked = asyncio.Event()
        self.unblocked.set()
        # The turns that were given it, by chat and id.
        self._turns: set[tuple[str, str]] = set()
        # Set while it has neither turns nor calls.
        self.idle = asyncio.Event()
        self.idle.set()
        self._handle: McpServerHandle | None = None
        self._ending = asyncio.Lock()
        # Held while one handle takes another's place.
        self._replacing = asyncio.Lock()
        # Counts what is wanted of it: the last wish counts.
        self._wish = 0
        # Whether what is told is of a handle that another has replaced.
        self._is_replaced = False
        # The resource that it wants tokens for, the one it was given, and those it has refused.
        self.resource: str | None = None
        self._token: Token | None = None
        self._refused: set[str] = set()
        self.failures = RecentFailures(around.clock)

    @property
    def id(self) -> str:
        """The server's customization id."""
        return self.declared.id

    @property
    def name(self) -> str:
        """What people call it."""
        return self.declared.declaration.name

    @property
    def is_ready(self) -> bool:
        """Whether it can be asked for something: it is not, as soon as it is to stop."""
        return self._serves and not self._is_retiring

    def is_ready_for(self, turn: TurnFacts) -> bool:
        """Say whether a turn can use it: one that began with it can until its end."""
        return self._serves and (not self._is_retiring or _key(turn) in self._turns)

    @property
    def _serves(self) -> bool:
        return self.fare.kind == "ready" and not self._ending.locked()

    @property
    def has_resources(self) -> bool:
        """Whether it has resources that clients could read."""
        return self._handle is not None and self._handle.has_resources

    @property
    def is_running(self) -> bool:
        """Whether there is something to stop."""
        kind, handle = self.fare.kind, self._handle
        # One that waits for a token for something beside its calls is connected.
        waits = kind == "authRequired" and handle is not None and handle.state == "ready"
        return kind in ("starting", "ready") or waits or self._ending.locked()

    # What turns and clients want of it.

    def start(self, *, blocking: bool = False, token: Token | None = None) -> None:
        """Begin to start it, anew if it runs."""
        self.last_used = self._around.clock.monotonic()
        self._is_retiring = False
        self._token = token
        if blocking:
            self.unblocked.clear()
        self._fares(ServerFare("starting", blocking=blocking))
        self._wish += 1
        self._around.tasks.start(self._start(token, self._wish), f"start MCP server {self.name}")

    async def _start(self, token: Token | None, wish: int) -> None:
        async with self._ending:
            # What was asked to end first has ended.
            pass
        try:
            handle = await self._handle_if_still(wish)
            if handle is not None:
                await handle.start(None if token is None else token.value)
        except McpFailed as error:
            self._failed(wish, error.text)
        except Exception:
            log.exception("the MCP server %s cannot be started", ascii(self.name))
            self._failed(wish, "it cannot be started; the host's log says why")

    def _failed(self, wish: int, why: str) -> None:
        # A start in whose place something else is wanted by now ends without a word.
        if wish == self._wish:
            self.state("error", why)

    async def _handle_if_still(self, wish: int) -> McpServerHandle | None:
        """Return the handle of what is declared now; None if something else is wanted by now."""
        async with self._replacing:
            if wish != self._wish:
                return None
            handle = await self._handle_for(self._around.resolved(self))
        return handle if wish == self._wish else None

    async def _handle_for(self, declaration: ServerDeclaration) -> McpServerHandle:
        """Return the handle of a declaration; that of another is of no more use."""
        folder, roots = await server_context.where_it_runs(self.session, self.declared)
        former = self._handle
        if former is not None and former.runs(declaration, folder, roots):
            return former
        worker = self._around.worker()
        self._handle = worker.server(declaration, folder=folder, roots=roots, events=self)
        if former is not None:
            self._is_replaced = True
            try:
                await former.close()
            finally:
                self._is_replaced = False
        return self._handle

    def background(self) -> None:
        """Let nobody wait for its start any longer."""
        self.unblocked.set()
        if self.fare.kind == "starting" and self.fare.blocking:
            self._fares(replace(self.fare, blocking=False))

    def stop(self) -> Coroutine[Any, Any, None]:
        """Stop it; no process of it is left when what this returns was awaited."""
        # Counted now and not when it is awaited: what is wished for after this comes after it.
        self._wish += 1
        return self._stop(self._wish)

    async def _stop(self, wish: int) -> None:
        async with self._ending:
            if self._handle is not None:
                await self._handle.stop()
        if wish == self._wish:
            self._is_retiring = False
            self._note("stopped", "")
            self._fares(ServerFare("stopped"))

    def retire(self) -> None:
        """Be there for no new turn, and stop as soon as none needs it any more."""
        if self.is_running and not self._is_retiring:
            self._is_retiring = True
            self._around.tools_changed(self.session)
            self._around.tasks.start(self._stop_when_idle(), f"stop MCP server {self.name}")

    def join(self, turn: TurnFacts) -> None:
        """Be there for a turn until its end."""
        if not self._is_retiring:
            self._turns.add(_key(turn))
            self.idle.clear()

    def leave(self, chat: str, turn_id: str) -> None:
        """Take note that a turn is over."""
        if (chat, turn_id) in self._turns:
            self._turns.discard((chat, turn_id))
            self.last_used = self._around.clock.monotonic()
            self._look_whether_idle()

    def _look_whether_idle(self) -> None:
        if not self.calls and not self._turns:
            self.idle.set()

    async def _stop_when_idle(self) -> None:
        await self.idle.wait()
        if self._is_retiring:
            await self.stop()

    def redeclared(self, declared: DeclaredServer) -> None:
        """Be what is declared now; what was known of something else is forgotten."""
        before, self.declared = self.declared, declared
        changed = (declared.declaration, declared.folder) != (before.declaration, before.folder)
        if changed:
            self.is_left_alone = False
            self.failures.clear()
            # A token for one address is nothing that another may see.
            self.resource, self._token = None, None
            self._refused.clear()
        if changed or not declared.enabled:
            self.retire()
            if not self.is_running:
                # Not even a start that has not come to it yet.
                self._wish += 1
                self._fares(ServerFare("stopped"))

    async def close(self) -> None:
        """Stop it for good, and take its log away."""
        self._wish += 1
        async with self._ending:
            handle, self._handle = self._handle, None
            if handle is not None:
                await handle.close()
        self.unblocked.set()
        if self.log is not None:
            self.log.close()
            self.log = None

    @property
    def is_startable(self) -> bool:
        """Whether a turn may start it: it rests, nobody stopped it, it has not just failed."""
        rests = self.fare.kind in ("stopped", "error") and not self.is_running
        return rests and not self.is_left_alone and not self.failures.are_too_recent

    async def call(
        self, turn: TurnFacts, tool: str, call: str, arguments: JsonObject
    ) -> JsonObject:
        """Call a tool for a turn; AgentError if there is no result. Cancelled, the call is too."""
        handle = self._handle
        if not self.is_ready_for(turn) or handle is None:
            # It may have ended after the call was decided on: then its end is the call's reason.
            why = f": {self.fare.detail}" if self.fare.detail else ""
            raise AgentError(f"the MCP server {self.name} is not running{why}", "mcpServerGone")
        self.calls[call] = RunningMcpCall(turn, call)
        self.idle.clear()
        try:
            return await handle.call(tool, arguments, call=call, traceparent=turn.traceparent(call))
        except McpFailed as error:
            text = self._around.mask(f"the MCP server {self.name} failed: {error.text}")
            raise AgentError(text, "mcpCallFailed") from error
        finally:
            del self.calls[call]
            self._look_whether_idle()
            self.last_used = self._around.clock.monotonic()

    async def request(self, method: str, params: JsonObject) -> JsonObject:
        """Send a request of a client's own; McpFailed if there is no result."""
        if not self.is_ready or self._handle is None:
            raise McpFailed("it is not running", "closed")
        self.last_used = self._around.clock.monotonic()
        return await self._handle.request(method, params)

    def take_token(self, token: Token) -> None:
        """Go on with a token that somebody brought for what it waits for."""
        self._refused.discard(token.value)
        if self.fare.kind in ("ready", "starting"):
            self._give(token)
        elif self.fare.kind == "authRequired":
            if self._handle is not None and self._handle.state == "ready":
                # Only something beside its calls had to wait.
                self._give(token)
                self._fares(ServerFare("ready"))
            else:
                self.start(token=token)

    def lose_token(self, principal: str) -> None:
        """Go on without the token of somebody who takes it back."""
        if self._token is not None and self._token.principal == principal:
            self._token = None
            if self.is_running:
                self.start()

    # What the worker tells.

    def state(
        self, kind: ServerState, detail: str = "", challenge: Challenge | None = None
    ) -> None:
        """Take note of a new state."""
        if self._is_replaced or kind == "stopped":
            # Of a run that another has replaced, or that whoever asked for it knows of.
            return
        detail = self._around.mask(detail)
        if kind == "error" and not (self._handle is not None and self._handle.lost_worker):
            self.failures.add()
        if kind == "authRequired" and challenge is not None:
            self.resource = challenge.resource["resource"]
            if (token := self._next_token(challenge)) is not None:
                self.start(blocking=self.fare.blocking, token=token)
                return
        blocking = kind == "starting" and self.fare.blocking
        self._note(kind, detail)
        self._fares(ServerFare(kind, detail, challenge, blocking))

    def auth_required(self, call: str | None, challenge: Challenge) -> None:
        """Let a call, or whatever else waits, be shown as waiting for a token."""
        self.resource = challenge.resource["resource"]
        if (token := self._next_token(challenge)) is not None:
            self._give(token)
            return
        known = self.calls.get(call) if call is not None else None
        # Where it is not known whose the demand is, any of them may be the one.
        waiting = [known] if known is not None else list(self.calls.values())
        auth = auth_requirement(challenge, self.declared.declaration)
        for each in waiting:
            each.show_waiting(self._around.writer, auth)
        if not waiting:
            self._fares(ServerFare("authRequired", challenge=challenge))

    def tools(self, tools: Sequence[McpTool]) -> None:
        """Take note of all tools that it offers now."""
        self.offered = tuple(tools)
        if self.fare.kind == "ready":
            self._around.tools_changed(self.session)

    def output(self, data: bytes) -> None:
        """Put something into its log."""
        if (shown := self.opened_log()) is not None:
            shown.write(self._around.mask(data.decode("latin-1")).encode("latin-1"))

    async def elicit(self, call: str | None, params: JsonObject) -> JsonObject:
        """Ask a person for a call, in the call's turn."""
        return await self._around.elicit(self, self._asking(call), params)

    async def sample(self, call: str | None, params: JsonObject) -> JsonObject:
        """Ask a model for a call, in the call's turn."""
        return await self._around.sample(self, self._asking(call), params)

    def _asking(self, call: str | None) -> RunningMcpCall:
        """Return the call in whose name something is asked; of several, any of one turn."""
        known = self.calls.get(call) if call is not None else None
        turns = {_key(each.turn) for each in self.calls.values()}
        if known is None and len(turns) == 1:
            known = next(iter(self.calls.values()))
        if known is None:
            raise McpFailed("nobody is there to be asked", "refused")
        return known

    def _next_token(self, challenge: Challenge) -> Token | None:
        """Return a token that has not been tried; the one that was is no good any more."""
        resource = challenge.resource["resource"]
        former, self._token = self._token, None
        if former is not None:
            self._refused.add(former.value)
            if challenge.reason == "expired":
                self._around.reject_token(former, resource)
        found = self._around.tokens(self.session, resource)
        return next((token for token in found if token.value not in self._refused), None)

    def _give(self, token: Token) -> None:
        if self._handle is None or self.resource is None:
            return
        self._token = token
        self._handle.give_token(self.resource, token.value)
        for call in self.calls.values():
            call.show_going_on(self._around.writer)

    def _fares(self, fare: ServerFare) -> None:
        """Publish how it fares; what leaves ``ready`` offers nothing."""
        if fare == self.fare:
            return
        offered_before = self.fare.kind == "ready"
        self.fare = fare
        if fare.kind != "starting":
            self.unblocked.set()
        self._around.publish(self)
        if offered_before or fare.kind == "ready":
            self._around.tools_changed(self.session)

    def _note(self, kind: ServerState, detail: str) -> None:
        """Say in the log what has become of it; a log is not opened for that alone."""
        if kind == "error":
            self.opened_log()
        if self.log is not None:
            self.log.note(f"— {kind}{f': {detail}' if detail else ''} —\n")

    def opened_log(self) -> LogTerminal | None:
        """Return its log, which is there from now on; None where there can be none."""
        if self.log is None:
            self.log = self._around.open_log(self)
            if self.log is not None:
                self._around.publish(self)
        return self.log


def _key(turn: TurnFacts) -> tuple[str, str]:
    """Return what tells a turn from all others: clients name them, in each chat for itself."""
    return turn.chat.uri, turn.turn_id
