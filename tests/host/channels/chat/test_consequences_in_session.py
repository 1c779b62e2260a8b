"""A session after its chat changed: the catalogue entry and the prompts mirror the chat exactly."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from agenthost.host.channels.chat.consequences import (
    chat_summary,
    session_actions,
    shown_activity,
)
from agenthost.protocol.status import IS_READ
from agenthost.protocol.versions import reduce
from tests.strategies import NOW, History, chat_histories

State = Any
CHAT = "ahp-chat:/1"
OTHER: State = {"resource": "ahp-chat:/2", "title": "O", "status": 1, "modifiedAt": "2026"}


def chat(**extra: Any) -> State:
    return {
        "resource": CHAT,
        "title": "T",
        "status": 1,
        "modifiedAt": "2026-01-01T00:00:00.000Z",
        "turns": [],
        **extra,
    }


def session(*chats: State, **extra: Any) -> State:
    return {
        "provider": "demo",
        "title": "S",
        "status": 1,
        "lifecycle": "ready",
        "activeClients": [],
        "chats": [OTHER, *(chat_summary(state) for state in chats)],
        **extra,
    }


def call(status: str, **extra: Any) -> State:
    named = {"toolCallId": "k", "toolName": "n", "displayName": "N", "invocationMessage": "Run"}
    return {"kind": "toolCall", "toolCall": {**named, "status": status, **extra}}


def asking(**extra: Any) -> State:
    return {"kind": "inputRequest", "request": {"id": "r", "questions": [], **extra}}


def running(*parts: State, **extra: Any) -> State:
    turn = {"id": "t", "message": {"text": "", "origin": {"kind": "user"}}}
    return chat(activeTurn={**turn, "responseParts": list(parts)}, **extra)


def follow(state: State, action_type: str, after: State) -> State:
    """Apply what is planned for a session, and see that there is nothing left to do."""
    action = {"type": action_type}
    for planned in session_actions(action, after, state):
        state = reduce("session", state, planned, now=NOW)
    assert session_actions(action, after, state) == []
    return state


def entry(state: State) -> State:
    found: State = next(item for item in state["chats"] if item["resource"] == CHAT)
    return found


# The catalogue


def test_a_summary_has_the_chats_own_fields_and_nothing_of_its_transcript() -> None:
    fields = {
        "activity": "Thinking",
        "workingDirectories": [],
        "origin": {"kind": "user"},
        "interactivity": "hidden",
        "changes": {"files": 1},
        "movable": True,
    }
    summary = chat_summary(running(**fields, draft={"text": ""}, turnsNextCursor="c"))
    assert summary == {
        "resource": CHAT,
        "title": "T",
        "status": 1,
        "modifiedAt": "2026-01-01T00:00:00.000Z",
        **fields,
    }
    assert set(chat_summary(chat())) == {"resource", "title", "status", "modifiedAt"}


@pytest.mark.parametrize(
    "changed",
    [
        {"status": 8},
        {"modifiedAt": "2026-01-02T00:00:00.000Z"},
        {"activity": "Thinking"},
        {"workingDirectories": ["file:///a"]},
        {"workingDirectories": []},
        {"movable": False},
        {"status": 8, "modifiedAt": "2026-01-02T00:00:00.000Z"},
    ],
)
def test_the_entry_is_told_what_changed_and_nothing_else(changed: State) -> None:
    before = session(chat())
    planned = session_actions({"type": "chat/activityChanged"}, chat(**changed), before)
    assert planned == [{"type": "session/chatUpdated", "chat": CHAT, "changes": changed}]
    after = follow(before, "chat/activityChanged", chat(**changed))
    assert entry(after) == chat_summary(chat(**changed))


def test_a_chat_that_looks_the_same_from_outside_says_nothing() -> None:
    after = running(draft={"text": "x"})
    assert session_actions({"type": "chat/draftChanged"}, after, session(chat())) == []


@pytest.mark.parametrize("cleared", ["activity", "workingDirectories"])
def test_clearing_a_field_sends_the_whole_entry(cleared: str) -> None:
    full = chat(activity="Thinking", workingDirectories=["file:///a"])
    after: State = {**full, "status": 8}
    del after[cleared]
    before = session(full)
    summary = chat_summary(after)
    assert session_actions({"type": "chat/activityChanged"}, after, before) == [
        {"type": "session/chatAdded", "summary": summary}
    ]
    assert entry(follow(before, "chat/activityChanged", after)) == summary


def test_what_only_the_catalogue_knows_survives_a_whole_entry() -> None:
    before = session(chat(activity="Thinking"))
    before["chats"][1] |= {"title": "Named", "interactivity": "read-only", "_meta": {"k": 1}}
    after = entry(follow(before, "chat/activityChanged", chat()))
    assert after == {
        **chat_summary(chat()),
        "title": "Named",
        "interactivity": "read-only",
        "_meta": {"k": 1},
    }


def test_a_chat_that_left_the_catalogue_does_not_come_back() -> None:
    assert session_actions({"type": "chat/turnComplete"}, chat(status=8), session()) == []


def test_other_chats_are_left_alone() -> None:
    after = follow(session(chat()), "chat/turnStarted", running(status=8))
    assert after["chats"][0] == OTHER


# Read and unread


@pytest.mark.parametrize(
    "action_type", ["chat/turnStarted", "chat/turnResume", "chat/inputRequested"]
)
def test_news_makes_a_session_unread(action_type: str) -> None:
    before = session(running(), status=1 | IS_READ)
    planned = session_actions({"type": action_type}, running(), before)
    assert planned == [{"type": "session/isReadChanged", "isRead": False}]
    assert follow(before, action_type, running())["status"] & IS_READ == 0
    unread = session(running(), status=1)
    assert session_actions({"type": action_type}, running(), unread) == []


def test_other_changes_leave_a_session_read() -> None:
    before = session(chat(), status=1 | IS_READ)
    for action_type in ("chat/draftChanged", "chat/turnComplete", "chat/delta"):
        assert session_actions({"type": action_type}, chat(), before) == []


# Prompts


CLIENT = {"contributor": {"kind": "client", "clientId": "c"}}
MCP = {"contributor": {"kind": "mcp", "customizationId": "m"}}
BLOCKING = [
    (asking(), "chat/inputRequested", {"kind": "chatInput"}),
    (call("pending-confirmation"), "chat/toolCallReady", {"kind": "toolConfirmation"}),
    (
        call("pending-result-confirmation"),
        "chat/toolCallComplete",
        {"kind": "toolConfirmation"},
    ),
    (
        call("running", **CLIENT),
        "chat/toolCallReady",
        {"kind": "toolClientExecution", "clientId": "c"},
    ),
    (call("auth-required", **MCP), "chat/toolCallAuthRequired", {"kind": "toolAuthentication"}),
]
ENDINGS = ["chat/turnComplete", "chat/turnCancelled", "chat/error", "chat/truncated"]


@pytest.mark.parametrize(("part", "action_type", "expected"), BLOCKING)
def test_whatever_blocks_a_turn_is_mirrored(part: State, action_type: str, expected: State) -> None:
    after = follow(session(chat()), action_type, running(part))
    (needed,) = after["inputNeeded"]
    carried = (
        {"request": part["request"]}
        if part["kind"] == "inputRequest"
        else {"turnId": "t", "toolCall": part["toolCall"]}
    )
    assert {key: value for key, value in needed.items() if key != "id"} == {
        "chat": CHAT,
        **expected,
        **carried,
    }


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize(("part", "action_type", "expected"), BLOCKING)
def test_nothing_stays_mirrored_when_the_turn_is_over(
    part: State, action_type: str, expected: State, ending: str
) -> None:
    blocked = follow(session(chat()), action_type, running(part))
    assert "inputNeeded" not in follow(blocked, ending, chat())


@pytest.mark.parametrize(
    "part",
    [
        {**asking(), "response": "accept"},
        call("streaming"),
        call("running"),
        call("running", **MCP),
        call("completed", **CLIENT),
        call("cancelled", **CLIENT),
        {"kind": "markdown", "id": "p", "content": ""},
        {"kind": "systemNotification", "content": ""},
        {"kind": "of-tomorrow"},
    ],
)
def test_what_waits_for_nobody_is_not_mirrored(part: State) -> None:
    assert "inputNeeded" not in follow(session(chat()), "chat/toolCallReady", running(part))


def test_an_answered_request_disappears_and_the_others_stay() -> None:
    second = {"kind": "inputRequest", "request": {"id": "r2"}}
    before = follow(session(chat()), "chat/inputRequested", running(asking(), second))
    answered = running({**asking(), "response": "accept"}, second)
    after = follow(before, "chat/inputCompleted", answered)
    assert [item["request"]["id"] for item in after["inputNeeded"]] == ["r2"]


def test_a_draft_answer_is_mirrored_in_place() -> None:
    parts = asking(), call("pending-confirmation")
    before = follow(session(chat()), "chat/inputRequested", running(*parts))
    answers = {"q": {"state": "draft", "value": {"kind": "text", "value": "x"}}}
    drafted = running(asking(answers=answers), parts[1])
    (planned,) = session_actions({"type": "chat/inputAnswerChanged"}, drafted, before)
    assert planned["type"] == "session/inputNeededSet"
    after = follow(before, "chat/inputAnswerChanged", drafted)
    assert [item["id"] for item in after["inputNeeded"]] == [
        item["id"] for item in before["inputNeeded"]
    ]
    assert after["inputNeeded"][0]["request"]["answers"] == answers


def test_a_refined_confirmation_is_mirrored_in_place() -> None:
    before = follow(session(chat()), "chat/toolCallReady", running(call("pending-confirmation")))
    refined = running(call("pending-confirmation", confirmationTitle="Sure?"))
    after = follow(before, "chat/toolCallReady", refined)
    assert len(after["inputNeeded"]) == 1
    assert after["inputNeeded"][0]["toolCall"]["confirmationTitle"] == "Sure?"


def test_each_kind_of_prompt_is_an_entry_of_its_own() -> None:
    # A client that has dealt with one must see that the next is another.
    waiting = running(call("pending-confirmation", **CLIENT))
    before = follow(session(chat()), "chat/toolCallReady", waiting)
    planned = session_actions(
        {"type": "chat/toolCallConfirmed"}, running(call("running", **CLIENT)), before
    )
    (old,) = before["inputNeeded"]
    told, removed, added = planned
    assert told["changes"] == {"activity": "Run"}
    assert removed == {"type": "session/inputNeededRemoved", "id": old["id"]}
    assert added["type"] == "session/inputNeededSet"
    assert added["request"]["id"] != old["id"]


def test_a_request_and_a_call_of_the_same_id_are_two_prompts() -> None:
    parts = asking(id="k"), call("pending-confirmation")
    after = follow(session(chat()), "chat/inputRequested", running(*parts))
    assert len({item["id"] for item in after["inputNeeded"]}) == 2


def test_prompts_of_other_chats_are_left_alone() -> None:
    theirs = {"id": "x", "chat": OTHER["resource"], "kind": "chatInput", "request": {"id": "r"}}
    before = session(chat(), inputNeeded=[theirs])
    asked = follow(before, "chat/inputRequested", running(asking()))
    assert len(asked["inputNeeded"]) == 2
    assert follow(asked, "chat/turnComplete", chat())["inputNeeded"] == [theirs]


def test_the_same_request_in_two_chats_is_two_prompts() -> None:
    second = {**running(asking()), "resource": OTHER["resource"]}
    state = follow(session(chat()), "chat/inputRequested", running(asking()))
    state = follow(state, "chat/inputRequested", second)
    assert {item["chat"] for item in state["inputNeeded"]} == {CHAT, OTHER["resource"]}


# Whole histories


def expected_prompts(state: State) -> list[tuple[str, Any]]:
    """Say by the protocol's table what must be mirrored: the kind, and what it carries."""
    found: list[tuple[str, Any]] = []
    for part in state.get("activeTurn", {}).get("responseParts", []):
        if part["kind"] == "inputRequest" and "response" not in part:
            found.append(("chatInput", part["request"]))
        if part["kind"] == "toolCall":
            tool = part["toolCall"]
            kind = {
                "pending-confirmation": "toolConfirmation",
                "pending-result-confirmation": "toolConfirmation",
                "auth-required": "toolAuthentication",
            }.get(tool["status"])
            owner = tool.get("contributor", {}).get("kind")
            if tool["status"] == "running" and owner == "client":
                kind = "toolClientExecution"
            if kind is not None:
                found.append((kind, tool))
    return found


