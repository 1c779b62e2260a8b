"""What an action sets in motion: a plan from the action and the states around it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from agenthost.host.channels.chat.followups import Followup, chat_followups
from agenthost.protocol.versions import reduce
from tests.strategies import NOW, History, chat_histories

State = Any
IDLE: State = {"turns": []}
RUNNING: State = {"turns": [], "activeTurn": {"id": "t", "responseParts": []}}


def followups(name: str, before: State, after: State, **extra: Any) -> list[Followup]:
    return chat_followups({"type": f"chat/{name}", **extra}, before, after)


@pytest.mark.parametrize("name", ["turnStarted", "turnResume"])
def test_a_turn_that_starts_or_goes_on_is_run(name: str) -> None:
    assert followups(name, IDLE, RUNNING) == [Followup.START_TURN]


@pytest.mark.parametrize("name", ["turnCancelled", "truncated"])
def test_a_turn_that_is_taken_away_is_stopped(name: str) -> None:
    assert followups(name, RUNNING, IDLE) == [Followup.STOP_TURN]


def test_truncating_an_idle_chat_stops_nothing() -> None:
    assert followups("truncated", IDLE, IDLE) == []


def test_a_turn_that_completes_makes_room_for_the_next() -> None:
    assert followups("turnComplete", RUNNING, IDLE) == [Followup.NEXT_IN_QUEUE]


@pytest.mark.parametrize("name", ["turnComplete", "turnCancelled", "error", "truncated"])
def test_what_a_turn_said_it_was_doing_ends_with_it(name: str) -> None:
    busy, left = {**RUNNING, "activity": "Thinking"}, {**IDLE, "activity": "Thinking"}
    assert Followup.CLEAR_ACTIVITY in followups(name, busy, left)
    assert Followup.CLEAR_ACTIVITY not in followups(name, RUNNING, IDLE)
    if name == "turnComplete":
        # Before the next turn begins, which may say something of its own.
        assert followups(name, busy, left) == [Followup.CLEAR_ACTIVITY, Followup.NEXT_IN_QUEUE]


def test_what_a_chat_says_without_a_turn_stays() -> None:
    left = {**IDLE, "activity": "Indexing"}
    assert followups("truncated", left, left) == []
    assert followups("draftChanged", {**RUNNING, **left}, {**RUNNING, **left}) == []


def test_after_an_error_the_queue_is_held() -> None:
    assert followups("error", RUNNING, IDLE) == []


def test_a_queued_message_is_begun_at_once_in_an_idle_chat_and_waits_otherwise() -> None:
    assert followups("pendingMessageSet", IDLE, IDLE, kind="queued") == [Followup.NEXT_IN_QUEUE]
    assert followups("pendingMessageSet", RUNNING, RUNNING, kind="queued") == []


def test_a_steering_message_waits_for_a_turn_that_asks_for_it() -> None:
    for state in (IDLE, RUNNING):
        assert followups("pendingMessageSet", state, state, kind="steering") == []


@pytest.mark.parametrize(
    "name",
    [
        "delta",
        "draftChanged",
        "inputCompleted",
        "pendingMessageRemoved",
        "queuedMessagesReordered",
        "toolCallConfirmed",
        "turnsLoaded",
        "ofTomorrow",
    ],
)
def test_other_actions_set_nothing_in_motion(name: str) -> None:
    assert followups(name, RUNNING, RUNNING, kind="queued") == []


@given(chat_histories())
def test_every_turn_that_appears_is_run_and_every_one_taken_away_is_stopped(
    history: History,
) -> None:
    state: State = history.initial
    after: State
    at_work = False
    for action in history.actions:
        after = reduce("chat", state, action, now=NOW)
        if after is state:
            continue
        for effect in chat_followups(action, state, after):
            at_work = {Followup.START_TURN: True, Followup.STOP_TURN: False}.get(effect, at_work)
        if action["type"] in ("chat/turnComplete", "chat/error"):
            # The turn's own agent says so: it is done by itself.
            at_work = False
        assert at_work == ("activeTurn" in after)
        state = after
