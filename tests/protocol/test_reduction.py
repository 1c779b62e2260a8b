"""Looking up the reducer, and the clock's spelling."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from agenthost.protocol.reducer_registry import KINDS, Kind, client_may_dispatch, kind_of, reducers
from agenthost.protocol.reduction import REDUCER_MODULES, reduce_canonical, timestamp
from agenthost.protocol.schema.unions import tags_of
from agenthost.protocol.wire_types import WIRE_TYPES
from tests.protocol.refusals import ACTIONS as ALL_ACTIONS
from tests.protocol.samples import MESSAGE, NOW, idle_chat, session
from tests.protocol.wire_samples import full, minimal, variants

# Every action that the protocol has; those after the bar may be dispatched by clients.
ACTIONS: dict[Kind, str] = {
    "root": "agentsChanged activeSessionsChanged terminalsChanged | configChanged",
    "session": """
        ready creationFailed chatAdded chatRemoved chatUpdated defaultChatChanged activityChanged
        changesetsChanged metaChanged serverToolsChanged inputNeededSet inputNeededRemoved
        customizationsChanged customizationUpdated customizationRemoved mcpServerStateChanged
        chatsReordered
        | titleChanged isReadChanged isArchivedChanged configChanged activeClientSet
        activeClientRemoved workingDirectorySet workingDirectoryRemoved customizationToggled
        mcpServerStartRequested mcpServerStopRequested mcpServerBackgroundRequested
        workingDirectoryReplaced
    """,
    "chat": """
        delta responsePart reasoning usage turnComplete error toolCallStart toolCallDelta
        toolCallReady toolCallAuthRequired toolCallAuthResolved activityChanged turnsLoaded
        inputRequested backgroundWorkSet backgroundWorkRemoved movableChanged changesetsChanged
        canvasesChanged
        | turnStarted turnCancelled toolCallConfirmed toolCallComplete toolCallResultConfirmed
        toolCallContentChanged workingDirectorySet workingDirectoryRemoved truncated
        pendingMessageSet pendingMessageRemoved queuedMessagesReordered draftChanged
        inputAnswerChanged inputCompleted turnResume isReadChanged isArchivedChanged
    """,
    "changeset": """
        statusChanged fileSet fileRemoved contentChanged operationsChanged operationStatusChanged
        cleared | filesReviewChanged
    """,
    "annotations": "| set updated removed entrySet entryRemoved",
    "terminal": """
        data cwdChanged exited commandDetectionAvailable commandExecuted commandFinished
        | input resized claimed titleChanged cleared
    """,
    "resourceWatch": "changed |",
    "automation": "set | createRequested updateRequested removed",
    "automationRun": """
        lifecycleChanged sessionSet sessionRemoved primarySessionChanged | cancelRequested
    """,
    "canvas": "stateChanged |",
}


def _types(kind: Kind, *, client: bool) -> set[str]:
    host_only, dispatchable = (half.split() for half in ACTIONS[kind].split("|"))
    return {f"{kind}/{name}" for name in (dispatchable if client else host_only)}


@pytest.mark.parametrize("kind", KINDS)
def test_every_action_of_the_protocol_has_a_reducer_and_no_other_has(kind: Kind) -> None:
    known = {action_type for action_type in reducers if kind_of(action_type) == kind}
    assert known == _types(kind, client=False) | _types(kind, client=True)


@pytest.mark.parametrize("kind", KINDS)
def test_clients_may_dispatch_what_the_protocol_lets_them(kind: Kind) -> None:
    assert all(map(client_may_dispatch, _types(kind, client=True)))
    assert not any(map(client_may_dispatch, _types(kind, client=False)))


def test_the_protocol_has_106_actions_of_which_clients_may_dispatch_47() -> None:
    assert len(reducers) == 106
    assert sum(map(client_may_dispatch, reducers)) == 47


def test_every_reducer_comes_from_a_module_that_is_named() -> None:
    named = {module.__name__ for module in REDUCER_MODULES}
    assert {reducer.__module__ for reducer in reducers.values()} == named


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "action",
    [
        {"type": "{kind}/nobodyKnowsThis"},
        {"type": "nothing"},
        {"type": "future/thing"},
        {"type": ""},
        {"type": None},
        {"type": ["session/ready"]},
        {"type": 7},
        {},
    ],
)
def test_an_unknown_action_gives_back_the_same_object(kind: Kind, action: dict[str, Any]) -> None:
    spelled = action.get("type")
    if isinstance(spelled, str):
        action = {"type": spelled.replace("{kind}", kind)}
    state: dict[str, Any] = {}
    assert reduce_canonical(kind, state, action, NOW) is state


@pytest.mark.parametrize("kind", KINDS)
def test_an_action_of_another_family_gives_back_the_same_object(kind: Kind) -> None:
    state: dict[str, Any] = {}
    for action_type in reducers:
        if kind_of(action_type) != kind:
            assert reduce_canonical(kind, state, {"type": action_type}, NOW) is state


STATES: dict[Kind, str] = {
    "root": "RootState",
    "session": "SessionState",
    "chat": "ChatState",
    "changeset": "ChangesetState",
    "annotations": "AnnotationsState",
    "terminal": "TerminalState",
    "resourceWatch": "ResourceWatchState",
    "automation": "AutomationState",
    "automationRun": "AutomationRunState",
    "canvas": "CanvasState",
}


def _uses(action_type: str) -> list[tuple[Any, Any]]:
    """Return states and actions of a type; ids in samples are all alike, so that they meet."""
    kind = kind_of(action_type)
    assert kind is not None
    state = WIRE_TYPES[STATES[kind]]
    actions = [
        sample
        for wire_type in ALL_ACTIONS.values()
        if action_type in tags_of(wire_type, "type")
        for sample in (minimal(wire_type), *variants(wire_type)[:5])
    ]
    return [(before, action) for before in (minimal(state), full(state)) for action in actions]


@pytest.mark.parametrize("action_type", sorted(reducers))
def test_no_reducer_looks_at_the_clock(action_type: str) -> None:
    for before, action in _uses(action_type):
        one = reducers[action_type](before, action, "one moment")
        assert one == reducers[action_type](before, action, "another moment")
        assert "one moment" not in json.dumps(one)


TURNS: list[dict[str, Any]] = [
    {"type": "chat/turnStarted", "turnId": "t9", "startedAt": NOW, "message": MESSAGE},
    {"type": "chat/inputRequested", "request": {"id": "q"}},
    {"type": "chat/inputAnswerChanged", "requestId": "q", "questionId": "a"},
    {"type": "chat/inputCompleted", "requestId": "q", "response": "accept"},
    {"type": "chat/turnCancelled", "turnId": "t9", "duration": 1500},
    {"type": "chat/truncated"},
]


def test_a_chat_is_modified_when_its_turns_say_so_and_at_no_other_time() -> None:
    state, moments = idle_chat(), []
    for action in TURNS:
        state = reduce_canonical("chat", state, action, "whenever this is computed")
        moments.append(state["modifiedAt"])
    ended = "2026-01-02T03:04:06.506Z"
    assert moments == [NOW, NOW, NOW, NOW, ended, ended]


def test_a_reducer_is_applied_to_the_state_of_its_kind() -> None:
    state = reduce_canonical(
        "session", session(), {"type": "session/titleChanged", "title": "x"}, NOW
    )
    assert state["title"] == "x"
    state = reduce_canonical(
        "chat", idle_chat(), {"type": "chat/activityChanged", "activity": "y"}, NOW
    )
    assert state["activity"] == "y"


@pytest.mark.parametrize(
    ("moment", "spelled"),
    [
        ("2026-01-02T03:04:05.006Z", "2026-01-02T03:04:05.006Z"),
        ("whatever the caller says", "whatever the caller says"),
        (0, "1970-01-01T00:00:00.000Z"),
        (9999, "1970-01-01T00:00:09.999Z"),
        (9999.75, "1970-01-01T00:00:09.999Z"),
        (1_767_323_045_006, "2026-01-02T03:04:05.006Z"),
        (-1, "1969-12-31T23:59:59.999Z"),
        (datetime(2026, 1, 2, 3, 4, 5, 6999, tzinfo=UTC), "2026-01-02T03:04:05.006Z"),
        (datetime(2026, 1, 2, tzinfo=UTC), "2026-01-02T00:00:00.000Z"),
        (
            datetime(2026, 1, 2, 1, 30, tzinfo=timezone(timedelta(hours=2))),
            "2026-01-01T23:30:00.000Z",
        ),
    ],
)
def test_a_moment_is_spelled_in_utc_with_milliseconds(moment: Any, spelled: str) -> None:
    assert timestamp(moment) == spelled


def test_a_datetime_without_a_time_zone_names_no_moment() -> None:
    with pytest.raises(ValueError, match="time zone"):
        timestamp(datetime(2026, 1, 2))
