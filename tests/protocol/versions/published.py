"""The published definitions of every version, as they stand in the schemas.

Of 0.9.0 and 0.8.0 no schemas are to be had, but what came with 1.0.0 and with 0.8.0 is known: so
0.9.0 is described by 1.0.0's definitions less what only 1.0.0 has, and 0.8.0 by 0.7.0's with what
0.8.0 brought. The tables here are those differences, and all of them.
"""

from __future__ import annotations

import json
from copy import deepcopy
from functools import cache
from typing import Any

from tests.conformance.corpus import SHARED

Json = dict[str, Any]

SCHEMAS = SHARED / "schema"
PARTS = ("state", "actions", "commands", "notifications")

# Definitions that only 1.0.0 has.
_ONLY_1_0_0 = (
    *("SessionChatsReorderedAction", "SessionMcpServerBackgroundRequestedAction"),
    *("ChatBackgroundWorkSetAction", "ChatBackgroundWorkRemovedAction"),
    *("ChatMovableChangedAction", "ChatChangesetsChangedAction", "ChatCanvasesChangedAction"),
    *("ChatIsReadChangedAction", "ChatIsArchivedChangedAction", "CanvasStateChangedAction"),
    *("CanvasState", "MoveChatParams", "MoveChatResult"),
)
# Members that only 1.0.0 has, by definition; a dot leads to the members of a member.
_ONLY_1_0_0_MEMBERS = {
    "SessionSummary": ("chats", "defaultChat"),
    "SessionSummaryChangedParams.changes": ("chats", "defaultChat"),
    "ChatSummary": ("changes", "movable"),
    "SessionChatUpdatedAction.changes": ("changes", "movable"),
    "ChatState": ("changes", "movable", "changesets", "backgroundWork", "canvases"),
    "McpServerStartingState": ("blocking",),
    "ConfigPropertySchema": ("minItems", "maxItems"),
    "SessionConfigPropertySchema": ("minItems", "maxItems"),
    "AutomationDefinition": ("disableConditions",),
    "AutomationDefinitionPatch": ("disableConditions",),
    "AutomationSessionTemplate": ("customizations",),
    "AutomationEntry": ("runCount", "customizations"),
    "AutomationCapabilities": ("customizations",),
    "AuthenticateParams": ("expiresIn",),
}
_ONLY_1_0_0_VALUES = {"ChangesetStatus": ("recomputing",)}

# Definitions that 0.8.0 was the first to have as 1.0.0 has them.
_SINCE_0_8_0 = (
    *("CustomizationEnablement", "PluginCustomization", "ClientPluginCustomization"),
    *("McpServerCustomization", "SessionCustomizationToggledAction"),
    *("SessionWorkingDirectoryReplacedAction", "MultipleWorkingDirectoriesCapability"),
    "AuthRequiredParams",
)
# Without the free map that all other requests got then: it is no request.
_NO_REQUESTS = ("InitializeResult",)


@cache
def definitions(version: str) -> Json:
    """Return the definitions of a version by name."""
    match version:
        case "0.9.0":
            return _of_0_9_0()
        case "0.8.0":
            return _of_0_8_0()
    published: Json = {}
    for part in reversed(PARTS):
        path = SCHEMAS / version / f"{part}.schema.json"
        published |= json.loads(path.read_text("utf-8"))["$defs"]
    return published


def _of_0_9_0() -> Json:
    described = deepcopy(definitions("1.0.0"))
    for name in _ONLY_1_0_0:
        del described[name]
    for path, members in _ONLY_1_0_0_MEMBERS.items():
        name, _, member = path.partition(".")
        node = described[name]["properties"][member] if member else described[name]
        for only_newer in members:
            del node["properties"][only_newer]
    for name, values in _ONLY_1_0_0_VALUES.items():
        for value in values:
            described[name]["enum"].remove(value)
    return described


def _of_0_8_0() -> Json:
    newest = definitions("1.0.0")
    described = deepcopy(definitions("0.7.0"))
    described |= {name: deepcopy(newest[name]) for name in _SINCE_0_8_0}
    for name, definition in described.items():
        added = newest.get(name, {}).get("properties", {}).get("_meta")
        if added is not None and name not in _NO_REQUESTS:
            definition["properties"].setdefault("_meta", added)
    return described
