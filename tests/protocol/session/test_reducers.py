"""The session channel's reducers, action by action."""

from __future__ import annotations

from typing import Any

import pytest

from tests.protocol.samples import (
    ERROR,
    IDLE,
    IN_PROGRESS,
    INPUT_NEEDED,
    IS_ARCHIVED,
    IS_READ,
    THEN,
    UNKNOWN_BIT,
    changes_nothing,
    reduced,
    session,
)

FIRST = {"resource": "ahp-chat:/1", "title": "One", "status": 1, "modifiedAt": THEN}
SECOND = {"resource": "ahp-chat:/2", "title": "Two", "status": 1, "modifiedAt": THEN}
LAPTOP = {"clientId": "laptop", "tools": [{"name": "open"}]}
PHONE = {"clientId": "phone", "tools": []}
PROMPT = {"id": "p1", "kind": "chatInput", "chat": "ahp-chat:/1", "request": {"id": "q"}}
OTHER_PROMPT = {"id": "p2", "kind": "chatInput", "chat": "ahp-chat:/1", "request": {"id": "r"}}
SERVER = {
    "id": "mcp",
    "type": "mcpServer",
    "uri": "file:///mcp",
    "name": "Server",
    "state": {"kind": "ready"},
    "channel": "mcp://1",
}
SKILL = {"id": "skill", "type": "skill", "uri": "file:///s", "name": "Skill"}
CHILD_SERVER = {**SERVER, "id": "child-mcp"}
PLUGIN = {
    "id": "plugin",
    "type": "plugin",
    "uri": "file:///p",
    "name": "Plugin",
    "children": [SKILL, CHILD_SERVER],
}
UNPARSED = {"id": "unparsed", "type": "plugin", "uri": "file:///u", "name": "U"}
TREE = [UNPARSED, PLUGIN, SERVER]


def test_becoming_ready_changes_the_lifecycle_alone() -> None:
    creating = session(lifecycle="creating", status=IN_PROGRESS, creationError={"message": "x"})
    assert reduced(creating, {"type": "session/ready"}) == {**creating, "lifecycle": "ready"}


def test_a_failed_creation_is_recorded_with_its_error() -> None:
    error = {"errorType": "spawn", "message": "no such agent"}
    state = reduced(
        session(lifecycle="creating"), {"type": "session/creationFailed", "error": error}
    )
    assert (state["lifecycle"], state["creationError"]) == ("failed", error)


def test_an_added_chat_is_appended() -> None:
    state = reduced(session(chats=[FIRST]), {"type": "session/chatAdded", "summary": SECOND})
    assert state["chats"] == [FIRST, SECOND]


def test_a_chat_added_again_replaces_its_entry_whole_and_in_place() -> None:
    busy = {**FIRST, "activity": "thinking"}
    state = reduced(
        session(chats=[busy, SECOND]),
        {"type": "session/chatAdded", "summary": {**FIRST, "title": "Renamed"}},
    )
    assert state["chats"] == [{**FIRST, "title": "Renamed"}, SECOND]


def test_removing_a_chat_removes_the_default_that_named_it_and_leaves_its_prompts() -> None:
    before = session(chats=[FIRST, SECOND], defaultChat="ahp-chat:/1", inputNeeded=[PROMPT])
    state = reduced(before, {"type": "session/chatRemoved", "chat": "ahp-chat:/1"})
    assert state["chats"] == [SECOND]
    assert "defaultChat" not in state
    assert state["inputNeeded"] == [PROMPT]


def test_removing_a_chat_keeps_a_default_that_names_another() -> None:
    before = session(chats=[FIRST, SECOND], defaultChat="ahp-chat:/2")
    state = reduced(before, {"type": "session/chatRemoved", "chat": "ahp-chat:/1"})
    assert state["defaultChat"] == "ahp-chat:/2"


def test_updating_a_chat_merges_what_is_given_and_never_its_identity() -> None:
    changes = {"resource": "ahp-chat:/9", "status": 8, "activity": ""}
    state = reduced(
        session(chats=[FIRST, SECOND]),
        {"type": "session/chatUpdated", "chat": "ahp-chat:/2", "changes": changes},
    )
    assert state["chats"] == [FIRST, {**SECOND, "status": 8, "activity": ""}]


