"""How much one client may ask of the host: the numbers, the rate limiter, the checks of a frame.

Pure: time is passed in. Who enforces each limit is the part that it limits (transports, the
connection, the fan-out); here they stand side by side with their reasons.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from itertools import accumulate

from agenthost.host.trust.principals import Principal
from agenthost.tokens import Role

_MIB = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How much clients may ask; an embedder passes its own where the defaults do not fit."""

    max_frame_bytes: int = 16 * _MIB
    """One incoming message. A 10 MiB file in base64 fits; a frame is in memory as a whole."""

    max_small_frame_bytes: int = 128 * 1024
    """The same before ``initialize``, and for viewers, who have nothing long to say: a
    ``reconnect`` that names a thousand channels fits."""

    max_depth: int = 64
    """Nesting of an incoming message. The deepest real ones, tool results, stay below 20."""

    max_values: int = 200_000
    """Values in an incoming message. Parsed in some ten milliseconds; real ones have hundreds."""

    max_subscriptions: int = 1_000
    """Channels one connection follows. A client shows a few dozen sessions at once."""

    messages_per_second: float = 1_000.0
    """Lasting rate of one connection: far above typing, a fraction of what the host can do."""

    message_burst: int = 2_000
    """Messages at once before the rate counts: a client that reopens everything it had."""

    bytes_per_second: float = 64.0 * _MIB
    """Lasting rate of all connections of one principal together, each frame counting as a
    kilobyte more than it holds: control frames and fragments cost time as well."""

    byte_burst: int = 64 * _MIB
    """Bytes at once before the rate counts: four of the largest frames."""

    viewer_bytes_per_second: float = 1.0 * _MIB
    """The rate of a viewer: a thousand small messages a second from all its screens."""

    viewer_byte_burst: int = 4 * _MIB
    """Bytes at once of a viewer: all its screens that come back together."""

    max_large_messages: int = 4
    """Messages longer than ``max_small_frame_bytes`` that all connections of one principal may
    have on their way at once; the others wait until one has arrived."""

    large_message_seconds: float = 60.0
    """How long one of them may take while others wait: 16 MiB at two megabits a second."""

    max_outbox_bytes: int = 8 * _MIB
    """Unsent data of one slow client, before it is disconnected to resume by ``reconnect``."""

    max_waiting_bytes: int = 96 * _MIB
    """Data that waits for all clients together, what they share counted once. Beyond it new
    answers wait their turn, and those who are behind are disconnected; see
    ``delivery.budget``."""

    max_replay_bytes: int = 8 * _MIB
    """A longer replay costs more than the snapshots that take its place."""

    max_turns_page: int = 200
    """Turns per ``fetchTurns``: keeps a page of ordinary turns below 900 KB, which tunnels pass."""

    max_sessions_page: int = 500
    """Sessions per ``listSessions``: about 250 KB of summaries."""

    max_connections: int = 2_000
    """Connections at once: a thousand watchers, and room for their reconnects."""

    max_undecided: int = 512
    """Sockets that have not shown a token yet. A newcomer takes the place of the oldest one."""

    max_beside: int = 16
    """Requests of one connection that are carried out while it is read on; with more it waits. An
    editor that opens a folder has a dozen."""

    max_reverse_calls: int = 64
    """Requests of the host's that one client has not answered; it is asked nothing more then."""

    reverse_call_seconds: float = 10.0
    """How long a client may take to answer one of them."""

    max_resource_bytes: int = 10 * _MIB
    """A file that is read or written at once: in base64 it fits into a frame."""

    max_list_entries: int = 10_000
    """Entries of a folder that is listed: about a megabyte of names."""

    max_copy_entries: int = 10_000
    """Files and folders that one request copies."""

    max_copy_bytes: int = 1024 * _MIB
    """Bytes that one request copies."""

    file_threads: int = 8
    """Requests about files that are carried out at once, of all clients together: a disk that
    hangs holds no more threads than these."""

    max_watches: int = 64
    """Watches of one connection."""

    max_host_watches: int = 512
    """Watches of all clients together."""

    max_watched_folders: int = 50_000
    """Folders that are watched, of all clients together: a quarter of what Linux grants a user.
    One person may have half of them."""

    max_watch_batch: int = 1_000
    """Changes told at once; more follow in further actions."""

    max_terminals: int = 64
    """Terminals that run, of all sessions together."""

    max_session_terminals: int = 16
    """Terminals that run for one session."""

    max_principal_terminals: int = 16
    """Terminals that clients of one principal have made and not disposed of."""

    max_terminal_input: int = 64 * 1024
    """Characters typed at once: a large paste."""

    max_completions: int = 50
    """Completions offered for one word: more than anybody reads."""

    completion_seconds: float = 2.0
    """How long one may look for them."""

    max_changeset_files: int = 5_000
    """Files of a changeset; one with more is told to be too large."""

    handshake_seconds: float = 30.0
    """How long a connection may stay without ``initialize`` or ``reconnect``."""

    def __post_init__(self) -> None:
        for field in fields(self):
            if not getattr(self, field.name) > 0:
                raise ValueError(f"{field.name} must be positive")

    def frame_bytes(self, principal: Principal) -> int:
        """Return how large a message somebody may send once it has introduced itself."""
        viewer = principal.role is Role.VIEWER
        return self.max_small_frame_bytes if viewer else self.max_frame_bytes

    def has_seat(self, principal: Principal, taken: int, taken_by_same: int) -> bool:
        """Tell whether somebody may open another connection, given how many there are.

        A principal has an eighth of the seats at most. A twentieth is the owner's alone.
        """
        if principal.role is Role.OWNER:
            return taken < self.max_connections
        share, kept_free = self.max_connections // 8, max(1, self.max_connections // 20)
        return taken < self.max_connections - kept_free and taken_by_same < max(1, share)


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

    def charge(self, cost: float) -> None:
        """Spend what could not be known before; whoever comes next waits until it is paid off."""
        self._held -= cost


