"""Waiters for something in a chat: an answer, the end of a call, the end of a turn."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from agenthost.host.channels.chat.extra import ChatChannel

if TYPE_CHECKING:
    from agenthost.protocol.chat.state import ChatState

_T = TypeVar("_T")


class ChatWaits:
    """Who waits in which chat."""

    def __init__(self) -> None:
        # Chat URI -> those who look at its state whenever it has changed.
        self._waiting: dict[str, list[Callable[[ChatState], None]]] = {}

    def wake(self, chat: ChatChannel) -> None:
        """Let all who wait in a chat look at it, which has changed."""
        for look in list(self._waiting.get(chat.uri, ())):
            look(chat.state)

    async def wait_for(self, chat: ChatChannel, look: Callable[[ChatState], _T | None]) -> _T:
        """Wait until looking at a chat's state finds something."""
        found = look(chat.state)
        if found is not None:
            return found
        future: asyncio.Future[_T] = asyncio.get_running_loop().create_future()

        def look_again(state: ChatState) -> None:
            seen = look(state)
            if seen is not None and not future.done():
                future.set_result(seen)

        self._waiting.setdefault(chat.uri, []).append(look_again)
        try:
            return await future
        finally:
            waiting = self._waiting[chat.uri]
            waiting.remove(look_again)
            if not waiting:
                del self._waiting[chat.uri]