def test_a_chat_update_may_use_any_name_for_a_field_that_we_do_not_know() -> None:
    changes = {"state": 1, "key": 2, "members": 3}
    action = {"type": "session/chatUpdated", "chat": "ahp-chat:/1", "changes": changes}
    assert reduced(session(chats=[FIRST]), action)["chats"] == [{**FIRST, **changes}]


@pytest.mark.parametrize(
    ("name", "field", "bit"),
    [("isReadChanged", "isRead", IS_READ), ("isArchivedChanged", "isArchived", IS_ARCHIVED)],
)
def test_a_flag_is_set_and_cleared_while_every_other_bit_stays(
    name: str, field: str, bit: int
) -> None:
    before = session(status=ERROR | UNKNOWN_BIT)
    marked = reduced(before, {"type": f"session/{name}", field: True})
    assert marked["status"] == ERROR | UNKNOWN_BIT | bit
    assert reduced(marked, {"type": f"session/{name}", field: False}) == before


def test_config_values_merge_one_level_deep() -> None:
    config = {"schema": {"type": "object"}, "values": {"a": {"x": 1}, "b": 2}}
    state = reduced(
        session(config=config), {"type": "session/configChanged", "config": {"a": {"y": None}}}
    )
    assert state["config"] == {**config, "values": {"a": {"y": None}, "b": 2}}


def test_config_values_are_replaced_when_the_action_says_so() -> None:
    config = {"schema": {"type": "object"}, "values": {"a": 1, "b": 2}}
    action = {"type": "session/configChanged", "config": {"c": 3}, "replace": True}
    assert reduced(session(config=config), action)["config"] == {**config, "values": {"c": 3}}


def test_a_config_value_that_turns_from_one_to_true_is_a_change() -> None:
    before = session(config={"schema": {}, "values": {"a": 1}})
    state = reduced(before, {"type": "session/configChanged", "config": {"a": True}})
    assert state["config"]["values"]["a"] is True


def test_an_active_client_is_added_and_then_replaced_whole() -> None:
    state = reduced(session(activeClients=[LAPTOP]), _client_set(PHONE))
    assert state["activeClients"] == [LAPTOP, PHONE]
    state = reduced(state, _client_set({"clientId": "laptop"}))
    assert state["activeClients"] == [{"clientId": "laptop"}, PHONE]


def test_an_active_client_is_removed() -> None:
    action = {"type": "session/activeClientRemoved", "clientId": "laptop"}
    assert reduced(session(activeClients=[LAPTOP, PHONE]), action)["activeClients"] == [PHONE]


def test_a_working_directory_creates_the_set_and_the_emptied_set_stays() -> None:
    state = reduced(session(), {"type": "session/workingDirectorySet", "directory": "file:///a"})
    assert state["workingDirectories"] == ["file:///a"]
    state = reduced(state, {"type": "session/workingDirectoryRemoved", "directory": "file:///a"})
    assert state["workingDirectories"] == []


def test_only_the_first_of_a_repeated_directory_is_removed() -> None:
    before = session(workingDirectories=["file:///a", "file:///b", "file:///a"])
    state = reduced(before, {"type": "session/workingDirectoryRemoved", "directory": "file:///a"})
    assert state["workingDirectories"] == ["file:///b", "file:///a"]


def test_a_prompt_makes_the_session_need_input_and_erases_an_error() -> None:
    state = reduced(session(status=ERROR | IS_READ), _needed(PROMPT))
    assert state["inputNeeded"] == [PROMPT]
    assert state["status"] == INPUT_NEEDED | IS_READ


def test_a_prompt_is_replaced_in_place() -> None:
    changed = {**PROMPT, "request": {"id": "q", "message": "now"}}
    state = reduced(session(inputNeeded=[PROMPT, OTHER_PROMPT]), _needed(changed))
    assert state["inputNeeded"] == [changed, OTHER_PROMPT]


