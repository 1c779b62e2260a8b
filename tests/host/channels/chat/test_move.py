"""Whether a chat may move, what goes with it, and where it stands then."""

from __future__ import annotations

from typing import Any

import pytest

from agenthost.errors import InvalidParams, NotFound, PermissionDenied, TurnInProgress, WireError
from agenthost.host.channels.chat.move import (
    MovePlan,
    family,
    plan_departure,
    plan_move,
    plan_placement,
)

State = Any


def chat(uri: str, **more: Any) -> State:
    return {"resource": uri, "title": uri, "status": 1, "modifiedAt": "", "turns": [], **more}


def worker(uri: str, boss: str) -> State:
    return chat(uri, origin={"kind": "tool", "chat": boss, "toolCallId": uri})


def session(*chats: State, **more: Any) -> State:
    entries = [{key: each[key] for key in each if key != "turns"} for each in chats]
    return {"provider": "p", "lifecycle": "ready", "chats": entries, **more}


A, B, C = chat("a"), chat("b", movable=True), chat("c", movable=True)
# Two that work for b, and one that works for the first of them, in no order.
DEEPER, W1, W2 = worker("deeper", "w1"), worker("w1", "b"), worker("w2", "b")
SIDE = chat("side", movable=True, origin={"kind": "sideChat", "chat": "b", "turnId": "t"})
OTHERS = worker("others", "a")
SOURCE = session(A, DEEPER, B, C, W1, SIDE, OTHERS, W2)
X, Y = chat("x"), chat("y")
TARGET = session(X, Y)
STATES = {each["resource"]: each for each in (A, B, C, DEEPER, W1, W2, SIDE, OTHERS)}


def names(plan: MovePlan) -> list[str]:
    return [entry["resource"] for entry in plan.moved]


def test_workers_go_along_and_theirs_and_nobody_else() -> None:
    assert [entry["resource"] for entry in family("b", SOURCE)] == ["b", "deeper", "w1", "w2"]
    assert [entry["resource"] for entry in family("c", SOURCE)] == ["c"]


def test_workers_that_name_each_other_end_somewhere() -> None:
    round_and_round = session(worker("one", "two"), worker("two", "one"))
    assert [entry["resource"] for entry in family("one", round_and_round)] == ["one", "two"]


@pytest.mark.parametrize(
    ("after", "order"),
    [
        (None, ["b", "deeper", "w1", "w2", "x", "y"]),
        ("x", ["x", "b", "deeper", "w1", "w2", "y"]),
        ("y", ["x", "y", "b", "deeper", "w1", "w2"]),
    ],
)
def test_a_chat_stands_behind_its_anchor_or_first(after: str | None, order: list[str]) -> None:
    plan = plan_move(B, SOURCE, TARGET, after, STATES)
    assert names(plan) == ["b", "deeper", "w1", "w2"]
    assert plan.order == order


@pytest.mark.parametrize(
    ("after", "order"),
    [(None, ["c", "a", "b"]), ("a", ["a", "c", "b"]), ("b", ["a", "b", "c"])],
)
def test_within_a_session_only_the_chat_itself_changes_its_place(
    after: str | None, order: list[str]
) -> None:
    plan = plan_placement(C, session(A, B, C), after)
    assert (plan.moved, plan.order) == ((), order)


def test_a_chat_that_leaves_takes_its_workers_along() -> None:
    plan = plan_departure(B, SOURCE, STATES)
    assert names(plan) == plan.order == ["b", "deeper", "w1", "w2"]


def test_an_entry_without_a_chat_stays_where_it_is() -> None:
    known = {uri: state for uri, state in STATES.items() if uri != "w2"}
    assert names(plan_move(B, SOURCE, TARGET, None, known)) == ["b", "deeper", "w1"]


def busy(uri: str, **more: Any) -> State:
    return {**STATES, uri: {**STATES[uri], **more}}


ACTIVE: State = {"activeTurn": {"id": "t", "responseParts": []}}
WORK: State = {"backgroundWork": [{"kind": "shell", "id": "1"}]}


@pytest.mark.parametrize(
    ("moving", "target", "after", "states", "error"),
    [
        (A, TARGET, None, STATES, PermissionDenied),
        ({**B, "movable": False}, TARGET, None, STATES, PermissionDenied),
        (W1, TARGET, None, STATES, PermissionDenied),
        (B, session(X, lifecycle="failed"), None, STATES, NotFound),
        (B, TARGET, "nowhere", STATES, InvalidParams),
        (B, TARGET, "a", STATES, InvalidParams),
        (B, TARGET, "b", STATES, InvalidParams),
        (B, TARGET, "w1", STATES, InvalidParams),
        (B, session(X, provider="q"), None, STATES, PermissionDenied),
        (B, TARGET, None, busy("b", **ACTIVE), TurnInProgress),
        (B, TARGET, None, busy("deeper", **ACTIVE), TurnInProgress),
        (B, TARGET, None, busy("b", **WORK), TurnInProgress),
        (B, TARGET, None, busy("b", workingDirectories=["file:///x"]), PermissionDenied),
        # What is asked for first is answered first.
        (A, session(X, lifecycle="failed"), "b", STATES, PermissionDenied),
        (B, session(X, provider="q"), "nowhere", busy("b", **ACTIVE), InvalidParams),
        (B, session(X, provider="q"), None, busy("b", **ACTIVE), PermissionDenied),
    ],
)
def test_what_speaks_against_a_move(
    moving: State, target: State, after: str | None, states: State, error: type[WireError]
) -> None:
    with pytest.raises(error) as refused:
        plan_move(moving, SOURCE, target, after, states)
    assert type(refused.value) is error


def test_what_speaks_against_leaving() -> None:
    for moving in (A, W1):
        with pytest.raises(PermissionDenied):
            plan_departure(moving, SOURCE, STATES)
    for uri in ("b", "w2"):
        with pytest.raises(TurnInProgress):
            plan_departure(B, SOURCE, busy(uri, **ACTIVE))
    # What others do is no hindrance.
    plan_departure(B, SOURCE, busy("c", **ACTIVE))


def test_what_speaks_against_another_place() -> None:
    here = session(A, {**B, **ACTIVE}, C)
    with pytest.raises(PermissionDenied):
        plan_placement(A, here, "b")
    for after in ("b", "x"):
        with pytest.raises(InvalidParams):
            plan_placement(B, here, after)
    # Its turn goes on.
    working: State = {**B, **ACTIVE}
    assert plan_placement(working, here, "c").order == ["a", "c", "b"]


def test_folders_that_both_sessions_have_are_no_hindrance() -> None:
    there = session(X, workingDirectories=["file:///x", "file:///y"])
    states = busy("b", workingDirectories=["file:///y"])
    assert plan_move(states["b"], SOURCE, there, None, states).order[0] == "b"
