"""Every mapping between 0.8.0 and 0.7.0."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agenthost.errors import InvalidParams
from agenthost.protocol.inbound import accept_action, accept_params
from agenthost.protocol.versions import (
    SUPPORTED_VERSIONS,
    Untranslatable,
    reduce,
    sequence_numbers_needed,
    translator,
)
from agenthost.protocol.versions.echo import echo
from agenthost.protocol.versions.v0_8_0_to_v0_7_0.directories import MOST_MOVED
from tests.protocol.versions.samples import (
    NOW,
    Json,
    down,
    followed,
    sent,
    session,
    up,
    why_not,
)

OLD = "0.7.0"
OLDER = SUPPORTED_VERSIONS[SUPPORTED_VERSIONS.index(OLD) :]
LADDER = translator(OLD)

# Whether customizations are on

SESSION_OFF = {"kind": "session", "enabled": False}
SESSION_ON = {"kind": "session", "enabled": True}
WORKSPACE_OFF = {"kind": "workspace", "uri": "file:///a", "enabled": False}
GLOBAL_OFF = {"kind": "global", "enabled": False}
GLOBAL_ON = {"kind": "global", "enabled": True}


def plugin(**members: Any) -> Json:
    return {"type": "plugin", "id": "p", "uri": "file:///p", "name": "P", **members}


def server(**members: Any) -> Json:
    state = {"kind": "ready"}
    return {"type": "mcpServer", "id": "m", "uri": "x:/m", "name": "M", "state": state, **members}


def directory(**members: Any) -> Json:
    kept = {"enabled": True, "contents": "skill", "writable": False}
    return {"type": "directory", "id": "d", "uri": "file:///d", "name": "D", **kept, **members}


def skill(**members: Any) -> Json:
    return {"type": "skill", "id": "s", "uri": "file:///s", "name": "S", **members}


ENTRIES = pytest.mark.parametrize("entry", [plugin, server], ids=["plugin", "server"])


@ENTRIES
@pytest.mark.parametrize(
    ("decisions", "enabled"),
    [
        ({}, True),
        ({"enablement": []}, True),
        ({"enablement": [GLOBAL_ON]}, True),
        ({"enablement": [GLOBAL_OFF]}, False),
        ({"enablement": [SESSION_ON, WORKSPACE_OFF, GLOBAL_OFF]}, True),
        ({"enablement": [SESSION_OFF, GLOBAL_ON]}, False),
        ({"enablement": [{"kind": "someday"}, GLOBAL_OFF]}, True),
    ],
)
def test_the_first_decision_says_whether_a_customization_is_on(
    entry: Any, decisions: Json, enabled: bool
) -> None:
    state = session(customizations=[entry(**decisions)])
    assert down(OLD, "session", state) == session(customizations=[entry(enabled=enabled)])


def test_what_has_a_flag_in_both_versions_keeps_it() -> None:
    entries = [directory(enabled=False, children=[skill(enabled=False), skill(id="t")])]
    state = session(customizations=entries)
    assert down(OLD, "session", state) is state
    assert LADDER.state_up("session", state) is state


def old_and_new(entry_up: Any, *, client: bool = False) -> tuple[list[Json], list[Json]]:
    """Return entries of 0.7.0 of every sort, on and off, and what they are in 0.8.0."""
    on, off = entry_up(True), entry_up(False)
    kept = [skill(enabled=False)]
    old = [
        plugin(enabled=True, children=[server(enabled=False), *kept]),
        plugin(id="q", enabled=False, children=[server(id="n", enabled=True)]),
    ]
    new = [
        plugin(**on, children=[server(**off), *kept]),
        plugin(id="q", **off, children=[server(id="n", **on)]),
    ]
    if client:
        return old, new
    more = directory(children=[server(id="o", enabled=False)])
    return [*old, server(id="x", enabled=False), more], [
        *new,
        server(id="x", **off),
        {**more, "children": [server(id="o", **off)]},
    ]


def by_host(enabled: bool) -> Json:
    return {} if enabled else {"enablement": [SESSION_OFF]}


def by_client(enabled: bool) -> Json:
    return {"enablement": [GLOBAL_ON if enabled else GLOBAL_OFF]}


HOSTS_OLD, HOSTS_NEW = old_and_new(by_host)
CLIENTS_OLD, CLIENTS_NEW = old_and_new(by_client, client=True)


def active(customizations: list[Json]) -> Json:
    return {"clientId": "c", "tools": [], "customizations": customizations}


def test_what_is_off_in_a_hosts_state_was_switched_off_for_the_session() -> None:
    old = session(customizations=HOSTS_OLD, activeClients=[active(CLIENTS_OLD)])
    new = session(customizations=HOSTS_NEW, activeClients=[active(CLIENTS_NEW)])
    assert LADDER.state_up("session", old) == new
    assert down(OLD, "session", new) == old
    root_old = {"agents": [{"provider": "p", "customizations": HOSTS_OLD}]}
    root_new = {"agents": [{"provider": "p", "customizations": HOSTS_NEW}]}
    assert LADDER.state_up("root", root_old) == root_new
    assert down(OLD, "root", root_new) == root_old


@pytest.mark.parametrize(
    ("kind", "new", "old"),
    [
        (
            "root",
            {"type": "root/agentsChanged", "agents": [{"customizations": HOSTS_NEW}]},
            {"type": "root/agentsChanged", "agents": [{"customizations": HOSTS_OLD}]},
        ),
        (
            "session",
            {"type": "session/customizationsChanged", "customizations": HOSTS_NEW},
            {"type": "session/customizationsChanged", "customizations": HOSTS_OLD},
        ),
        *(
            (
                "session",
                {"type": "session/customizationUpdated", "customization": new},
                {"type": "session/customizationUpdated", "customization": old},
            )
            for new, old in zip(HOSTS_NEW, HOSTS_OLD, strict=True)
        ),
        (
            "session",
            {"type": "session/activeClientSet", "activeClient": active(CLIENTS_NEW)},
            {"type": "session/activeClientSet", "activeClient": active(CLIENTS_OLD)},
        ),
    ],
)
def test_customizations_are_translated_in_every_action_that_has_them(
    kind: str, new: Json, old: Json
) -> None:
    state = session() if kind == "session" else {"agents": []}
    assert sent(OLD, kind, state, new) == [old]
    assert up(OLD, kind, state, old, sender="host") == new


def test_a_client_decides_about_its_own_plugins_everywhere() -> None:
    published = {"type": "session/activeClientSet", "activeClient": active(CLIENTS_OLD)}
    assert up(OLD, "session", session(), published)["activeClient"] == active(CLIENTS_NEW)
    assert accept_action(OLD, "session", published, session(), now=NOW)["activeClient"] == active(
        CLIENTS_NEW
    )
    params = {"activeClient": active(CLIENTS_OLD)}
    assert LADDER.params_up("createSession", params) == {"activeClient": active(CLIENTS_NEW)}
    newer = {"activeClient": active(CLIENTS_NEW)}
    assert LADDER.params_down("createSession", newer) == params


def test_what_a_client_decided_about_children_is_not_told() -> None:
    decided = plugin(enablement=[GLOBAL_ON], childEnablement={"M": [GLOBAL_OFF]})
    state = session(activeClients=[active([decided])])
    older = session(activeClients=[active([plugin(enabled=True)])])
    assert down(OLD, "session", state) == older


def test_a_list_means_nothing_from_an_old_peer() -> None:
    lists = {"enablement": [GLOBAL_OFF], "childEnablement": {"M": [GLOBAL_OFF]}}
    listed = session(
        customizations=[plugin(enabled=True, **lists)],
        activeClients=[active([plugin(enabled=True, **lists)])],
    )
    assert LADDER.state_up("session", listed) == session(
        customizations=[plugin()], activeClients=[active([plugin(enablement=[GLOBAL_ON])])]
    )
    toggled = {"type": "session/customizationToggled", "id": "p", "enablement": [GLOBAL_OFF]}
    with pytest.raises(InvalidParams, match="enabled"):
        accept_action(OLD, "session", toggled, session(customizations=[plugin()]), now=NOW)


# Switching them


def toggled(entry_id: str, *decisions: Json) -> Json:
    return {"type": "session/customizationToggled", "id": entry_id, "enablement": [*decisions]}


def switched(entry_id: str, enabled: Any) -> Json:
    return {"type": "session/customizationToggled", "id": entry_id, "enabled": enabled}


TREE = session(
    customizations=[
        plugin(
            enablement=[SESSION_ON, WORKSPACE_OFF, GLOBAL_ON],
            children=[server(enablement=[GLOBAL_OFF]), skill()],
        ),
        server(id="x"),
        directory(children=[skill(id="t"), server(id="o", enablement=[SESSION_OFF])]),
    ]
)


@pytest.mark.parametrize(
    ("decisions", "enabled"),
    [
        ([], True),
        ([SESSION_OFF], False),
        ([SESSION_ON, GLOBAL_OFF], True),
        ([WORKSPACE_OFF, GLOBAL_ON], False),
    ],
)
@pytest.mark.parametrize("entry_id", ["p", "m", "s", "x", "d", "t", "o"])
def test_an_old_client_sees_what_decisions_come_to(
    entry_id: str, decisions: list[Json], enabled: bool
) -> None:
    action = toggled(entry_id, *decisions)
    if reduce("session", TREE, action, now=NOW) is not TREE:
        assert sent(OLD, "session", TREE, action) == [switched(entry_id, enabled)]
    for version in OLDER:
        held, fresh = followed(version, "session", TREE, action)
        assert held == fresh, version


ENTRY_IDS = st.sampled_from(["p", "q", "m", "s", "x", "d", "t", "o", "nothing"])
DECISIONS = st.lists(st.sampled_from([SESSION_ON, SESSION_OFF, WORKSPACE_OFF, GLOBAL_ON]))
PUBLISHED = st.one_of(
    st.builds(lambda entry_id, decisions: toggled(entry_id, *decisions), ENTRY_IDS, DECISIONS),
    st.builds(
        lambda entry: {"type": "session/customizationUpdated", "customization": entry},
        st.sampled_from([*HOSTS_NEW, *TREE["customizations"]]),
    ),
    st.sampled_from(
        [
            {"type": "session/customizationsChanged", "customizations": HOSTS_NEW},
            {"type": "session/customizationRemoved", "id": "m"},
            {"type": "session/activeClientSet", "activeClient": active(CLIENTS_NEW)},
        ]
    ),
)


@given(st.sampled_from(OLDER), st.lists(PUBLISHED))
def test_whoever_follows_customizations_holds_what_a_snapshot_has(
    version: str, actions: list[Json]
) -> None:
    held, fresh = followed(version, "session", TREE, *actions)
    assert held == fresh


@pytest.mark.parametrize("enabled", [True, False])
@pytest.mark.parametrize(
    ("entry_id", "kept"),
    [
        ("p", [WORKSPACE_OFF, GLOBAL_ON]),
        ("m", [GLOBAL_OFF]),
        ("x", []),
        ("o", []),
        ("s", []),
        ("d", []),
        ("t", []),
        ("nothing", []),
    ],
)
def test_an_old_client_decides_for_the_session_and_leaves_wider_decisions_alone(
    entry_id: str, kept: list[Json], enabled: bool
) -> None:
    decision = {"kind": "session", "enabled": enabled}
    climbed = up(OLD, "session", TREE, switched(entry_id, enabled))
    assert climbed == toggled(entry_id, decision, *kept)
    held = down(OLD, "session", TREE)
    held = reduce("session", held, switched(entry_id, enabled), now=NOW, version=OLD)
    after = reduce("session", TREE, climbed, now=NOW)
    assert down(OLD, "session", after) == held
    assert echo(OLD, "session", switched(entry_id, enabled), TREE, climbed, after) == [
        switched(entry_id, enabled)
    ]


@pytest.mark.parametrize("enabled", ["yes", 1, None])
def test_a_bad_flag_is_refused_under_the_name_that_was_sent(enabled: Any) -> None:
    with pytest.raises(InvalidParams) as refused:
        accept_action(OLD, "session", switched("p", enabled), TREE, now=NOW)
    assert refused.value.path is not None
    assert refused.value.path.endswith("enabled")
    assert "enablement" not in refused.value.message


# Working directories

A, B, C, D = (f"file:///{name}" for name in "abcd")


def replaced(directory: str, replacement: str) -> Json:
    action = {"type": "session/workingDirectoryReplaced", "directory": directory}
    return {**action, "replacement": replacement}


def removed(directory: str) -> Json:
    return {"type": "session/workingDirectoryRemoved", "directory": directory}


def added(directory: str) -> Json:
    return {"type": "session/workingDirectorySet", "directory": directory}


@pytest.mark.parametrize(
    ("action", "told"),
    [
        (replaced(C, D), [removed(C), added(D)]),
        (replaced(B, D), [removed(B), removed(C), added(D), added(C)]),
        (replaced(B, C), [removed(B), removed(C), added(C)]),
        (replaced(C, A), [removed(C)]),
        (replaced(A, B), [removed(A), removed(B), removed(C), added(B), added(C)]),
        (replaced(D, A), []),
        (replaced(B, B), []),
    ],
)
def test_a_replaced_directory_is_told_in_removals_and_additions(
    action: Json, told: list[Json]
) -> None:
    state = session(workingDirectories=[A, B, C])
    assert sent(OLD, "session", state, action) == told
    after = reduce("session", state, action, now=NOW)
    assert sequence_numbers_needed(action, state, after) == max(1, len(told))


NAMES = st.sampled_from([f"file:///{number}" for number in range(MOST_MOVED + 2)])


@given(st.lists(NAMES, unique=True), NAMES, NAMES)
def test_an_old_client_shows_a_replaced_directory_in_its_place(
    directories: list[str], directory: str, replacement: str
) -> None:
    state = session(workingDirectories=directories)
    action = replaced(directory, replacement)
    held, fresh = followed(OLD, "session", state, action)
    assert held == fresh
    after = reduce("session", state, action, now=NOW)
    assert len(sent(OLD, "session", state, action)) <= sequence_numbers_needed(action, state, after)


@pytest.mark.parametrize("kept", [[], ["file:///5"]])
def test_of_very_many_directories_only_the_order_is_not_kept(kept: list[str]) -> None:
    directories = [f"file:///{number}" for number in range(MOST_MOVED + 2)]
    action = replaced("file:///0", "file:///5" if kept else A)
    state = session(workingDirectories=directories)
    assert len(sent(OLD, "session", state, action)) == 2
    held, fresh = followed(OLD, "session", state, action)
    assert sorted(held["workingDirectories"]) == sorted(fresh["workingDirectories"])


def test_a_replaced_directory_is_not_told_where_directories_cannot_change() -> None:
    state = session(workingDirectories=[A, B])
    assert sent("0.6.0", "session", state, replaced(B, C)) == []


def test_an_old_host_can_be_asked_for_a_replacement_only_where_a_removal_does_it() -> None:
    state = session(workingDirectories=[A, B, C])
    assert sent(OLD, "session", state, replaced(C, A), sender="client") == [removed(C)]
    with pytest.raises(Untranslatable):
        sent(OLD, "session", state, replaced(C, D), sender="client")


def test_an_old_client_cannot_replace_a_directory() -> None:
    state = session(workingDirectories=[A, B])
    assert "0.7.0" in why_not(OLD, "session", state, replaced(A, C))


@pytest.mark.parametrize(
    ("new", "old"),
    [
        ({"primaryReplacement": True}, {"immutablePrimary": True}),
        ({"primaryReplacement": True, "immutablePrimary": False}, {"immutablePrimary": True}),
        ({"primaryReplacement": False}, {}),
        ({"primaryReplacement": False, "immutablePrimary": False}, {"immutablePrimary": False}),
        ({}, {}),
    ],
)
def test_the_first_directory_is_immutable_to_whom_cannot_replace_it(new: Json, old: Json) -> None:
    def agents(capability: Json) -> Json:
        capabilities = {"multipleChats": {}, "multipleWorkingDirectories": capability}
        return {"agents": [{"provider": "p", "capabilities": capabilities}]}

    assert down(OLD, "root", agents(new)) == agents(old)
    changed = {"type": "root/agentsChanged"}
    assert sent(OLD, "root", {"agents": []}, {**changed, **agents(new)}) == [
        {**changed, **agents(old)}
    ]
    assert LADDER.state_up("root", agents(old)) == agents(old)


# What a session waits for

IDLE, IN_PROGRESS, INPUT_NEEDED, READ = 1, 8, 24, 32
TOOL: Json = {"id": "tool", "kind": "toolClientExecution"}
QUESTION: Json = {"id": "question", "kind": "chatInput"}


@pytest.mark.parametrize(
    ("waiting", "status", "shown"),
    [
        ([TOOL], IDLE, INPUT_NEEDED),
        ([TOOL], IN_PROGRESS | READ, INPUT_NEEDED | READ),
        ([TOOL, QUESTION], INPUT_NEEDED, INPUT_NEEDED),
        ([QUESTION], INPUT_NEEDED, INPUT_NEEDED),
        ([], IN_PROGRESS, IN_PROGRESS),
    ],
)
def test_to_an_old_client_a_session_that_waits_for_a_tool_needs_input(
    waiting: list[Json], status: int, shown: int
) -> None:
    state = session(inputNeeded=waiting, status=status)
    assert down(OLD, "session", state) == {**state, "status": shown}
    assert LADDER.state_up("session", state) == state


def asked(request: Json) -> Json:
    return {"type": "session/inputNeededSet", "request": request}


def settled(request: Json) -> Json:
    return {"type": "session/inputNeededRemoved", "id": request["id"]}


WAITS = st.sampled_from(
    [how(what) for how in (asked, settled) for what in (TOOL, QUESTION, {**TOOL, "id": "other"})]
)


@given(st.sampled_from([IN_PROGRESS, IN_PROGRESS | READ]), st.lists(WAITS))
def test_an_old_client_of_a_running_session_sees_what_it_waits_for(
    status: int, actions: list[Json]
) -> None:
    held, fresh = followed(OLD, "session", session(status=status), *actions)
    assert held == fresh


def test_the_old_reducers_count_every_wait() -> None:
    state = session(status=IDLE | READ)
    for action, status in (
        (asked(TOOL), INPUT_NEEDED),
        (asked(QUESTION), INPUT_NEEDED),
        (settled(QUESTION), INPUT_NEEDED),
        (settled(QUESTION), INPUT_NEEDED),
        (settled(TOOL), IN_PROGRESS),
    ):
        state = reduce("session", state, action, now=NOW, version=OLD)
        assert state["status"] == status | READ
    assert "inputNeeded" not in state


# Tokens and metadata


def test_an_old_peer_is_only_told_the_name_of_a_protected_resource() -> None:
    resource = {"resource": "https://r", "scopes_supported": ["a"]}
    new = {"channel": "ahp-root://", "resource": resource, "reason": "expired"}
    old = {**new, "resource": "https://r"}
    assert LADDER.notification_down("auth/required", new) == old
    climbed = LADDER.notification_up("auth/required", old)
    assert climbed == {**new, "resource": {"resource": "https://r"}}


@pytest.mark.parametrize(
    "method", ["listSessions", "subscribe", "createChat", "authenticate", "resourceRead"]
)
def test_old_requests_carry_no_metadata(method: str) -> None:
    params = {"channel": "ahp-root://"}
    assert LADDER.params_down(method, {**params, "_meta": {"mine": 1}}) == params


def test_metadata_of_an_old_client_does_no_harm() -> None:
    params = {"channel": "ahp-root://", "_meta": {"mine": 1}}
    assert accept_params(OLD, "listSessions", params)["channel"] == "ahp-root://"
