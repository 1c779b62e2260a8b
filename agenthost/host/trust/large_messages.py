"""Seats for large messages: how many of one principal's may be on their way at once.

An unfinished message is in memory as far as it has come, and nothing says that it will ever be
complete. So a few at once may become large, and the others wait before they do. Pure: time is
passed in.
"""

from __future__ import annotations

from typing import Protocol

from agenthost.host.trust.limits import Limits
from agenthost.host.trust.principals import Principal


class LargeMessage(Protocol):
    """A message that arrives; known by what it is, not by what it equals."""

    def give_up(self) -> None:
        """End its connection: it took its seat for too long, and others wait."""
        ...


class LargeMessages:
    """The seats of one principal, for all its connections together."""

    def __init__(self, limits: Limits) -> None:
        self.small = limits.max_small_frame_bytes
        """Bytes that a message may have without a seat."""
        self._seats = limits.max_large_messages
        self._patience = limits.large_message_seconds
        # Who has a seat -> since when, the oldest first.
        self._seated: dict[LargeMessage, float] = {}

    def may_grow(self, message: LargeMessage, now: float) -> bool:
        """Say whether a message has a seat, or gets one."""
        if message in self._seated:
            return True
        if len(self._seated) >= self._seats:
            oldest, since = next(iter(self._seated.items()))
            if now - since < self._patience:
                return False
            self.leave(oldest)
            oldest.give_up()
        self._seated[message] = now
        return True

    def leave(self, message: LargeMessage) -> None:
        """Free the seat of a message that has arrived, or never will."""
        self._seated.pop(message, None)


class PrincipalLargeMessages:
    """The seats of all principals."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        # Kept when somebody leaves; there are no more of them than tokens.
        self._seats: dict[Principal, LargeMessages] = {}

    def of(self, principal: Principal) -> LargeMessages:
        """Return the seats of a principal."""
        if principal not in self._seats:
            self._seats[principal] = LargeMessages(self._limits)
        return self._seats[principal]
