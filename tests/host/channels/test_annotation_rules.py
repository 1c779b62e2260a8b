"""Annotations: one has at least one entry, and an edit names what is there."""

from __future__ import annotations

from typing import Any

import pytest

from agenthost.host.channels.rule_context import RuleContext
from agenthost.host.channels.ruled_kind import check

State = dict[str, Any]
SESSION, CHAT = "ahp-session:/s", "ahp-chat:/c"
ORIGIN: State = {"session": SESSION, "chat": CHAT, "turnId": "t"}


def annotation(id: str, *entries: str) -> State:
    return {"id": id, "origin": ORIGIN, "resource": "file:///f", "resolved": False} | {
        "entries": [{"id": entry, "text": "text"} for entry in entries]
    }


STATE: State = {"annotations": [annotation("one", "a"), annotation("two", "a", "b")]}


def refusal(name: str, **action: Any) -> str | None:
    session: Any = {"chats": [{"resource": CHAT}, {"resource": "ahp-chat:/other"}]}
    context = RuleContext("me", session, turns={"t": CHAT}, session_uri=SESSION)
    return check(STATE, {"type": f"annotations/{name}", **action}, context)


def test_an_annotation_is_set_with_an_entry_new_or_not() -> None:
    assert refusal("set", annotation=annotation("new", "a")) is None
    assert refusal("set", annotation=annotation("one", "b", "c")) is None


def test_a_new_annotation_is_open_and_about_a_turn_that_is_there() -> None:
    new = annotation("new", "a")
    reason = "a new annotation cannot be resolved already"
    assert refusal("set", annotation={**new, "resolved": True}) == reason
    reason = "there is no turn gone in this session"
    gone = {**ORIGIN, "turnId": "gone"}
    assert refusal("set", annotation={**new, "origin": gone}) == reason
    old = {**annotation("one", "a"), "origin": gone}
    assert refusal("set", annotation=old) == reason
    assert refusal("updated", annotationId="one", origin=gone) == reason
    # One that is there may outlive its turn, and be resolved.
    context, outlived = RuleContext("me"), {**annotation("one", "a"), "resolved": True}
    assert check(STATE, {"type": "annotations/set", "annotation": outlived}, context) is None
    # Some editors name none.
    for origin in ({"session": SESSION}, {"session": SESSION, "turnId": "t"}):
        assert refusal("set", annotation={**new, "origin": origin}) is None


@pytest.mark.parametrize(
    ("origin", "reason"),
    [
        ({"session": "ahp-session:/x"}, "an annotation comes from the session that it belongs to"),
        ({"chat": "ahp-chat:/x"}, "there is no chat ahp-chat:/x in this session"),
        ({"chat": "ahp-chat:/other"}, "turn t is in another chat"),
        ({"chat": "ahp-chat:/other", "turnId": None}, None),
    ],
)
def test_an_annotation_comes_from_where_it_says(origin: State, reason: str | None) -> None:
    named = {key: value for key, value in {**ORIGIN, **origin}.items() if value is not None}
    assert refusal("set", annotation={**annotation("new", "a"), "origin": named}) == reason
    assert refusal("updated", annotationId="one", origin=named) == reason


def test_the_entries_of_an_annotation_are_told_apart() -> None:
    reason = "two entries of an annotation cannot have the same id"
    for id in ("new", "one"):
        assert refusal("set", annotation=annotation(id, "a", "a")) == reason


def test_an_annotation_without_entries_is_refused() -> None:
    reason = "an annotation needs at least one entry"
    assert refusal("set", annotation=annotation("new")) == reason
    assert refusal("set", annotation=annotation("one")) == reason


@pytest.mark.parametrize(
    ("name", "extra"),
    [
        ("updated", {"resolved": True}),
        ("removed", {}),
        ("entrySet", {"entry": {"id": "z", "text": "text"}}),
    ],
)
def test_an_edit_names_an_annotation_that_is_there(name: str, extra: State) -> None:
    assert refusal(name, annotationId="one", **extra) is None
    reason = refusal(name, annotationId="gone", **extra)
    assert reason == "there is no annotation gone: it may have been removed"


def test_an_entry_is_removed_where_another_one_stays() -> None:
    assert refusal("entryRemoved", annotationId="two", entryId="a") is None
    assert refusal("entryRemoved", annotationId="two", entryId="b") is None


def test_the_last_entry_goes_with_its_annotation_only() -> None:
    reason = "the last entry cannot be removed: remove the annotation"
    assert refusal("entryRemoved", annotationId="one", entryId="a") == reason


def test_an_entry_that_is_removed_must_be_there() -> None:
    reason = "there is no annotation gone: it may have been removed"
    assert refusal("entryRemoved", annotationId="gone", entryId="a") == reason
    for id in ("one", "two"):
        reason = "there is no entry x: it may have been removed"
        assert refusal("entryRemoved", annotationId=id, entryId="x") == reason
