"""What an action sets in motion: consequences of the action and of the states around it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given

from agenthost.host.channels.chat.consequences import (
    DropSteering,
    QueueSteering,
    StartNextQueued,
    StartTurn,
    StopTurn,
    turn_consequences,
)
from agenthost.host.channels.titles import UNTITLED_CHAT, UNTITLED_SESSION
from agenthost.host.log.effects import Apply, Consequence
from agenthost.host.log.kind import Applied
from agenthost.protocol.versions import reduce
from tests.strategies import NOW, History, chat_histories

State = Any
IDLE: State = {"turns": []}
RUNNING: State = {"turns": [], "activeTurn": {"id": "t", "responseParts": []}}


CHAT: Any = SimpleNamespace(uri="ahp-chat:/c", state={"title": UNTITLED_CHAT})
SESSION: Any = SimpleNamespace(uri="ahp-session:/s", state={"title": UNTITLED_SESSION, "chats": []})
# Sent by a client that nobody asks about.
DISPATCH: Any = SimpleNamespace(connection=SimpleNamespace(starter=None))
CLEARED = Apply(CHAT, {"type": "chat/activityChanged"})


def planned(action: Any, before: State, after: State) -> list[Consequence]:
    return turn_consequences(Applied(CHAT, action, before, after, DISPATCH), SESSION)


def consequences(name: str, before: State, after: State, **extra: Any) -> list[Consequence]:
    return planned({"type": f"chat/{name}", **extra}, before, after)


def started(text: str) -> list[Consequence]:
    running = {**RUNNING, "activeTurn": {**RUNNING["activeTurn"], "message": {"text": text}}}
    return consequences("turnStarted", IDLE, running)


def test_a_turn_that_starts_names_its_chat_and_is_run() -> None:
    changed = {"chat": CHAT.uri, "changes": {"title": "Tidy up"}}
    assert started("Tidy\nup") == [
        Apply(SESSION, {"type": "session/titleChanged", "title": "Tidy up"}),
        Apply(SESSION, {"type": "session/chatUpdated", **changed}),
        StartTurn(CHAT, SESSION, None),
    ]


def test_a_name_is_kept_and_a_blank_message_gives_none(monkeypatch: pytest.MonkeyPatch) -> None:
    start = StartTurn(CHAT, SESSION, None)
    assert started(" ") == [start]
    monkeypatch.setitem(CHAT.state, "title", "Mine")
    monkeypatch.setitem(SESSION.state, "title", "Ours")
    assert started("Tidy up") == [start]


def test_a_turn_that_goes_on_is_run_and_what_it_had_asked_is_closed() -> None:
    failed = {**IDLE, "turns": [{"id": "t", "duration": 1234.4}]}
    asked = {"kind": "inputRequest", "request": {"id": "q"}}
    after = {**IDLE, "activeTurn": {"id": "t", "responseParts": [asked]}}
    closed = {"type": "chat/inputCompleted", "response": "cancel", "requestId": "q"}
    start = StartTurn(CHAT, SESSION, None, 1234)
    assert consequences("turnResume", failed, after) == [Apply(CHAT, closed), start]


@pytest.mark.parametrize("name", ["turnCancelled", "truncated"])
def test_a_turn_that_is_taken_away_is_stopped(name: str) -> None:
    assert consequences(name, RUNNING, IDLE) == [StopTurn(CHAT)]


def test_truncating_an_idle_chat_stops_nothing() -> None:
    assert consequences("truncated", IDLE, IDLE) == []


def test_a_turn_that_completes_makes_room_for_the_next() -> None:
    assert consequences("turnComplete", RUNNING, IDLE) == [StartNextQueued(CHAT)]


@pytest.mark.parametrize("name", ["turnComplete", "turnCancelled", "error", "truncated"])
def test_what_a_turn_said_it_was_doing_ends_with_it(name: str) -> None:
    busy, left = {**RUNNING, "activity": "Thinking"}, {**IDLE, "activity": "Thinking"}
    assert CLEARED in consequences(name, busy, left)
    assert CLEARED not in consequences(name, RUNNING, IDLE)
    if name == "turnComplete":
        # Before the next turn begins, which may say something of its own.
        assert consequences(name, busy, left) == [CLEARED, StartNextQueued(CHAT)]


def test_what_a_chat_says_without_a_turn_stays() -> None:
    left = {**IDLE, "activity": "Indexing"}
    assert consequences("truncated", left, left) == []
    assert consequences("draftChanged", {**RUNNING, **left}, {**RUNNING, **left}) == []


def test_after_an_error_the_queue_is_held() -> None:
    assert consequences("error", RUNNING, IDLE) == []


def test_a_queued_message_is_begun_at_once_in_an_idle_chat_and_waits_otherwise() -> None:
    assert consequences("pendingMessageSet", IDLE, IDLE, kind="queued") == [StartNextQueued(CHAT)]
    assert consequences("pendingMessageSet", RUNNING, RUNNING, kind="queued") == []


def test_a_steering_message_waits_for_a_turn_that_asks_for_it() -> None:
    for state in (IDLE, RUNNING):
        assert consequences("pendingMessageSet", state, state, kind="steering") == []


@pytest.mark.parametrize(
    ("name", "fate"),
    [
        ("turnComplete", QueueSteering(CHAT)),
        ("error", QueueSteering(CHAT)),
        ("turnCancelled", DropSteering(CHAT)),
        ("truncated", DropSteering(CHAT)),
    ],
)
def test_steering_that_no_turn_read_is_next_unless_the_turn_was_stopped(
    name: str, fate: Consequence
) -> None:
    steered = {"steeringMessage": {"id": "m"}}
    assert fate in consequences(name, {**RUNNING, **steered}, {**IDLE, **steered})


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
    assert consequences(name, RUNNING, RUNNING, kind="queued") == []


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
        for effect in planned(action, state, after):
            at_work = {StartTurn: True, StopTurn: False}.get(type(effect), at_work)
        if action["type"] in ("chat/turnComplete", "chat/error"):
            # The turn's own agent says so: it is done by itself.
            at_work = False
        assert at_work == ("activeTurn" in after)
        state = after
