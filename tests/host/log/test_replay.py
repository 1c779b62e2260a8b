"""Reconnecting: replay only what is provably all that was missed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agenthost.host.log.replay import ReplayLog, SendSnapshots, plan_reconnect

ROOT, CHAT = "ahp-root://", "ahp-chat:/1"


@pytest.mark.parametrize(
    ("last_seen", "gaps", "trimmed", "expected"),
    [
        # Nothing was missed, or all of it is in the log.
        (100, [], {ROOT: 0}, ReplayLog(100)),
        (40, [], {ROOT: 0, CHAT: 12}, ReplayLog(40)),
        (0, [], {ROOT: 0}, ReplayLog(0)),
        (0, [], {}, ReplayLog(0)),
        # The log starts right after what was seen.
        (40, [], {CHAT: 40}, ReplayLog(40)),
        (39, [], {CHAT: 40}, SendSnapshots("the log of ahp-chat:/1 starts later")),
        (39, [], {ROOT: 0, CHAT: 40}, SendSnapshots("the log of ahp-chat:/1 starts later")),
        # A client of another host, or of one that lost everything.
        (101, [], {ROOT: 0}, SendSnapshots("the client is ahead of this host")),
        # The borders of a crash were stored; what lies between was not.
        (50, [(50, 60)], {ROOT: 0}, ReplayLog(50)),
        (51, [(50, 60)], {ROOT: 0}, SendSnapshots("the client saw what a crash took")),
        (59, [(50, 60)], {ROOT: 0}, SendSnapshots("the client saw what a crash took")),
        (60, [(50, 60)], {ROOT: 0}, ReplayLog(60)),
        (10, [(50, 60)], {ROOT: 0}, ReplayLog(10)),
        (75, [(50, 60), (70, 80)], {ROOT: 0}, SendSnapshots("the client saw what a crash took")),
        (65, [(50, 60), (70, 80)], {ROOT: 0}, ReplayLog(65)),
    ],
)
def test_the_plan(
    last_seen: int,
    gaps: list[tuple[int, int]],
    trimmed: dict[str, int],
    expected: ReplayLog | SendSnapshots,
) -> None:
    assert plan_reconnect(last_seen, last_seq=100, gaps=gaps, trimmed=trimmed) == expected


@st.composite
def lives(draw: st.DrawFn) -> tuple[int, list[tuple[int, int]], dict[str, int]]:
    """Draw the life of a host: the numbers it used, lost in crashes, and forgot."""
    at, gaps = draw(st.integers(0, 10)), []
    for _ in range(draw(st.integers(0, 3))):
        lost_after = at
        at += draw(st.integers(1, 5))
        gaps.append((lost_after, at))
        at += draw(st.integers(0, 8))
    channels = st.dictionaries(st.sampled_from([ROOT, CHAT, "ahp-chat:/2"]), st.integers(0, at))
    return at, gaps, draw(channels)


@given(lives(), st.integers(-2, 60))
def test_a_replay_never_leaves_out_what_may_be_lost(
    life: tuple[int, list[tuple[int, int]], dict[str, int]], last_seen: int
) -> None:
    last_seq, gaps, trimmed = life
    plan = plan_reconnect(last_seen, last_seq=last_seq, gaps=gaps, trimmed=trimmed)
    # The client may have seen a number that did not survive, or that this host never gave.
    foreign = last_seen > last_seq or any(low < last_seen < high for low, high in gaps)
    # Some entry after what it saw may be forgotten.
    forgotten = any(last_seen < through for through in trimmed.values())
    if foreign or forgotten:
        assert isinstance(plan, SendSnapshots)
        assert plan.reason
    else:
        assert plan == ReplayLog(last_seen)
