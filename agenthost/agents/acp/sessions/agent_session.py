"""One AHP session with an ACP agent: its process, started when needed, and its chats.

One process serves all chats of a session, each as an ACP session of its own: that is what agents
are built for, and it costs a start and its memory once. Another session gets another process, so
that one which crashes or hangs takes nobody else with it.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from acp import text_block

from agenthost.agents.acp.connection.agent_connection import AgentConnection
from agenthost.agents.acp.sessions.acp_session import AcpSession
from agenthost.agents.acp.sessions.brought import brought_text
from agenthost.agents.acp.sessions.history_text import CONTINUE, begun, transcript
from agenthost.agents.acp.settings import Setting
from agenthost.agents.acp.turns.acp_turn import AcpTurn
from agenthost.agents.acp.turns.bridged_tools import BridgedTools
from agenthost.agents.acp.turns.content_blocks import Block, as_prompt
from agenthost.agents.api import AgentError, SessionContext
from agenthost.agents.folders import Folders
from agenthost.agents.invocations import Invocation, read_invocation
from agenthost.agents.mcp_tools import BridgeAddress
from agenthost.agents.turn import Turn

# Seconds that an agent gets to end by itself when nobody is in a hurry.
POLITE_PATIENCE = 2.0
# Chats of a session whose ACP sessions are kept for a later host: the ones that were used last.
MOST_KEPT = 500
# Errors after which there is no going on: the agent does not want to, or cannot be understood.
_FINAL = frozenset({"refusal", "agentProtocol", "sessionOver"})


@dataclass(frozen=True, slots=True)
class Program:
    """The command of an agent, its environment and its time limits."""

    name: str
    command: Sequence[str]
    env: Mapping[str, str]
    idle_timeout: float | None
    cancel_timeout: float


class AgentSession:
    """The agent process of one session and its chats."""

    def __init__(self, program: Program, learn: Callable[[Mapping[str, Setting]], None]) -> None:
        self._program = program
        # Told what the agent offers to choose.
        self._learn = learn
        self._sessions: dict[str, AcpSession] = {}
        # Chat URI -> what is kept of its ACP session; None before the first turn has brought it.
        self._kept: dict[str, Any] | None = None
        self._agent: AgentConnection | None = None
        # Held while a process is started.
        self._starting = asyncio.Lock()
        # Turns at work, and what happens when there has been none for long.
        self._busy = 0
        self._idle: asyncio.TimerHandle | None = None
        self._resting: asyncio.Task[None] | None = None
        self._closed = asyncio.Event()
        # What people were told already.
        self._told: set[str] = set()

    async def run(self, turn: Turn) -> None:
        """Let the agent work on a turn."""
        folders = _folders(turn.session)
        session = self._sessions.setdefault(turn.chat, AcpSession(turn.chat, folders))
        if self._kept is None:
            self._kept = _chats_kept(turn.resume_state)
        with self._at_work(), _resumable():
            # Of a turn that was cancelled the agent may still be letting go.
            async with session.lock:
                agent = await self._connected(folders)
                async with agent.translated_errors():
                    await self._work(turn, session, agent, folders)

    async def _work(
        self, turn: Turn, session: AcpSession, agent: AgentConnection, folders: Folders
    ) -> None:
        assert self._kept is not None
        bridged = BridgedTools(turn)
        bridges = await self._open_bridges(turn, bridged)
        unknown = await session.open(agent, turn, folders, self._kept.get(turn.chat, {}), bridges)
        assert session.session_id is not None
        wanted = _wanted(turn, session.choices.offer)
        try:
            await session.choices.choose(agent.connection, session.session_id, wanted)
        finally:
            self._learn(session.choices.offer)
        work = AcpTurn(turn, session, agent, self._program.cancel_timeout, bridged)
        goes_on = session.knows(turn)
        session.mark_prompted(turn.id)
        brought = session.take_brought(brought_text(turn.customizations, folders.paths))
        invocation = None if goes_on else await read_invocation(turn)
        self._keep(turn, session)
        if goes_on:
            await work.run([text_block(text) for text in (brought, CONTINUE) if text])
            return
        before = [brought, transcript(unknown), _invoked_text(invocation)]
        prompt = as_prompt(_sent(turn, invocation), agent.prompts)
        after = [begun(turn.parts_so_far)]
        await work.run([*_blocks(before), *prompt, *_blocks(after)])

    async def _open_bridges(self, turn: Turn, bridged: BridgedTools) -> Sequence[BridgeAddress]:
        """Open the ways to MCP servers and clients; a turn without them is still a turn."""
        try:
            return await bridged.open()
        except AgentError as error:
            if str(error) not in self._told:
                self._told.add(str(error))
                await turn.notify(f"Tools of MCP servers and editors are left out: {error}")
            return ()

    def _keep(self, turn: Turn, session: AcpSession) -> None:
        """Keep the ids by which a later host finds the ACP sessions of these chats again."""
        assert self._kept is not None
        self._kept.pop(turn.chat, None)
        self._kept[turn.chat] = session.kept
        while len(self._kept) > MOST_KEPT:
            del self._kept[next(iter(self._kept))]
        turn.keep({"chats": self._kept})

    async def close(self, patience: float = POLITE_PATIENCE) -> None:
        """End the process for good."""
        self._closed.set()
        if self._idle is not None:
            self._idle.cancel()
        if self._agent is not None:
            await self._agent.close(patience, because="was ended with its session")
        if self._resting is not None:
            # The process before it may still be on its way out.
            await asyncio.wait({self._resting})

    async def _connected(self, folders: Folders) -> AgentConnection:
        async with self._starting:
            if self._agent is None or not self._agent.alive:
                program = self._program
                self._agent = await AgentConnection.open(
                    program.name, program.command, cwd=str(folders.primary), env=program.env
                )
            if self._closed.is_set():
                await self._agent.close(patience=0)
                raise AgentError("the session is over", "sessionOver")
            return self._agent

    @contextlib.contextmanager
    def _at_work(self) -> Iterator[None]:
        self._busy += 1
        if self._idle is not None:
            self._idle.cancel()
        try:
            yield
        finally:
            self._busy -= 1
            timeout = self._program.idle_timeout
            if self._busy == 0 and not self._closed.is_set() and timeout is not None:
                self._idle = asyncio.get_running_loop().call_later(timeout, self._rest)

    def _rest(self) -> None:
        """End an idle process; the next turn starts another one."""
        if self._busy == 0 and self._agent is not None and self._agent.alive:
            work = self._agent.close(POLITE_PATIENCE, because="was ended because it was idle")
            self._resting = asyncio.create_task(work, name=f"rest {self._program.name}")


@contextlib.contextmanager
def _resumable() -> Iterator[None]:
    """Say of most errors that the turn can go on once their cause is gone."""
    try:
        yield
    except AgentError as error:
        error.resumable = error.error_type not in _FINAL
        raise


def _chats_kept(state: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return what was kept of the chats of a session."""
    chats = (state or {}).get("chats")
    return dict(chats) if isinstance(chats, Mapping) else {}


