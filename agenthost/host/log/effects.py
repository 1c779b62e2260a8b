"""What must be done because of something that happened in a channel, and who does it.

A channel's kind says *what* follows, as data; the services of the host say that *they* do it. So
neither needs to know the other, and what follows from an action can be read without running it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import Struct

if TYPE_CHECKING:
    from agenthost.host.log.channel import AnyChannel
    from agenthost.protocol.common import Action


class Consequence(Struct, frozen=True):
    """One thing to do; the rooms' own derive from this."""


class Apply(Consequence, frozen=True):
    """Apply one more action."""

    channel: AnyChannel
    action: Action


_E = TypeVar("_E", bound=Consequence)


class Effects:
    """Which service carries out which effect."""

    def __init__(self) -> None:
        self._doers: dict[type[Consequence], Callable[[Any], None]] = {}
        self._patient: dict[type[Consequence], Callable[[Any], Awaitable[None]]] = {}
        self._is_silent = False

    def silence(self) -> None:
        """Have nothing done from now on: somebody else does what follows."""
        self._is_silent = True

    def on(self, effect: type[_E], carry_out: Callable[[_E], None]) -> None:
        """Let somebody carry out one sort of effect."""
        self._doers[effect] = carry_out

    def on_later(self, effect: type[_E], carry_out: Callable[[_E], Awaitable[None]]) -> None:
        """Let somebody carry out one sort of effect that takes its time."""
        self._patient[effect] = carry_out

    def carry_out(self, effect: Consequence) -> None:
        """Do what is to be done, now; an effect that nobody serves is a mistake in the host."""
        if not self._is_silent:
            self._doers[type(effect)](effect)

    async def carry_out_later(self, effect: Consequence) -> None:
        """Do something that takes its time, and wait for it."""
        if not self._is_silent:
            await self._patient[type(effect)](effect)
