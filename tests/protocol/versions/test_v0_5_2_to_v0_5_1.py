"""Every mapping between 0.5.2 and 0.5.1."""

from __future__ import annotations

from typing import Any

import pytest

from agenthost.protocol.versions import translator
from tests.protocol.versions.samples import (
    Json,
    chat,
    down,
    message,
    on_call,
    sent,
    session,
    tool_part,
    up,
    why_not,
)

OLD = "0.5.1"
LADDER = translator(OLD)

META: Json = {"_meta": {"k": 1}}
TURNED_OFF: Json = {"disableModelInvocation": True, "disableUserInvocation": True}


def child(kind: str, **members: Any) -> Json:
    return {"type": kind, "id": f"p/{kind}", "uri": "u", "name": kind, **members}


def plugin(*children: Json, **members: Any) -> Json:
    return {"type": "plugin", "id": "p", "children": list(children), **members}


def old_plugin(*children: Json) -> Json:
    return plugin(*children, enabled=True)


def server(**members: Any) -> Json:
    return {"type": "mcpServer", "id": "p/mcp", **members}


def toggled(entry_id: str, enabled: bool) -> Json:
    decisions = [{"kind": "session", "enabled": enabled}]
    return {"type": "session/customizationToggled", "id": entry_id, "enablement": decisions}


def old_toggled(entry_id: str, enabled: bool) -> Json:
    return {"type": "session/customizationToggled", "id": entry_id, "enabled": enabled}


# Parts and content


def test_answered_requests_leave_no_trace() -> None:
    part = {"kind": "inputRequest", "request": {"id": "1"}, "response": "accept"}
    markdown = {"kind": "markdown", "id": "p", "content": ""}
    turn = {"id": "u", "message": message(), "state": "complete", "responseParts": [part, markdown]}
    old = down(OLD, "chat", chat(part, markdown, turns=[turn]))
    assert old["activeTurn"]["responseParts"] == [markdown]
    assert old["turns"][0]["responseParts"] == [markdown]
    added = {"type": "chat/responsePart", "turnId": "t", "part": part}
    assert sent(OLD, "chat", chat(), added) == []


def test_open_requests_are_still_listed_beside_the_turns() -> None:
    part = {"kind": "inputRequest", "request": {"id": "1"}}
    assert down(OLD, "chat", chat(part, status=24))["inputRequests"] == [{"id": "1"}]
    added = {"type": "chat/responsePart", "turnId": "t", "part": part}
    assert sent(OLD, "chat", chat(), added)[0]["type"] == "chat/inputRequested"


def test_a_terminals_result_is_not_told() -> None:
    terminal = {"type": "terminal", "resource": "t:/1", "title": "sh"}
    content = [{**terminal, "isPty": True, "result": {"exitCode": 0}}]
    state = chat(tool_part("running", confirmed="setting"))
    changed = on_call("ContentChanged", content=content)
    assert sent(OLD, "chat", state, changed) == [{**changed, "content": [terminal]}]
    held = chat(tool_part("completed", content=content))
    (part,) = down(OLD, "chat", held)["activeTurn"]["responseParts"]
    assert part["toolCall"]["content"] == [terminal]


# Customizations


@pytest.mark.parametrize(
    ("newer", "older"),
    [
        (child("agent", enabled=True, **TURNED_OFF, **META), child("agent", **META)),
        (
            child("skill", enabled=True, **TURNED_OFF, **META),
            child("skill", disableModelInvocation=True),
        ),
        (child("rule", enabled=True, **META), child("rule")),
        (child("hook", **META), child("hook")),
        (server(**META), server(enabled=True)),
    ],
)
def test_new_members_of_children_are_left_out(newer: Json, older: Json) -> None:
    state = session(customizations=[plugin(newer, version="1", **META)])
    expected = [old_plugin(older)]
    assert down(OLD, "session", state)["customizations"] == expected
    updated = {"type": "session/customizationUpdated"}
    newest = {**updated, "customization": plugin(newer, version="1", **META)}
    assert sent(OLD, "session", session(), newest) == [{**updated, "customization": expected[0]}]
    changed = {"type": "session/customizationsChanged", "customizations": [newest["customization"]]}
    assert sent(OLD, "session", session(), changed) == [{**changed, "customizations": expected}]
    root = {"agents": [{"provider": "x", "customizations": [newest["customization"]]}]}
    assert down(OLD, "root", root)["agents"][0]["customizations"] == expected


