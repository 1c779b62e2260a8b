"""A watch on files of the host that survives every drop of the connection.

Owns the queue between what the host tells and whoever reads it. A host ends a watch together with
the connection and keeps no changes for later; so the watch is made anew, and a marker in the stream
says that there may have been changes which nobody tells.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self, TypeAlias

from agenthost.client.errors import ChannelGone, ClientClosed, ConnectionLost, Lagged
from agenthost.client.optional_requests import ask
from agenthost.client.state.channel import Reset
from agenthost.client.state.signals import Signal
from agenthost.errors import AgentHostError, NotFound, RemoteProtocolError

if TYPE_CHECKING:
    from agenthost.client.state.channel import Channel
    from agenthost.client.state.client_core import ClientCore
    from agenthost.client.state.signals import Reader
    from agenthost.protocol.envelopes import ActionEnvelope
    from agenthost.protocol.resource_watch import ResourceChange, ResourceWatchState

_MOST_TRIES = 10

MOST_WAITING = 100_000
"""Changes that may wait to be read; beyond it they are dropped, and the reader is told to look."""


@dataclass(frozen=True, slots=True)
class WatchInterrupted:
    """Changes may have been missed up to here; from here on every one is told again."""


WatchItem: TypeAlias = "Sequence[ResourceChange] | WatchInterrupted"


class FileWatch:
    """One watch: iterate over it for batches of changes, and close it or use ``async with``.

    Besides the batches there are ``WatchInterrupted`` markers: after a reconnect, and where
    changes were read too slowly, so that whoever keeps a picture of the files looks at them anew.

    Raises, while it is read:
        WireError: the watch could not be made anew, because the host refuses it now.
        ClientClosed: the client was closed.
    """

    def __init__(self, core: ClientCore, params: Mapping[str, Any]) -> None:
        self._core = core
        self._params = params
        self._channel: Channel[ResourceWatchState] | None = None
        self._reader: Reader[ActionEnvelope | Reset[ResourceWatchState]] | None = None
        self._items: deque[WatchItem] = deque()
        # Changes in these.
        self._waiting = 0
        self._signal = Signal()
        self._end: Exception | None = None
        self._pump: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Make the watch on the host; from then on every change is told.

        Raises:
            WireError: the host refuses.
            Unsupported: the host has no watches.
        """
        await self._create()
        self._core.on_up.append(self._up)
        self._pump = self._core.tasks.start(self._carry(), name=f"watch {self._params['uri']}")

    def close(self) -> None:
        """End the watch; idempotent."""
        if self._end is None:
            self._finish(StopAsyncIteration())
        if self._pump is not None:
            self._pump.cancel()
        self._release()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        self.close()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> WatchItem:
        while not self._items:
            if self._end is not None:
                raise self._end.with_traceback(None)
            await self._signal.wait_past(self._signal.count)
        item = self._items.popleft()
        if not isinstance(item, WatchInterrupted):
            self._waiting -= len(item)
        return item

    async def _create(self) -> None:
        for tries_left in reversed(range(_MOST_TRIES)):
            link = await self._core.connected()
            try:
                params = self._params
                made = await ask(self._core, "createResourceWatch", params, lacking="watches")
                if not isinstance(made, dict) or not isinstance(made.get("channel"), str):
                    raise RemoteProtocolError("the host's answer to createResourceWatch is odd")
                await self._follow(made["channel"])
                return
            except (ConnectionLost, ChannelGone, NotFound, TimeoutError):
                # A watch that was made on another connection is gone with it.
                is_up = self._core.link is link and link.ended is None
                if is_up or not tries_left:
                    raise

    async def _follow(self, uri: str) -> None:
        # Read from before the answer on: a change may come right behind it.
        channel: Channel[ResourceWatchState] = self._core.follow(uri)
        reader = channel.envelopes()
        try:
            await self._core.subscribe(uri)
        finally:
            # Followed by two so far.
            self._core.unfollow(channel)
        self._channel, self._reader = channel, reader

    async def _carry(self) -> None:
        try:
            while True:
                await self._carry_channel()
                self._core.check_open()
                await self._create()
                self._interrupted()
        except (AgentHostError, TimeoutError) as error:
            self._finish(error)
        finally:
            self._release()
            self._finish(ClientClosed("the client was closed"))

    async def _carry_channel(self) -> None:
        """Carry over what a channel tells, until it is gone."""
        channel, reader = self._channel, self._reader
        assert channel is not None
        assert reader is not None
        # The first state is the beginning, every other one a fresh start.
        started = False
        while True:
            try:
                async for told in reader:
                    if not isinstance(told, Reset):
                        self._told(told["action"])
                    elif started:
                        self._interrupted()
                    else:
                        started = True
            except Lagged:
                reader = channel.envelopes()
                self._interrupted()
            except ChannelGone:
                return

    def _told(self, action: Any) -> None:
        match action:
            case {"type": "resourceWatch/changed", "changes": {"items": [*items]}} if items:
                self._waiting += len(items)
                self._items.append(items)
                self._signal.send()
        if self._waiting > MOST_WAITING:
            self._items.clear()
            self._waiting = 0
            self._interrupted()

    def _up(self) -> None:
        """Take note that there is a new connection: what happened before it is not told."""
        if self._channel is not None and self._channel.live:
            self._interrupted()

    def _interrupted(self) -> None:
        if not self._items or not isinstance(self._items[-1], WatchInterrupted):
            self._items.append(WatchInterrupted())
            self._signal.send()

    def _finish(self, error: Exception) -> None:
        if self._end is None:
            self._end = error
            self._signal.send()

    def _release(self) -> None:
        with contextlib.suppress(ValueError):
            self._core.on_up.remove(self._up)
        if self._channel is not None:
            self._core.unfollow(self._channel)
            self._channel = self._reader = None