def _wanted(turn: Turn, offer: Mapping[str, Setting]) -> dict[str, Any]:
    """Return the settings chosen for the session and for this message.

    A custom agent's model counts where the agent offers it.
    """
    chosen = {key: value for key, value in turn.session.config.items() if value != ""}
    model = turn.message.get("model")
    chosen = chosen if model is None else {**chosen, "model": model["id"]}
    brought = turn.customizations.agent
    models = offer["model"].choices if "model" in offer else ()
    if brought is not None and brought.model is not None:
        name = brought.model.strip().lower()
        found = [c.value for c in models if name in (c.value.lower(), c.label.lower())]
        return {**chosen, "model": found[0]} if found else chosen
    return chosen


def _blocks(texts: Sequence[str]) -> list[Block]:
    return [text_block(text) for text in texts if text]


def _invoked_text(invocation: Invocation | None) -> str:
    """Return what an agent is told of a skill or prompt that the message names."""
    if invocation is None:
        return ""
    name = invocation.item.name
    return f"The message below names {name}, which says:\n\n{invocation.message['text']}"


def _sent(turn: Turn, invocation: Invocation | None) -> Mapping[str, Any]:
    """Return a message as it was sent, without what only names something."""
    return turn.message if invocation is None else {**invocation.message, "text": turn.text}


def _folders(session: SessionContext) -> Folders:
    folders = Folders(session.working_directories)
    if not folders.paths:
        raise AgentError("this session has no folder to work in", "noFolder")
    if not folders.paths[0].is_dir():
        raise AgentError(f"the session's folder {folders.paths[0]} does not exist", "noFolder")
    return folders