def test_children_that_are_switched_off_are_not_shown_except_servers() -> None:
    off = [child(kind, enabled=False) for kind in ("agent", "skill", "rule", "prompt", "hook")]
    server_off = server(enablement=[{"kind": "global", "enabled": False}])
    state = session(customizations=[plugin(*off, server_off)])
    assert down(OLD, "session", state)["customizations"] == [old_plugin(server(enabled=False))]


def test_the_plugins_of_clients_are_translated_too() -> None:
    client = {"clientId": "c", "tools": []}
    newer = {**client, "customizations": [plugin(child("rule", enabled=False), version="1")]}
    older = {**client, "customizations": [old_plugin()]}
    assert down(OLD, "session", session(activeClients=[newer]))["activeClients"] == [older]
    added = {"type": "session/activeClientSet", "activeClient": newer}
    assert sent(OLD, "session", session(), added) == [{**added, "activeClient": older}]
    assert LADDER.params_down("createSession", {"activeClient": newer}) == {"activeClient": older}


def test_toggling_a_top_level_customization_stays_as_it_is() -> None:
    state = session(customizations=[plugin()])
    told = [old_toggled("p", False)]
    assert sent(OLD, "session", state, toggled("p", False)) == told
    assert sent(OLD, "session", state, toggled("p", False), sender="client") == told


@pytest.mark.parametrize("enabled", [True, False])
def test_toggling_a_child_sends_its_container_anew(enabled: bool) -> None:
    state = session(customizations=[plugin(child("rule", enabled=not enabled), server())])
    shown = [child("rule")] if enabled else []
    container = old_plugin(*shown, server(enabled=True))
    assert sent(OLD, "session", state, toggled("p/rule", enabled)) == [
        {"type": "session/customizationUpdated", "customization": container}
    ]


def test_toggling_a_server_inside_a_container_sends_the_container_anew() -> None:
    state = session(customizations=[plugin(server())])
    (told,) = sent(OLD, "session", state, toggled("p/mcp", False))
    assert told["customization"] == old_plugin(server(enabled=False))


def test_a_client_cannot_toggle_a_child_at_an_old_host() -> None:
    state = session(customizations=[plugin(child("rule"))])
    assert sent(OLD, "session", state, toggled("p/rule", False), sender="client") == []


@pytest.mark.parametrize(("request_name", "kind"), [("Start", "starting"), ("Stop", "stopped")])
def test_a_request_to_a_server_is_told_as_what_it_does(request_name: str, kind: str) -> None:
    ready = server(state={"kind": "ready"}, channel="mcp:/1")
    state = session(customizations=[plugin(ready)])
    requested = {"type": f"session/mcpServer{request_name}Requested", "id": "p/mcp"}
    expected = {"type": "session/mcpServerStateChanged", "id": "p/mcp", "state": {"kind": kind}}
    assert sent(OLD, "session", state, requested) == [expected]
    assert sent(OLD, "session", state, requested, sender="client") == []
    assert why_not(OLD, "session", state, requested)


# The rest


def test_reviews_are_unknown() -> None:
    state = {"status": "ready", "files": [{"id": "f", "edit": {}}]}
    reviewed = {"type": "changeset/filesReviewChanged", "files": ["f"], "reviewed": True}
    assert sent(OLD, "changeset", state, reviewed) == []
    file_set: Json = {"type": "changeset/fileSet", "file": {"id": "g", "edit": {}}}
    told = sent(
        OLD, "changeset", state, {**file_set, "file": {**file_set["file"], "reviewed": True}}
    )
    assert told == [file_set]
    assert down(OLD, "changeset", state) == state


def test_the_handshake_says_less() -> None:
    result = {"protocolVersion": OLD, "serverSeq": 1, "snapshots": []}
    newer = {**result, "serverInfo": {"name": "x"}, "terminalCommandPrefix": "!"}
    assert LADDER.result_down("initialize", {}, newer) == result
    params = {"clientId": "c"}
    assert LADDER.params_down("initialize", {**params, "clientInfo": {"name": "x"}}) == params
    assert LADDER.params_up("initialize", params) is params


@pytest.mark.parametrize("entry_id", ["p", "p/mcp"])
def test_what_an_old_client_toggles_is_decided_for_the_session(entry_id: str) -> None:
    state = session(customizations=[plugin(server())])
    assert up(OLD, "session", state, old_toggled(entry_id, False)) == toggled(entry_id, False)
