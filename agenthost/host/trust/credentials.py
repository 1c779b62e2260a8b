"""Tokens that people brought for the resources of agents: in memory only, and in no log.

Owns which of them counts, until when, and who brought it. Telling people that one has expired is
the affair of ``channels.token_expiry``.
"""

from __future__ import annotations

import asyncio
import re
from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from msgspec import Struct, field

from agenthost.clock import Clock, SystemClock
from agenthost.host.trust.redaction import REDACTED

if TYPE_CHECKING:
    from agenthost.protocol.common import ProtectedResourceMetadata

# A shorter token is no secret, and taking it out would leave no text readable.
SHORTEST_SECRET = 4
# Tokens that no longer count and that a turn may still hold.
MOST_FORMER = 100
# Seconds beyond which a token's life is as good as endless: a hundred years.
LONGEST_LIFE = 100 * 365 * 24 * 3600


class _Held(Struct, frozen=True):
    """One token that counts."""

    token: str
    # When it ends to count, by the monotonic clock; None if nobody said.
    deadline: float | None = None
    # The connections that brought it; those that are gone are forgotten.
    suppliers: WeakSet[Any] = field(default_factory=WeakSet)


class ExpiredToken(Struct, frozen=True):
    """That a token has expired, without the token."""

    principal: str
    resource: str
    # The connections that brought it and are still there.
    suppliers: frozenset[Any]


class Credentials:
    """The newest token of each principal for each protected resource; never stored or shown."""

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self._held: dict[tuple[str, str], _Held] = {}
        self._former: deque[str] = deque(maxlen=MOST_FORMER)
        # Set when a token comes or goes: the next one to expire may be another.
        self.changed = asyncio.Event()

    def __repr__(self) -> str:
        return f"Credentials({len(self._held)})"

    def deadline(self, expires_in: int | None) -> float | None:
        """Return until when a token counts that is good for so many seconds from now on."""
        if expires_in is None:
            return None
        return self._clock.monotonic() + min(expires_in, LONGEST_LIFE)

    def put(
        self,
        principal: str,
        resource: str,
        token: str,
        *,
        deadline: float | None = None,
        supplier: object = None,
    ) -> None:
        """Keep a token that a client of this principal brought, over the connection ``supplier``.

        One connection may repeat what another has brought; who does not know how long it lives
        does not make it live longer.
        """
        held = self._held.get((principal, resource))
        if held is None or held.token != token or self._is_over(held):
            self.drop(principal, resource)
            held = _Held(token)
        if supplier is not None:
            held.suppliers.add(supplier)
        known = held.deadline if deadline is None else deadline
        self._held[principal, resource] = _Held(token, known, held.suppliers)
        self.changed.set()

    def drop(self, principal: str, resource: str) -> None:
        """Forget a token that no longer works, or that its owner takes back."""
        former = self._held.pop((principal, resource), None)
        if former is not None:
            self._former.append(former.token)
            self.changed.set()

    def get(self, principal: str, resource: str) -> str | None:
        """Return the principal's token for a resource, if it brought one that is still good."""
        held = self._held.get((principal, resource))
        return None if held is None or self._is_over(held) else held.token

    def seconds_left(self) -> float | None:
        """Return how long it takes until a token expires; None when none is known to."""
        deadlines = [held.deadline for held in self._held.values() if held.deadline is not None]
        return max(0.0, min(deadlines) - self._clock.monotonic()) if deadlines else None

    def take_expired(self) -> list[ExpiredToken]:
        """Forget the tokens that have expired since, and return whose they were."""
        over = [(key, held) for key, held in self._held.items() if self._is_over(held)]
        for key, _ in over:
            self.drop(*key)
        return [ExpiredToken(*key, frozenset(held.suppliers)) for key, held in over]

    def mask(self, text: str) -> str:
        """Return a text without any token that was brought, plain or escaped."""
        tokens = {*(held.token for held in self._held.values()), *self._former}
        secrets = {form for token in tokens for form in (token, repr(token)[1:-1])}
        # Only those that are in it, for a pattern of many long ones takes seconds to be made. The
        # longest first: one may be part of another.
        words = [
            re.escape(secret)
            for secret in sorted(secrets, key=len, reverse=True)
            if len(secret) >= SHORTEST_SECRET and secret in text
        ]
        return re.sub("|".join(words), REDACTED, text) if words else text

    def missing(
        self, principal: str, resources: Sequence[ProtectedResourceMetadata]
    ) -> list[ProtectedResourceMetadata]:
        """Return those required resources for which the principal has no token that is good."""
        return [
            item
            for item in resources
            if item.get("required", True) and self.get(principal, item["resource"]) is None
        ]

    def _is_over(self, held: _Held) -> bool:
        return held.deadline is not None and held.deadline <= self._clock.monotonic()
