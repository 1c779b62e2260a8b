"""How a client that was away catches up: a pure decision between replay and snapshots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct


class ReplayLog(Struct, frozen=True):
    """Everything after ``after`` is in the log, for every channel asked for."""

    after: int


class SendSnapshots(Struct, frozen=True):
    """Continuity cannot be proved, or would cost too much: send the states."""

    reason: str


def plan_reconnect(
    last_seen: int,
    *,
    last_seq: int,
    gaps: Sequence[tuple[int, int]],
    trimmed: Mapping[str, int],
) -> ReplayLog | SendSnapshots:
    """Decide from what the client saw last and from what the log still proves.

    ``gaps`` are the numbers lost to crashes: whoever saw one of them saw something that did not
    survive. ``trimmed`` says per channel up to which number its log is forgotten.
    """
    if last_seen > last_seq:
        return SendSnapshots("the client is ahead of this host")
    for lost_after, resumed_at in gaps:
        if lost_after < last_seen < resumed_at:
            return SendSnapshots("the client saw what a crash took")
    for channel, through in trimmed.items():
        if last_seen < through:
            return SendSnapshots(f"the log of {channel} starts later")
    return ReplayLog(last_seen)


def replay_horizon(last_seq: int, gaps: Sequence[tuple[int, int]], window: int) -> int:
    """Return the number up to which logs may be forgotten: ``window`` numbers in use lie above it.

    Numbers lost to crashes do not count, or one crash would make the host forget what every
    client needs right after it.
    """
    for lost_after, resumed_at in reversed(gaps):
        used = last_seq - resumed_at + 1
        if used >= window:
            break
        window -= used
        last_seq = lost_after
    return last_seq - window
