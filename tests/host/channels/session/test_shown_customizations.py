"""What of the customizations that a session shows can be used, and under which name."""

from __future__ import annotations

from typing import Any

from agenthost.host.channels.session.shown_customizations import (
    entries_of_former_servers,
    find_customization,
    offered_customizations,
    usable_customizations,
)

NOTHING: Any = {}
OFF: Any = [{"kind": "session", "enabled": False}, {"kind": "global", "enabled": True}]


def skill(name: str, **more: Any) -> Any:
    return {"type": "skill", "id": name, "uri": f"file:///{name}", "name": name, **more}


SESSION: Any = {
    "customizations": [
        {"type": "mcpServer", "id": "server", "name": "server", "children": [skill("inside")]},
        {
            "type": "directory",
            "id": "d",
            "name": "Skills",
            "enabled": True,
            "children": [
                skill("a"),
                skill("off", enabled=False),
                skill("broken", _meta={"agenthost/problem": "line 3"}),
                skill("models", disableUserInvocation=True),
                {**skill("agent"), "type": "agent"},
            ],
        },
        {"type": "directory", "id": "e", "name": "e", "enabled": False, "children": [skill("x")]},
        {"type": "plugin", "id": "p", "name": "box", "clientId": "c", "children": [skill("b")]},
        {"type": "plugin", "id": "q", "name": "q", "enablement": OFF, "children": [skill("y")]},
        {"type": "plugin", "id": "r", "name": "unread"},
    ]
}


def test_what_is_off_or_broken_or_in_something_that_is_off_is_not_used() -> None:
    names = [each.name for each in usable_customizations(SESSION, "skill")]
    assert names == ["a", "models", "box:b"]
    assert [each.name for each in offered_customizations(SESSION, "skill")] == ["a", "box:b"]
    both = usable_customizations(SESSION, "skill", "agent")
    assert "agent" in [each.name for each in both]
    assert not list(usable_customizations(None, "skill"))
    assert not list(usable_customizations(NOTHING, "skill"))


def test_an_entry_is_found_on_either_level_with_who_published_it() -> None:
    found = {id: find_customization(SESSION, id) for id in ("p", "b", "a", "server", "inside", "z")}
    assert [found["inside"], found["z"]] == [None, None]
    publishers = {id: each[1] for id, each in found.items() if each is not None}
    assert publishers == {"p": "c", "b": "c", "a": None, "server": None}
    assert find_customization(NOTHING, "p") is None


def server(**more: Any) -> Any:
    return {"type": "mcpServer", "id": "s", "uri": "file:///s", "name": "s", **more}


def test_servers_of_a_stored_session_are_shown_as_they_are_without_it_in_memory() -> None:
    stopped = {"state": {"kind": "stopped"}}
    bad = {"state": {"kind": "error", "error": {}}, "_meta": {"agenthost/problem": "line 3"}}
    ran = {"state": {"kind": "ready"}, "channel": "mcp://s", "mcpApp": {"capabilities": {}}}
    source = {"agentHost.mcpServerSource": "user"}
    top = server(**ran, _meta={"agenthost/log": "ahp-terminal:/gone", **source})
    starting = server(state={"kind": "starting"}, _meta={"agenthost/log": "ahp-terminal:/gone"})
    box: Any = {"type": "plugin", "id": "p", "name": "p", "children": [skill("a"), starting]}
    state: Any = {"customizations": [server(**stopped), server(**bad), skill("b"), top, box]}
    assert list(entries_of_former_servers(state)) == [
        server(**stopped, _meta=source),
        {**box, "children": [skill("a"), server(**stopped)]},
    ]
    assert not list(entries_of_former_servers(NOTHING))
    assert not list(
        entries_of_former_servers(SESSION | {"customizations": [box | {"children": []}]})
    )
