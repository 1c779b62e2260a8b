"""Every mapping between 0.5.1 and 0.5.0."""

from __future__ import annotations

from typing import Any

import pytest

from agenthost.errors import InvalidParams
from agenthost.protocol.versions import translator, turns_page
from tests.protocol.versions.samples import (
    Json,
    chat,
    down,
    message,
    on_call,
    sent,
    session,
    tool_part,
    why_not,
)

OLD = "0.5.0"
LADDER = translator(OLD)

TURNS: list[Json] = [
    {"id": f"t{n}", "message": message(), "responseParts": [], "state": "complete"}
    for n in range(1, 6)
]


def ids(page: Json) -> list[str]:
    return [turn["id"] for turn in page["turns"]]


# Turns


def test_a_snapshot_has_all_turns_and_no_cursor() -> None:
    state = chat(active=False, turns=TURNS, turnsNextCursor="more")
    assert down(OLD, "chat", state) == chat(active=False, turns=TURNS)


def test_loading_turns_is_not_told() -> None:
    loaded = {"type": "chat/turnsLoaded", "turns": TURNS}
    assert sent(OLD, "chat", chat(), loaded) == []
    assert not LADDER.exists("chat/turnsLoaded")
    assert not LADDER.pages_into_state
    assert translator("0.5.1").pages_into_state


@pytest.mark.parametrize(
    ("params", "expected", "more"),
    [
        ({}, ["t2", "t3", "t4", "t5"], True),
        ({"limit": 2}, ["t4", "t5"], True),
        ({"before": "t4", "limit": 2}, ["t2", "t3"], True),
        ({"before": "t3", "limit": 2}, ["t1", "t2"], False),
        ({"before": "t3", "limit": 99}, ["t1", "t2"], False),
        ({"before": None, "limit": None}, ["t2", "t3", "t4", "t5"], True),
        ({"before": "t1"}, [], False),
        ({"limit": 0}, [], True),
        ({"limit": 2.0}, ["t4", "t5"], True),
    ],
)
def test_turns_are_fetched_as_a_page_before_a_turn(
    params: Json, expected: list[str], more: bool
) -> None:
    page = turns_page(TURNS, params, cap=4)
    assert (ids(page), page["hasMore"]) == (expected, more)


@pytest.mark.parametrize(
    "params",
    [
        {"before": "x"},
        {"before": 3},
        {"limit": -1},
        {"limit": "1"},
        {"limit": True},
        {"limit": 1.5},
    ],
)
def test_a_page_that_cannot_be_found_is_refused(params: Json) -> None:
    with pytest.raises(InvalidParams):
        turns_page(TURNS, params, cap=4)


def test_a_page_is_translated_and_keeps_its_shape() -> None:
    timed = [{**turn, "startedAt": "", "duration": 1} for turn in TURNS]
    page = LADDER.result_down("fetchTurns", {}, {"turns": timed, "hasMore": True})
    assert page == {"turns": TURNS, "hasMore": True}


def test_a_client_pages_an_old_host_by_the_oldest_turn_it_has() -> None:
    state = LADDER.state_up("chat", chat(active=False, turns=TURNS[2:]))
    assert state["turnsNextCursor"] == "t3"
    assert "turnsNextCursor" not in LADDER.state_up("chat", chat(active=False))
    params = {"channel": "c", "cursor": state["turnsNextCursor"]}
    assert LADDER.params_down("fetchTurns", params) == {"channel": "c", "before": "t3"}
    more = LADDER.result_up("fetchTurns", {}, {"turns": TURNS[1:2], "hasMore": True})
    assert more == {"turns": TURNS[1:2], "turnsNextCursor": "t2"}
    last = LADDER.result_up("fetchTurns", {}, {"turns": TURNS[:1], "hasMore": False})
    assert last == {"turns": TURNS[:1]}


def test_an_old_clients_request_for_turns_keeps_its_params() -> None:
    params = {"channel": "c", "before": "t3", "limit": 2}
    assert LADDER.params_up("fetchTurns", params) == params
    # A cursor is nothing that this version knows, so nothing that could be wrong.
    assert LADDER.params_up("fetchTurns", {**params, "cursor": 3}) == params


# What needs input


def test_what_needs_input_is_not_listed() -> None:
    request = {"id": "i", "kind": "chatInput", "chat": "c", "request": {"id": "r"}}
    listed = session(inputNeeded=[request], status=24)
    assert down(OLD, "session", listed) == session(status=24)
    added = {"type": "session/inputNeededSet", "request": request}
    assert sent(OLD, "session", session(), added) == []
    assert sent(OLD, "session", listed, {"type": "session/inputNeededRemoved", "id": "i"}) == []