def test_an_idle_session_is_left_in_progress_by_the_last_prompt() -> None:
    state = reduced(session(status=IDLE | IS_ARCHIVED), _needed(PROMPT), _unneeded("p1"))
    assert state["status"] == IN_PROGRESS | IS_ARCHIVED
    assert "inputNeeded" not in state


def test_a_session_still_needs_input_while_a_prompt_is_left() -> None:
    before = session(status=IDLE, inputNeeded=[PROMPT, OTHER_PROMPT])
    state = reduced(before, _unneeded("p1"))
    assert (state["inputNeeded"], state["status"]) == ([OTHER_PROMPT], INPUT_NEEDED)


def test_a_toggle_finds_the_top_level_first_and_then_the_first_child() -> None:
    twin = {**PLUGIN, "id": "twin"}
    before = session(customizations=[*TREE, twin])
    assert reduced(before, _toggled("plugin"))["customizations"][1] == {**PLUGIN, **OFF}
    state = reduced(before, _toggled("skill"))
    assert state["customizations"][1]["children"] == [{**SKILL, "enabled": False}, CHILD_SERVER]
    assert state["customizations"][3] == twin


def test_a_top_level_entry_hides_a_child_of_the_same_id() -> None:
    hiding = {**UNPARSED, "id": "skill"}
    state = reduced(session(customizations=[PLUGIN, hiding]), _toggled("skill"))
    assert state["customizations"] == [PLUGIN, {**hiding, **OFF}]


ON = {"kind": "global", "enabled": True}
NOT_HERE = {"kind": "session", "enabled": False}
OFF = {"enablement": [NOT_HERE]}
FOLDER = {
    "id": "folder",
    "type": "directory",
    "uri": "file:///f",
    "name": "Folder",
    "enabled": True,
    "contents": "skill",
    "writable": False,
}


@pytest.mark.parametrize("entry_id", ["plugin", "mcp", "child-mcp"])
def test_plugins_and_servers_keep_the_decisions_as_they_were_given(entry_id: str) -> None:
    before = session(customizations=TREE)
    state = reduced(before, _decided(entry_id, NOT_HERE, ON))
    assert _entry(state, entry_id) == {**_entry(before, entry_id), "enablement": [NOT_HERE, ON]}
    assert changes_nothing(state, _decided(entry_id, NOT_HERE, ON))
    assert reduced(state, _decided(entry_id)) == before


@pytest.mark.parametrize(
    ("decisions", "enabled"), [([NOT_HERE, ON], False), ([ON, NOT_HERE], True), ([], True)]
)
@pytest.mark.parametrize("entry_id", ["folder", "skill"])
def test_everything_else_keeps_what_the_first_decision_says(
    entry_id: str, decisions: list[Any], enabled: bool
) -> None:
    before = session(customizations=[FOLDER, PLUGIN])
    state = reduced(before, _decided(entry_id, *decisions))
    assert _entry(state, entry_id) == {**_entry(before, entry_id), "enabled": enabled}


@pytest.mark.parametrize("nothing", [{}, {"enablement": None}, {"enabled": False}])
def test_a_toggle_that_decides_nothing_changes_nothing(nothing: dict[str, Any]) -> None:
    action = {"type": "session/customizationToggled", "id": "plugin", **nothing}
    assert changes_nothing(session(customizations=TREE), action)


WAITED_FOR = {"kind": "starting", "blocking": True}


@pytest.mark.parametrize("entry_id", ["mcp", "child-mcp"])
def test_a_server_that_starts_in_the_background_is_waited_for_no_longer(entry_id: str) -> None:
    waiting = reduced(session(customizations=TREE), _report(entry_id, WAITED_FOR))
    state = reduced(waiting, {"type": "session/mcpServerBackgroundRequested", "id": entry_id})
    assert _entry(state, entry_id)["state"] == {"kind": "starting", "blocking": False}


