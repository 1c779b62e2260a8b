"""How much of the log stays for those who come back: counted in numbers that were really used."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agenthost.host.log.replay import replay_horizon


@pytest.mark.parametrize(
    ("last_seq", "gaps", "expected"),
    [
        (100, [], 90),
        (5, [], -5),
        # Everything since the crash fills the window.
        (1015, [(100, 1000)], 1005),
        (1009, [(100, 1000)], 999),
        # Right after a crash what was there before it is kept.
        (999, [(100, 1000)], 90),
        (1003, [(100, 1000)], 94),
        # Two crashes in a row.
        (2001, [(100, 1000), (1002, 2000)], 95),
    ],
)
def test_the_window_skips_what_crashes_took(
    last_seq: int, gaps: list[tuple[int, int]], expected: int
) -> None:
    assert replay_horizon(last_seq, gaps, 10) == expected


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(1, 50)), max_size=5), st.integers(1, 12))
def test_exactly_the_window_lies_above_the_horizon(
    lives: list[tuple[int, int]], window: int
) -> None:
    used, gaps, last = list(range(1, 31)), [], 30
    for count, lost in lives:
        gaps.append((last, last + lost + 1))
        used += range(last + lost + 1, last + lost + 1 + count)
        last += lost + count
    horizon = replay_horizon(last, gaps, window)
    assert [number for number in used if number > horizon] == used[-window:]
