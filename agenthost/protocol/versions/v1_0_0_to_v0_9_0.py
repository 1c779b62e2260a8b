"""The step between 1.0.0 and 0.9.0, where everything that is new is an addition.

Towards 0.9.0: what was added is left out, and a changeset that is computed again is being computed.
The other way nothing needs to change, except that whoever replaces an automation's template without
knowing of its plugins must not take them away.
"""

from __future__ import annotations

from typing import Any

from agenthost.protocol.json_edits import carry_given, index_by, without
from agenthost.protocol.versions.node_edits import Json, inside
from agenthost.protocol.versions.rewriter import Rewriter
from agenthost.protocol.versions.step import DownContext, Step, Untranslatable, UpContext


class _Down(Rewriter):
    def chat_summary(self, summary: Json) -> Json:
        return without(summary, "changes", "movable")

    def chat(self, state: Json) -> Json:
        return without(state, "changesets", "backgroundWork", "canvases")

    def listed_session(self, summary: Json) -> Json:
        # The state has its own list of chats, which is older.
        return without(summary, "chats", "defaultChat")

    def mcp_state(self, state: Json) -> Json:
        return without(state, "blocking") if state.get("kind") == "starting" else state

    def changeset_status(self, node: Json) -> Json:
        # Which is what older hosts said for both.
        recomputing = node.get("status") == "recomputing"
        return {**node, "status": "computing"} if recomputing else node

    def config_property(self, schema: Json) -> Json:
        return without(schema, "minItems", "maxItems")

    def automation(self, entry: Json) -> Json:
        return without(entry, "runCount", "customizations")

    def automation_definition(self, definition: Json) -> Json:
        return without(definition, "disableConditions")

    def session_template(self, template: Json) -> Json:
        return without(template, "customizations")


def _with_plugins_kept(action: Json, context: UpContext) -> Json:
    """Keep the plugins of a template that is replaced by somebody who never saw them."""

    def keep(template: Any) -> Any:
        if not isinstance(template, dict) or "customizations" in template:
            return template
        entries = context.before()["entries"]
        index = index_by(entries, "resource", action.get("resource"))
        held = {} if index is None else entries[index]["definition"]["session"]
        return {**template, **carry_given(held, "customizations")}

    def keep_in(changes: Any) -> Any:
        return inside(changes, "session", keep) if isinstance(changes, dict) else changes

    return inside(action, "changes", keep_in)


def _refuse_what_an_old_host_would_not_do(definition: Json) -> None:
    """Raise Untranslatable if leaving out what is new would give another automation."""
    if definition.get("disableConditions"):
        raise Untranslatable("automations that end by themselves need a newer host")
    if (definition.get("session") or {}).get("customizations"):
        raise Untranslatable("automations with plugins need a newer host")


def _authenticate_down(params: Json) -> Json:
    if params.get("token") == "":
        raise Untranslatable("taking back a token needs a newer host")
    return without(params, "expiresIn")


def _initialized_down(result: Json) -> Json:
    return inside(result, "automations", _capabilities_down)


def _capabilities_down(capabilities: Json) -> Json:
    return without(capabilities, "customizations")


class Step100To090(Step):
    """Translates between 1.0.0 and 0.9.0."""

    newer = "1.0.0"
    older = "0.9.0"
    nodes_down = _Down()

    def __init__(self) -> None:
        self.actions_down = {
            "automation/createRequested": self._create_requested_down,
            "automation/updateRequested": self._update_requested_down,
        }
        self.actions_up = {"automation/updateRequested": _with_plugins_kept}
        self.commands_down = {"authenticate": _authenticate_down}
        self.results_down = {"initialize": _initialized_down}

    def _create_requested_down(self, action: Json, context: DownContext) -> list[Json]:
        if context.sender == "client":
            _refuse_what_an_old_host_would_not_do(action["definition"])
        return self.rewritten_down(action, reviewable=context.reviewable)

    def _update_requested_down(self, action: Json, context: DownContext) -> list[Json]:
        if context.sender == "client":
            _refuse_what_an_old_host_would_not_do(action["changes"])
        rewritten = self.rewritten_down(action, reviewable=context.reviewable)
        emptied = action["changes"] and not rewritten[0]["changes"]
        return [] if emptied else rewritten