@pytest.mark.parametrize(
    "server", [{"kind": "ready"}, {"kind": "starting"}, {"kind": "starting", "blocking": False}]
)
def test_only_a_server_that_holds_the_session_up_can_be_sent_to_the_background(server: Any) -> None:
    state = reduced(session(customizations=TREE), _report("mcp", server))
    assert changes_nothing(state, {"type": "session/mcpServerBackgroundRequested", "id": "mcp"})


def test_chats_take_the_given_order_and_stay_as_they_are() -> None:
    before = session(chats=[FIRST, SECOND], defaultChat="ahp-chat:/1")
    state = reduced(before, _reordered("ahp-chat:/2", "ahp-chat:/1"))
    assert state == {**before, "chats": [SECOND, FIRST]}
    assert state["chats"][0] is before["chats"][1]
    assert changes_nothing(before, _reordered("ahp-chat:/1", "ahp-chat:/2"))


@pytest.mark.parametrize(
    "order",
    [
        [],
        ["ahp-chat:/2"],
        ["ahp-chat:/2", "ahp-chat:/2"],
        ["ahp-chat:/2", "ahp-chat:/3"],
        ["ahp-chat:/2", "ahp-chat:/1", "ahp-chat:/1"],
    ],
)
def test_an_order_that_does_not_name_every_chat_once_is_ignored(order: list[str]) -> None:
    assert changes_nothing(session(chats=[FIRST, SECOND]), _reordered(*order))


@pytest.mark.parametrize(
    ("old", "new", "left"),
    [
        ("a", "x", ["x", "b", "c"]),
        ("b", "x", ["a", "x", "c"]),
        ("a", "c", ["c", "b"]),
        ("c", "a", ["a", "b"]),
        ("b", "b", ["a", "b", "c"]),
    ],
)
def test_a_directory_takes_the_place_of_another(old: str, new: str, left: list[str]) -> None:
    action = {"type": "session/workingDirectoryReplaced", "directory": old, "replacement": new}
    state = reduced(session(workingDirectories=["a", "b", "c"]), action)
    assert state["workingDirectories"] == left


@pytest.mark.parametrize("members", [{}, {"workingDirectories": ["a"]}])
def test_a_directory_that_is_not_there_cannot_be_replaced(members: dict[str, Any]) -> None:
    action = {"type": "session/workingDirectoryReplaced", "directory": "b", "replacement": "c"}
    assert changes_nothing(session(**members), action)


CLIENTS_TURN = {"id": "p3", "kind": "toolClientExecution", "chat": "ahp-chat:/1", "clientId": "c"}


def test_a_client_that_is_to_run_a_tool_is_no_person_who_must_answer() -> None:
    state = reduced(session(status=IN_PROGRESS), _needed(CLIENTS_TURN))
    assert (state["inputNeeded"], state["status"]) == ([CLIENTS_TURN], IN_PROGRESS)
    state = reduced(state, _needed(PROMPT))
    assert state["status"] == INPUT_NEEDED
    state = reduced(state, _unneeded("p1"))
    assert (state["inputNeeded"], state["status"]) == ([CLIENTS_TURN], IN_PROGRESS)


def test_an_updated_customization_is_replaced_with_its_children() -> None:
    bare = {key: value for key, value in PLUGIN.items() if key != "children"}
    state = reduced(session(customizations=TREE), _customization(bare))
    assert state["customizations"] == [UNPARSED, bare, SERVER]


def test_an_update_never_looks_at_children() -> None:
    state = reduced(session(customizations=TREE), _customization(SKILL))
    assert state["customizations"] == [*TREE, SKILL]
    assert reduced(session(), _customization(SKILL))["customizations"] == [SKILL]


def test_a_removed_container_takes_its_children_along() -> None:
    action = {"type": "session/customizationRemoved", "id": "plugin"}
    assert reduced(session(customizations=TREE), action)["customizations"] == [UNPARSED, SERVER]


def test_a_removed_child_leaves_every_container_that_has_it() -> None:
    twin = {**PLUGIN, "id": "twin"}
    action = {"type": "session/customizationRemoved", "id": "skill"}
    state = reduced(session(customizations=[PLUGIN, twin]), action)
    assert [entry["children"] for entry in state["customizations"]] == [[CHILD_SERVER]] * 2


