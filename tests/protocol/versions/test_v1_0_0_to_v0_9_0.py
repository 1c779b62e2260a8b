"""Every mapping between 1.0.0 and 0.9.0."""

from __future__ import annotations

from typing import Any

import pytest

from agenthost.protocol.versions import Untranslatable, reduce, translator
from tests.protocol.versions.samples import NOW, Json, chat, down, message, session, up, why_not

OLD = "0.9.0"
LADDER = translator(OLD)

DEFAULT = {"resource": "ahp-chat:/1", "title": "One", "status": 1, "modifiedAt": NOW}
CHANGES = {"additions": 3, "files": 1}


def told(kind: str, action: Json, before: Json | None = None, **options: Any) -> list[Json]:
    """Return what becomes of an action that changed something."""
    return LADDER.action_down(kind, before or {}, action, {"changed": True}, **options)


# Sessions and chats

SUMMARY = {
    **{"resource": "ahp-session:/1", "provider": "demo", "title": "", "status": 1},
    **{"createdAt": NOW, "modifiedAt": NOW, "changes": CHANGES},
}
COMPACT = {"chats": [{"resource": "ahp-chat:/1", "title": "One"}], "defaultChat": "ahp-chat:/1"}


def test_lists_of_sessions_show_no_chats() -> None:
    listed = {**SUMMARY, **COMPACT}
    assert LADDER.result_down("listSessions", {}, {"items": [listed]}) == {"items": [SUMMARY]}
    added = LADDER.notification_down("root/sessionAdded", {"channel": "r", "summary": listed})
    assert added == {"channel": "r", "summary": SUMMARY}


def test_news_about_the_chats_of_a_listed_session_is_no_news() -> None:
    def changed(**changes: Any) -> Any:
        params = {"channel": "r", "session": "ahp-session:/1", "changes": changes}
        return LADDER.notification_down("root/sessionSummaryChanged", params)

    assert changed(**COMPACT) is None
    assert changed(title="new", **COMPACT)["changes"] == {"title": "new"}
    assert changed(changes=CHANGES)["changes"] == {"changes": CHANGES}


def test_a_session_keeps_its_own_list_of_chats() -> None:
    state = session(chats=[DEFAULT], defaultChat="ahp-chat:/1")
    assert down(OLD, "session", state) is state


def test_chats_tell_neither_their_changes_nor_whether_they_can_move() -> None:
    newer = {**DEFAULT, "changes": CHANGES, "movable": True}
    assert down(OLD, "session", session(chats=[newer]))["chats"] == [DEFAULT]
    assert told("session", {"type": "session/chatAdded", "summary": newer}) == [
        {"type": "session/chatAdded", "summary": DEFAULT}
    ]


def test_an_update_of_a_chat_with_nothing_old_to_say_is_not_sent() -> None:
    def updated(**changes: Any) -> list[Json]:
        action = {"type": "session/chatUpdated", "chat": "ahp-chat:/1", "changes": changes}
        return [entry["changes"] for entry in told("session", action)]

    assert updated(movable=False, changes=CHANGES) == []
    assert updated(movable=False, status=8) == [{"status": 8}]
    assert updated() == [{}]


def test_a_chat_shows_no_work_in_the_background_and_no_canvases() -> None:
    work = {"kind": "shell", "id": "w", "label": "L", "startedAt": NOW, "command": "make"}
    state = chat(
        changes=CHANGES,
        movable=False,
        changesets=[],
        backgroundWork=[work],
        canvases=[{"resource": "ahp-canvas:/1"}],
    )
    assert down(OLD, "chat", state) == chat()
    plain = chat()
    assert down(OLD, "chat", plain) is plain


NEW_ACTIONS: list[Json] = [
    {"type": "session/chatsReordered", "chats": []},
    {"type": "session/mcpServerBackgroundRequested", "id": "m"},
    {"type": "chat/backgroundWorkSet", "work": {}},
    {"type": "chat/backgroundWorkRemoved", "id": "w"},
    {"type": "chat/movableChanged", "movable": True},
    {"type": "chat/changesetsChanged", "changesets": []},
    {"type": "chat/canvasesChanged", "canvases": []},
    {"type": "chat/isReadChanged", "isRead": True},
    {"type": "chat/isArchivedChanged", "isArchived": True},
    {"type": "canvas/stateChanged", "canvas": {}},
]
TOLERATED = ("chat/isReadChanged", "chat/isArchivedChanged", "session/mcpServerBackgroundRequested")


@pytest.mark.parametrize("action", NEW_ACTIONS, ids=lambda action: str(action["type"]))
def test_what_is_new_is_not_sent(action: Json) -> None:
    assert told(action["type"].partition("/")[0], action) == []


