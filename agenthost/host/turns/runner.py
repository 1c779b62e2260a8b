"""Running turns: one task per active turn, from its start to exactly one ending.

Owns the tasks, who waits for what in a chat, and how a turn ends: by itself, by an error, by a
client's cancel, because nothing happens in it, or with the host. Starting one is an effect of
``chat/turnStarted``, wherever that came from; nothing else starts an agent. Agents work beside this
loop (``agent_loops``); what they may do is in ``agent_port``.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias, TypeVar, cast

from msgspec.structs import replace

from agenthost.agents.api import Agent, AgentError, SessionContext
from agenthost.agents.turn import Turn
from agenthost.clock import Clock
from agenthost.host.channels.canvas.canvases import Canvases
from agenthost.host.channels.chat.attachments import history_for_agent, message_for_agent
from agenthost.host.channels.chat.consequences import (
    CancelTurn,
    ChatChanged,
    StartTurn,
    StopTurn,
)
from agenthost.host.channels.chat.extra import ChatChannel, extra_of, nothing_runs
from agenthost.host.channels.chat.kind import CHAT
from agenthost.host.channels.chat.lifecycle import ChatRegistry
from agenthost.host.channels.chat.shell_turns import is_shell_turn, run_shell_turn, shell_command
from agenthost.host.channels.session.consequences import EndAgentSession
from agenthost.host.channels.session.kind import SESSION, SessionChannel
from agenthost.host.channels.session.records import Permissions, ResumeStates
from agenthost.host.channels.timestamps import milliseconds_between
from agenthost.host.log.directory import Directory
from agenthost.host.log.effects import Effects
from agenthost.host.log.stored_values import stored_value
from agenthost.host.log.writer import Writer
from agenthost.host.store import DropRecord, PutRecord, Store, StoreDamaged, StoreError
from agenthost.host.trust.credentials import Credentials
from agenthost.host.trust.policy import ShellPolicy
from agenthost.host.trust.principals import NOBODY, Starter
from agenthost.host.turns.agent_loops import AgentLoops
from agenthost.host.turns.agent_port import AgentPort
from agenthost.host.turns.agent_starts import AgentStarts
from agenthost.host.turns.background_work import BackgroundWorks
from agenthost.host.turns.chat_waits import ChatWaits
from agenthost.host.turns.failures import (
    TurnFailure,
    calls_cut_off,
    describe_failure,
    error_action,
)
from agenthost.host.turns.mcp_bridges import McpBridges
from agenthost.host.turns.running_turn import RunningTurn
from agenthost.host.turns.silence import SILENCE_LIMIT, SilenceWatch
from agenthost.host.turns.turn_hooks import CustomizationsOfTurns, Looks, McpOfTurns, TurnHooks
from agenthost.host.turns.turn_terminals import OpenTerminal
from agenthost.protocol.status import IN_PROGRESS

if TYPE_CHECKING:
    from agenthost.host.channels.terminal.terminals import HostTerminals
    from agenthost.host.telemetry import Telemetry, TurnSpan
    from agenthost.protocol.chat.state import ActiveTurn, ChatState
    from agenthost.protocol.common import JsonMapping, ProtectedResourceMetadata
    from agenthost.protocol.session.state import SessionState

log = logging.getLogger(__name__)

_T = TypeVar("_T")

# The record of chats whose turn is running, so that a restart can end what a crash interrupted.
RUNNING = "running"
# Seconds that agents get to clean up when the host stops, which takes no more than five in all.
CANCEL_GRACE = 1.5
# Seconds after which a prompt that nobody answers is given up: long enough for a night's sleep.
PROMPT_TIMEOUT = 24 * 3600.0


# Asks for what a client serves: the session, the URI, and who sent it if that is known. Raises
# WireError where nobody gives it.
ReadPublished: TypeAlias = Callable[[str, str, str | None], Awaitable[bytes]]


# SessionModelInfo entries.
Models: TypeAlias = Sequence["JsonMapping"]


def _as_they_are(models: Models) -> Models:
    return models


class TurnRunner:
    """All running turns of the host."""

    def __init__(
        self,
        writer: Writer,
        chats: ChatRegistry,
        effects: Effects,
        clock: Clock,
        agents: Mapping[str, Agent],
        loops: AgentLoops,
        *,
        permissions: Permissions,
        credentials: Credentials,
        resume_states: ResumeStates,
        starts: AgentStarts,
        canvases: Canvases,
        read_published: ReadPublished,
        customizations: CustomizationsOfTurns | None = None,
        mcp: McpOfTurns | None = None,
        telemetry: Telemetry | None = None,
        terminals: HostTerminals | None = None,
        shells: ShellPolicy | None = None,
        prompt_timeout: float | None = PROMPT_TIMEOUT,
        silence_limit: float | None = SILENCE_LIMIT,
        dev: bool = False,
    ) -> None:
        self.writer = writer
        self.chats = chats
        self.starts = starts
        self.clock = clock
        self.permissions = permissions
        self.credentials = credentials
        self.resume_states = resume_states
        self.prompt_timeout = prompt_timeout
        # Puts the model first that is used where a message chooses none.
        self.order_models: Callable[[Models], Models] = _as_they_are
        self._silence: SilenceWatch | None = None
        if silence_limit is not None:
            self._silence = SilenceWatch(silence_limit, self._give_up)
        # Whether tracebacks of agents are shown in their chats.
        self._dev = dev
        self.canvases = canvases
        self.read_published = read_published
        self._customizations, self._mcp = customizations, mcp
        # The ways of agents' programs to the tools of turns.
        self.bridges: McpBridges | None = None
        if mcp is not None:
            self.bridges = McpBridges(mcp, self._running_in, self.call_agent)
        self._telemetry = telemetry
        self.terminals = terminals
        # What turns that are over left in terminals, as long as it has not ended.
        self.ending_terminals: set[OpenTerminal] = set()
        self._shells = shells or ShellPolicy()
        self._agents = agents
        self._loops = loops
        # Chat URI -> its running turn. One slot per chat, never per session.
        self._running: dict[str, RunningTurn] = {}
        # Who waits for something in a chat.
        self._waits = ChatWaits()
        # Tasks of turns that are over and still let go of their agents.
        self._ending: set[asyncio.Task[None]] = set()
        # What runs beside turns.
        self.works = BackgroundWorks(writer, effects, clock, credentials.mask)
        # Who else of the host has something to do around turns.
        self.hooks = TurnHooks()
        # Awaited before an agent or a tool starts, where what says so might still come to nothing.
        self.may_act: Callable[[], Awaitable[None]] | None = None
        # Why no turn runs any more, once the host stops.
        self._closed_because: str | None = None
        effects.on(
            StartTurn,
            lambda e: self.start(e.chat, e.session, e.starter or NOBODY, e.resumed_after),
        )
        effects.on(StopTurn, lambda e: self.stop(e.chat.uri))
        effects.on(CancelTurn, lambda e: self.cancel(e.chat))
        effects.on(ChatChanged, lambda e: self.changed(e.chat))
        effects.on(EndAgentSession, self._end_session)

    @property
    def running(self) -> int:
        """How many turns are running."""
        return len(self._running)

    def runs_in(self, session: str) -> bool:
        """Say whether a turn of a session is running."""
        return any(each.session.uri == session for each in self._running.values())

    def is_active(self, running: RunningTurn) -> bool:
        """Say whether this is still the turn that its chat is working on."""
        return self._running.get(running.channel.uri) is running

    def is_running(self, chat: ChatChannel) -> bool:
        """Say whether a turn of the chat is running."""
        return chat.uri in self._running

    def start(
        self,
        chat: ChatChannel,
        session: SessionChannel,
        starter: Starter,
        resumed_after: int | None = None,
    ) -> None:
        """Run the agent for the turn that has just become active, or is so again.

        ``resumed_after`` is how many milliseconds a turn that goes on took until it failed.
        """
        active = chat.state["activeTurn"]
        prefix = self._shells.prefix if starter.knows_commands else None
        running = RunningTurn(
            self,
            chat,
            session,
            turn_id=active["id"],
            starter=starter,
            former=resumed_after or 0,
            command=shell_command(active["message"], prefix),
        )
        self._running[chat.uri] = running
        running.span = self._begin_trace(running)
        extra_of(chat).elapsed = lambda: running.duration
        chat.holds += 1
        self.writer.ledger.write(PutRecord(RUNNING, chat.uri, session.uri.encode()))
        if self._closed_because is not None:
            self._finish(running, self._ended_by_host(running, "hostStopped", self._closed_because))
            return
        agent = self._agents.get(session.state["provider"])
        resumed_parts = None
        if resumed_after is not None:
            resumed_parts = [p for p in active["responseParts"] if p["kind"] != "error"]
        name = f"turn {active['id']} in {chat.uri}"
        running.task = asyncio.create_task(self._run(agent, running, resumed_parts), name=name)
        if self._silence is not None:
            self._silence.look_after(running)

    def _begin_trace(self, running: RunningTurn) -> TurnSpan | None:
        """Begin the trace of a turn, if anybody wants to know."""
        if self._telemetry is None or (active := self._telemetry.active) is None:
            return None
        message = running.channel.state["activeTurn"]["message"]
        model = message.get("model")
        return active.turn(
            session=running.session.uri,
            chat=running.channel.uri,
            turn_id=running.turn_id,
            agent=running.session.state["provider"],
            model=model["id"] if model else None,
            parent=(message.get("_meta") or {}).get("traceparent"),
            origin=running.channel.state.get("origin"),
        )

    def changed(self, chat: ChatChannel) -> None:
        """Wake those who wait for a change of the chat, and let its agent see it."""
        running = self._running.get(chat.uri)
        if running is not None:
            running.publish()
            if running.span is not None:
                running.span.look(chat.settled)
        self._waits.wake(chat)

    async def wait_for(self, chat: ChatChannel, look: Callable[[ChatState], _T | None]) -> _T:
        """Wait until looking at a chat's state finds something."""
        return await self._waits.wait_for(chat, look)

    def cancel(self, chat: ChatChannel) -> None:
        """Cancel a chat's turn on the host's own initiative."""
        active = chat.state.get("activeTurn")
        if active is not None:
            duration = extra_of(chat).elapsed()
            action = {"type": "chat/turnCancelled", "turnId": active["id"], "duration": duration}
            self.writer.apply(chat, action)

    def stop(self, chat: str) -> None:
        """Stop the work on a chat's turn, which the chat has given up already."""
        running = self._running.pop(chat, None)
        if running is not None:
            self._release(running, "cancelled")
            self._cancel(running)
            self._tell_witnesses(running)
            # A chat that is removed changes no more, and yet somebody may wait for its end.
            self.changed(running.channel)

    async def close(self, reason: str) -> None:
        """End every running turn with an error and wait, bounded, for their tasks.

        Turns that start from now on end at once.
        """
        self._closed_because = reason
        self.works.close()
        self.hooks.close()
        for running in list(self._running.values()):
            self._finish(running, self._ended_by_host(running, "hostStopped", reason))
            self._cancel(running)
        if self._ending:
            # They do not wait for their agents, whom the loops know.
            await asyncio.wait(self._ending, timeout=CANCEL_GRACE)
        await self._loops.rest(CANCEL_GRACE)

    async def rest(self, session: str, seconds: float, reason: str) -> None:
        """Wait until no turn of a session runs; after so many seconds, end them with an error."""
        clock = asyncio.get_running_loop().time
        end = clock() + seconds
        while running := [each for each in self._running.values() if each.session.uri == session]:
            tasks = [each.task for each in running if each.task and not each.task.done()]
            if tasks and clock() < end:
                await asyncio.wait(tasks, timeout=end - clock())
                continue
            for each in running:
                self._finish(each, self._ended_by_host(each, "hostStopped", reason))
                self._cancel(each)

    def end_agent(self, agent: Agent) -> None:
        """End the turns of an agent that is no longer offered, and forget that it was started."""
        gone = TurnFailure("agentMissing", "the session's agent is not available here any more")
        for running in list(self._running.values()):
            is_its = running.session.state["provider"] == agent.provider
            if is_its and running.command is None:
                self._finish(running, gone)
                self._cancel(running)
        self.starts.forget(agent)

    def _failure(self, running: RunningTurn, error: BaseException) -> TurnFailure:
        about = {"session": running.session.uri, "turn": running.turn_id}
        return describe_failure(error, running.channel.uri, self._mask, about, dev=self._dev)

    def fail(self, running: RunningTurn, error: BaseException) -> None:
        """End a turn with an error that is not its agent's own, and stop the agent."""
        self._finish(running, self._failure(running, error))
        self._cancel(running)

    async def end_interrupted(
        self, store: Store, directory: Directory, session: str | None = None
    ) -> None:
        """End the turns that were running when the last host died; sessions stay as they were.

        With ``session``, only the turns of that one.
        """
        running = (await store.records(RUNNING)).items()
        chats = [uri for uri, its in running if session is None or its == session.encode()]
        if session is not None:
            # A former owner may have dropped the record, and not have said how the turn ended.
            chats += await _said_to_run(store, session)
        for chat_uri in dict.fromkeys(chats):
            try:
                chat = await directory.find(chat_uri, CHAT)
            except StoreDamaged as error:
                # It cannot be opened until it is repaired, and its turn ends with it then.
                log.error("a turn that was interrupted cannot be ended: %s", error)
                continue
            active = chat.state.get("activeTurn") if chat is not None else None
            if chat is not None and active is not None:
                self._end_failed(chat, self._since(active), self._interruption(chat, directory))
            self.writer.ledger.write(DropRecord(RUNNING, chat_uri))
        await self.writer.ledger.settle()

    def protected_resource(
        self, session: SessionChannel, resource: str
    ) -> ProtectedResourceMetadata:
        """Describe a resource as the session's agent does; one that it does not, by its name."""
        agent = self._agents.get(session.state["provider"])
        for described in agent.protected_resources if agent is not None else ():
            if described["resource"] == resource:
                return cast("ProtectedResourceMetadata", dict(described))
        return {"resource": resource}

    def agent_name(self, session: SessionChannel) -> str | None:
        """Return how people name the agent of a session."""
        agent = self._agents.get(session.state["provider"])
        return agent.display_name if agent is not None else None

    def _ended_by_host(self, running: RunningTurn, error_type: str, message: str) -> TurnFailure:
        """Describe an end of a turn that is none of its agent's doing."""
        resumable = running.command is None and self._can_resume(running.session)
        return TurnFailure(error_type, message, resumable)

    def _can_resume(self, session: SessionChannel | None) -> bool:
        agent = self._agents.get(session.state["provider"]) if session is not None else None
        return agent is not None and agent.resumable

    def _interruption(self, chat: ChatChannel, directory: Directory) -> TurnFailure:
        """Describe the end of a turn which was running when the last host died."""
        message = "the host stopped while this turn was running"
        session = directory.get(chat.session or "", SESSION)
        resumable = takes_messages(chat) and not is_shell_turn(chat.state["activeTurn"])
        resumable = resumable and self._can_resume(session)
        return TurnFailure("hostRestarted", message, resumable)

    def _end_failed(self, chat: ChatChannel, duration: int, failure: TurnFailure) -> None:
        active = chat.state["activeTurn"]
        for action in calls_cut_off(active, failure):
            self.writer.apply(chat, action)
        self.writer.apply(chat, error_action(active["id"], duration, failure))

    def _since(self, active: ActiveTurn) -> int:
        """Return how many milliseconds ago a turn started that no clock of this host measured."""
        return milliseconds_between(active.get("startedAt", ""), self.clock.now())

    async def call_agent(
        self, session: SessionChannel, function: Callable[[], Awaitable[_T]]
    ) -> _T:
        """Await a function of a session's agent on the agent's own loop."""
        return await self._loops.call(self._agents[session.state["provider"]], function)

    def _running_in(self, chat: str) -> RunningTurn | None:
        return self._running.get(chat)

    def _end_session(self, effect: EndAgentSession) -> None:
        if self.bridges is not None:
            self.bridges.session_ended(effect.session.uri)
        agent = self._agents.get(effect.session.state["provider"])
        if agent is not None:
            self.starts.end(agent, effect.session.uri, had_turns=effect.had_turns)

    async def _run(
        self,
        agent: Agent | None,
        running: RunningTurn,
        resumed_parts: Sequence[JsonMapping] | None,
    ) -> None:
        port = AgentPort(running, self._loops.crossing)
        try:
            if self.may_act is not None:
                await self.may_act()
            if running.command is not None:
                looks = await self._prepare(running)
                turn = self._turn(agent, port, running, None)
                await looks.done()
                await port.run_on_host(run_shell_turn(turn, running.command))
            elif agent is None:
                raise AgentError("the session's agent is not available here", "agentMissing")
            else:
                if agent.protected_resources:
                    running.check_tokens(agent)
                looks = await self._prepare(running, agent)
                turn = running.turn = self._turn(agent, port, running, resumed_parts)
                await self.starts.ensure(agent, turn.session, running.show_activity)
                # Nobody is to work before the files were looked at as they are.
                await looks.done()
                await self._loops.call(agent, port.run, agent, turn)
        except StoreDamaged as error:
            # What the turn needs cannot be read; that it ends can be recorded.
            self._finish(running, TurnFailure("storeDamaged", str(error)))
        except StoreError:
            # Nothing can be recorded any more; the host is stopping.
            return
        except Exception as error:
            self._finish(running, self._failure(running, error))
        else:
            self._finish(running)

    async def sample(self, session: SessionChannel, params: JsonMapping, turn: Turn) -> JsonMapping:
        """Let the model of a session's agent answer an MCP server."""
        agent = self._agents[session.state["provider"]]
        return await self._loops.call(agent, agent.sample, params, turn)

    async def _prepare(self, running: RunningTurn, agent: Agent | None = None) -> Looks:
        """Do all that comes before the agent starts, or raise why the turn cannot begin."""
        chat, session = running.channel, running.session
        await self.hooks.prepare(chat, session, running.show_activity)
        brought = self._customizations
        if agent is not None and brought is not None:
            facts = running.facts(agent)
            running.customizations = await brought.for_turn(session, facts.agent_uri)
            # Not before, for that finds out which servers are declared.
            if self._mcp is not None and brought.servers(session):
                running.mcp = await self._mcp.for_turn(facts)
        running.is_witnessed = True
        return self.hooks.begins(chat, session, running.turn_id)

    def _turn(
        self,
        agent: Agent | None,
        port: AgentPort,
        running: RunningTurn,
        resumed_parts: Sequence[JsonMapping] | None,
    ) -> Turn:
        """Describe a turn to its agent, in the folders that the session has by now."""
        chat, session = running.channel, running.session
        message = chat.state["activeTurn"]["message"]
        resume_state = self.resume_states.get(session)
        return Turn(
            port,
            id=running.turn_id,
            chat=chat.uri,
            message=message_for_agent(chat, running.turn_id, message),
            history=[*extra_of(chat).context, *history_for_agent(chat)],
            session=session_context(session.uri, session.state, chat.state, resume_state),
            models=self.order_models(agent.models) if agent is not None and agent.models else (),
            is_resumed=resumed_parts is not None,
            parts_so_far=resumed_parts or (),
        )

    def _mask(self, text: str) -> str:
        """Take out what an agent that failed may quote: tokens, and where its pages are."""
        return self.canvases.mask(self.credentials.mask(text))

    def _give_up(self, running: RunningTurn, reason: str) -> None:
        self._finish(running, self._ended_by_host(running, "idle", reason))
        self._cancel(running)

    def _finish(self, running: RunningTurn, failure: TurnFailure | None = None) -> None:
        if not self.is_active(running):
            return
        del self._running[running.channel.uri]
        self._release(running, failure.error_type if failure is not None else None)
        if failure is None:
            action = {
                "type": "chat/turnComplete",
                "turnId": running.turn_id,
                "duration": running.duration,
            }
            self.writer.apply(running.channel, action)
        else:
            if failure.resumable and not takes_messages(running.channel):
                # Whoever waited for a worker has gone on without it.
                failure = replace(failure, resumable=False)
            self._end_failed(running.channel, running.duration, failure)
        self._tell_witnesses(running)

    def _tell_witnesses(self, running: RunningTurn) -> None:
        if running.is_witnessed:
            self.hooks.ended(running.channel, running.session, running.turn_id)

    def _release(self, running: RunningTurn, error: str | None) -> None:
        """Let go of a turn that is over; ``error`` is a word for why it did not complete."""
        running.end()
        if running.span is not None:
            running.span.end(error)
        if self._mcp is not None:
            self._mcp.turn_ended(running.channel.uri, running.turn_id)
        extra_of(running.channel).elapsed = nothing_runs
        running.channel.holds -= 1
        self.writer.ledger.write(DropRecord(RUNNING, running.channel.uri))

    def _cancel(self, running: RunningTurn) -> None:
        task = running.task
        if task is not None and not task.done() and task is not asyncio.current_task():
            self._ending.add(task)
            task.add_done_callback(self._ending.discard)
            task.cancel()


def takes_messages(chat: ChatChannel) -> bool:
    """Say whether people may write in a chat, and not only look on at a worker."""
    return bool(chat.settled.get("interactivity", "full") == "full")


def session_context(
    uri: str, session: SessionState, chat: ChatState, resume_state: JsonMapping | None = None
) -> SessionContext:
    """Describe a session to the agent that works in one of its chats."""
    directories = chat.get("workingDirectories", session.get("workingDirectories", []))
    config = session.get("config")
    values = dict(config.get("values", {})) if config else {}
    return SessionContext(uri, tuple(directories), values, resume_state)


async def _said_to_run(store: Store, session: str) -> list[str]:
    """Return the chats of a session in which a turn runs by what its line in the list says."""
    summary = await store.session_summary(session)
    told = stored_value(summary, session) if summary is not None else {}
    chats = told.get("chats") or ()
    return [each["resource"] for each in chats if each.get("status", 0) & IN_PROGRESS]
