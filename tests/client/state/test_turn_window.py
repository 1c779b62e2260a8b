"""How much of a chat is followed."""

from __future__ import annotations

import pytest

from agenthost.client.state.turn_window import NEWEST_TURN, WHOLE, TurnWindow


def test_a_subscription_names_the_window_unless_all_is_wanted() -> None:
    assert WHOLE.params() == {}
    assert NEWEST_TURN.params() == {"view": {"turns": 1}}
    assert WHOLE.is_whole
    assert not NEWEST_TURN.is_whole


@pytest.mark.parametrize(
    ("one", "other", "both"), [(1, 3, 3), (3, 1, 3), (None, 3, None), (3, None, None)]
)
def test_a_further_follower_widens_it_and_never_narrows_it(
    one: int | None, other: int | None, both: int | None
) -> None:
    assert TurnWindow(one).widened(TurnWindow(other)) == TurnWindow(both)


def test_turns_that_were_loaded_stay_inside() -> None:
    assert NEWEST_TURN.keeping(5) == TurnWindow(5)
    assert TurnWindow(9).keeping(5) == TurnWindow(9)
    assert WHOLE.keeping(5) == WHOLE
