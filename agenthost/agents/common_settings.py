"""Settings of a session that mean the same to every agent that works on files.

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
    # Said, and not to be chosen: there are no sessions in work trees of their own.
    "isolation": {
        "type": "string",
        "title": "Isolation",
        "description": "Where the agent works: in the folder itself",
        "enum": ["folder"],
        "enumLabels": ["Folder"],
        "default": "folder",
        "readOnly": True,
    },
}


def allows_everything(config: Mapping[str, Any]) -> bool:
    """Return whether the session auto-approves what would be asked."""
    return config.get("autoApprove") == "autoApprove"