@pytest.mark.parametrize("server_id", ["mcp", "child-mcp"])
def test_a_server_report_replaces_state_and_channel(server_id: str) -> None:
    error = {"kind": "error", "error": {"errorType": "x", "message": "y"}}
    state = reduced(session(customizations=TREE), _report(server_id, error, channel="mcp://2"))
    assert _entry(state, server_id)["state"] == error
    assert _entry(state, server_id)["channel"] == "mcp://2"


@pytest.mark.parametrize("server_id", ["mcp", "child-mcp"])
@pytest.mark.parametrize(
    ("name", "kind"),
    [("mcpServerStartRequested", "starting"), ("mcpServerStopRequested", "stopped")],
)
def test_a_request_shows_its_outcome_early_and_drops_the_channel(
    server_id: str, name: str, kind: str
) -> None:
    before = session(customizations=TREE)
    entry = _entry(reduced(before, {"type": f"session/{name}", "id": server_id}), server_id)
    expected = {**_entry(before, server_id), "state": {"kind": kind}}
    del expected["channel"]
    assert entry == expected


def test_a_top_level_entry_that_is_no_server_ends_the_search() -> None:
    hiding = {**UNPARSED, "id": "child-mcp"}
    before = session(customizations=[hiding, PLUGIN])
    assert changes_nothing(before, _report("child-mcp", {"kind": "stopped"}))


FULL = session(
    chats=[FIRST],
    defaultChat="ahp-chat:/1",
    activity="thinking",
    changesets=[],
    config={"schema": {}, "values": {"a": 1}},
    _meta={"k": None},
    serverTools=[],
    activeClients=[LAPTOP],
    workingDirectories=["file:///a"],
    inputNeeded=[PROMPT],
    customizations=TREE,
    status=INPUT_NEEDED,
)
FAILURE = {"errorType": "e", "message": "m"}


def _client_set(client: Any) -> dict[str, Any]:
    return {"type": "session/activeClientSet", "activeClient": client}


def _needed(request: Any) -> dict[str, Any]:
    return {"type": "session/inputNeededSet", "request": request}


def _unneeded(request_id: str) -> dict[str, Any]:
    return {"type": "session/inputNeededRemoved", "id": request_id}


def _toggled(entry_id: str) -> dict[str, Any]:
    return _decided(entry_id, NOT_HERE)


def _decided(entry_id: str, *decisions: Any) -> dict[str, Any]:
    return {"type": "session/customizationToggled", "id": entry_id, "enablement": [*decisions]}


def _reordered(*chats: str) -> dict[str, Any]:
    return {"type": "session/chatsReordered", "chats": [*chats]}


def _customization(entry: Any) -> dict[str, Any]:
    return {"type": "session/customizationUpdated", "customization": entry}


def _report(server_id: str, state: Any, **members: Any) -> dict[str, Any]:
    return {"type": "session/mcpServerStateChanged", "id": server_id, "state": state, **members}


def _entry(state: Any, entry_id: str) -> dict[str, Any]:
    children = [child for entry in state["customizations"] for child in entry.get("children", [])]
    [found] = [entry for entry in [*state["customizations"], *children] if entry["id"] == entry_id]
    return dict(found)


