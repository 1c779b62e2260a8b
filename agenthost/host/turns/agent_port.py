"""The agent's end of a running turn: passes what it writes from its thread to the host's.

It lives on the agent's loop. What the agent emits and asks for crosses over to ``running_turn``, in
order; answers come back to the agent's loop. Reading waits for nobody: what the host last
published, and on top of it what the agent has emitted since, so that an agent finds what it wrote.
Backpressure is a window: an agent whose emissions the host has not taken over and stored waits in
``flow``.
"""

from __future__ import annotations

import asyncio
import hashlib
import math
import uuid
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from time import monotonic
from typing import TYPE_CHECKING, TypeVar

from agenthost.agents.tracing import TracingProviders
from agenthost.agents.turn_port import AgentTerminal, Interactivity, Worker
from agenthost.host.turns.agent_loops import Crossing
from agenthost.host.turns.agent_request import AgentRequest
from agenthost.host.turns.service_proxies import CrossedCustomizations, CrossedMcp, CrossedTerminal
from agenthost.protocol.versions import reduce

if TYPE_CHECKING:
    from agenthost.agents.api import Agent
    from agenthost.agents.mcp_tools import BridgeAddress, BridgedCall, TurnMcp
    from agenthost.agents.turn import Turn
    from agenthost.agents.turn_customizations import TurnCustomizations
    from agenthost.host.turns.running_turn import RunningTurn
    from agenthost.protocol.chat.messages import Message
    from agenthost.protocol.chat.state import ChatState
    from agenthost.protocol.common import Action, JsonMapping, JsonObject
    from agenthost.protocol.session.state import SessionState

_T = TypeVar("_T")

# Actions, and stretches of text, that may be under way before the agent waits for the host.
WINDOW = 512
# Characters that count as one more action.
STRETCH = 1024
_TEXT = ("chat/delta", "chat/reasoning", "chat/toolCallDelta")
# Text crosses at once. Pieces that follow within so many seconds of a crossing wait for the end of
# the agent's tick and cross together, at most so many: what is written without a pause costs a
# crossing per tick, and nothing waits for a timer.
QUICK = 0.0003
MOST_PIECES = 64


