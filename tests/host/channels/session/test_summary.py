"""Session summaries: how they aggregate chats, and that updates lead from one to the next."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agenthost.host.channels.session.summary import changed_fields, summarize

State = Any
SESSION = "ahp-session:/s"
CREATED = "2026-01-01T00:00:00.000Z"
FACTS: State = {"createdAt": CREATED}

IDLE, ERROR, IN_PROGRESS, INPUT_NEEDED = 1, 2, 8, 24
IS_READ, IS_ARCHIVED, UNKNOWN = 32, 64, 1 << 20


def chat(name: str, status: int = IDLE, day: int = 1, **extra: Any) -> State:
    modified = f"2026-02-{day:02}T00:00:00.000Z"
    return {"resource": name, "title": name, "status": status, "modifiedAt": modified, **extra}


def session(*chats: State, **extra: Any) -> State:
    fields = {"provider": "demo", "title": "S", "status": IDLE, "lifecycle": "ready"}
    return {**fields, "chats": list(chats), **extra}


def summary(*chats: State, **extra: Any) -> State:
    return summarize(SESSION, session(*chats, **extra), FACTS)


def status(*chats: State, **extra: Any) -> int:
    found: int = summary(*chats, **extra)["status"]
    return found


# Aggregation


def test_a_session_without_chats_is_idle_since_its_creation() -> None:
    assert summary() == {
        "resource": SESSION,
        "provider": "demo",
        "title": "S",
        "status": IDLE,
        "createdAt": CREATED,
        "modifiedAt": CREATED,
        "annotations": {
            "resource": f"{SESSION}/annotations",
            "annotationCount": 0,
            "entryCount": 0,
        },
        "chats": [],
    }


@pytest.mark.parametrize("bits", [IDLE, ERROR, IN_PROGRESS, INPUT_NEEDED])
def test_one_chat_passes_straight_through(bits: int) -> None:
    shown = summary(chat("a", bits | IS_READ, day=3, activity="Working"))
    assert shown["status"] == bits
    assert shown["activity"] == "Working"
    assert shown["modifiedAt"] == "2026-02-03T00:00:00.000Z"


def test_the_default_chat_leads() -> None:
    chats = chat("a", IN_PROGRESS, day=1, activity="A"), chat("b", IDLE, day=2, activity="B")
    shown = summary(*chats, defaultChat="a")
    assert (shown["status"], shown["activity"]) == (IN_PROGRESS, "A")


@pytest.mark.parametrize("default", [{}, {"defaultChat": "gone"}])
def test_without_a_default_chat_the_latest_one_leads(default: State) -> None:
    chats = chat("a", IDLE, day=1, activity="A"), chat("b", IDLE, day=2, activity="B")
    shown = summary(*chats, **default)
    assert (shown["status"], shown["activity"]) == (IDLE, "B")


def test_a_chat_that_works_is_promoted_over_an_idle_default() -> None:
    chats = chat("a", IDLE, day=2), chat("b", IN_PROGRESS, activity="B")
    shown = summary(*chats, defaultChat="a")
    assert (shown["status"], shown["activity"]) == (IN_PROGRESS, "B")


@pytest.mark.parametrize("bits", [ERROR, INPUT_NEEDED])
def test_a_chat_that_needs_somebody_is_promoted(bits: int) -> None:
    default = chat("a", IN_PROGRESS, day=2, activity="A")
    shown = summary(default, chat("b", bits, activity="B"), defaultChat="a")
    assert (shown["status"], shown["activity"]) == (bits, "B")


def test_needing_input_beats_an_error() -> None:
    chats = chat("a", ERROR, activity="A"), chat("b", INPUT_NEEDED, activity="B")
    for order in (chats, chats[::-1]):
        shown = summary(*order, defaultChat="a")
        assert (shown["status"], shown["activity"]) == (INPUT_NEEDED, "B")


def test_a_prompt_promotes_even_where_no_chat_shows_it() -> None:
    # As seen in between, when the session was told before its chat's entry.
    prompt = [{"id": "x", "chat": "b", "kind": "toolConfirmation"}]
    chats = chat("a", ERROR, activity="A"), chat("b", IN_PROGRESS, activity="B")
    shown = summary(*chats, defaultChat="a", inputNeeded=prompt)
    assert (shown["status"], shown["activity"]) == (INPUT_NEEDED, "B")
    assert status(*chats, defaultChat="a", inputNeeded=[]) == ERROR


def test_a_tool_that_a_client_runs_waits_for_nobody() -> None:
    run = [{"id": "x", "chat": "b", "kind": "toolClientExecution"}]
    chats = chat("a", IDLE, activity="A"), chat("b", IN_PROGRESS, activity="B")
    shown = summary(*chats, defaultChat="a", inputNeeded=run)
    assert (shown["status"], shown["activity"]) == (IN_PROGRESS, "B")
    asked = [*run, {"id": "y", "chat": "a", "kind": "chatInput"}]
    shown = summary(*chats, defaultChat="a", inputNeeded=asked)
    assert (shown["status"], shown["activity"]) == (INPUT_NEEDED, "A")


def test_a_prompt_of_a_chat_that_is_not_listed_promotes_too() -> None:
    prompt = [{"id": "x", "chat": "gone", "kind": "toolConfirmation"}]
    assert status(chat("a"), inputNeeded=prompt) == INPUT_NEEDED
    assert status(inputNeeded=prompt) == INPUT_NEEDED


def test_flags_come_from_the_session_and_never_from_its_chats() -> None:
    flagged = chat("a", IN_PROGRESS | IS_READ | IS_ARCHIVED)
    assert status(flagged) == IN_PROGRESS
    stale = INPUT_NEEDED | IS_READ | UNKNOWN
    assert status(chat("a", IDLE), status=stale) == IDLE | IS_READ | UNKNOWN
    assert status(status=ERROR | IS_ARCHIVED) == IDLE | IS_ARCHIVED


def test_the_sessions_own_activity_comes_first() -> None:
    leading = chat("a", activity="A")
    assert summary(leading, activity="Own")["activity"] == "Own"
    assert summary(leading, activity="")["activity"] == "A"
    assert "activity" not in summary(chat("a", activity=""))
    assert "activity" not in summary(chat("a"))


def test_the_latest_change_of_any_chat_counts() -> None:
    chats = chat("a", day=5), chat("b", day=9), chat("c", day=2)
    assert summary(*chats, defaultChat="a")["modifiedAt"] == "2026-02-09T00:00:00.000Z"


def test_folders_are_the_sessions() -> None:
    state: State = {"workingDirectories": []}
    shown = summary(chat("a", workingDirectories=["file:///chat"]), **state)
    assert {key: shown[key] for key in state} == state
    assert "workingDirectories" not in summary(chat("a", workingDirectories=["file:///chat"]))


def test_what_the_state_does_not_tell_comes_from_the_facts() -> None:
    own = {"changes": {"files": 2}, "_meta": {"k": None}}
    facts: State = {**FACTS, **own, "annotationCount": 2, "entryCount": 5}
    shown: State = summarize(SESSION, session(_meta={"other": 1}), facts)
    assert {key: shown[key] for key in own} == own
    assert shown["annotations"]["annotationCount"] == 2
    assert shown["annotations"]["entryCount"] == 5
    assert "_meta" not in summary(_meta={"other": 1})


def test_every_chat_is_listed_in_its_order_with_what_a_list_shows_of_it() -> None:
    told: State = {
        "origin": {"kind": "user"},
        "interactivity": "hidden",
        "changes": {"files": 1},
    }
    chats = chat("b", IN_PROGRESS | IS_READ, **told), chat("a", IDLE | IS_ARCHIVED, activity="A")
    shown = summary(*chats, defaultChat="a")
    assert shown["chats"] == [
        {"resource": "b", "title": "b", "status": IN_PROGRESS | IS_READ, **told},
        {"resource": "a", "title": "a", "status": IDLE | IS_ARCHIVED},
    ]
    assert shown["defaultChat"] == "a"
    assert "defaultChat" not in summary(*chats)


def test_a_session_that_could_not_be_created_shows_an_error() -> None:
    assert status(chat("a"), lifecycle="failed", status=IS_READ) == ERROR | IS_READ
    prompt = [{"id": "x", "chat": "a", "kind": "chatInput"}]
    assert status(chat("a"), lifecycle="failed", inputNeeded=prompt) == ERROR


# Changes


def test_an_update_tells_what_changed_and_nothing_else() -> None:
    before = summary(chat("a"))
    after = summary(chat("a", IN_PROGRESS, activity="A"))
    listed = [{"resource": "a", "title": "a", "status": IN_PROGRESS}]
    expected = {"status": IN_PROGRESS, "activity": "A", "chats": listed}
    assert changed_fields(before, after) == expected
    assert changed_fields(after, summary(chat("a", IN_PROGRESS, activity="B"))) == {"activity": "B"}
    assert changed_fields(after, after) == {}
    facts: State = {**FACTS, "annotationCount": 1}
    counted = summarize(SESSION, session(chat("a")), facts)
    assert set(changed_fields(before, counted)) == {"annotations"}


@pytest.mark.parametrize(
    ("field", "value", "cleared"),
    [
        ("activity", "Working", ""),
        ("workingDirectories", ["file:///a"], []),
        ("changes", {"files": 1}, {}),
        ("defaultChat", "a", ""),
        ("_meta", {"k": 1}, {}),
    ],
)
def test_a_field_is_cleared_by_an_empty_value(field: str, value: Any, cleared: Any) -> None:
    bare = summary()
    full, emptied = summary(), summary()
    full[field], emptied[field] = value, cleared
    assert changed_fields(full, bare) == {field: cleared}
    assert changed_fields(emptied, bare) == {}


def test_an_update_never_tells_what_identifies_the_session() -> None:
    after: State = {**summary(), "resource": "other", "provider": "other", "createdAt": "other"}
    assert changed_fields(summary(), after) == {}


chats = st.lists(
    st.builds(
        lambda name, bits, day, extra: chat(name, bits, day, **extra),
        st.sampled_from("abc"),
        st.sampled_from([IDLE, ERROR, IN_PROGRESS, INPUT_NEEDED, IN_PROGRESS | IS_READ]),
        st.integers(1, 5),
        st.fixed_dictionaries({}, optional={"activity": st.sampled_from(["", "A", "B"])}),
    ),
    unique_by=lambda item: item["resource"],
    max_size=3,
)


def with_own(facts: State) -> State:
    return {**FACTS, **facts}


summaries = st.builds(
    lambda chats, state, own: summarize(SESSION, session(*chats, **state), with_own(own)),
    chats,
    st.fixed_dictionaries(
        {"status": st.sampled_from([IDLE, INPUT_NEEDED | IS_READ, IS_ARCHIVED])},
        optional={
            "defaultChat": st.sampled_from("abcx"),
            "activity": st.sampled_from(["", "Own"]),
            "workingDirectories": st.lists(st.sampled_from(["file:///a"]), max_size=1),
            "inputNeeded": st.just([{"id": "x", "chat": "a", "kind": "chatInput"}]),
        },
    ),
    st.fixed_dictionaries(
        {},
        optional={
            "changes": st.sampled_from([{}, {"files": 1}]),
            "_meta": st.sampled_from([{}, {"k": None}]),
            "annotationCount": st.integers(0, 2),
        },
    ),
)


def told(shown: State) -> State:
    """Read a summary as clients do: an empty value of an optional field says nothing."""
    empty: tuple[Any, ...] = ("", [], {})
    return {key: value for key, value in shown.items() if value not in empty}


@given(summaries, summaries)
def test_an_update_merged_into_one_summary_gives_the_other(before: State, after: State) -> None:
    changes = changed_fields(before, after)
    assert told({**before, **changes}) == told(after)
    assert not {"resource", "provider", "createdAt"} & changes.keys()
    assert all(before.get(key) != value for key, value in changes.items())


@given(chats, st.sampled_from("abcx"))
def test_the_activity_bits_follow_the_protocols_order(chats: list[State], default: str) -> None:
    activities = [item["status"] & 31 for item in chats]
    by_name = {item["resource"]: item["status"] & 31 for item in chats}
    latest = max(chats, key=lambda item: str(item["modifiedAt"]), default={"status": IDLE})
    expected = next(
        (bits for bits in (INPUT_NEEDED, ERROR, IN_PROGRESS) if bits in activities),
        by_name.get(default, latest["status"] & 31),
    )
    assert status(*chats, defaultChat=default) == expected
