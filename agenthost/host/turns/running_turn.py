"""The host's end of a running turn: what its agent asks for, carried out on the host's loop.

``agent_port`` is the agent's end. Whatever is still asked for when the turn ends is cancelled here,
so an agent that does not listen holds up nobody.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar, cast

from agenthost.agents.api import Agent, AgentError
from agenthost.agents.mcp_tools import NO_MCP, BridgeAddress, BridgedCall, TurnMcp
from agenthost.agents.tracing import TracingProviders
from agenthost.agents.turn_customizations import NO_CUSTOMIZATIONS, TurnCustomizations
from agenthost.agents.turn_port import Interactivity, Worker
from agenthost.errors import WireError
from agenthost.host.channels.chat.attachments import attached_uris, message_for_agent
from agenthost.host.channels.chat.extra import ChatChannel
from agenthost.host.channels.chat.turn_facts import TurnFacts
from agenthost.host.channels.session.kind import SessionChannel
from agenthost.host.store import PutBlob, StoreDamaged
from agenthost.host.turns.agent_request import AgentRequest
from agenthost.host.turns.turn_terminals import OpenTerminal, TurnTerminals
from agenthost.protocol.chat.parts import error_of
from agenthost.protocol.uris import content_uri
from agenthost.workspace import file_path

if TYPE_CHECKING:
    from agenthost.agents.turn import Turn
    from agenthost.host.telemetry import TurnSpan
    from agenthost.host.trust.principals import Starter
    from agenthost.host.turns.runner import TurnRunner
    from agenthost.protocol.canvas import CanvasState
    from agenthost.protocol.chat.messages import Message, PendingMessage
    from agenthost.protocol.chat.state import ChatState, CompletedTurn, ToolChatOrigin
    from agenthost.protocol.common import Action, JsonMapping, JsonObject, ProtectedResourceMetadata

_T = TypeVar("_T")

# Log entries under way at which a producer waits for the disk.
MOST_UNSTORED = 512
# Workers that start workers end somewhere.
DEEPEST_WORKER = 4


class RunningTurn:
    """One active turn and the task that sees it through."""

    def __init__(
        self,
        runner: TurnRunner,
        channel: ChatChannel,
        session: SessionChannel,
        *,
        turn_id: str,
        starter: Starter,
        former: int = 0,
        command: str | None = None,
    ) -> None:
        self._runner = runner
        self.channel = channel
        self.session = session
        self.turn_id = turn_id
        self.starter = starter
        # The user's own command that it runs, without any agent; None where the agent works.
        self.command = command
        self.started = runner.clock.monotonic()
        # Milliseconds that it took until it failed, where it goes on after that.
        self._former = former
        self.task: asyncio.Task[None] | None = None
        # Whether those who look on at turns have been told of its beginning.
        self.is_witnessed = False
        # Set when the turn has ended; from then on its agent is not heard. Any thread may look.
        self.over = False
        # The chat's state and how many of the agent's actions are in it; any thread may look.
        self.published: tuple[ChatState, int] = (channel.state, 0)
        self._applied = 0
        # How often the chat changed otherwise, and when to look whether anything happens.
        self._changes = 0
        self.alarm: asyncio.TimerHandle | None = None
        # What it runs in terminals.
        self.terminals = TurnTerminals(
            runner.terminals,
            runner.works,
            runner.writer,
            runner.ending_terminals,
            channel,
            session,
            turn_id,
        )
        # What people and their servers brought for it, once it is prepared; and its trace.
        self.customizations: TurnCustomizations = NO_CUSTOMIZATIONS
        self.mcp: TurnMcp = NO_MCP
        self.span: TurnSpan | None = None
        # The agent's own view of it, once its agent works.
        self.turn: Turn | None = None
        # What its program calls over bridges comes to this, on the agent's loop.
        self.bridged: BridgedCall | None = None
        # What the host is doing for the agent right now.
        self._asked: set[asyncio.Task[object]] = set()

    @property
    def duration(self) -> int:
        """Milliseconds that the turn has been worked on, by this host's own clock."""
        return self._former + max(0, round((self._runner.clock.monotonic() - self.started) * 1000))

    @property
    def prompt_timeout(self) -> float | None:
        """Seconds after which a question that nobody answers is given up."""
        return self._runner.prompt_timeout

    @property
    def can_show_reviews(self) -> bool:
        """Whether somebody could be shown a result and asked; any thread may ask.

        Who comes later may be able to.
        """
        attached = tuple(self.channel.subscriptions)
        return not attached or any(connection.can_show_reviews for connection in attached)

    @property
    def trace(self) -> str | None:
        """Its place in a trace; None while nobody traces."""
        return None if self.span is None else self.span.traceparent

    @property
    def tracing(self) -> TracingProviders | None:
        """What a library that traces by itself needs; None while nobody traces."""
        return None if self.span is None else self.span.providers

    def _call_trace(self, call: str) -> str | None:
        """Return the place of a tool call in the trace; None while nobody traces."""
        return None if self.span is None else self.span.call_traceparent(call)

    def facts(self, agent: Agent) -> TurnFacts:
        """Describe it to those who bring something for it."""
        chosen = self.channel.state["activeTurn"]["message"].get("agent")
        return TurnFacts(
            self.channel,
            self.session,
            self.turn_id,
            self.starter,
            agent_uri=chosen["uri"] if chosen else None,
            uses_mcp=agent.uses_mcp,
            prompt_timeout=self.prompt_timeout,
            tell=self.show_activity,
            wait_for=self.wait_for,
            sample=self._sample,
            traceparent=self._call_trace,
        )

    async def open_bridges(self) -> Sequence[BridgeAddress]:
        """Open bridges to the turn's MCP servers and to the tools of clients."""
        if self._runner.bridges is None:
            raise AgentError("this host has no MCP servers", "noMcpBridge")
        return await self._runner.bridges.open(self)

    async def _sample(self, params: JsonMapping) -> JsonMapping:
        """Let the agent's model answer an MCP server."""
        turn = self.turn
        if turn is None or self.over:
            raise AgentError("no turn is running that could answer", "noSampling")
        return await self._runner.sample(self.session, params, turn)

    @property
    def pulse(self) -> int:
        """A number that is another one after anything has happened."""
        return self._applied + self._changes

    def end(self) -> None:
        """Hear the agent no more, and stop what is being done for it."""
        self.over = True
        if self.alarm is not None:
            self.alarm.cancel()
        for task in self._asked:
            task.cancel()
        self.terminals.end()

    def publish(self) -> None:
        """Let the agent see the chat as it is now; something has happened in it."""
        self._changes += 1
        self.published = (self.channel.settled, self._applied)

    def emit(self, action: Action) -> None:
        """Apply an action of the agent to the chat; a turn that is over can do nothing any more."""
        self.emit_all((action,))

    def emit_all(self, actions: Sequence[Action]) -> None:
        """Apply several actions of the agent in a row."""
        apply, channel = self._runner.writer.apply, self.channel
        for action in actions:
            self._applied += 1
            if self.over:
                continue
            try:
                apply(channel, action)
            except Exception as error:
                self._runner.fail(self, error)

    def rename(self, title: str) -> None:
        """Give the chat another title, and the session where it is the default chat."""
        if not self.over and title.strip():
            self._runner.chats.rename(self.channel, self.session, title)

    def set_meta(self, entry: tuple[str, object]) -> None:
        """Set, or with None remove, one entry of the session's free-form data."""
        key, value = entry
        if not self.over:
            kept = {k: v for k, v in (self.session.state.get("_meta") or {}).items() if k != key}
            meta = kept if value is None else {**kept, key: value}
            self._runner.writer.apply(self.session, {"type": "session/metaChanged", "_meta": meta})

    async def annotate(self, annotation: JsonObject) -> None:
        """Set an annotation of the session; AgentError if those that it has cannot be read."""
        try:
            await self._runner.chats.annotate(self.session, annotation)
        except (WireError, StoreDamaged) as error:
            raise AgentError(str(error), "annotationsUnreadable") from error

    @property
    def resume_state(self) -> JsonMapping | None:
        """What the agent last kept for the session; any thread may ask."""
        return self._runner.resume_states.get(self.session)

    def keep(self, state: JsonMapping | None) -> None:
        """Keep what the agent needs to go on with the session."""
        if not self.over:
            self._runner.resume_states.keep(self.session, state)

    def show_activity(self, activity: str | None) -> None:
        """Say what the turn is doing, in a few words; None for nothing in particular."""
        shown = {"activity": activity} if activity is not None else {}
        if not self.over:
            self._runner.writer.apply(self.channel, {"type": "chat/activityChanged", **shown})

    def ask(self, request: AgentRequest[_T]) -> None:
        """Do something that the agent waits for, after all that it emitted before."""
        if self.over:
            request.refuse()
            return
        self.publish()
        task = request.begin()
        self._asked.add(task)
        task.add_done_callback(self._asked.discard)

    async def stored(self) -> None:
        """Wait while the store is behind."""
        ledger = self._runner.writer.ledger
        if ledger.backlog >= MOST_UNSTORED:
            await ledger.settle()

    @property
    def may_act(self) -> Callable[[], Awaitable[None]] | None:
        """What to await before a tool does anything; any thread may ask."""
        return self._runner.may_act

    async def wait_for(self, look: Callable[[ChatState], _T | None]) -> _T:
        """Wait until looking at the chat's state finds something."""
        return await self._runner.wait_for(self.channel, look)

    def given(self, pending: PendingMessage) -> Message:
        """Return a pending message as the agent is given it; any thread may ask."""
        return message_for_agent(self.channel, pending["id"], pending["message"], pending=True)

    async def store_content(self, data: bytes, content_type: str | None, name: str | None) -> str:
        """Keep content outside of the state and return its URI."""
        uri = content_uri(str(uuid.uuid4()), name)
        ledger = self._runner.writer.ledger
        ledger.write(PutBlob(uri, self.session.uri, content_type, data))
        # Whoever reads the reference must find the content.
        await ledger.settle()
        return uri

    async def read_published(self, uri: str) -> bytes:
        """Return what a client of the session serves, or has attached to a message."""
        # After a restart nobody knows any more who sent the messages that are there already.
        active = self.channel.state.get("activeTurn")
        is_ours = active is not None and uri in attached_uris(active["message"])
        sender = self.starter.client_id if is_ours else None
        try:
            return await self._runner.read_published(self.session.uri, uri, sender)
        except WireError as error:
            raise AgentError(error.message, "attachmentUnreadable") from error

    async def open_worker(
        self, title: str, tool_call_id: str, interactivity: Interactivity
    ) -> ChatChannel:
        """Open a chat of its own for the same agent."""
        if self.starter.depth >= DEEPEST_WORKER:
            raise AgentError("workers may not start workers any deeper", "tooDeep")
        origin: ToolChatOrigin = {
            "kind": "tool",
            "chat": self.channel.uri,
            "toolCallId": tool_call_id,
        }
        return await self._runner.chats.add_worker(self.session, origin, title, interactivity)

    async def run_worker(self, chat: ChatChannel, text: str) -> Worker:
        """Let the agent answer ``text`` in a chat that was opened for it."""
        message: Message = {"text": text, "origin": {"kind": "tool"}}
        starter = replace(self.starter, depth=self.starter.depth + 1)
        self._runner.chats.start_turn(chat, message, starter)
        try:
            # Its last state is all there is when the chat is removed over its turn.
            state = await self._runner.wait_for(
                chat, lambda state: None if self._runner.is_running(chat) else state
            )
        finally:
            if self._runner.is_running(chat):
                self._runner.cancel(chat)
        return _outcome(chat.uri, state)

    async def open_terminal(
        self,
        command: str | Sequence[str],
        *,
        title: str,
        tool_call_id: str | None,
        cwd: str | None,
        env: Mapping[str, str] | None,
    ) -> OpenTerminal:
        """Run a command in a terminal, in the session's folder if no other is given."""
        if cwd is None:
            state = self.channel.state
            directories = state.get("workingDirectories") or self.session.state.get(
                "workingDirectories"
            )
            folder = file_path(directories[0]) if directories else None
            if folder is None:
                raise AgentError("this session has no folder to work in", "noFolder")
            cwd = str(folder)
        if self.may_act is not None:
            await self.may_act()
        return await self.terminals.open(
            command, title=title, tool_call_id=tool_call_id, cwd=cwd, env=env
        )

    async def start_work(self, work: JsonObject, request: AgentRequest[_T]) -> None:
        """List work that runs beside the chat's turns, and begin it."""
        await self.stored()
        self._runner.works.start(self.channel, work, request.begin)

    async def run_work(self, run: Callable[[], Awaitable[_T]]) -> _T:
        """Run work of the agent on its own loop; the turn may be over before it is done."""
        return await self._runner.call_agent(self.session, run)

    async def stop_work(self, id: str) -> bool:
        """Stop work that runs beside the chat's turns, whichever of these began it."""
        return self._runner.works.stop(self.channel, id)

    async def open_background_worker(
        self, title: str, tool_call_id: str, interactivity: Interactivity
    ) -> ChatChannel:
        """Open a chat of its own for the same agent, if it may work beside this one."""
        self._runner.works.check_room(self.channel)
        return await self.open_worker(title, tool_call_id, interactivity)

    async def open_canvas(self, described: Mapping[str, str]) -> str:
        """Show a canvas beside the chat and return its URI."""
        state = {"extensionId": self.session.state["provider"], **described}
        name = self._runner.agent_name(self.session)
        if name is not None:
            state["extensionName"] = name
        canvases = self._runner.canvases
        return await canvases.open(self.channel, cast("CanvasState", state), self._current)

    async def update_canvas(self, uri: str, changes: Mapping[str, str | None]) -> None:
        """Change a canvas, which may outlive its turn."""
        await self._runner.canvases.update(self.channel.uri, uri, changes, self._current)

    async def close_canvas(self, uri: str) -> None:
        """Take a canvas away, which may outlive its turn."""
        await self._runner.canvases.close(self.channel.uri, uri)

    def fail_canvases(self, _: None) -> None:
        """Take away the addresses of canvases whose agent has failed or was stopped."""
        self._runner.canvases.turn_failed(self.channel, self.turn_id)

    @property
    def _current(self) -> str | None:
        return None if self.over else self.turn_id

    def is_allowed(self, tool: str) -> bool:
        """Say whether somebody allowed this tool for the whole session; any thread may ask."""
        return self._runner.permissions.is_allowed(self.session, tool)

    def allow(self, tool: str) -> None:
        """Remember that this tool is allowed in the whole session."""
        self._runner.permissions.allow(self.session, tool)

    def credential(self, resource: str) -> str | None:
        """Return the token that a client brought for a resource; any thread may ask."""
        return self._runner.credentials.get(self.starter.principal, resource)

    def reject_credential(self, resource: str) -> None:
        """Forget a token that no longer works, and ask whoever brought it for another."""
        self._runner.credentials.drop(self.starter.principal, resource)
        self._ask_for_token(self._runner.protected_resource(self.session, resource), "expired")

    def check_tokens(self, agent: Agent) -> None:
        """Raise AgentError when a token is missing; a message may have waited beyond its end."""
        principal = self.starter.principal
        wanted = [cast("ProtectedResourceMetadata", item) for item in agent.protected_resources]
        missing = self._runner.credentials.missing(principal, wanted)
        for described in missing:
            self._ask_for_token(described, "required")
        if missing:
            # Nothing was begun, so that every agent can go on.
            raise AgentError("the agent needs you to sign in first", "authRequired", resumable=True)

    def _ask_for_token(self, described: ProtectedResourceMetadata, reason: str) -> None:
        principal = self.starter.principal
        theirs = frozenset(c for c in self.channel.subscriptions if c.principal.name == principal)
        params = {"resource": described, "reason": reason}
        self._runner.writer.notify(self.channel, "auth/required", params, only=theirs)


def _outcome(chat: str, state: ChatState) -> Worker:
    """Say how a worker's only turn ended; people may have taken it away instead."""
    if state.get("activeTurn") is not None or not state["turns"]:
        return Worker(chat, "", "cancelled", "the worker's turn was removed")
    turn = state["turns"][-1]
    error = error_of(turn)
    message = error["message"] if error else None
    return Worker(chat, _written(turn), turn["state"], message)


def _written(turn: CompletedTurn) -> str:
    parts = turn["responseParts"]
    return "".join(part["content"] for part in parts if part["kind"] == "markdown")
