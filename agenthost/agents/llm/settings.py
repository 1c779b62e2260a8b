"""Settings of a session of the ``llm`` agent, and what they mean."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from agenthost.agents.common_settings import COMMON_SETTINGS

# The names and values are those that clients have controls of their own for.
SETTINGS: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {
        **COMMON_SETTINGS,
        "mode": {
            "type": "string",
            "title": "Mode",
            "description": "How the agent works",
            "enum": ["interactive", "plan", "autopilot"],
            "enumLabels": ["Interactive", "Plan", "Autopilot"],
            "enumDescriptions": [
                "Works on the files; asks before edits and commands, as approvals say",
                "Reads only, and answers with a plan",
                "Works to the end without asking anything",
            ],
            "default": "interactive",
            "sessionMutable": True,
        },
    },
}


def is_plan_mode(config: Mapping[str, Any]) -> bool:
    """Return whether the session is in plan mode: the agent reads and changes nothing."""
    return config.get("mode") == "plan"


def is_autopilot(config: Mapping[str, Any]) -> bool:
    """Return whether the session is on autopilot: the agent works to the end without asking."""
    return config.get("mode") == "autopilot"
