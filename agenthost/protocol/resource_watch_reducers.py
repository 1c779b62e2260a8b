"""Reducers of resource watches, which keep no state; the types are in ``resource_watch``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agenthost.protocol.reducer_registry import reduces

if TYPE_CHECKING:
    from agenthost.protocol.resource_watch import (
        ResourceWatchChangedAction,
        ResourceWatchState,
    )


@reduces("resourceWatch/changed")
def changed(
    state: ResourceWatchState, action: ResourceWatchChangedAction, now: str
) -> ResourceWatchState:
    """Change nothing: the batch itself is the message."""
    return state
