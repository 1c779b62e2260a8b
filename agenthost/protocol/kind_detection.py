"""Tells a channel's kind by its state: the keys that give each kind away.

A snapshot does not say which state it carries. Kept apart from the wire types, so that a client can
ask without loading them all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agenthost.protocol.reducer_registry import Kind

# In this order: the first kind whose keys are all there. Several kinds have a ``lifecycle``.
STATE_MARKS: tuple[tuple[Kind, tuple[str, ...]], ...] = (
    ("root", ("agents",)),
    ("automationRun", ("automation", "sessions")),
    ("session", ("lifecycle", "activeClients")),
    ("chat", ("turns",)),
    ("terminal", ("content", "claim")),
    ("canvas", ("instanceId", "canvasId")),
    ("automation", ("entries",)),
    ("changeset", ("files", "status")),
    ("resourceWatch", ("root", "recursive")),
    ("annotations", ("annotations",)),
)


def kind_of_state(state: Any) -> Kind | None:
    """Return the kind of channel that a state belongs to, or None for an unknown one."""
    if not isinstance(state, dict):
        return None
    return next((kind for kind, marks in STATE_MARKS if all(key in state for key in marks)), None)
