"""What people may choose for a session of the ``llm`` agent, and what it means."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from agenthost.agents.common_settings import COMMON_SETTINGS, allows_everything

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


def auto_approves(config: Mapping[str, Any]) -> bool:
    """Say whether edits and commands may run unasked."""
    return allows_everything(config) or is_autopilot(config)


def is_plan_mode(config: Mapping[str, Any]) -> bool:
    """Say whether the agent may look at everything and change nothing."""
    return config.get("mode") == "plan"


def is_autopilot(config: Mapping[str, Any]) -> bool:
    """Say whether the agent is to go on to the end without anybody."""
    return config.get("mode") == "autopilot"
