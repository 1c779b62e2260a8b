from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from agenthost.host.store.sequence import Opening, plan_opening


def test_a_clean_end_leaves_no_gap() -> None:
    assert plan_opening(reserved=9, used=9, gaps=()) == Opening(9, 10, ())


def test_a_reservation_above_what_was_used_is_a_gap() -> None:
    assert plan_opening(reserved=100, used=9, gaps=[(3, 7)]) == Opening(9, 101, ((3, 7), (9, 101)))


def test_use_beyond_the_reservation_is_never_handed_out_again() -> None:
    assert plan_opening(reserved=5, used=9, gaps=()).first_seq == 10


@given(st.lists(st.tuples(st.integers(1, 50), st.integers(0, 49))))
def test_numbers_only_rise_and_every_lost_one_lies_in_a_gap(runs: list[tuple[int, int]]) -> None:
    reserved = used = 0
    gaps: tuple[tuple[int, int], ...] = ()
    lost: set[int] = set()
    for block, kept in runs:
        opening = plan_opening(reserved, used, gaps)
        assert opening.first_seq > reserved
        reserved, gaps = opening.first_seq - 1 + block, opening.gaps
        # Of the numbers handed out in this run, ``kept`` survive and the rest is lost.
        if survivors := min(kept, block):
            used = opening.first_seq - 1 + survivors
        lost |= set(range(max(used + 1, opening.first_seq), reserved + 1))
    final = plan_opening(reserved, used, gaps)
    assert all(any(last < seq < first for last, first in final.gaps) for seq in lost)
    assert list(final.gaps) == sorted(final.gaps)