# Members that are left out


def test_intentions_are_left_out() -> None:
    state = chat(tool_part("running", intention="why"))
    assert "intention" not in down(OLD, "chat", state)["activeTurn"]["responseParts"][0]["toolCall"]
    start = on_call("Start", toolName="n", displayName="N")
    assert sent(OLD, "chat", chat(), {**start, "intention": "why"}) == [start]


REF: Json = {"uri": "res:/a", "nonce": "n"}
BARE: Json = {"uri": "res:/a"}


def with_refs(ref: Json) -> list[tuple[str, Json]]:
    edit = {"before": {"uri": "f", "content": ref}, "after": {"uri": "f", "content": ref}}
    content = [{"type": "resource", **ref}, {"type": "fileEdit", **edit}]
    parts = [
        {"kind": "contentRef", **ref},
        tool_part("completed", content=content),
        tool_part("pending-confirmation", edits={"items": [edit]}),
    ]
    state = chat(*parts, draft=message({"type": "resource", "label": "L", **ref}))
    del state["activeTurn"]["startedAt"]
    files = {"status": "ready", "files": [{"id": "f", "edit": edit}]}
    return [("chat", state), ("changeset", files)]


@pytest.mark.parametrize(
    ("newer", "older"),
    [(new, old) for new, old in zip(with_refs(REF), with_refs(BARE), strict=True)],
    ids=["chat", "changeset"],
)
def test_nonces_are_left_out_of_every_reference(newer: tuple[str, Json], older: Any) -> None:
    assert down(OLD, *newer) == older[1]


def test_nonces_are_left_out_of_actions_and_results() -> None:
    part = {"type": "chat/responsePart", "turnId": "t", "part": {"kind": "contentRef", **REF}}
    assert sent(OLD, "chat", chat(), part)[0]["part"] == {"kind": "contentRef", **BARE}
    edits = {"items": [{"after": {"uri": "f", "content": REF}}]}
    ready = on_call("Ready", invocationMessage="m", edits=edits)
    (told,) = sent(OLD, "chat", chat(tool_part("streaming")), ready)
    assert told["edits"] == {"items": [{"after": {"uri": "f", "content": BARE}}]}
    invoked = LADDER.result_down("invokeChangesetOperation", {}, {"followUp": {"content": REF}})
    assert invoked == {"followUp": {"content": BARE}}


def test_the_nonce_of_a_clients_plugin_is_older_and_stays() -> None:
    plugin = {"type": "plugin", "id": "p", "nonce": "n"}
    state = session(activeClients=[{"clientId": "c", "tools": [], "customizations": [plugin]}])
    (client,) = down(OLD, "session", state)["activeClients"]
    assert client["customizations"] == [{**plugin, "enabled": True}]


def test_agents_have_no_capabilities_models_or_tools() -> None:
    agent = {"type": "agent", "id": "a"}
    plugin = {"type": "plugin", "id": "p", "children": [{**agent, "model": "m", "tools": ["t"]}]}
    newer = {"provider": "x", "capabilities": {"multipleChats": {}}, "customizations": [plugin]}
    older_plugin = {**plugin, "enabled": True, "children": [agent]}
    older = {"provider": "x", "customizations": [older_plugin]}
    assert down(OLD, "root", {"agents": [newer]}) == {"agents": [older]}


# Commands


def test_listing_sessions_knows_no_pages() -> None:
    params = {"channel": "r", "filter": {"x": 1}, "limit": 1}
    assert LADDER.params_up("listSessions", params) == {"channel": "r"}
    paged = {"channel": "r", "limit": 1, "cursor": "c"}
    assert LADDER.params_down("listSessions", paged) == {"channel": "r"}
    result = {"items": [], "nextCursor": "c"}
    assert LADDER.result_down("listSessions", {}, result) == {"items": []}


def test_a_subscription_has_neither_view_nor_delivery() -> None:
    params = {"channel": "c", "view": {"turns": 1}, "delivery": {"maxLatencyMs": 1}}
    assert LADDER.params_up("subscribe", params) == {"channel": "c"}
    assert LADDER.params_down("subscribe", params) == {"channel": "c"}


@pytest.mark.parametrize(
    "action",
    [
        {"type": "session/mcpServerStartRequested", "id": "m"},
        {"type": "session/workingDirectorySet", "directory": "d"},
        {"type": "session/inputNeededRemoved", "id": "i"},
    ],
)
def test_newer_actions_of_an_old_client_are_refused(action: Json) -> None:
    assert OLD in why_not(OLD, "session", session(), action)
