"""The ACP session of one chat: opened, reopened, and kept in step with the chat's history.

A chat can be older than the agent process, forked from another one, or cut back by people. So every
turn first compares what the ACP session has seen with the chat's history, and what is missing is
told as an introduction to the prompt.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from acp import RequestError
from acp.schema import EnvVariable, McpServerStdio

from agenthost.agents.acp.connection.terminals import Terminals
from agenthost.agents.acp.sessions.brought import digest_of, introduced
from agenthost.agents.acp.sessions.choices import Choices, offered
from agenthost.agents.acp.turns.updates import ReplayedHistory, TurnUpdates
from agenthost.agents.folders import Folders
from agenthost.agents.mcp_tools import BridgeAddress
from agenthost.agents.turn import Turn

if TYPE_CHECKING:
    from agenthost.agents.acp.connection.agent_connection import AgentConnection

log = logging.getLogger(__name__)

# The key in a turn's usage metadata under which its ACP session is remembered.
METADATA_KEY = "acp"


class AcpSession:
    """The ACP session of one chat."""

    def __init__(self, chat: str, folders: Folders) -> None:
        self.chat = chat
        self.folders = folders
        # Held by the turn that works in this chat; the next one waits until it is all over.
        self.lock = asyncio.Lock()
        # The id of the ACP session, and the process in which it is open.
        self.session_id: str | None = None
        self._agent: AgentConnection | None = None
        # Whether the history was searched for the session of an earlier host.
        self._searched = False
        # The ids of the turns that the ACP session knows, and of those told with the next prompt.
        self._known: set[str] = set()
        self._told: set[str] = set()
        # The turn that the ACP session was last prompted for, whatever became of it.
        self._prompted: str | None = None
        # What it was told of what people brought, and the bridges that it was opened with.
        self._brought = ""
        self._bridges: frozenset[tuple[str, ...]] = frozenset()
        self.choices = Choices({})
        self.terminals = Terminals()
        # Where updates go: to the running turn, or to a replay; nowhere at other times.
        self.sink: TurnUpdates | ReplayedHistory | None = None

    @property
    def metadata(self) -> dict[str, Any]:
        """Metadata of a turn by which a later host finds the ACP session again."""
        return {METADATA_KEY: {"session": self.session_id, "chat": self.chat}}

    @property
    def kept(self) -> dict[str, Any]:
        """What a later host must know to go on with the ACP session."""
        kept = {"session": self.session_id, "turn": self._prompted}
        return {**kept, "brought": self._brought} if self._brought else kept

    def take_brought(self, text: str) -> str:
        """Return what the ACP session is to be told of what people brought; nothing if it was."""
        digest = digest_of(text)
        if digest == self._brought:
            return ""
        self._brought = digest
        return introduced(text)

    def knows(self, turn: Turn) -> bool:
        """Say whether the ACP session was prompted for a turn, which now goes on."""
        return turn.is_resumed and self._prompted == turn.id

    def mark_prompted(self, turn: str) -> None:
        """Mark the turn that the ACP session is prompted for next."""
        self._prompted = turn

    def mark_known(self, turn: str) -> None:
        """Mark a turn, and the turns told with it, as known to the ACP session."""
        self._known |= {turn, *self._told}

    async def open(
        self,
        agent: AgentConnection,
        turn: Turn,
        folders: Folders,
        kept: Mapping[str, Any],
        bridges: Sequence[BridgeAddress] = (),
    ) -> list[Mapping[str, Any]]:
        """Open the ACP session for a turn; return the earlier turns that it does not know.

        ``kept`` is what was kept for this chat, maybe by an earlier host. ``bridges`` are the MCP
        servers of the turn: a session that was opened without one of them is opened anew, as there
        is no other way to tell an agent of it.
        """
        self.folders = folders
        history = turn.history
        if not self._searched:
            self._searched = True
            if not self._take_up(turn, kept):
                self._find_earlier_session(history)
        if not self._known <= {turn.id, *(past["id"] for past in history)}:
            # People cut the chat back; the ACP session cannot forget.
            self._forget()
        # A bridge that was closed meanwhile and opened anew has another key.
        reached = frozenset((bridge.name, *bridge.env.values()) for bridge in bridges)
        if self._agent is not agent or self.session_id is None or not reached <= self._bridges:
            self._bridges = reached
            await self._open_session(agent, turn, [_stdio_server(each) for each in bridges])
        unknown = [past for past in history if past["id"] not in self._known]
        self._told = {past["id"] for past in unknown}
        return unknown

    def _take_up(self, turn: Turn, kept: Mapping[str, Any]) -> bool:
        """Take up the ACP session that was kept, if it was last prompted for a turn of today's."""
        turns = [*(past["id"] for past in turn.history), *([turn.id] if turn.is_resumed else [])]
        if kept.get("session") is None or kept.get("turn") not in turns:
            return False
        self.session_id, self._prompted = str(kept["session"]), kept["turn"]
        self._brought = str(kept.get("brought") or "")
        # What came before it was known, or told with it.
        self._known = {*turns[: turns.index(kept["turn"]) + 1]} - {turn.id}
        return True

    def _find_earlier_session(self, history: Sequence[Mapping[str, Any]]) -> None:
        """Find the ACP session that this chat was last in, which knows all that was before."""
        for count, past in reversed(list(enumerate(history, 1))):
            session = _remembered(past, self.chat)
            if session is not None:
                self.session_id = session
                self._known = {known["id"] for known in history[:count]}
                return

    def _forget(self) -> None:
        if self._agent is not None and self.session_id is not None:
            # Whatever that session still says is of no use.
            self._agent.sessions.pop(self.session_id, None)
        self.session_id = self._prompted = None
        self._known = set()
        self._brought = ""

    async def _open_session(
        self, agent: AgentConnection, turn: Turn, servers: list[McpServerStdio]
    ) -> None:
        known = self.session_id
        if known is None or not agent.can_load or not await self._load(agent, known, turn, servers):
            self._forget()
            answer = await agent.connection.new_session(
                cwd=str(self.folders.primary), mcp_servers=[*servers]
            )
            self.session_id = answer.session_id
            agent.sessions[answer.session_id] = self
            self.choices = Choices(offered(answer.modes, answer.config_options))
        self._agent = agent

    async def _load(
        self,
        agent: AgentConnection,
        session_id: str,
        turn: Turn,
        servers: list[McpServerStdio],
    ) -> bool:
        self.sink = replay = ReplayedHistory()
        agent.sessions[session_id] = self
        is_fitting = False
        try:
            answer = await agent.connection.load_session(
                cwd=str(self.folders.primary), session_id=session_id, mcp_servers=[*servers]
            )
        except RequestError as error:
            log.info("%s cannot load a session: %s", agent.name, agent.process.redact(str(error)))
        except ConnectionError:
            # It died over it, and must not die over it again.
            self._forget()
            raise
        else:
            self.choices = Choices(offered(answer.modes, answer.config_options))
            is_fitting = replay.may_end_with(self._recent(turn))
            if is_fitting and not replay.may_end_with([turn.text]):
                # It was lost on the way, or the agent remembers only what it has finished.
                self._prompted = None
        finally:
            self.sink = None
            if not is_fitting:
                del agent.sessions[session_id]
        return is_fitting

    def _recent(self, turn: Turn) -> list[str]:
        """Return the last message that the ACP session knows, and those that it may know."""
        history = turn.history
        known = [number for number, past in enumerate(history) if past["id"] in self._known]
        recent = [past["message"]["text"] for past in history[known[-1] :]] if known else []
        return [*recent, turn.text] if recent and self.knows(turn) else recent


def _stdio_server(bridge: BridgeAddress) -> McpServerStdio:
    """Return a bridge as the agent is told to start it; every agent can start programs."""
    command, *args = bridge.command
    env = [EnvVariable(name=name, value=value) for name, value in bridge.env.items()]
    return McpServerStdio(name=bridge.name, command=command, args=args, env=env)


def _remembered(turn: Mapping[str, Any], chat: str) -> str | None:
    """Return the ACP session that a turn was in, if the turn was in this very chat."""
    meta = (turn.get("usage") or {}).get("_meta") or {}
    stored = meta.get(METADATA_KEY) or {}
    # A fork has its origin's turns, and must not continue the origin's session.
    return str(stored["session"]) if stored.get("chat") == chat and stored.get("session") else None
