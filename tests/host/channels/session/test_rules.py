"""What clients may do to a session: announce themselves, its directories, its customizations."""

from __future__ import annotations

from typing import Any

import pytest

from agenthost.host.channels.rule_context import RuleContext
from agenthost.host.channels.ruled_kind import check
from agenthost.host.channels.session.rules import decides_for_others, decisions_in_order

State = Any
ME = "me"
FIRST, SECOND = "file:///first", "file:///second"
MULTIPLE: State = {"multipleWorkingDirectories": {}}
FIXED: State = {"multipleWorkingDirectories": {"immutablePrimary": True}}


def refusal(state: State, action: State, capabilities: State | None = None) -> str | None:
    return check(state, action, RuleContext(ME, state, capabilities or {}))


def test_a_client_announces_itself_only() -> None:
    def announce(client: str) -> State:
        return {"type": "session/activeClientSet", "activeClient": {"clientId": client}}

    assert refusal({}, announce(ME)) is None
    assert refusal({}, announce("other")) == "a client may only announce itself"


def test_a_client_withdraws_itself_only() -> None:
    def withdraw(client: str) -> State:
        return {"type": "session/activeClientRemoved", "clientId": client}

    assert refusal({}, withdraw(ME)) is None
    assert refusal({}, withdraw("other")) == "a client may only withdraw itself"


@pytest.mark.parametrize("name", ["Set", "Removed"])
def test_changing_directories_takes_an_agent_that_supports_it(name: str) -> None:
    action = {"type": f"session/workingDirectory{name}", "directory": SECOND}
    state = {"workingDirectories": [FIRST, SECOND]}
    reason = "the agent does not support changing working directories"
    assert refusal(state, action) == reason
    assert refusal(state, action, {"multipleChats": {}}) == reason
    assert refusal(state, action, MULTIPLE) is None
    assert refusal(state, action, FIXED) is None


def test_an_immutable_primary_directory_stays() -> None:
    action = {"type": "session/workingDirectoryRemoved", "directory": FIRST}
    state = {"workingDirectories": [FIRST, SECOND]}
    assert refusal(state, action, FIXED) == "the first working directory cannot be removed"
    assert refusal(state, action, MULTIPLE) is None
    assert refusal({"workingDirectories": [SECOND, FIRST]}, action, FIXED) is None
    assert refusal({"workingDirectories": []}, action, FIXED) is None
    assert refusal({}, action, FIXED) is None


REPLACEABLE: State = {"multipleWorkingDirectories": {"primaryReplacement": True}}
BOTH: State = {"multipleWorkingDirectories": {"primaryReplacement": True, "immutablePrimary": True}}


def replaced(directory: str) -> State:
    return {
        "type": "session/workingDirectoryReplaced",
        "directory": directory,
        "replacement": "file:///new",
    }


@pytest.mark.parametrize(
    ("capabilities", "directory", "reason"),
    [
        ({}, SECOND, "the agent does not support changing working directories"),
        ({"multipleChats": {}}, FIRST, "the agent does not support changing working directories"),
        (MULTIPLE, SECOND, None),
        (MULTIPLE, FIRST, "the first working directory cannot be replaced"),
        (FIXED, SECOND, None),
        (FIXED, FIRST, "the first working directory cannot be replaced"),
        (REPLACEABLE, FIRST, None),
        (REPLACEABLE, SECOND, None),
        (BOTH, FIRST, None),
        (BOTH, "file:///third", "the session has no such working directory"),
    ],
)
def test_which_directories_can_be_replaced(
    capabilities: State, directory: str, reason: str | None
) -> None:
    state = {"workingDirectories": [FIRST, SECOND]}
    assert refusal(state, replaced(directory), capabilities) == reason


@pytest.mark.parametrize("state", [{}, {"workingDirectories": []}])
def test_where_there_is_no_directory_none_is_replaced(state: State) -> None:
    reason = "the session has no such working directory"
    assert refusal(state, replaced(FIRST), REPLACEABLE) == reason


@pytest.mark.parametrize("capabilities", [REPLACEABLE, BOTH])
def test_a_primary_directory_that_can_be_replaced_cannot_be_removed(capabilities: State) -> None:
    state = {"workingDirectories": [FIRST, SECOND]}
    removed = {"type": "session/workingDirectoryRemoved", "directory": FIRST}
    reason = "the first working directory can only be replaced"
    assert refusal(state, removed, capabilities) == reason
    assert refusal(state, {**removed, "directory": SECOND}, capabilities) is None


def test_a_replacement_is_no_longer_than_a_uri() -> None:
    action = {**replaced(FIRST), "replacement": "file:///" + "x" * 1_000_000}
    reason = "replacement is longer than 8,192 characters"
    assert refusal({"workingDirectories": [FIRST]}, action, REPLACEABLE) == reason


