"""The annotations channel's reducers."""

from __future__ import annotations

from typing import Any

import pytest

from agenthost.protocol.reducer_registry import client_may_dispatch
from agenthost.protocol.reduction import reduce_canonical

NOW = "1970-01-01T00:00:09.999Z"
RANGE = {"start": {"line": 1, "character": 0}, "end": {"line": 2, "character": 0}}


def reduce(state: Any, **action: Any) -> Any:
    return reduce_canonical("annotations", state, action, NOW)


def entry(id: str, text: str = "why?") -> dict[str, Any]:
    return {"id": id, "text": text}


def annotation(id: str, *entries: Any, **members: Any) -> dict[str, Any]:
    return {
        "id": id,
        "origin": {"session": "s", "chat": "c", "turnId": "t1"},
        "resource": "file:///a",
        "resolved": False,
        "entries": list(entries) or [entry("e1")],
        **members,
    }


def state_of(*items: Any) -> dict[str, Any]:
    return {"annotations": list(items)}


def test_a_new_annotation_is_appended_and_a_known_one_replaced_in_place() -> None:
    state = state_of(annotation("a", range=RANGE), annotation("b"))
    added = reduce(state, type="annotations/set", annotation=annotation("c"))
    assert added == state_of(*state["annotations"], annotation("c"))
    replaced = reduce(state, type="annotations/set", annotation=annotation("a"))
    assert replaced == state_of(annotation("a"), annotation("b"))
    assert replaced["annotations"][1] is state["annotations"][1]
    assert reduce(state, type="annotations/set", annotation=annotation("b")) is state


@pytest.mark.parametrize(
    "given",
    [
        {"resolved": True},
        {"origin": {"session": "s"}},
        {"resource": "file:///b"},
        {"range": RANGE},
        {"origin": {"session": "s", "turnId": "t2"}, "range": RANGE, "resolved": True},
    ],
)
def test_an_update_overwrites_what_it_gives_and_keeps_the_rest(given: dict[str, Any]) -> None:
    state = state_of(annotation("a", _meta={"x": None}), annotation("b"))
    after = reduce(state, type="annotations/updated", annotationId="a", **given)
    assert after == state_of({**state["annotations"][0], **given}, annotation("b"))
    assert after["annotations"][0]["entries"] is state["annotations"][0]["entries"]
    assert reduce(after, type="annotations/updated", annotationId="a", **given) is after


def test_an_update_cannot_clear_anything() -> None:
    state = state_of(annotation("a", range=RANGE, resolved=True))
    assert reduce(state, type="annotations/updated", annotationId="a") is state
    nulls = {"range": None, "resolved": None, "origin": None, "resource": None}
    assert reduce(state, type="annotations/updated", annotationId="a", **nulls) is state


def test_an_update_can_reopen() -> None:
    state = state_of(annotation("a", resolved=True))
    after = reduce(state, type="annotations/updated", annotationId="a", resolved=False)
    assert after == state_of(annotation("a"))


def test_a_removed_annotation_is_gone() -> None:
    state = state_of(annotation("a"), annotation("b"))
    assert reduce(state, type="annotations/removed", annotationId="a") == state_of(annotation("b"))


def test_a_new_entry_is_appended_and_a_known_one_replaced_in_place() -> None:
    state = state_of(annotation("a", entry("e1"), entry("e2")))
    added = reduce(state, type="annotations/entrySet", annotationId="a", entry=entry("e3"))
    assert added == state_of(annotation("a", entry("e1"), entry("e2"), entry("e3")))
    edited = reduce(state, type="annotations/entrySet", annotationId="a", entry=entry("e1", "!"))
    assert edited == state_of(annotation("a", entry("e1", "!"), entry("e2")))
    same = reduce(state, type="annotations/entrySet", annotationId="a", entry=entry("e2"))
    assert same is state


def test_a_removed_entry_is_gone_even_if_it_was_the_last() -> None:
    state = state_of(annotation("a", entry("e1")))
    after = reduce(state, type="annotations/entryRemoved", annotationId="a", entryId="e1")
    assert after == state_of({**annotation("a"), "entries": []})
    assert reduce(after, type="annotations/entryRemoved", annotationId="a", entryId="e1") is after


@pytest.mark.parametrize(
    "action",
    [
        {"type": "annotations/updated", "resolved": True},
        {"type": "annotations/removed"},
        {"type": "annotations/entrySet", "entry": entry("e1")},
        {"type": "annotations/entryRemoved", "entryId": "e1"},
    ],
)
def test_an_unknown_annotation_changes_nothing(action: dict[str, Any]) -> None:
    state = state_of(annotation("a"))
    assert reduce(state, annotationId="z", **action) is state


def test_clients_may_dispatch_every_action() -> None:
    for name in ("set", "updated", "removed", "entrySet", "entryRemoved"):
        assert client_may_dispatch(f"annotations/{name}")
