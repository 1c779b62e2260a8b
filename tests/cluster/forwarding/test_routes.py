"""Every method has one place where it is carried out."""

from __future__ import annotations

from agenthost.cluster.front.routes import ONLY_READ, PLACES, MethodPlace
from agenthost.protocol.methods import METHODS, Direction


def test_it_is_decided_of_every_method_who_carries_it_out() -> None:
    asked = {name for name, row in METHODS.items() if Direction.TO_HOST in row.directions}
    assert set(PLACES) == asked
    assert all(PLACES[method] is not MethodPlace.HERE for method in ONLY_READ)
