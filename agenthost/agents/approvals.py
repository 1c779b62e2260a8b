"""The setting of a session by which people allow everything in advance."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

__all__ = ["APPROVALS", "allows_everything"]

# The name and the values are those that clients have a control of their own for.
APPROVALS: Final[Mapping[str, Any]] = {
    "autoApprove": {
        "type": "string",
        "title": "Approvals",
        "description": "Whether edits and commands ask first",
        "enum": ["default", "autoApprove"],
        "enumLabels": ["Ask first", "Allow everything"],
        "default": "default",
        "sessionMutable": True,
    }
}


def allows_everything(config: Mapping[str, Any]) -> bool:
    """Say whether the settings of a session allow what would be asked."""
    return config.get("autoApprove") == "autoApprove"