@pytest.mark.parametrize("action", NEW_ACTIONS, ids=lambda action: str(action["type"]))
def test_editors_of_0_9_0_may_send_what_they_were_built_with(action: Json) -> None:
    kind, name = action["type"].partition("/")[0], action["type"]
    if name in TOLERATED:
        assert up(OLD, kind, {}, action) == action
    else:
        assert why_not(OLD, kind, {}, action) == f"{name} is not part of protocol 0.9.0"
    # No host of that version sends any, and no older client.
    assert why_not(OLD, kind, {}, action, sender="host")
    assert why_not("0.8.0", kind, {}, action)


# Customizations, settings, changesets


def test_whether_a_starting_server_holds_up_the_turn_is_not_told() -> None:
    blocking = {"kind": "starting", "blocking": True}
    server = {"type": "mcpServer", "id": "m", "state": blocking}
    state = session(
        customizations=[server, {"type": "plugin", "id": "p", "children": [server]}],
        activeClients=[{"clientId": "c", "customizations": [{"id": "q", "children": [server]}]}],
    )
    older = down(OLD, "session", state)
    shown = {**server, "state": {"kind": "starting"}}
    assert older["customizations"] == [shown, {"type": "plugin", "id": "p", "children": [shown]}]
    (client,) = older["activeClients"]
    assert client["customizations"] == [{"id": "q", "children": [shown]}]
    changed = {"type": "session/mcpServerStateChanged", "id": "m"}
    (action,) = told("session", {**changed, "state": blocking})
    assert action == {**changed, "state": {"kind": "starting"}}


LIMITS = {"minItems": 1, "maxItems": 3}
TEXT = {"type": "string", "title": "T"}
SEVERAL = {"type": "array", "title": "T", "items": TEXT}


def schema(*, limits: Json) -> Json:
    """Build a schema with limits on lists at every place where a property can be."""
    several = {**SEVERAL, **limits}
    inner = {"type": "object", "title": "T", "properties": {"a": several}}
    return {
        "type": "object",
        "properties": {
            "list": several,
            "lists": {**several, "items": several},
            "nested": {**inner, "additionalProperties": several},
            "text": TEXT,
        },
    }


OLDER_SCHEMA, NEWER_SCHEMA = schema(limits={}), schema(limits=LIMITS)


def test_schemas_of_settings_do_not_limit_lists() -> None:
    def has(wanted: Json) -> dict[str, Any]:
        config = {"schema": wanted, "values": {}}
        return {
            "root": {"agents": [{"models": [{"configSchema": wanted}]}], "config": config},
            "session": session(config=config),
            "result": config,
            "triggers": {"items": [{"type": "x", "configSchema": wanted}]},
        }

    newer, older = has(NEWER_SCHEMA), has(OLDER_SCHEMA)
    triggers = "listAutomationTriggerDefinitions"
    assert down(OLD, "root", newer["root"]) == older["root"]
    assert down(OLD, "session", newer["session"]) == older["session"]
    assert LADDER.result_down("resolveSessionConfig", {}, newer["result"]) == older["result"]
    assert LADDER.result_down(triggers, {}, newer["triggers"]) == older["triggers"]
    (agents,) = told("root", {"type": "root/agentsChanged", "agents": newer["root"]["agents"]})
    assert agents["agents"] == older["root"]["agents"]
    assert down(OLD, "root", older["root"]) is older["root"]


def test_a_schema_may_be_as_deep_as_it_likes() -> None:
    deep: Json = SEVERAL
    for _ in range(400):
        deep = {"type": "array", "title": "T", "items": deep, **LIMITS}
    state = session(config={"schema": {"properties": {"deep": deep}}, "values": {}})
    older = down(OLD, "session", state)
    assert "minItems" not in older["config"]["schema"]["properties"]["deep"]


def test_a_changeset_that_is_computed_again_is_being_computed() -> None:
    state: Json = {"status": "recomputing", "files": []}
    assert down(OLD, "changeset", state) == {"status": "computing", "files": []}
    again = {"type": "changeset/statusChanged", "status": "recomputing"}
    assert told("changeset", again) == [{**again, "status": "computing"}]
    held = {"status": "computing", "files": []}
    for action in told("changeset", again):
        held = reduce("changeset", held, action, now=NOW, version=OLD)
    assert held == down(OLD, "changeset", state)


# Automations

RESOURCE = "ahp-automation:/1"
PLUGIN = {"type": "plugin", "id": "p", "uri": "virtual://p", "name": "P"}
CONDITION = {"kind": "afterRuns", "max": 3}


def definition(*, newer: bool = True, **members: Any) -> Json:
    """Build an automation's definition, with everything that is new unless told otherwise."""
    return {
        **{"title": "T", "message": message(), "enabled": True, "triggers": []},
        "session": {"provider": "demo", **({"customizations": [PLUGIN]} if newer else {})},
        **({"disableConditions": [CONDITION]} if newer else {}),
        **members,
    }