@given(chat_histories(max_length=60))
def test_a_session_that_applies_what_is_planned_mirrors_its_chat(history: History) -> None:
    state: State = history.initial
    owner = session(history.initial, status=1 | IS_READ)
    for action in history.actions:
        after = reduce("chat", state, action, now=NOW)
        if after is state:
            continue
        state = after
        for planned in session_actions(action, state, owner):
            changed = reduce("session", owner, planned, now=NOW)
            assert changed is not owner, "an action was planned that changes nothing"
            owner = changed
        # A running tool is told in the list where the agent itself says nothing.
        activity = shown_activity(state)
        shown = {key: value for key, value in chat_summary(state).items() if key != "activity"}
        assert entry(owner) == ({**shown, "activity": activity} if activity else shown)
        prompts = [
            (item["kind"], item.get("request", item.get("toolCall")))
            for item in owner.get("inputNeeded", [])
        ]
        key = repr
        assert sorted(prompts, key=key) == sorted(expected_prompts(state), key=key)
        assert session_actions(action, state, owner) == []


# What a chat is doing


def test_a_chat_shows_its_agents_words_or_what_the_running_tool_does() -> None:
    assert shown_activity(chat(activity="Thinking")) == "Thinking"
    assert shown_activity(running(call("running"), activity="Thinking")) == "Thinking"
    assert shown_activity(running(call("running"))) == "Run"
    markdown = {"markdown": "Run\n`ls`"}
    assert shown_activity(running(call("running", invocationMessage=markdown))) == "Run `ls`"
    long = shown_activity(running(call("running", invocationMessage="x" * 500)))
    assert long == "x" * 119 + "…"
    for nothing in (chat(), running(), running(call("completed")), running(asking())):
        assert shown_activity(nothing) is None