@pytest.mark.parametrize(
    ("state", "action"),
    [
        (FULL, {"type": "session/ready"}),
        (
            session(lifecycle="failed", creationError=FAILURE),
            {"type": "session/creationFailed", "error": FAILURE},
        ),
        (FULL, {"type": "session/chatAdded", "summary": dict(FIRST)}),
        (FULL, {"type": "session/chatRemoved", "chat": "ahp-chat:/none"}),
        (
            FULL,
            {"type": "session/chatUpdated", "chat": "ahp-chat:/none", "changes": {"title": "x"}},
        ),
        (FULL, {"type": "session/chatUpdated", "chat": "ahp-chat:/1", "changes": {"title": "One"}}),
        (FULL, {"type": "session/chatUpdated", "chat": "ahp-chat:/1", "changes": {}}),
        (
            FULL,
            {"type": "session/chatUpdated", "chat": "ahp-chat:/1", "changes": {"resource": "x"}},
        ),
        (FULL, {"type": "session/defaultChatChanged", "defaultChat": "ahp-chat:/1"}),
        (session(), {"type": "session/defaultChatChanged"}),
        (FULL, {"type": "session/titleChanged", "title": "A session"}),
        (FULL, {"type": "session/isReadChanged", "isRead": False}),
        (session(status=33), {"type": "session/isReadChanged", "isRead": True}),
        (FULL, {"type": "session/isArchivedChanged", "isArchived": False}),
        (session(status=65), {"type": "session/isArchivedChanged", "isArchived": True}),
        (FULL, {"type": "session/activityChanged", "activity": "thinking"}),
        (session(), {"type": "session/activityChanged"}),
        (FULL, {"type": "session/changesetsChanged", "changesets": []}),
        (session(), {"type": "session/changesetsChanged"}),
        (session(), {"type": "session/configChanged", "config": {"a": 1}}),
        (session(config=None), {"type": "session/configChanged", "config": {"a": 1}}),
        (FULL, {"type": "session/configChanged", "config": {"a": 1}}),
        (FULL, {"type": "session/configChanged", "config": {}}),
        (FULL, {"type": "session/configChanged", "config": {"a": 1}, "replace": True}),
        (FULL, {"type": "session/metaChanged", "_meta": {"k": None}}),
        (session(), {"type": "session/metaChanged"}),
        (FULL, {"type": "session/serverToolsChanged", "tools": []}),
        (FULL, _client_set(dict(LAPTOP))),
        (FULL, {"type": "session/activeClientRemoved", "clientId": "nobody"}),
        (FULL, {"type": "session/workingDirectorySet", "directory": "file:///a"}),
        (FULL, {"type": "session/workingDirectoryRemoved", "directory": "file:///b"}),
        (session(), {"type": "session/workingDirectoryRemoved", "directory": "file:///b"}),
        (FULL, _needed(dict(PROMPT))),
        (FULL, _unneeded("none")),
        (session(), _unneeded("p1")),
        (FULL, {"type": "session/customizationsChanged", "customizations": list(TREE)}),
        (FULL, _toggled("none")),
        (FULL, _decided("plugin")),
        (session(), _toggled("plugin")),
        (FULL, _customization(dict(PLUGIN))),
        (FULL, {"type": "session/customizationRemoved", "id": "none"}),
        (session(), {"type": "session/customizationRemoved", "id": "plugin"}),
        (FULL, _report("mcp", {"kind": "ready"}, channel="mcp://1")),
        (FULL, _report("none", {"kind": "ready"})),
        (FULL, _report("plugin", {"kind": "ready"})),
        (FULL, _report("skill", {"kind": "ready"})),
        (session(), _report("mcp", {"kind": "ready"})),
        (FULL, {"type": "session/mcpServerStartRequested", "id": "none"}),
        (FULL, {"type": "session/mcpServerStartRequested", "id": "plugin"}),
        (session(), {"type": "session/mcpServerStartRequested", "id": "mcp"}),
        (FULL, {"type": "session/mcpServerStopRequested", "id": "none"}),
        (FULL, {"type": "session/mcpServerStopRequested", "id": "skill"}),
        (session(), {"type": "session/mcpServerStopRequested", "id": "mcp"}),
        (session(), {"type": "session/nobodyKnowsThis"}),
    ],
    ids=lambda value: value.get("type", ""),
)
def test_what_changes_nothing_gives_back_the_same_object(
    state: Any, action: dict[str, Any]
) -> None:
    assert changes_nothing(state, action)


def test_an_entry_that_does_not_change_is_shared() -> None:
    before = session(chats=[FIRST, SECOND], customizations=TREE)
    state = reduced(
        before, {"type": "session/chatUpdated", "chat": "ahp-chat:/2", "changes": {"title": "x"}}
    )
    assert state["customizations"] is before["customizations"]
    assert state["chats"][0] is before["chats"][0]
