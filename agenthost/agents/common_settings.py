"""Settings of a session that mean the same to every agent.

Their names and values are those that clients have controls of their own for.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

COMMON_SETTINGS: Final[Mapping[str, Any]] = {
    "autoApprove": {
        "type": "string",
        "title": "Approvals",
        "description": "Whether edits and commands ask first",
        "enum": ["default", "autoApprove"],
        "enumLabels": ["Ask first", "Allow everything"],
        "default": "default",
        "sessionMutable": True,
    },
}


# Settings that the host adds to those of every agent: they say where a session works.
ISOLATION: Final = "isolation"
BRANCH: Final = "branch"
DIRECTORY: Final = "directory"
PLACE_SETTINGS: Final = frozenset({ISOLATION, BRANCH, DIRECTORY})


def allows_everything(config: Mapping[str, Any]) -> bool:
    """Return whether the session auto-approves what would be asked."""
    return config.get("autoApprove") == "autoApprove"
