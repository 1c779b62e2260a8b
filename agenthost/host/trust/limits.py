"""How much one client may ask of the host: the numbers, the rate limiter, the depth check.

Pure: time is passed in. Who enforces each limit is the part that it limits (transports, the
connection, the fan-out); here they stand side by side with their reasons.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from itertools import accumulate

__all__ = ["Limits", "RateLimiter", "exceeds_depth"]

_MIB = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Every limit of the host; an embedder passes its own where the defaults do not fit."""

    max_frame_bytes: int = 16 * _MIB
    """One incoming message. A 10 MiB file in base64 fits; a frame is in memory as a whole."""

    max_depth: int = 64
    """Nesting of an incoming message. The deepest real ones, tool results, stay below 20."""

    max_subscriptions: int = 1_000
    """Channels one connection follows. A client shows a few dozen sessions at once."""

    messages_per_second: float = 1_000.0
    """Lasting rate of one connection: far above typing, a fraction of what the host can do."""

    message_burst: int = 2_000
    """Messages at once before the rate counts: a client that reopens everything it had."""

    max_outbox_bytes: int = 8 * _MIB
    """Unsent data of one slow client, before it is disconnected to resume by ``reconnect``."""

    max_replay_bytes: int = 8 * _MIB
    """A longer replay costs more than the snapshots that take its place."""

    max_turns_page: int = 200
    """Turns per ``fetchTurns``: keeps a page of ordinary turns below 900 KB, which tunnels pass."""

    max_sessions_page: int = 500
    """Sessions per ``listSessions``: about 250 KB of summaries."""

    max_connections: int = 2_000
    """Connections at once: a thousand watchers, and room for their reconnects."""

    handshake_seconds: float = 30.0
    """How long a connection may stay without ``initialize`` or ``reconnect``."""

    def __post_init__(self) -> None:
        for field in fields(self):
            if not getattr(self, field.name) > 0:
                raise ValueError(f"{field.name} must be positive")


ROUNDING = 1e-6
"""A millionth of a message: far above float errors, far below anything that matters."""


class RateLimiter:
    """A token bucket: a burst at once, then a lasting rate.

    It only answers how long to wait. A connection waits before it reads on, so a hasty client is
    slowed by its own socket and loses nothing.
    """

    def __init__(self, rate: float, burst: int, now: float) -> None:
        self._rate = rate  # units regained per second
        self._burst = float(burst)  # units held at most
        self._held = float(burst)  # units left at `_at`
        self._at = now  # when `_held` was true

    def take(self, now: float, cost: float = 1.0) -> float:
        """Spend ``cost`` and return 0.0, or spend nothing and return the seconds to wait.

        A cost above the burst is allowed once the bucket is full, or it would wait for ever.
        """
        # A clock that steps back must not take units away.
        gained = max(0.0, now - self._at) * self._rate
        self._held = min(self._burst, self._held + gained)
        self._at = max(self._at, now)
        # Rounding must not make a caller that waited exactly as long as told wait again.
        needed = min(cost, self._burst) - ROUNDING
        if self._held >= needed:
            self._held -= cost
            return 0.0
        return (needed + ROUNDING - self._held) / self._rate


# An opening bracket of either kind is +1 and a closing one -1, read as signed bytes; whether the
# kinds match is the parser's business. Quotes stay, everything else goes.
_OPEN, _CLOSE = b"\x01", b"\xff"
_STEPS = bytes.maketrans(b"[{]}", _OPEN * 2 + _CLOSE * 2)
_ROUNDS = 3
_NOISE = bytes(set(range(256)) - set(b'[]{}"'))


def exceeds_depth(raw: bytes, limit: int) -> bool:
    """Tell whether JSON nests deeper than ``limit``, before anything parses it.

    Exact for valid JSON; never too low up to the first byte at which a parser would stop anyway.
    Only whole-buffer operations, so a frame of many megabytes takes milliseconds.
    """
    if raw.count(b"[") + raw.count(b"{") <= limit:
        return False
    if b"\\" in raw:
        # Escaped backslashes first: what then still precedes a quote does escape it.
        raw = raw.replace(b"\\\\", b"").replace(b'\\"', b"")
    steps = _outside_strings(raw.translate(_STEPS, _NOISE))
    # Each round drops the innermost level everywhere, which is most of what real messages hold.
    for _ in range(_ROUNDS):
        rest = steps.replace(_OPEN + _CLOSE, b"")
        if len(rest) == len(steps):
            break
        steps, limit = rest, limit - 1
    # The cheap answers first; adding up costs about 30 ns per bracket.
    if limit < 0 or _OPEN * (limit + 1) in steps:
        return True
    if steps.count(_OPEN) <= limit:
        return False
    return max(accumulate(memoryview(steps).cast("b"))) > limit


def _outside_strings(marks: bytes) -> bytes:
    # Two quotes in a row enclose nothing, or end one string and begin the next: both may go.
    marks = marks.replace(b'""', b"")
    return b"".join(marks.split(b'"')[::2]) if b'"' in marks else marks
