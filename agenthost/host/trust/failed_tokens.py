"""Counts failed tokens per peer, in bounded memory, with time passed in.

It keeps failures cheap and quiet and makes clients back off. It does *not* stand between a guesser
and a token: 256 random bits do. That is why ``gate`` lets a valid token through at any time;
otherwise one stranger behind a shared proxy could lock everyone out.
"""

from __future__ import annotations

import math
from collections import OrderedDict

from msgspec import Struct

from agenthost.host.trust.addresses import peer_group

FAILURES = 10
"""More wrong tokens than a person produces while pasting the right one."""

WINDOW_SECONDS = 60.0
"""Failures further apart than this are separate accidents."""

PAUSE_SECONDS = 30
"""Long enough to slow a loop, short enough to wait out."""

PEERS = 4096
"""Peers remembered at once, the least recent forgotten first; about one megabyte."""


class _Record(Struct):
    since: float  # when the current window began
    failures: int = 0  # failures within it
    until: float = -math.inf  # while the clock is before this, the peer is told to wait


class FailedTokens:
    """Says how long a peer that keeps failing should stay away."""

    def __init__(
        self,
        *,
        failures: int = FAILURES,
        window: float = WINDOW_SECONDS,
        pause: float = PAUSE_SECONDS,
        peers: int = PEERS,
    ) -> None:
        self._failures = failures
        self._window = window
        self._pause = pause
        self._peers = peers
        # Least recently failing peer first.
        self._records: OrderedDict[str, _Record] = OrderedDict()

    def __len__(self) -> int:
        return len(self._records)

    def failed(self, peer: str, now: float) -> int:
        """Note one failure; return the seconds to stay away, 0 while there have been few."""
        record = self._record(peer_group(peer), now)
        if now < record.until:
            return math.ceil(record.until - now)
        if now - record.since > self._window:
            record.since, record.failures = now, 0
        record.failures += 1
        if record.failures <= self._failures:
            return 0
        record.since, record.failures = now, 0
        record.until = now + self._pause
        return math.ceil(self._pause)

    def succeeded(self, peer: str) -> None:
        """Forget a peer that has shown a valid token."""
        self._records.pop(peer_group(peer), None)

    def _record(self, key: str, now: float) -> _Record:
        record = self._records.get(key)
        if record is None:
            record = self._records[key] = _Record(since=now)
            if len(self._records) > self._peers:
                self._records.popitem(last=False)
        self._records.move_to_end(key)
        return record
