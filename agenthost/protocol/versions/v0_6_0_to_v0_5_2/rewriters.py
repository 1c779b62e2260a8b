"""What becomes of single nodes between 0.6.0 and 0.5.2."""

from __future__ import annotations

from agenthost.protocol.status import ACTIVITY_MASK, IN_PROGRESS, INPUT_NEEDED
from agenthost.protocol.versions.node_edits import Json, without
from agenthost.protocol.versions.rewriter import Rewriter
from agenthost.protocol.versions.v0_6_0_to_v0_5_2.inputs import (
    keep_resolved,
    requests_down,
    requests_up,
)


class Down(Rewriter):
    """Rewrites 0.6.0 nodes for 0.5.2."""

    def __init__(self, reviewable: bool) -> None:
        self._reviewable = reviewable

    def tool_call(self, call: Json) -> Json:
        """Show a call that waits for authentication as running, and judge no risk."""
        if call.get("status") == "auth-required":
            return {**without(call, "auth"), "status": "running"}
        return without(call, "riskAssessment")

    def part(self, part: Json) -> Json | None:
        """Take the metadata off system notifications."""
        return without(part, "_meta") if part.get("kind") == "systemNotification" else part

    def turn(self, turn: Json) -> Json:
        """Leave out timing, and requests that were never answered."""
        return keep_resolved(without(turn, "startedAt", "duration"))

    def active_turn(self, turn: Json) -> Json:
        """Leave out timing."""
        return without(turn, "startedAt")

    def chat(self, state: Json) -> Json:
        """List open requests beside the turns."""
        return requests_down(state)

    def input_needed(self, request: Json) -> Json | None:
        """Leave out authentication, of which 0.5.2 knows nothing."""
        return None if request.get("kind") == "toolAuthentication" else request

    def session(self, state: Json) -> Json:
        """Show a session that waits for authentication only as not waiting."""
        if state.get("inputNeeded") != []:
            return state
        emptied = without(state, "inputNeeded")
        if state["status"] & ACTIVITY_MASK != INPUT_NEEDED:
            return emptied
        return {**emptied, "status": state["status"] & ~(INPUT_NEEDED & ~IN_PROGRESS)}

    def mcp_state(self, state: Json) -> Json:
        """Leave out the pre-registered OAuth client."""
        return without(state, "oauthClient")

    def changeset(self, changeset: Json) -> Json:
        """Leave out the capabilities."""
        return without(changeset, "capabilities")

    def changeset_file(self, file: Json) -> Json:
        """Say outright that a file is not reviewed: to 0.5.2 silence means that it cannot be."""
        if not self._reviewable or file.get("reviewed") is not None:
            return file
        return {**file, "reviewed": False}


class Up(Rewriter):
    """Rewrites 0.5.2 nodes for 0.6.0."""

    def chat(self, state: Json) -> Json:
        """Put listed requests into the active turn."""
        return requests_up(state)
