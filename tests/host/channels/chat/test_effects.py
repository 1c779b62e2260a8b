"""What an action sets in motion: a plan from the action and the states around it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from agenthost.host.channels.chat.effects import Effect, chat_effects
from agenthost.protocol.versions import reduce
from tests.strategies import NOW, History, chat_histories

State = Any
IDLE: State = {"turns": []}
RUNNING: State = {"turns": [], "activeTurn": {"id": "t", "responseParts": []}}


def effects(name: str, before: State, after: State, **extra: Any) -> list[Effect]:
    return chat_effects({"type": f"chat/{name}", **extra}, before, after)


def test_a_turn_that_starts_is_run() -> None:
    assert effects("turnStarted", IDLE, RUNNING) == [Effect.START_TURN]


@pytest.mark.parametrize("name", ["turnCancelled", "truncated"])
def test_a_turn_that_is_taken_away_is_stopped(name: str) -> None:
    assert effects(name, RUNNING, IDLE) == [Effect.STOP_TURN]


def test_truncating_an_idle_chat_stops_nothing() -> None:
    assert effects("truncated", IDLE, IDLE) == []


def test_a_turn_that_completes_makes_room_for_the_next() -> None:
    assert effects("turnComplete", RUNNING, IDLE) == [Effect.NEXT_IN_QUEUE]


@pytest.mark.parametrize("name", ["turnComplete", "turnCancelled", "error", "truncated"])
def test_what_a_turn_said_it_was_doing_ends_with_it(name: str) -> None:
    busy, left = {**RUNNING, "activity": "Thinking"}, {**IDLE, "activity": "Thinking"}
    assert Effect.CLEAR_ACTIVITY in effects(name, busy, left)
    assert Effect.CLEAR_ACTIVITY not in effects(name, RUNNING, IDLE)
    if name == "turnComplete":
        # Before the next turn begins, which may say something of its own.
        assert effects(name, busy, left) == [Effect.CLEAR_ACTIVITY, Effect.NEXT_IN_QUEUE]


def test_what_a_chat_says_without_a_turn_stays() -> None:
    left = {**IDLE, "activity": "Indexing"}
    assert effects("truncated", left, left) == []
    assert effects("draftChanged", {**RUNNING, **left}, {**RUNNING, **left}) == []


def test_after_an_error_the_queue_is_held() -> None:
    assert effects("error", RUNNING, IDLE) == []


def test_a_queued_message_is_begun_at_once_in_an_idle_chat_and_waits_otherwise() -> None:
    assert effects("pendingMessageSet", IDLE, IDLE, kind="queued") == [Effect.NEXT_IN_QUEUE]
    assert effects("pendingMessageSet", RUNNING, RUNNING, kind="queued") == []


def test_a_steering_message_waits_for_a_turn_that_asks_for_it() -> None:
    for state in (IDLE, RUNNING):
        assert effects("pendingMessageSet", state, state, kind="steering") == []


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
    assert effects(name, RUNNING, RUNNING, kind="queued") == []


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
        for effect in chat_effects(action, state, after):
            at_work = {Effect.START_TURN: True, Effect.STOP_TURN: False}.get(effect, at_work)
        if action["type"] in ("chat/turnComplete", "chat/error"):
            # The turn's own agent says so: it is done by itself.
            at_work = False
        assert at_work == ("activeTurn" in after)
        state = after
