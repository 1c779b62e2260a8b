"""Work that agents leave running beside the turns of a chat: listed as long as it runs.

It outlives the turn that began it, and ends by itself, when its agent stops it, with its chat or
with the host. What a former host left in a list is taken off it when the chat is loaded, by
``channels.chat.kind``. A chat with work stays in memory.
"""

from __future__ import annotations

import asyncio
import logging
import traceback
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from msgspec import Struct

from agenthost.agents.api import AgentError, agent_message
from agenthost.clock import Clock
from agenthost.host.channels.chat.consequences import StopBackgroundWork
from agenthost.host.channels.chat.extra import ChatChannel
from agenthost.host.log.effects import Effects
from agenthost.host.log.writer import Writer

if TYPE_CHECKING:
    from agenthost.protocol.common import JsonObject

log = logging.getLogger(__name__)

_T = TypeVar("_T")

# Works that may run beside one chat: more than that, nobody could look after. And in all chats
# together, for a worker may start workers.
MOST_IN_CHAT = 32
MOST_IN_ALL = 1000


class _Listed(Struct, frozen=True):
    """One work that runs."""

    chat: ChatChannel
    task: asyncio.Task[object]


class BackgroundWorks:
    """All work of this host that runs beside turns."""

    def __init__(
        self, writer: Writer, effects: Effects, clock: Clock, mask: Callable[[str], str]
    ) -> None:
        self._writer = writer
        self._clock = clock
        # Takes secrets out of what is logged.
        self._mask = mask
        # The chat's URI and the work's id -> the work.
        self._listed: dict[tuple[str, str], _Listed] = {}
        self._is_closed = False
        effects.on(StopBackgroundWork, lambda e: self._leave(lambda w: w.chat is e.chat))

    @property
    def running(self) -> int:
        """How many works are running."""
        return len(self._listed)

    def check_room(self, chat: ChatChannel) -> None:
        """Raise AgentError unless one more work may run beside a chat."""
        if self._is_closed:
            raise AgentError("the host is stopping", "hostStopped")
        if sum(uri == chat.uri for uri, _ in self._listed) >= MOST_IN_CHAT:
            told = f"{MOST_IN_CHAT} works run in the background of this chat already"
            raise AgentError(told, "tooMuchBackgroundWork")
        if len(self._listed) >= MOST_IN_ALL:
            told = f"{MOST_IN_ALL} works run in the background of this host already"
            raise AgentError(told, "tooMuchBackgroundWork")

    def start(
        self, chat: ChatChannel, work: JsonObject, begin: Callable[[], asyncio.Task[_T]]
    ) -> None:
        """List a work beside a chat until the task ends that ``begin`` makes.

        Raises:
            AgentError: there are too many already, or the host stops.
        """
        self.check_room(chat)
        listed = {**work, "startedAt": self._clock.now()}
        self._writer.apply(chat, {"type": "chat/backgroundWorkSet", "work": listed})
        chat.holds += 1
        task = begin()
        key = (chat.uri, work["id"])
        self._listed[key] = _Listed(chat, task)
        task.add_done_callback(lambda done: self._ended(key, done))

    def stop(self, chat: ChatChannel, id: str) -> bool:
        """Stop a work of a chat; False when there is none of that id."""
        found = self._listed.get((chat.uri, id))
        if found is not None:
            found.task.cancel()
        return found is not None

    def close(self) -> None:
        """Stop all work, because the host stops; none starts from now on."""
        self._is_closed = True
        self._leave(lambda work: True)

    def _leave(self, matches: Callable[[_Listed], bool]) -> None:
        """Stop works and take them off their lists now: nobody will be there to see them end."""
        for key, work in list(self._listed.items()):
            if matches(work):
                self._take_off(key)
                work.task.cancel()

    def _ended(self, key: tuple[str, str], task: asyncio.Task[object]) -> None:
        error = None if task.cancelled() else task.exception()
        if error is not None and agent_message(error) is None:
            trace = self._mask("".join(traceback.format_exception(error)))
            log.error("work in the background of %s failed\n%s", key[0], trace.rstrip())
        if key in self._listed:
            self._take_off(key)

    def _take_off(self, key: tuple[str, str]) -> None:
        chat = self._listed.pop(key).chat
        chat.holds -= 1
        self._writer.apply(chat, {"type": "chat/backgroundWorkRemoved", "id": key[1]})