def entry(*, newer: bool = True) -> Json:
    """Build an entry of the catalogue."""
    added = {"runCount": 1, "customizations": [PLUGIN]} if newer else {}
    known = {"resource": RESOURCE, "runs": [], "operations": ["run"]}
    return {
        **known,
        "createdAt": NOW,
        "modifiedAt": NOW,
        "definition": definition(newer=newer),
        **added,
    }


def test_automations_show_neither_conditions_nor_plugins() -> None:
    assert down(OLD, "automation", {"entries": [entry()]}) == {"entries": [entry(newer=False)]}
    old = {"entries": [entry(newer=False)]}
    assert down(OLD, "automation", old) is old
    assert told("automation", {"type": "automation/set", "automation": entry()}) == [
        {"type": "automation/set", "automation": entry(newer=False)}
    ]


def test_a_host_that_captures_plugins_does_not_say_so() -> None:
    result = {"protocolVersion": "0.9.0", "automations": {"create": {}, "customizations": {}}}
    older = LADDER.result_down("initialize", {}, result)
    assert older == {"protocolVersion": "0.9.0", "automations": {"create": {}}}


def updated(**changes: Any) -> Json:
    """Build a request to change the automation of these tests."""
    return {"type": "automation/updateRequested", "resource": RESOURCE, "changes": changes}


def test_who_replaces_a_template_without_having_seen_its_plugins_leaves_them() -> None:
    before = {"entries": [{"resource": "ahp-automation:/0"}, entry()]}
    climbed = up(OLD, "automation", before, updated(session={"provider": "other"}))
    assert climbed == updated(session={"provider": "other", "customizations": [PLUGIN]})


@pytest.mark.parametrize(
    "action",
    [
        updated(session={"provider": "other", "customizations": []}),
        updated(title="new"),
        {**updated(session={"provider": "other"}), "resource": "ahp-automation:/2"},
        updated(session=None),
        updated(session="x"),
        {**updated(), "changes": []},
        {"type": "automation/updateRequested"},
    ],
)
def test_other_changes_of_an_automation_stay_as_they_are(action: Json) -> None:
    assert up(OLD, "automation", {"entries": [entry()]}, action) == action


def test_a_template_that_has_no_plugins_gets_none() -> None:
    action = updated(session={"provider": "other"})
    assert up(OLD, "automation", {"entries": [entry(newer=False)]}, action) == action


@pytest.mark.parametrize(
    "wanted",
    [definition(session={}), {**definition(), "disableConditions": []}],
    ids=["conditions", "plugins"],
)
def test_an_old_host_is_not_asked_for_an_automation_that_it_would_get_wrong(wanted: Json) -> None:
    created = {"type": "automation/createRequested", "resource": RESOURCE, "definition": wanted}
    for action in (created, updated(**wanted)):
        with pytest.raises(Untranslatable, match="newer host"):
            told("automation", action, sender="client")


def test_an_old_host_is_asked_for_what_it_can_do() -> None:
    plain = definition(newer=False)
    created = {"type": "automation/createRequested", "resource": RESOURCE, "definition": plain}
    assert told("automation", created, sender="client") == [created]
    emptied = {**created, "definition": {**plain, "disableConditions": []}}
    assert told("automation", emptied, sender="client") == [created]
    assert told("automation", updated(enabled=False), sender="client") == [updated(enabled=False)]
    # Saying nothing is no way to change something.
    assert told("automation", updated(disableConditions=[]), sender="client") == []


# Commands and channels


def test_an_old_host_is_not_told_how_long_a_token_lives() -> None:
    params = {"channel": "ahp-root://", "resource": "r", "token": "t", "expiresIn": 60}
    told = LADDER.params_down("authenticate", params)
    assert told == {"channel": "ahp-root://", "resource": "r", "token": "t"}


def test_an_old_host_cannot_be_asked_to_forget_a_token() -> None:
    with pytest.raises(Untranslatable, match="newer host"):
        LADDER.params_down("authenticate", {"resource": "r", "token": ""})


def test_an_old_host_cannot_move_chats() -> None:
    assert not LADDER.has_method("moveChat")
    with pytest.raises(Untranslatable, match="moveChat"):
        LADDER.params_down("moveChat", {"channel": "ahp-chat:/1"})


def test_there_are_automations_but_no_canvases() -> None:
    assert LADDER.has_kind("automation")
    assert LADDER.has_kind("automationRun")
    assert LADDER.has_kind("chat")
    assert not LADDER.has_kind("canvas")
    assert LADDER.has_method("runAutomation")
