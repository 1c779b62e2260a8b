"""The laws of the ladder, on histories as hosts and clients make them."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import orjson
import pytest
from hypothesis import given

from agenthost.protocol.reducer_registry import client_may_dispatch
from agenthost.protocol.versions import (
    NEWEST,
    Untranslatable,
    echo,
    parse_version,
    reduce,
    translator,
)
from agenthost.protocol.versions.ladder import Translator
from agenthost.protocol.versions.step import Whereabouts
from tests.protocol.versions.law import (
    CLOCKLESS,
    MOST_LATER,
    OLDER,
    down,
    granted_spots,
    hold_the_law,
    older_with,
    same_but,
)
from tests.strategies import (
    NOW,
    History,
    chat_histories,
    histories,
    other_histories,
    session_histories,
)
from tests.thoroughness import examples

Json = dict[str, Any]

# What a host knows about the session in which a client acts.
AROUND = Whereabouts(session="ahp-session:/s", default_chat=lambda: "ahp-chat:/1")

MODEST = examples(200)


@MODEST
@given(chat_histories())
def test_an_old_client_of_a_chat_holds_what_a_snapshot_would_give_it(history: History) -> None:
    hold_the_law(history)


@MODEST
@given(session_histories())
def test_an_old_client_of_a_session_holds_what_a_snapshot_would_give_it(history: History) -> None:
    hold_the_law(history)


@MODEST
@given(other_histories())
def test_an_old_client_of_other_channels_holds_what_a_snapshot_would_give_it(
    history: History,
) -> None:
    hold_the_law(history)


@pytest.mark.parametrize("later", [MOST_LATER - 1, MOST_LATER, MOST_LATER + 1])
@pytest.mark.parametrize("replacement", ["file:///new", "file:///1", "file:///3"])
def test_replacing_a_directory_among_very_many_loses_their_order_at_most(
    later: int, replacement: str
) -> None:
    directories = [f"file:///{number}" for number in range(later + 3)]
    state = {"provider": "demo", "title": "", "status": 1, "lifecycle": "ready"}
    lists = {"activeClients": [], "chats": [], "workingDirectories": directories}
    replaced = {"directory": "file:///2", "replacement": replacement}
    action = {"type": "session/workingDirectoryReplaced", **replaced}
    hold_the_law(History("session", {**state, **lists}, [action]))


@MODEST
@given(histories())
def test_what_a_client_sent_comes_back_down_as_it_was_sent(history: History) -> None:
    before = history.initial
    for action in history.actions:
        after = reduce(history.kind, before, action, now=NOW)
        if client_may_dispatch(action["type"]):
            for version in older_with(history.kind):
                assert_it_comes_back(translator(version), history.kind, before, action, after)
        before = after


def assert_it_comes_back(
    old: Translator, kind: Any, before: Json, action: Json, after: Json
) -> None:
    for sent in said(old, kind, before, action, after):
        climbed = old.action_up(kind, sent, before, now=NOW, around=AROUND)
        reached = reduce(kind, before, climbed, now=NOW)
        if reached is not before:
            back = old.action_down(kind, before, climbed, reached)
            assert back == [sent]


def said(old: Translator, kind: Any, before: Json, action: Json, after: Json) -> list[Json]:
    """Return how a client of the newest version says an action to an older host, if it can."""
    try:
        return old.action_down(kind, before, action, after, sender="client")
    except Untranslatable:
        return []


@MODEST
@given(histories())
def test_a_sender_holds_what_a_snapshot_would_give_it(history: History) -> None:
    before = history.initial
    for action in history.actions:
        after = reduce(history.kind, before, action, now=NOW)
        if client_may_dispatch(action["type"]):
            for version in older_with(history.kind):
                assert_the_echo_is_true(version, history, before, action)
        before = after


def assert_the_echo_is_true(version: str, history: History, before: Json, action: Json) -> None:
    old, kind = translator(version), history.kind
    after = reduce(kind, before, action, now=NOW)
    proper = said(old, kind, before, action, after)
    # Clients also say what their version has no way to show.
    for words in (*proper, action):
        try:
            meant = old.action_up(kind, words, before, now=NOW, around=AROUND)
        except Untranslatable:
            continue
        reached = reduce(kind, before, meant, now=NOW)
        if reached is before:
            continue
        held = down(old, history, before)
        for told in echo(version, kind, words, before, meant, reached):
            held = reduce(kind, held, told, now=NOW, version=version)
        fresh = down(old, history, reached)
        stale = granted_spots(version, before, meant, reached)
        assert same_but(stale, version, held, fresh), f"{version}: {words}"


@MODEST
@given(histories())
def test_climbing_up_and_down_again_loses_nothing_more(history: History) -> None:
    state = final(history)
    for version in older_with(history.kind):
        old = translator(version)
        once = down(old, history, state)
        assert down(old, history, old.state_up(history.kind, once)) == once


@MODEST
@given(histories())
def test_translating_and_reducing_never_change_what_they_are_given(history: History) -> None:
    before = history.initial
    for action in history.actions:
        given_state, given_action = deepcopy(before), deepcopy(action)
        after = reduce(history.kind, before, action, now=NOW)
        given_after = deepcopy(after)
        for version in older_with(history.kind):
            old = translator(version)
            held = down(old, history, before)
            given_held = deepcopy(held)
            for sent in old.action_down(history.kind, before, action, after):
                given_sent = deepcopy(sent)
                reduce(history.kind, held, sent, now=NOW, version=version)
                assert sent == given_sent
            assert held == given_held
        assert (before, action, after) == (given_state, given_action, given_after)
        before = after


@MODEST
@given(histories())
def test_every_state_and_action_of_every_version_survives_json(history: History) -> None:
    before = history.initial
    for action in history.actions:
        after = reduce(history.kind, before, action, now=NOW)
        for version in (NEWEST, *older_with(history.kind)):
            old = translator(version)
            sent = old.action_down(history.kind, before, action, after)
            told = {"state": down(old, history, after), "actions": sent}
            assert orjson.loads(orjson.dumps(told)) == told
        before = after


@MODEST
@given(chat_histories())
def test_a_turn_alone_is_translated_as_within_its_chat(history: History) -> None:
    state = final(history)
    for version in OLDER:
        old = translator(version)
        older = down(old, history, state)
        assert older["turns"] == [old.turn_down(turn) for turn in state["turns"]]
        climbed = old.state_up("chat", older)["turns"]
        assert climbed == [old.turn_up(turn) for turn in older["turns"]]


@pytest.mark.parametrize("version", [v for v in (NEWEST, *OLDER) if parse_version(v) >= CLOCKLESS])
@examples(60)
@given(history=histories())
def test_what_time_it_is_makes_no_difference_since_0_9_0(version: str, history: History) -> None:
    old = translator(version)
    state = history.initial
    for action in history.actions:
        after = reduce(history.kind, state, action, now=NOW)
        for told in old.action_down(history.kind, state, action, after):
            held = old.state_down(history.kind, state)
            early, late = (
                reduce(history.kind, held, told, now=now, version=version)
                for now in (NOW, "2030-01-01T00:00:00.000Z")
            )
            assert early == late, told
        state = after


@pytest.mark.parametrize("version", [NEWEST, *OLDER])
@MODEST
@given(history=histories())
def test_an_action_without_effect_gives_back_the_very_state(version: str, history: History) -> None:
    state = translator(version).state_down(history.kind, final(history))
    for stray in STRAYS:
        assert reduce(history.kind, state, stray, now=NOW, version=version) is state


# None of these finds anything to change in a simulated channel.
STRAYS: list[Json] = [
    {"type": "future/unknown"},
    {"type": "terminal/commandFinished", "commandId": "none"},
    {"type": "annotations/removed", "annotationId": "none"},
    {"type": "automation/removed", "resource": "none"},
    {"type": "chat/delta", "turnId": "none", "partId": "none", "content": "x"},
    {"type": "chat/truncated", "turnId": "none"},
    {"type": "chat/turnComplete", "turnId": "none", "duration": 1},
    {"type": "chat/inputCompleted", "requestId": "none", "response": "accept"},
    {"type": "chat/inputAnswerChanged", "requestId": "none", "questionId": "q"},
    {"type": "session/customizationToggled", "id": "none", "enablement": [], "enabled": True},
    {"type": "session/inputNeededRemoved", "id": "none"},
    {"type": "changeset/fileRemoved", "fileId": "none"},
]


def final(history: History) -> Json:
    state = history.initial
    for action in history.actions:
        state = reduce(history.kind, state, action, now=NOW)
    return state
