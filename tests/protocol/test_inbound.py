"""The edge of every version: what is refused is named as its sender spells it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from agenthost.errors import InvalidParams
from agenthost.protocol.inbound import accept_action, accept_params
from agenthost.protocol.methods import METHODS, Direction
from agenthost.protocol.reducer_registry import Kind, kind_of
from agenthost.protocol.versions import (
    NEWEST,
    SUPPORTED_VERSIONS,
    Untranslatable,
    Whereabouts,
    translator,
)
from tests.protocol.refusals import CLIENT_ACTIONS
from tests.protocol.samples import NOW, chat, session
from tests.protocol.wire_samples import changed, variants

COMMANDS = sorted(
    name
    for name, method in METHODS.items()
    if Direction.TO_HOST in method.directions and name != "dispatchAction"
)

RUNNING = {
    "kind": "toolCall",
    "toolCall": {
        "toolCallId": "k",
        "toolName": "shell",
        "displayName": "Shell",
        "status": "running",
        "invocationMessage": "Run",
        "confirmed": "setting",
    },
}
STATES: dict[str, Any] = {
    "root": {"agents": []},
    "session": session(),
    "chat": chat(RUNNING),
    "terminal": {
        **{"title": "t", "content": [], "claim": {"kind": "client", "clientId": "c"}},
        "lifecycle": {"status": "running"},
    },
    "changeset": {"status": "ready", "files": []},
    "annotations": {"annotations": []},
    "automation": {"entries": []},
    "automationRun": {"resource": "r", "automation": "a", "sessions": []},
}
AROUND = Whereabouts(session="ahp-session:/s", default_chat=lambda: "ahp-chat:/s")

WRONG: list[Any] = [None, True, 5, 1.5, "text", [], {}, [5], [{}], {"a": 1}]


def locations(value: Any, location: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Give the place of every member and item inside a value."""
    inner = value.items() if isinstance(value, dict) else enumerate(value)
    for step, member in inner:
        yield (*location, step)
        if isinstance(member, dict | list):
            yield from locations(member, (*location, step))


def assert_named_as_sent(sent: dict[str, Any], refusal: InvalidParams, root: str) -> None:
    assert refusal.path is not None, refusal.message
    first = refusal.path.removeprefix(root).split(".")[0].split("[")[0]
    assert first in sent or "is required" in refusal.message, (refusal.path, sent)


@pytest.mark.parametrize("version", SUPPORTED_VERSIONS)
@pytest.mark.parametrize("method", COMMANDS)
def test_a_fault_in_params_of_any_version_is_named_by_a_field_that_was_sent(
    method: str, version: str
) -> None:
    for sample in variants(METHODS[method].params)[:4]:
        try:
            params = translator(version).params_down(method, sample)
        except Untranslatable:
            continue
        for location in locations(params):
            for wrong in WRONG:
                sent = changed(params, location, wrong)
                try:
                    accept_params(version, method, sent, around=AROUND)
                except InvalidParams as refusal:
                    assert_named_as_sent(sent, refusal, "")


def said_by_a_client(version: str, kind: Kind, before: Any, action: Any) -> list[Any]:
    """Return how a client of a version says what an action says, if it can."""
    try:
        return translator(version).action_down(kind, before, action, {**before}, sender="client")
    except Untranslatable:
        return []


@pytest.mark.parametrize("version", SUPPORTED_VERSIONS)
@pytest.mark.parametrize("name", sorted(CLIENT_ACTIONS))
def test_a_fault_in_an_action_of_any_version_is_named_by_a_field_that_was_sent(
    name: str, version: str
) -> None:
    for sample in variants(CLIENT_ACTIONS[name])[:4]:
        kind: Kind | None = kind_of(sample["type"])
        assert kind is not None
        before = STATES[kind]
        for action in said_by_a_client(version, kind, before, sample):
            for location in locations(action):
                for wrong in WRONG:
                    sent = changed(action, location, wrong)
                    try:
                        accept_action(version, kind, sent, before, now=NOW, around=AROUND)
                    except InvalidParams as refusal:
                        assert_named_as_sent(sent, refusal, "action.")


@pytest.mark.parametrize("version", ["0.6.0", "0.5.2", "0.5.1", "0.5.0"])
def test_the_one_directory_of_an_older_client_is_named_so(version: str) -> None:
    with pytest.raises(InvalidParams) as refused:
        accept_params(version, "createSession", {"channel": "s", "workingDirectory": 5})
    assert refused.value.path == "workingDirectory"
    assert refused.value.message == "workingDirectory: expected a string, got a number"
    with pytest.raises(InvalidParams) as refused:
        accept_params(NEWEST, "createSession", {"channel": "s", "workingDirectories": [5]})
    assert refused.value.path == "workingDirectories[0]"


def test_the_oldest_client_has_no_cursor_to_be_wrong_about() -> None:
    params = {"channel": "c", "before": "t3", "limit": 2}
    accepted = accept_params(SUPPORTED_VERSIONS[-1], "fetchTurns", {**params, "cursor": 5})
    assert accepted == params


@pytest.mark.parametrize("kind", ["chat", "session"])
def test_a_type_of_any_length_is_refused_in_short(kind: Kind) -> None:
    with pytest.raises(InvalidParams) as refused:
        accept_action(NEWEST, kind, {"type": "chat/" + "x" * 10_000}, STATES[kind], now=NOW)
    assert len(refused.value.message) < 150


@pytest.mark.parametrize(
    ("kind", "action"),
    [
        ("chat", {"type": "chat/isReadChanged", "isRead": True}),
        ("chat", {"type": "chat/isArchivedChanged", "isArchived": True}),
        ("session", {"type": "session/mcpServerBackgroundRequested", "id": "m"}),
    ],
)
def test_what_editors_send_beyond_their_version_is_accepted(kind: Kind, action: Any) -> None:
    assert accept_action("0.9.0", kind, action, STATES[kind], now=NOW) == action
    with pytest.raises(InvalidParams, match=r"not part of protocol 0\.8\.0"):
        accept_action("0.8.0", kind, action, STATES[kind], now=NOW)


SESSION_CLAIM = {"kind": "session", "session": "ahp-session:/s"}


def test_what_an_older_client_leaves_unsaid_is_found_around_its_channel() -> None:
    claimed = {"type": "terminal/claimed", "claim": SESSION_CLAIM}
    accepted = accept_action(
        "0.8.0", "terminal", claimed, STATES["terminal"], now=NOW, around=AROUND
    )
    assert accepted["claim"] == {**SESSION_CLAIM, "chat": "ahp-chat:/s"}
    created = {"channel": "ahp-terminal:/1", "claim": SESSION_CLAIM}
    params = accept_params("0.8.0", "createTerminal", created, around=AROUND)
    assert params["claim"] == {**SESSION_CLAIM, "chat": "ahp-chat:/s"}


def test_who_cannot_be_understood_is_told_why() -> None:
    created = {"channel": "ahp-terminal:/1", "claim": SESSION_CLAIM}
    with pytest.raises(InvalidParams, match="no chat"):
        accept_params("0.8.0", "createTerminal", created)
