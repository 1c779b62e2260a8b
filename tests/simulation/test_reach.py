"""That simulations reach what they are for: what they never do, no law is tried on."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

from agenthost.protocol.reducer_registry import kind_of, reducers
from agenthost.protocol.reduction import reduce_canonical
from tests.simulation.chat import NOW, ChatSimulation
from tests.simulation.others import CHANNELS
from tests.simulation.session import SessionSimulation

SEEDS = range(60)

# Channels that have one action and no older form.
SIMPLE = {"resourceWatch", "canvas"}
# What these ask for is for the host to do, or not to.
WITHOUT_EFFECT = {
    "terminal/input",
    "automation/createRequested",
    "automation/updateRequested",
    "automationRun/cancelRequested",
}


def test_every_action_happens_and_has_an_effect_where_it_can() -> None:
    effective = {action["type"] for before, action, after in steps() if after is not before}
    simulated = {name for name in reducers if kind_of(name) not in SIMPLE}
    assert simulated - effective == WITHOUT_EFFECT


def test_turns_fail_again_after_they_were_resumed_and_some_still_wait_for_an_answer() -> None:
    resumed = [
        after["activeTurn"]
        for before, action, after in steps()
        if action["type"] == "chat/turnResume" and after is not before
    ]
    failures = [sum(part["kind"] == "error" for part in t["responseParts"]) for t in resumed]
    waits = [is_waiting(turn) for turn in resumed]
    assert (max(failures) > 1, any(waits), all(waits)) == (True, True, False)


def is_waiting(turn: Any) -> bool:
    return any(p["kind"] == "inputRequest" and "response" not in p for p in turn["responseParts"])


def steps() -> Iterator[tuple[Any, Any, Any]]:
    """Give every step of some simulations: the state before, the action, the state after."""
    for seed in SEEDS:
        chat, session = ChatSimulation(Random(seed)), SessionSimulation(Random(seed))
        yield from followed("chat", chat.state, chat.run(40))
        yield from followed("session", session.state, session.run(20))
        random = Random(seed)
        for other in CHANNELS:
            actions = (other.action(random) for _ in range(other.longest))
            yield from followed(other.kind, other.initial, actions)


def followed(kind: Any, state: Any, actions: Iterator[Any]) -> Iterator[tuple[Any, Any, Any]]:
    for action in actions:
        after = reduce_canonical(kind, state, action, NOW)
        yield state, action, after
        state = after
