"""The tree that a session publishes: shapes, ids, switches, live servers, bounds, changes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from agenthost.customizations.sources import source_of
from agenthost.customizations.types import CustomizationSource, FoundCustomization
from agenthost.host.customizations.enablement import SessionDecisions
from agenthost.host.customizations.tree import (
    MOST_CONTAINERS,
    MOST_SINGLE,
    BroughtSource,
    LiveServer,
    bounded,
    cut,
    size_of,
    tree_actions,
    tree_items,
    wire_tree,
)
from agenthost.mcp.types import ServerDeclaration
from agenthost.protocol import reduce
from agenthost.protocol.schema.validation import validate_action

Json = dict[str, Any]

NOTHING = SessionDecisions()
SERVER = FoundCustomization(
    "mcpServer", "time", "", range=(1, 2, 3, 4), server=ServerDeclaration("time", command=("x",))
)
BROKEN = FoundCustomization("mcpServer", "bad", "", problem="asks for an input")
FILE = CustomizationSource(
    "workspace file mcpServer file:///r/.mcp.json",
    "file",
    "file:///r/.mcp.json",
    ".mcp.json",
    "mcpServer",
    False,
    "workspace",
    found=(SERVER, BROKEN),
)
SKILLS = CustomizationSource(
    "workspace directory skill file:///r/s",
    "directory",
    "file:///r/s",
    "Skills",
    "skill",
    True,
    "workspace",
    load="degraded",
    message="1 of 2 cannot be used",
    found=(
        FoundCustomization("skill", "x", "x/SKILL.md", "does x", model_may_invoke=False),
        FoundCustomization("skill", "y", "y z/SKILL.md", problem="line 3"),
    ),
)
PLUGIN = CustomizationSource(
    "client plugin any virtual://p",
    "plugin",
    "virtual://p",
    "box",
    None,
    False,
    "client",
    version="2",
    found=(
        FoundCustomization("agent", "a", "agents/a.md", "d", model="opus", tools=("read",)),
        FoundCustomization("rule", "r", "rules/r.md", always=True, globs=("*.py",)),
        FoundCustomization("hook", "h", "hooks/hooks.json", "events"),
        FoundCustomization("prompt", "p", "prompts/p.md", "ask"),
        replace(SERVER, path=".mcp.json", range=None),
    ),
)
CLIENT = BroughtSource(PLUGIN, client_id="one", everywhere=True, parts_everywhere={"time": False})

entry = st.builds(
    lambda id, name: {"type": "directory", "id": f"c-{id}", "name": str(name)},
    st.integers(0, 25),
    st.integers(0, 2),
)
trees = st.lists(entry, unique_by=lambda each: each["id"], max_size=25)


def wire(
    *brought: BroughtSource,
    decisions: SessionDecisions = NOTHING,
    live: dict[str, LiveServer] | None = None,
) -> list[Json]:
    made = wire_tree(brought, decisions, live or {})
    validate_action({"type": "session/customizationsChanged", "customizations": made})
    return cast("list[Json]", made)


def test_each_source_has_the_shape_of_the_protocol() -> None:
    [skills, time, bad, box] = wire(BroughtSource(SKILLS), BroughtSource(FILE), CLIENT)
    assert skills == {
        "type": "directory",
        "id": skills["id"],
        "uri": "file:///r/s",
        "name": "Skills",
        "contents": "skill",
        "writable": True,
        "enabled": True,
        "load": {"kind": "degraded", "message": "1 of 2 cannot be used"},
        "children": [
            {
                "type": "skill",
                "id": skills["children"][0]["id"],
                "uri": "file:///r/s/x/SKILL.md",
                "name": "x",
                "description": "does x",
                "disableModelInvocation": True,
            },
            {
                "type": "skill",
                "id": skills["children"][1]["id"],
                "uri": "file:///r/s/y%20z/SKILL.md",
                "name": "y",
                "_meta": {"agenthost/problem": "line 3"},
            },
        ],
    }
    assert time == {
        "type": "mcpServer",
        "id": time["id"],
        "uri": "file:///r/.mcp.json",
        "name": "time",
        "range": {"start": {"line": 1, "character": 2}, "end": {"line": 3, "character": 4}},
        "state": {"kind": "stopped"},
        "_meta": {"agentHost.mcpServerSource": "workspace"},
    }
    assert bad["state"]["kind"] == "error"
    assert bad["state"]["error"]["message"] == "asks for an input"
    assert (box["clientId"], box["version"]) == ("one", "2")
    assert box["enablement"] == [{"kind": "global", "enabled": True}]
    agent, rule, hook, prompt, server = box["children"]
    assert (agent["model"], agent["tools"]) == ("opus", ["read"])
    assert (rule["alwaysApply"], rule["globs"]) == (True, ["*.py"])
    assert "description" not in hook
    assert prompt["description"] == "ask"
    assert server["enablement"] == [{"kind": "global", "enabled": False}]
    ids = [each["id"] for each in (skills, time, bad, box, *box["children"], *skills["children"])]
    assert len(set(ids)) == len(ids)


def test_ids_come_from_where_something_is_and_from_whom() -> None:
    [one] = wire(CLIENT)
    [again] = wire(
        structs.replace(CLIENT, source=structs.replace(PLUGIN, load="degraded", version=None))
    )
    assert (one["id"], one["children"][0]["id"]) == (again["id"], again["children"][0]["id"])
    [other] = wire(structs.replace(CLIENT, client_id="two"))
    assert one["id"] != other["id"]
    assert one["children"][0]["id"] != other["children"][0]["id"]


def test_what_is_being_read_says_so_and_nothing_else() -> None:
    [loading] = wire(structs.replace(CLIENT, is_loading=True))
    assert loading["load"] == {"kind": "loading"}
    assert "children" not in loading
    [failed] = wire(BroughtSource(structs.replace(SKILLS, load="error", message="gone", found=())))
    assert failed["load"] == {"kind": "error", "message": "gone"}


def test_what_is_in_something_that_is_off_is_off_and_keeps_its_own_switch() -> None:
    off = SessionDecisions(
        {"directory file:///r/s skill": False, "mcpServer file:///r/.mcp.json#time": False}
    )
    [skills, time, _] = wire(BroughtSource(SKILLS), BroughtSource(FILE), decisions=off)
    assert skills["enabled"] is False
    assert "enabled" not in skills["children"][0]
    assert time["enablement"] == [{"kind": "session", "enabled": False}]
    items = {
        item.found.name: item
        for item in tree_items([BroughtSource(SKILLS), BroughtSource(FILE)], off)
    }
    assert not any(item.enabled for name, item in items.items() if name != "bad")
    leaf = SessionDecisions({"skill file:///r/s/x/SKILL.md": False})
    [skills] = wire(BroughtSource(SKILLS), decisions=leaf)
    assert [each.get("enabled") for each in skills["children"]] == [False, None]
    [x, y] = tree_items([BroughtSource(SKILLS)], leaf)
    assert (x.enabled, y.enabled, y.is_usable) == (False, True, False)


def test_a_server_is_shown_as_whoever_runs_it_says() -> None:
    [time, bad] = wire(BroughtSource(FILE))
    live = {
        time["id"]: LiveServer(
            {"kind": "ready"}, "mcp:/x", {"agenthost/log": "ahp-terminal:/l"}, {"capabilities": {}}
        ),
        bad["id"]: LiveServer({"kind": "ready"}),
    }
    [time, bad] = wire(BroughtSource(FILE), live=live)
    assert (time["state"], time["channel"]) == ({"kind": "ready"}, "mcp:/x")
    assert time["mcpApp"] == {"capabilities": {}}
    assert time["_meta"]["agenthost/log"] == "ahp-terminal:/l"
    # What cannot be started is not running, whatever anybody says.
    assert bad["state"]["kind"] == "error"


def test_names_of_a_plugins_parts_have_the_plugins_before_them() -> None:
    assert next(item.shown_name for item in tree_items([CLIENT], NOTHING)) == "box:a"
    assert [item.shown_name for item in tree_items([BroughtSource(SKILLS)], NOTHING)] == ["x", "y"]


def test_there_are_never_too_many_entries() -> None:
    many = [BroughtSource(structs.replace(SKILLS, key=str(number))) for number in range(300)]
    assert len(wire(*many)) == MOST_CONTAINERS


def skills(name: str, *found: FoundCustomization) -> CustomizationSource:
    source = source_of(f"file:///{name}", "", "directory", name, "skill", "workspace")
    return structs.replace(source, found=found)


SMALL = FoundCustomization("skill", "small", "a/SKILL.md", "short")
LARGE = FoundCustomization("agent", "large", "b.md", tools=("x" * 500,) * 200, globs=("y",))


def test_what_has_room_is_shown_as_it_is() -> None:
    source = skills("a", SMALL, LARGE)
    assert cut(source, size_of(source)) is source
    assert size_of(source) > 100_000
    (one,) = bounded([BroughtSource(source)])
    assert one.source is source


def test_the_rest_is_left_out_and_its_source_says_so() -> None:
    first, second = (
        skills("a", SMALL, LARGE),
        structs.replace(skills("b", SMALL, SMALL), message="bad"),
    )
    last = skills("c")
    shown = list(bounded(map(BroughtSource, (first, second, last)), size_of(first) + 400))
    assert [len(each.source.found) for each in shown] == [2, 1, 0]
    assert [each.source.load for each in shown] == ["loaded", "degraded", "loaded"]
    assert shown[1].source.message == (
        "bad; only the first 1 are shown, for there is too much in this session"
    )


def shown(state: Json) -> dict[str, Json]:
    return {each["id"]: each for each in state["customizations"]}


@given(st.none() | trees, trees)
def test_after_the_actions_it_shows_what_is_wanted(before: Any, wanted: Any) -> None:
    state: Json = {} if before is None else {"customizations": before}
    actions = tree_actions(before, wanted)
    for action in actions:
        state = reduce("session", state, action, now="2026-01-01T00:00:00.000Z")
    assert shown(state) == {each["id"]: each for each in wanted}
    assert tree_actions(state["customizations"], wanted) == []
    if before is not None and len(actions) <= MOST_SINGLE:
        told = [
            action.get("customization", action)["id"]
            for action in actions
            if "customizations" not in action
        ]
        assert not [id for id in told if shown({"customizations": before}).get(id) in wanted]


def test_what_is_not_known_yet_is_told_even_if_it_is_nothing() -> None:
    assert tree_actions(None, []) == [
        {"type": "session/customizationsChanged", "customizations": []}
    ]
    assert tree_actions([], []) == []
