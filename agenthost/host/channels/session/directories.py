"""Putting a directory in the place of another: first the agent changes, then the session says so.

What chats work in is a part of what their session works in, so they change with it.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, ParamSpec, Protocol, TypeVar

from agenthost.agents.api import Agent, AgentError, agent_message
from agenthost.host.channels.chat.kind import CHAT
from agenthost.host.channels.session.consequences import (
    FollowReplacement,
    RefreshGit,
    ReplaceDirectory,
)
from agenthost.host.log.directory import Directory
from agenthost.host.log.effects import Effects
from agenthost.host.log.writer import Writer

if TYPE_CHECKING:
    from agenthost.protocol.common import Action

log = logging.getLogger(__name__)

_P = ParamSpec("_P")
_T = TypeVar("_T")


class AgentQuestions(Protocol):
    """The way into the agents' own code for what a client waits for."""

    async def ask(
        self,
        agent: Agent,
        function: Callable[_P, Awaitable[_T]],
        *args: _P.args,
        **kwargs: _P.kwargs,
    ) -> _T:
        """Await a coroutine function of an agent where that lives, with a limit."""
        ...


class Directories:
    """Replaces directories of sessions, with their agents and in their chats."""

    def __init__(
        self,
        writer: Writer,
        directory: Directory,
        effects: Effects,
        agents: Mapping[str, Agent],
        loops: AgentQuestions,
        mask: Callable[[str], str],
    ) -> None:
        self._writer = writer
        self._directory = directory
        self._effects = effects
        self._agents = agents
        self._loops = loops
        # Takes secrets out of what agents say.
        self._mask = mask
        # Sessions whose agent is changing.
        self._changing: set[str] = set()
        effects.on_later(ReplaceDirectory, self._replace)
        effects.on_later(FollowReplacement, self._follow)

    async def _replace(self, effect: ReplaceDirectory) -> None:
        """Let the agent change; raise AgentError when it does not."""
        uri = effect.session.uri
        if uri in self._changing:
            raise AgentError("another working directory of this session is being replaced")
        self._changing.add(uri)
        try:
            # Now, so that afterwards nothing has to be waited for between session and chats.
            for entry in effect.session.state["chats"]:
                if effect.directory in entry.get("workingDirectories", ()):
                    await self._directory.find(entry["resource"], CHAT)
            await self._tell_agent(effect)
        finally:
            self._changing.discard(uri)

    async def _tell_agent(self, effect: ReplaceDirectory) -> None:
        agent = self._agents.get(effect.session.state["provider"])
        if agent is None:
            raise AgentError("the session's agent is not available here")
        change = (effect.session.uri, effect.directory, effect.replacement)
        try:
            await self._loops.ask(agent, agent.change_directory, *change)
        except Exception as error:
            said = agent_message(error)
            if said is not None:
                raise AgentError(self._mask(str(said))) from error
            log.error("the agent failed to change its directory: %s", self._mask(repr(error)))
            raise AgentError("the agent could not change its directory") from error

    async def _follow(self, effect: FollowReplacement) -> None:
        """Let chats go where their session went."""
        session, old, new = effect.session, effect.directory, effect.replacement
        for entry in list(session.state["chats"]):
            if old in entry.get("workingDirectories", ()):
                chat = await self._directory.find(entry["resource"], CHAT)
                if chat is not None:
                    for action in replaced_in(chat.state.get("workingDirectories", ()), old, new):
                        self._writer.apply(chat, action)
        self._effects.carry_out(RefreshGit(session))


def replaced_in(folders: Sequence[str], old: str, new: str) -> list[Action]:
    """Plan a chat's actions that put a directory in the place of another, the order kept.

    A chat's directories can only be added and removed, so what stands behind it moves as well.
    """
    if old not in folders:
        return []
    at = folders.index(old)
    before, behind = folders[:at], [each for each in folders[at + 1 :] if each != new]
    if new in before:
        return [{"type": "chat/workingDirectoryRemoved", "directory": old}]
    removed = [{"type": "chat/workingDirectoryRemoved", "directory": each} for each in folders[at:]]
    added = [{"type": "chat/workingDirectorySet", "directory": each} for each in (new, *behind)]
    return [*removed, *added]
