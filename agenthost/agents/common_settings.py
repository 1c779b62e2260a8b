"""Settings of a session that mean the same to every agent.

Their names and values are those that clients have controls of their own for.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal, TypeAlias, get_args

# The setting that says what runs without asking, and its values, each of which allows more.
APPROVALS: Final = "autoApprove"
ASK_FIRST: Final = "default"
ALLOW_EDITS: Final = "edits"
ALLOW_EVERYTHING: Final = "autoApprove"

COMMON_SETTINGS: Final[Mapping[str, Any]] = {
    APPROVALS: {
        "type": "string",
        "title": "Approvals",
        "description": "Whether edits and commands ask first",
        "enum": [ASK_FIRST, ALLOW_EDITS, ALLOW_EVERYTHING],
        "enumLabels": ["Ask first", "Allow edits", "Allow everything"],
        "enumDescriptions": [
            "Edits, commands and other people's tools wait for a yes",
            "Files inside the session's folders are edited without asking; all else waits",
            "Nothing waits for a yes",
        ],
        "default": ASK_FIRST,
        "sessionMutable": True,
    },
}

# What must be allowed for a tool call to run without asking: ``edits`` for one that only edits
# files inside the session's folders, ``everything`` for all others.
NeededMode: TypeAlias = Literal["edits", "everything"]
_COVERED: Final[Mapping[str, frozenset[str]]] = {
    "edits": frozenset({ALLOW_EDITS, ALLOW_EVERYTHING}),
    "everything": frozenset({ALLOW_EVERYTHING}),
}
# In the ``_meta`` of a call that waits for approval: the mode by which the host may answer for
# people. Without it nobody but they do.
NEEDED_MODE: Final = "agenthost/neededMode"


# Settings that the host adds to those of every agent: they say where a session works.
ISOLATION: Final = "isolation"
BRANCH: Final = "branch"
DIRECTORY: Final = "directory"
PLACE_SETTINGS: Final = frozenset({ISOLATION, BRANCH, DIRECTORY})


def is_covered(config: Mapping[str, Any], needed: NeededMode) -> bool:
    """Return whether a session's settings let a call run that needs so much."""
    return config.get(APPROVALS) in _COVERED[needed]


def needed_mode(meta: Mapping[str, Any] | None) -> NeededMode | None:
    """Return the mode that a waiting call says it needs; None if only people may answer."""
    told = (meta or {}).get(NEEDED_MODE)
    return next((mode for mode in get_args(NeededMode) if mode == told), None)