class PrincipalRates:
    """The limiters of what principals send, one for all connections of each."""

    def __init__(self, limits: Limits, now: float) -> None:
        self._limits = limits
        self._since = now
        # Kept when somebody leaves, or who comes back would have another burst; there are no more
        # of them than tokens.
        self._limiters: dict[Principal, RateLimiter] = {}

    def of(self, principal: Principal) -> RateLimiter:
        """Return the limiter of a principal, whose units are bytes."""
        if principal not in self._limiters:
            limits, viewer = self._limits, principal.role is Role.VIEWER
            rate = limits.viewer_bytes_per_second if viewer else limits.bytes_per_second
            burst = limits.viewer_byte_burst if viewer else limits.byte_burst
            self._limiters[principal] = RateLimiter(rate, burst, self._since)
        return self._limiters[principal]


# An opening bracket of either kind is +1 and a closing one -1, read as signed bytes; whether the
# kinds match is the parser's business. Quotes and commas stay, everything else goes.
_OPEN, _CLOSE = b"\x01", b"\xff"
_STEPS = bytes.maketrans(b"[{]}", _OPEN * 2 + _CLOSE * 2)
_ROUNDS = 3
_NOISE = bytes(set(range(256)) - set(b'[]{}",'))


def find_excess(raw: bytes, *, depth: int, values: int) -> str | None:
    """Say what JSON has too much of, before anything parses it; None when it may be parsed.

    Exact about the depth of valid JSON; values are told by commas and brackets, which is never too
    few and twice as many at most. Only whole-buffer operations on what cannot be too many by then,
    so each takes a few milliseconds even in a frame of many megabytes.
    """
    brackets = raw.count(b"[") + raw.count(b"{")
    if brackets <= depth and brackets + raw.count(b",") < values:
        return None
    raw = _without_escapes(raw)
    # Each string is a value or a key; and to cut the text at too many quotes would take long.
    if raw.count(b'"') > 4 * values:
        return f"hold {values} values"
    marks = _outside_strings(raw.translate(_STEPS, _NOISE))
    if marks.count(b",") + marks.count(_OPEN) >= values:
        return f"hold {values} values"
    return f"nest {depth} levels deep" if _nests_deeper(marks, depth) else None


def exceeds_depth(raw: bytes, limit: int) -> bool:
    """Tell whether JSON nests deeper than ``limit``, before anything parses it.

    Exact for valid JSON; never too low up to the first byte at which a parser would stop anyway.
    """
    if raw.count(b"[") + raw.count(b"{") <= limit:
        return False
    marks = _without_escapes(raw).translate(_STEPS, _NOISE)
    return _nests_deeper(_outside_strings(marks), limit)


def _without_escapes(raw: bytes) -> bytes:
    if b"\\" not in raw:
        return raw
    # Escaped backslashes first: what then still precedes a quote does escape it.
    return raw.replace(b"\\\\", b"").replace(b'\\"', b"")


def _nests_deeper(marks: bytes, limit: int) -> bool:
    steps = marks.replace(b",", b"")
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
