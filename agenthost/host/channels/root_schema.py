"""What a client may change of the host itself: the host's own settings (data, and nothing else).

A setting that the command line decides is shown with its value, and can only be read.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from agenthost.agents.common_settings import APPROVALS, COMMON_SETTINGS

if TYPE_CHECKING:
    from agenthost.protocol.common import ConfigPropertySchema, ConfigSchema

_MODES = COMMON_SETTINGS[APPROVALS]

_PROPERTIES: dict[str, ConfigPropertySchema] = {
    "welcome": {
        "type": "string",
        "title": "Welcome message",
        "description": "Shown by clients when they connect to this host",
        "default": "",
    },
    "defaultAgent": {
        "type": "string",
        "title": "Default agent",
        "description": "The agent of a session that names none, by its id; without one, the first",
        "default": "",
    },
    "defaultModel": {
        "type": "string",
        "title": "Default model",
        "description": "The model of messages that choose none, by its id, for every agent that "
        "offers it; without one, each agent's first",
        "default": "",
    },
    "approvals": {
        "type": "string",
        "title": "Approvals in new sessions",
        "description": "What new sessions begin with; each can be changed by itself",
        "enum": list(_MODES["enum"]),
        "enumLabels": list(_MODES["enumLabels"]),
        "enumDescriptions": list(_MODES["enumDescriptions"]),
        "default": _MODES["default"],
    },
    "dispose": {
        "type": "string",
        "title": "Disposed sessions",
        "description": "What becomes of a disposed session that holds anything",
        "enum": ["trash", "delete"],
        "enumLabels": ["Trash", "Delete"],
        "enumDescriptions": ["It can be taken back for 30 days", "It is gone at once"],
        "default": "trash",
    },
    "draftSeconds": {
        "type": "number",
        "title": "Keep empty sessions",
        "description": "Seconds until a session that holds nothing and that nobody follows is "
        "removed; 0 keeps it",
        "default": 30,
    },
    "promptTimeout": {
        "type": "number",
        "title": "Wait for answers",
        "description": "Seconds until a question that nobody answers is given up; 0 waits for ever",
        "default": 86400,
    },
    "defaultShell": {
        "type": "string",
        "title": "Shell",
        "description": "The path of the shell in new terminals; without one, the user's own",
    },
    "mcp.enabled": {
        "type": "boolean",
        "title": "MCP servers",
        "description": "Whether MCP servers are started at all",
        "default": True,
    },
    "customizations.enabled": {
        "type": "boolean",
        "title": "Customizations",
        "description": "Whether instructions, skills, prompts, agents and plugins are looked for "
        "in the folders that sessions work in",
        "default": True,
    },
    "plugins": {
        "type": "array",
        "title": "Plugins",
        "description": "Folders of plugins for every session",
        "items": {"type": "string", "title": "Folder"},
        "maxItems": 64,
        "default": [],
    },
    "telemetry.endpoint": {
        "type": "string",
        "title": "Telemetry endpoint",
        "description": "Where traces, metrics and logs are sent by OTLP over HTTP; without one, "
        "nowhere",
        "default": "",
    },
    "telemetry.level": {
        "type": "string",
        "title": "Telemetry level",
        "description": "The least level of log records that are sent there",
        "enum": ["debug", "info", "warn", "error"],
        "enumLabels": ["Everything", "Information", "Warnings", "Errors"],
        "default": "info",
    },
}

CONFIG_SCHEMA: ConfigSchema = {"type": "object", "properties": _PROPERTIES}


def root_schema(flags: Collection[str] = ()) -> ConfigSchema:
    """Return the schema of a host on which some settings can only be read."""
    decided: dict[str, ConfigPropertySchema] = {
        key: {**_PROPERTIES[key], "readOnly": True} for key in _PROPERTIES if key in flags
    }
    return {"type": "object", "properties": {**_PROPERTIES, **decided}}