CUSTOMIZED: State = {
    "customizations": [
        {"type": "mcpServer", "id": "server"},
        {"type": "directory", "id": "folder"},
        {
            "type": "plugin",
            "id": "plugin",
            "children": [{"type": "skill", "id": "skill"}, {"type": "mcpServer", "id": "inner"}],
        },
    ]
}


def test_a_customization_that_is_toggled_must_be_there_at_any_level() -> None:
    def toggle(id: str) -> State:
        return {"type": "session/customizationToggled", "id": id, "enablement": []}

    for id in ("server", "folder", "plugin", "skill", "inner"):
        assert refusal(CUSTOMIZED, toggle(id)) is None
    assert refusal(CUSTOMIZED, toggle("x")) == "there is no customization x"
    assert refusal({}, toggle("plugin")) == "there is no customization plugin"


def toggled(id: str, *decisions: State) -> State:
    return {"type": "session/customizationToggled", "id": id, "enablement": list(decisions)}


def decision(scope: str, on: bool = False, **more: str) -> State:
    return {"kind": scope, "enabled": on, **more}


def test_a_decision_is_for_a_scope_of_this_session_once() -> None:
    state = {**CUSTOMIZED, "workingDirectories": [FIRST, SECOND]}
    here = decision("workspace", uri=FIRST)
    assert refusal(state, toggled("plugin", decision("session"), here, decision("global"))) is None
    refused = {
        "there are two decisions for the global scope": [decision("global"), decision("global")],
        "nothing can be decided for planet": [decision("planet")],
        f"{SECOND} is not where this session works: the workspace of this session is {FIRST}": [
            decision("workspace", uri=SECOND)
        ],
    }
    for reason, decisions in refused.items():
        assert refusal(state, toggled("plugin", *decisions)) == reason
    reason = f"{FIRST} is not where this session works: it has no workspace"
    assert refusal(CUSTOMIZED, toggled("plugin", here)) == reason


def test_what_holds_everywhere_for_a_published_plugin_its_own_client_decides() -> None:
    def published(client: str) -> State:
        plugin = {"type": "plugin", "id": "p", "name": "Box", "clientId": client}
        on = [decision("global", True)]
        skill = {"type": "skill", "id": "s", "name": "one"}
        return {"customizations": [{**plugin, "enablement": on, "children": [skill]}]}

    off = toggled("p", decision("global"))
    reason = "whether Box is on everywhere, its own client decides"
    assert refusal(published("other"), off) == reason
    assert refusal(published("other"), toggled("p")) == reason
    assert refusal(published(ME), off) is None
    # Its parts too: another client may publish the same, which this would hold for as well.
    part = toggled("s", decision("global"))
    assert refusal(published("other"), part) == (
        "whether one is on everywhere, its own client decides"
    )
    assert refusal(published(ME), part) is None
    kept = toggled("p", decision("session"), decision("global", True))
    assert refusal(published("other"), kept) is None


def test_who_is_no_owner_changes_no_decision_that_holds_elsewhere() -> None:
    def decides(*decisions: State) -> str | None:
        plugin = {"type": "plugin", "id": "p", "enablement": [decision("global")]}
        skill = {"type": "skill", "id": "s"}
        state: State = {"customizations": [{**plugin, "children": [skill]}]}
        id = "s" if decisions[:1] == ("s",) else "p"
        given = [each for each in decisions if each != "s"]
        return decides_for_others(state, toggled(id, *given), RuleContext(ME, state))

    assert decides(decision("session", True), decision("global")) is None
    assert decides("s", decision("session")) is None
    reason = "only an owner decides what is on in other sessions; decide for this session"
    assert decides(decision("session", True)) == reason
    assert decides(decision("global", True)) == reason
    assert decides("s", decision("workspace", uri=FIRST)) == reason
    all_back = "only an owner takes back what may be decided elsewhere; decide for this session"
    assert decides("s") == all_back


def test_decisions_are_told_in_the_order_in_which_they_count() -> None:
    session, here, everywhere = (decision(s) for s in ("session", "workspace", "global"))
    assert decisions_in_order([everywhere, session, here]) == [session, here, everywhere]


@pytest.mark.parametrize("name", ["Start", "Stop", "Background"])
def test_only_an_mcp_server_is_started_and_stopped(name: str) -> None:
    def ask(id: str) -> State:
        return {"type": f"session/mcpServer{name}Requested", "id": id}

    assert refusal(CUSTOMIZED, ask("server")) is None
    assert refusal(CUSTOMIZED, ask("inner")) is None
    for id in ("plugin", "skill", "x"):
        assert refusal(CUSTOMIZED, ask(id)) == f"there is no MCP server {id}"
    assert refusal({}, ask("server")) == "there is no MCP server server"


@pytest.mark.parametrize(
    "action",
    [
        {"type": "session/titleChanged", "title": ""},
        {"type": "session/isReadChanged", "isRead": True},
        {"type": "session/isArchivedChanged", "isArchived": False},
    ],
)
def test_titles_and_flags_are_anybodys(action: State) -> None:
    # Types are checked where the message comes in.
    assert refusal({"status": 1}, action) is None
