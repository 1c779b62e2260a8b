"""The reducer of canvases; the types are in ``canvas``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agenthost.protocol.json_edits import carry_given, same_if_equal
from agenthost.protocol.reducer_registry import reduces

if TYPE_CHECKING:
    from agenthost.protocol.canvas import CanvasState, CanvasStateChangedAction


@reduces("canvas/stateChanged")
def state_changed(state: CanvasState, action: CanvasStateChangedAction, now: str) -> CanvasState:
    """Replace the state whole, so that what the new one leaves out is gone."""
    # A null is none: without a state there would be nothing to show any more.
    canvas: CanvasState = carry_given(action, "canvas").get("canvas", state)
    return same_if_equal(state, canvas)
