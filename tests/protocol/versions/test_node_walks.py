"""Every place in which a node of the wire model occurs is walked, whatever the step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from agenthost.protocol.versions.node_walks import (
    nodes_in,
    walk_action,
    walk_notification,
    walk_params,
    walk_result,
    walk_state,
)
from agenthost.protocol.versions.rewriter import Rewriter
from tests.protocol.refusals import ACTIONS
from tests.protocol.versions.samples import Json, chat, message, session
from tests.protocol.wire_samples import variants

Walk = Callable[[Rewriter, str, Any], Any]

# Rewriters get a list of contents rather than one node, so these leave their mark otherwise.
_LISTS = ("contents",)


def _hooks() -> list[str]:
    return [
        name
        for name, member in vars(Rewriter).items()
        if callable(member) and not name.startswith("_") and name not in _LISTS
    ]


def _marking(name: str) -> Callable[[Rewriter, Json], Json]:
    def mark(self: Rewriter, node: Json) -> Json:
        return {**node, "seen": [*node.get("seen", []), name]}

    return mark


# Says of each node as what it was met.
Marker: type[Rewriter] = type("Marker", (Rewriter,), {name: _marking(name) for name in _hooks()})


def walk_actions(rewriter: Rewriter, name: str, action: Json) -> Any:
    """Walk an action like anything else that has a name."""
    return walk_action(rewriter, {**action, "type": name})


def at(node: Any, path: str) -> Any:
    """Return what is at a path of keys and indices."""
    for key in path.split("."):
        node = node[int(key) if isinstance(node, list) else key]
    return node


NODE: Json = {}
PROPERTY = {
    "properties": {"a": {"items": NODE, "additionalProperties": {"properties": {"b": NODE}}}}
}
CONFIG = {"schema": PROPERTY, "values": {}}
PLUGIN = {"state": NODE, "children": [{"state": NODE}]}
DEFINITION = {"message": message({"type": "simple"}), "session": {"customizations": [PLUGIN]}}
ENTRY = {"definition": DEFINITION, "customizations": [PLUGIN]}
AGENTS = [{"models": [{"configSchema": PROPERTY}], "customizations": [PLUGIN]}]
TURN = {
    "message": message({"type": "resource"}),
    "responseParts": [
        {"kind": "toolCall", "toolCall": {"userSuggestion": message()}},
        {"kind": "error", "error": NODE},
    ],
}

SCHEMA = {
    "properties.a": ["config_property"],
    "properties.a.items": ["config_property"],
    "properties.a.additionalProperties": ["config_property"],
    "properties.a.additionalProperties.properties.b": ["config_property"],
}
HOSTS_PLUGIN = {
    "": ["customization"],
    "state": ["mcp_state"],
    "children.0": ["child"],
    "children.0.state": ["mcp_state"],
}
CLIENTS_PLUGIN = {**HOSTS_PLUGIN, "": ["client_plugin"], "children.0": ["client_plugin_child"]}
TEMPLATE = {
    "": ["session_template"],
    **{f"customizations.0.{path}": seen for path, seen in CLIENTS_PLUGIN.items()},
}
DEFINED = {
    "": ["automation_definition"],
    "message": ["message"],
    "message.attachments.0": ["attachment"],
    **{f"session.{path}": seen for path, seen in TEMPLATE.items()},
}
CATALOGUED = {
    "": ["automation"],
    **{f"definition.{path}": seen for path, seen in DEFINED.items()},
    **{f"customizations.0.{path}": seen for path, seen in HOSTS_PLUGIN.items()},
}
IN_TURN = {
    "message": ["message"],
    "message.attachments.0": ["content_ref", "attachment"],
    "responseParts.0": ["part"],
    "responseParts.0.toolCall": ["tool_call"],
    "responseParts.0.toolCall.userSuggestion": ["message"],
    "responseParts.1": ["part"],
}


def inside(prefix: str, seen: dict[str, list[str]]) -> dict[str, list[str]]:
    """Say where the nodes are of something that is itself inside."""
    return {f"{prefix}.{path}".rstrip("."): hooks for path, hooks in seen.items()}


CASES: list[tuple[Walk, str, Json, dict[str, list[str]]]] = [
    (
        walk_state,
        "root",
        {"agents": AGENTS, "terminals": [{"claim": NODE}], "config": CONFIG},
        {
            "agents.0": ["agent"],
            **inside("agents.0.models.0.configSchema", SCHEMA),
            **inside("agents.0.customizations.0", HOSTS_PLUGIN),
            "terminals.0": ["terminal_info"],
            "terminals.0.claim": ["claim"],
            **inside("config.schema", SCHEMA),
        },
    ),
    (
        walk_state,
        "session",
        session(
            chats=[NODE],
            activeClients=[{"customizations": [PLUGIN]}],
            customizations=[PLUGIN],
            changesets=[NODE],
            inputNeeded=[{"toolCall": NODE}],
            config=CONFIG,
        ),
        {
            "seen": ["session_summary", "session"],
            "chats.0": ["chat_summary"],
            **inside("activeClients.0.customizations.0", CLIENTS_PLUGIN),
            **inside("customizations.0", HOSTS_PLUGIN),
            "changesets.0": ["changeset"],
            "inputNeeded.0": ["input_needed"],
            "inputNeeded.0.toolCall": ["tool_call"],
            **inside("config.schema", SCHEMA),
        },
    ),
    (
        walk_state,
        "chat",
        {
            **chat(turns=[TURN], draft=message(), steeringMessage={"message": message()}),
            "activeTurn": TURN,
            "queuedMessages": [{"message": message()}],
        },
        {
            "seen": ["chat_summary", "chat"],
            "turns.0": ["turn"],
            **inside("turns.0", IN_TURN),
            "activeTurn": ["active_turn"],
            **inside("activeTurn", IN_TURN),
            "draft": ["message"],
            "steeringMessage.message": ["message"],
            "queuedMessages.0.message": ["message"],
        },
    ),
    (
        walk_state,
        "terminal",
        {"claim": NODE},
        {"seen": ["terminal_info", "terminal"], "claim": ["claim"]},
    ),
    (
        walk_state,
        "changeset",
        {"files": [{"edit": {"before": {"content": NODE}}}]},
        {
            "seen": ["changeset_status"],
            "files.0": ["changeset_file"],
            "files.0.edit.before.content": ["content_ref"],
        },
    ),
    (walk_state, "annotations", {"annotations": [NODE]}, {"annotations.0": ["annotation"]}),
    (walk_state, "automation", {"entries": [ENTRY]}, inside("entries.0", CATALOGUED)),
    (
        walk_actions,
        "root/agentsChanged",
        {"agents": AGENTS},
        inside("agents.0.customizations.0", HOSTS_PLUGIN),
    ),
    (
        walk_actions,
        "root/terminalsChanged",
        {"terminals": [{"claim": NODE}]},
        {"terminals.0": ["terminal_info"], "terminals.0.claim": ["claim"]},
    ),
    (
        walk_actions,
        "session/activeClientSet",
        {"activeClient": {"customizations": [PLUGIN]}},
        inside("activeClient.customizations.0", CLIENTS_PLUGIN),
    ),
    (
        walk_actions,
        "session/customizationsChanged",
        {"customizations": [PLUGIN]},
        inside("customizations.0", HOSTS_PLUGIN),
    ),
    (
        walk_actions,
        "session/customizationUpdated",
        {"customization": PLUGIN},
        inside("customization", HOSTS_PLUGIN),
    ),
    (walk_actions, "session/mcpServerStateChanged", {"state": NODE}, {"state": ["mcp_state"]}),
    (walk_actions, "session/chatAdded", {"summary": NODE}, {"summary": ["chat_summary"]}),
    (walk_actions, "session/chatUpdated", {"changes": NODE}, {"changes": ["chat_summary"]}),
    (walk_actions, "chat/turnsLoaded", {"turns": [TURN]}, inside("turns.0", IN_TURN)),
    (walk_actions, "chat/responsePart", {"part": {"kind": "error"}}, {"part": ["part"]}),
    (walk_actions, "terminal/claimed", {"claim": NODE}, {"claim": ["claim"]}),
    (walk_actions, "changeset/statusChanged", {}, {"seen": ["changeset_status"]}),
    (walk_actions, "annotations/set", {"annotation": NODE}, {"annotation": ["annotation"]}),
    (walk_actions, "annotations/updated", {}, {"seen": ["annotation"]}),
    (
        walk_actions,
        "automation/createRequested",
        {"definition": DEFINITION},
        inside("definition", DEFINED),
    ),
    (
        walk_actions,
        "automation/updateRequested",
        {"changes": DEFINITION},
        inside("changes", DEFINED),
    ),
    (walk_actions, "automation/set", {"automation": ENTRY}, inside("automation", CATALOGUED)),
    (walk_params, "createTerminal", {"claim": NODE}, {"claim": ["claim"]}),
    (
        walk_params,
        "createSession",
        {"activeClient": {"customizations": [PLUGIN]}},
        inside("activeClient.customizations.0", CLIENTS_PLUGIN),
    ),
    (walk_params, "createChat", {"initialMessage": message()}, {"initialMessage": ["message"]}),
    (
        walk_result,
        "listSessions",
        {"items": [NODE]},
        {"items.0": ["session_summary", "listed_session"]},
    ),
    (walk_result, "resolveSessionConfig", CONFIG, inside("schema", SCHEMA)),
    (
        walk_result,
        "listAutomationTriggerDefinitions",
        {"items": [{"configSchema": PROPERTY}]},
        inside("items.0.configSchema", SCHEMA),
    ),
    (walk_result, "fetchTurns", {"turns": [TURN]}, inside("turns.0", IN_TURN)),
    (
        walk_notification,
        "root/sessionAdded",
        {"summary": NODE},
        {"summary": ["session_summary", "listed_session"]},
    ),
    (
        walk_notification,
        "root/sessionSummaryChanged",
        {"changes": NODE},
        {"changes": ["session_summary", "listed_session"]},
    ),
]


@pytest.mark.parametrize(
    ("walk", "name", "node", "seen"),
    CASES,
    ids=[f"{walk.__name__} {name}" for walk, name, *_ in CASES],
)
def test_a_node_is_met_wherever_it_occurs(
    walk: Walk, name: str, node: Json, seen: dict[str, list[str]]
) -> None:
    walked = walk(Marker(), name, node)
    met = {
        path: at(walked, path) if path == "seen" else at(walked, path).get("seen") for path in seen
    }
    assert met == seen
    # A step that has nothing to say copies nothing.
    unchanged = walk(Rewriter(), name, node)
    assert unchanged == ({**node, "type": name} if walk is walk_actions else node)


def test_every_kind_of_node_is_met_somewhere() -> None:
    met = {hook for *_, seen in CASES for hooks in seen.values() for hook in hooks}
    assert met == set(_hooks())


def test_an_update_that_says_nothing_any_more_is_dropped() -> None:
    class Forgets(Rewriter):
        def chat_summary(self, summary: Json) -> Json:
            return {}

        def listed_session(self, summary: Json) -> Json:
            return {}

    updated = {"type": "session/chatUpdated", "changes": {"title": "new"}}
    assert walk_action(Forgets(), updated) is None
    changed = {"changes": {"title": "new"}}
    assert walk_notification(Forgets(), "root/sessionSummaryChanged", changed) is None


def test_streamed_text_carries_nothing_to_rewrite() -> None:
    streamed = ("chat/delta", "chat/reasoning", "chat/usage", "terminal/data")
    assert not any(map(nodes_in, streamed))


def _noting(name: str) -> Callable[..., Any]:
    def note(self: Any, node: Any, *_: Any) -> Any:
        self.met.add(name)
        return node

    return note


class Witness(Rewriter):
    """Notes which nodes there were."""

    def __init__(self) -> None:
        self.met: set[str] = set()


Noting: type[Witness] = type(
    "Noting", (Witness,), {name: _noting(name) for name in (*_hooks(), *_LISTS)}
)


def met_in(action: Json) -> set[str]:
    """Return the nodes that are met in an action."""
    witness = Noting()
    walk_action(witness, action)
    return witness.met


@pytest.mark.parametrize("name", ACTIONS)
def test_which_nodes_an_action_may_carry_is_known(name: str) -> None:
    for action in variants(ACTIONS[name]):
        assert met_in(action) <= set(nodes_in(action["type"]))


@pytest.mark.parametrize(
    ("name", "node"), [(name, node) for walk, name, node, _ in CASES if walk is walk_actions]
)
def test_which_nodes_an_action_may_carry_is_known_of_whatever_shape(name: str, node: Json) -> None:
    assert met_in({**node, "type": name}) <= set(nodes_in(name))
