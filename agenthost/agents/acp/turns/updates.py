"""Updates and permission requests of an agent that wait for the running turn (bounded)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from acp.schema import (
    AgentMessageChunk,
    PermissionOption,
    RequestPermissionResponse,
    ToolCallUpdate,
    UserMessageChunk,
)

from agenthost.agents.acp.turns.content_blocks import text_of
from agenthost.agents.turn import Turn

# Items at which the agent has to wait until the turn has caught up.
MOST_WAITING = 256


@dataclass(slots=True)
class PermissionRequest:
    """A permission request that waits for its answer."""

    tool_call: ToolCallUpdate
    options: Sequence[PermissionOption]
    answer: asyncio.Future[RequestPermissionResponse] = field(
        default_factory=lambda: asyncio.get_running_loop().create_future()
    )


class TurnUpdates:
    """Updates and requests on their way to a running turn."""

    def __init__(self, turn: Turn) -> None:
        self.turn = turn
        self._items: asyncio.Queue[Any] = asyncio.Queue()
        self._has_room = asyncio.Event()
        self._has_room.set()

    def put(self, item: Any) -> None:
        """Add an item; None says that there will be no more."""
        self._items.put_nowait(item)
        if self._items.qsize() >= MOST_WAITING:
            self._has_room.clear()

    async def next(self) -> Any:
        """Wait for the next item."""
        item = await self._items.get()
        if self._items.qsize() < MOST_WAITING:
            self._has_room.set()
        return item

    def leave(self) -> None:
        """Stop limiting: nobody works on the items any more."""
        self._has_room.set()

    async def has_room(self) -> None:
        """Wait until there is room."""
        await self._has_room.wait()


class ReplayedHistory:
    """Records the history an agent replays when it loads a session."""

    def __init__(self) -> None:
        # The newest message of the user, as far as it was told.
        self._last_message = ""
        self._in_message = False
        self._has_messages = False

    def put(self, update: Any) -> None:
        """Record an update of the replay."""
        if isinstance(update, UserMessageChunk):
            text = text_of(update.content) or ""
            self._last_message = self._last_message + text if self._in_message else text
            self._in_message = self._has_messages = True
        elif isinstance(update, AgentMessageChunk):
            self._in_message = False

    def may_end_with(self, messages: Sequence[str]) -> bool:
        """Return whether the replayed history can end with one of these messages."""
        told = (message.strip() in self._last_message for message in messages)
        return not self._has_messages or not messages or any(told)