class AgentPort:
    """What the host does for a turn, as called on the agent's loop; a ``TurnPort``."""

    def __init__(self, running: RunningTurn, crossing: Crossing) -> None:
        self._running = running
        self._crossing = crossing
        # How many actions were emitted, and those that the host has not published yet: their
        # numbers and themselves. Text that is appended tells a reader of the state nothing.
        self._emitted = 0
        self._unpublished: deque[tuple[int, Action]] = deque()
        # What was published, the number of the last action on top of it, and the state so made.
        self._view: tuple[tuple[ChatState, int], int, ChatState] | None = None
        # How much is under way, and the part of it that the host was asked to acknowledge.
        self._under_way = 0
        self._asked = 0
        self._room = asyncio.Event()
        # Text that waits for the end of the tick, what lets it cross then, and when some last did.
        self._pieces: list[Action] = []
        self._tick_end: asyncio.Handle | None = None
        self._crossed_at = -math.inf
        # What this turn allowed and found to be refused, before the host knows.
        self._allowed: set[str] = set()
        self._refused: dict[str, str] = {}
        # What the agent last kept, how often it did, and how often of these the host has taken it.
        self._kept: JsonMapping | None = None
        self._keeps = self._kept_through = 0

    @property
    def state(self) -> ChatState:
        """The chat's state with all that was emitted, without text that is being streamed."""
        published = self._running.published
        base, applied = published
        unpublished = self._unpublished
        while unpublished and unpublished[0][0] <= applied:
            unpublished.popleft()
        if not unpublished:
            return base
        done, state = 0, base
        if self._view is not None and self._view[0] is published:
            _, done, state = self._view
        for number, action in unpublished:
            if number > done:
                state = reduce("chat", state, action, now=base["modifiedAt"])
        self._view = (published, unpublished[-1][0], state)
        return state

    @property
    def session_state(self) -> SessionState:
        """The current state of the session that the chat belongs to."""
        return self._running.session.settled

    @property
    def locale(self) -> str | None:
        """The language of the client that started the turn."""
        return self._running.starter.locale

    @property
    def client(self) -> str | None:
        """The id of the client that started the turn."""
        return self._running.starter.client_id

    @property
    def prompt_timeout(self) -> float | None:
        """Seconds after which a question that nobody answers is given up."""
        return self._running.prompt_timeout

    @property
    def can_show_reviews(self) -> bool:
        """Whether somebody could be shown a result and asked to approve of it."""
        return self._running.can_show_reviews

    @property
    def customizations(self) -> TurnCustomizations:
        """What people brought for the turn."""
        return CrossedCustomizations(self.ask, self._running.customizations)

    @property
    def mcp(self) -> TurnMcp:
        """What MCP servers offer to the turn."""
        return CrossedMcp(self.ask, self._running.mcp)

    async def open_bridges(self, run: BridgedCall) -> Sequence[BridgeAddress]:
        """Open bridges to the MCP servers and to the tools of clients."""
        self._running.bridged = run
        return await self.ask(self._running.open_bridges)

    @property
    def trace(self) -> str | None:
        """The turn's place in a trace."""
        return self._running.trace

    @property
    def tracing(self) -> TracingProviders | None:
        """What a library that traces by itself needs to take part in that trace."""
        return self._running.tracing

    def emit(self, action: Action) -> None:
        """Send an action over; a turn that is over can do nothing any more."""
        self._emitted += 1
        self._under_way += 1
        if action["type"] in _TEXT:
            self._under_way += len(action["content"]) // STRETCH
            self._emit_text(action)
        else:
            self._unpublished.append((self._emitted, action))
            self._post(self._running.emit, action)
        if self._under_way >= WINDOW // 2 and not self._asked:
            self._asked = self._under_way
            self.send(self._running.stored).answer.add_done_callback(self._acknowledged)

    async def run(self, agent: Agent, turn: Turn) -> None:
        """Let the agent answer, on its loop."""
        try:
            await agent.run(turn)
        except BaseException:
            # What it showed goes before its turn does.
            self._post(self._running.fail_canvases, None)
            raise
        finally:
            self.flush()

    async def run_on_host(self, work: Awaitable[None]) -> None:
        """Do the host's own work in the turn, on its loop; what it emits is there by then."""
        try:
            await work
        except Exception:
            await self.ask(_nothing)
            raise
        await self.ask(_nothing)

    def flush(self) -> None:
        """Let the text cross that waits for the end of the tick."""
        if self._pieces:
            self._cross(monotonic())

    def _cross(self, now: float) -> None:
        pieces, self._pieces = self._pieces, []
        if self._tick_end is not None:
            self._tick_end.cancel()
            self._tick_end = None
        self._crossed_at = now
        self._crossing.post(self._running.emit_all, pieces)

    def rename(self, title: str) -> None:
        """Give the chat another title, and the session where it is the default chat."""
        self._post(self._running.rename, title)

    def set_meta(self, key: str, value: object) -> None:
        """Set, or with None remove, one entry of the session's free-form data."""
        self._post(self._running.set_meta, (key, value))

    async def annotate(self, annotation: JsonObject) -> None:
        """Set an annotation of the session, after all that was emitted."""
        await self.ask(lambda: self._running.annotate(annotation))

    @property
    def resume_state(self) -> JsonMapping | None:
        """What the agent last kept for the session, here or in another chat of it."""
        if self._keeps > self._kept_through:
            return self._kept
        return self._running.resume_state

    def keep(self, state: JsonMapping | None) -> None:
        """Keep what the agent needs to go on with the session; of several at once, the last."""
        self._kept = state
        self._keeps += 1
        if self._keeps == self._kept_through + 1:
            self._post(self._take_kept, None)

    async def flow(self) -> None:
        """Wait while the host is behind; there is no going on in a turn that is over."""
        while True:
            if self._running.over:
                raise asyncio.CancelledError("the turn is over")
            if self._under_way < WINDOW:
                return
            self._room.clear()
            await self._room.wait()

    async def may_act(self) -> None:
        """Wait until what was emitted counts, where it might still come to nothing."""
        await self.flow()
        may_act = self._running.may_act
        if may_act is not None:
            await self.ask(may_act)

    async def wait_for(self, look: Callable[[ChatState], _T | None]) -> _T:
        """Wait until looking at the chat's state finds something; the host looks."""
        return await self.ask(lambda: self._running.wait_for(look))

    async def next_steering(self) -> Message:
        """Wait for a steering message, take it off the chat, and return it.

        One that is there already is returned without suspending, and one that nobody gets to read
        stays in the chat.
        """
        while (pending := self.state.get("steeringMessage")) is None:
            await self.wait_for(lambda state: state.get("steeringMessage"))
        message, id = self._running.given(pending), pending["id"]
        self.emit({"type": "chat/pendingMessageRemoved", "kind": "steering", "id": id})
        return message

    def new_id(self, prefix: str) -> str:
        """Return an id that is unique in this chat."""
        return f"{prefix}-{uuid.uuid4().hex[:12]}"

    async def store_content(
        self, data: bytes, content_type: str | None, name: str | None = None
    ) -> JsonObject:
        """Keep content outside of the state and return a ContentRef to it."""
        uri = await self.ask(lambda: self._running.store_content(data, content_type, name))
        # Here, because it takes time with much data.
        nonce = hashlib.sha256(data).hexdigest()[:16]
        ref: JsonObject = {"uri": uri, "sizeHint": len(data), "nonce": nonce}
        return ref if content_type is None else {**ref, "contentType": content_type}

    async def read_published(self, uri: str) -> bytes:
        """Return what a client of the session serves, or has attached to a message."""
        return await self.ask(lambda: self._running.read_published(uri))

    async def run_worker(
        self,
        text: str,
        *,
        title: str,
        tool_call_id: str,
        interactivity: Interactivity,
        announce: Callable[[str], None],
    ) -> Worker:
        """Let the same agent answer ``text`` in a chat of its own; ``announce`` gets its URI."""
        running = self._running
        chat = await self.ask(lambda: running.open_worker(title, tool_call_id, interactivity))
        announce(chat.uri)
        return await self.ask(lambda: running.run_worker(chat, text))

    async def start_work(
        self, work: JsonObject, run: Callable[[], Awaitable[_T]]
    ) -> asyncio.Future[_T]:
        """Run something on the agent's loop beside the chat's turns, and list it as long."""
        return await self._start_beside(work, lambda: self._running.run_work(run))

    async def start_worker(
        self,
        text: str,
        work: JsonObject,
        *,
        title: str,
        tool_call_id: str,
        interactivity: Interactivity,
        announce: Callable[[str], None],
    ) -> asyncio.Future[Worker]:
        """Let the same agent answer ``text`` in a chat of its own, beside the turns of this one."""
        opening = self._running.open_background_worker
        chat = await self.ask(lambda: opening(title, tool_call_id, interactivity))
        announce(chat.uri)
        listed = {**work, "chat": chat.uri}
        return await self._start_beside(listed, lambda: self._running.run_worker(chat, text))

    async def stop_work(self, id: str) -> bool:
        """Stop what runs beside the chat's turns, also after the turn; False if there is none."""
        return await self.ask(lambda: self._running.stop_work(id), after_turn=True)

    async def _start_beside(
        self, work: JsonObject, run: Callable[[], Awaitable[_T]]
    ) -> asyncio.Future[_T]:
        request = AgentRequest(run)
        await self.ask(lambda: self._running.start_work(work, request))
        return request.answer

    async def open_terminal(
        self,
        command: str | Sequence[str],
        *,
        title: str,
        tool_call_id: str | None,
        cwd: str | None,
        env: Mapping[str, str] | None,
    ) -> AgentTerminal:
        """Run a command in a terminal until the turn ends, or beyond if it is let."""
        running = self._running
        opened = await self.ask(
            lambda: running.open_terminal(
                command, title=title, tool_call_id=tool_call_id, cwd=cwd, env=env
            )
        )
        return CrossedTerminal(self, running.terminals, opened, title)

    async def open_canvas(self, described: Mapping[str, str]) -> str:
        """Show a canvas beside the chat and return its URI."""
        return await self.ask(lambda: self._running.open_canvas(described))

    async def update_canvas(self, uri: str, changes: Mapping[str, str | None]) -> None:
        """Change a canvas, also after the turn."""
        await self.ask(lambda: self._running.update_canvas(uri, changes), after_turn=True)

    async def close_canvas(self, uri: str) -> None:
        """Take a canvas away, also after the turn."""
        await self.ask(lambda: self._running.close_canvas(uri), after_turn=True)

    def is_allowed(self, tool: str) -> bool:
        """Say whether somebody allowed this tool for the whole session."""
        return tool in self._allowed or self._running.is_allowed(tool)

    def allow(self, tool: str) -> None:
        """Remember that this tool is allowed in the whole session."""
        self._allowed.add(tool)
        self._post(self._running.allow, tool)

    def credential(self, resource: str) -> str | None:
        """Return the token that a client brought for a protected resource."""
        token = self._running.credential(resource)
        return None if token == self._refused.get(resource) else token

    def reject_credential(self, resource: str) -> None:
        """Forget a token that no longer works, and ask whoever brought it for another."""
        token = self._running.credential(resource)
        if token is not None:
            self._refused[resource] = token
        self._post(self._running.reject_credential, resource)

    def _take_kept(self, _: None) -> None:
        """Hand over what the agent keeps; on the host's loop, while the agent may keep more."""
        while self._kept_through < (keeps := self._keeps):
            self._running.keep(self._kept)
            self._kept_through = keeps

    def _emit_text(self, action: Action) -> None:
        pieces = self._pieces
        pieces.append(action)
        if len(pieces) == MOST_PIECES:
            self._cross(monotonic())
        elif self._tick_end is None:
            now = monotonic()
            if now - self._crossed_at > QUICK:
                self._cross(now)
            else:
                self._tick_end = asyncio.get_running_loop().call_soon(self.flush)

    def _post(self, function: Callable[[_T], None], argument: _T) -> None:
        """Have the host do something after all that was emitted before."""
        self.flush()
        self._crossing.post(function, argument)

    # For those who cross over as this does.

    async def ask(self, work: Callable[[], Awaitable[_T]], *, after_turn: bool = False) -> _T:
        """Have the host do something after all that was emitted, and wait for the result.

        ``after_turn`` says whether that can be asked for when the turn is over.
        """
        request = self.send(work, after_turn=after_turn)
        try:
            return await request.answer
        except asyncio.CancelledError:
            # Nobody waits for it any more.
            self._crossing.post(AgentRequest.cancel, request)
            raise

    def send(
        self, work: Callable[[], Awaitable[_T]], *, after_turn: bool = False
    ) -> AgentRequest[_T]:
        """Have the host do something after all that was emitted, without waiting."""
        request = AgentRequest(work)
        if after_turn:
            self._post(AgentRequest.begin_unseen, request)
        else:
            self._post(self._running.ask, request)
        return request

    def _acknowledged(self, answer: asyncio.Future[None]) -> None:
        if not answer.cancelled():
            # That the store failed is told to all who wait for something else.
            answer.exception()
        self._under_way -= self._asked
        self._asked = 0
        self._room.set()


async def _nothing() -> None:
    """Ask for nothing but to be next."""
