"""Base of Session, Chat and Annotations: one followed channel with state, actions and an end.

Knows no kind of channel: ``sessions``, ``chat`` and ``annotations`` say what can be done on theirs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Generic, Self, TypeVar

from agenthost.client.state.channel import Channel
from agenthost.client.state.client_core import ClientCore
from agenthost.client.state.dispatches import Dispatch

S = TypeVar("S")


class Handle(Generic[S]):
    """One channel that the client follows, until ``close`` or the end of ``async with``."""

    def __init__(self, core: ClientCore, channel: Channel[S]) -> None:
        self._core = core
        self.channel = channel
        self._closed = False

    @property
    def uri(self) -> str:
        """The channel's URI."""
        return self.channel.uri

    @property
    def state(self) -> S:
        """The channel as it is, with this client's unanswered actions on top."""
        return self.channel.state

    def close(self) -> None:
        """Stop following the channel; idempotent."""
        if not self._closed:
            self._closed = True
            self._core.unfollow(self.channel)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        self.close()

    def _dispatch(self, action: Mapping[str, Any]) -> Dispatch:
        self.channel.check()
        return self._core.dispatch(self.uri, action)
