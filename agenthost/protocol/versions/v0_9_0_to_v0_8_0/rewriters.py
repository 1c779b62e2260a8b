"""What becomes of single nodes between 0.9.0 and 0.8.0.

Towards 0.8.0 what it cannot say is left out or told in the words it has. The other way some of it
has to be found out: which session an annotation belongs to, and which chat holds a terminal.
"""

from __future__ import annotations

from typing import Final

from agenthost.protocol.json_edits import without
from agenthost.protocol.versions.node_edits import Json, inside, put
from agenthost.protocol.versions.rewriter import Rewriter
from agenthost.protocol.versions.step import Sender, Untranslatable, Whereabouts
from agenthost.protocol.versions.v0_9_0_to_v0_8_0.errors import (
    turn_down,
    turn_up,
    without_error_parts,
)

# Where a message that an automation wrote says so, to whoever reads its ``_meta``. It is never read
# back: clients send it along with what they were shown, and may not write as an automation.
WRITTEN_BY: Final = "agenthost/messageKind"

# A session's lifecycle: 0.9.0 -> 0.8.0.
_FAILED, _CREATION_FAILED = "failed", "creationFailed"


class Down(Rewriter):
    """Rewrites nodes from 0.9.0 to 0.8.0."""

    def message(self, message: Json) -> Json:
        """Show what an automation wrote as a notification: no person did."""
        origin = message.get("origin")
        if not isinstance(origin, dict) or origin.get("kind") != "automation":
            return message
        meta = {**(message.get("_meta") or {}), WRITTEN_BY: "automation"}
        return {**message, "origin": {**origin, "kind": "systemNotification"}, "_meta": meta}

    def turn(self, turn: Json) -> Json:
        """Tell a failure beside the parts."""
        return turn_down(turn)

    def active_turn(self, turn: Json) -> Json:
        """Leave out the failures of a turn that goes on."""
        return without_error_parts(turn)

    def session_summary(self, summary: Json) -> Json:
        """Leave out where a session comes from."""
        return without(summary, "origin")

    def session(self, state: Json) -> Json:
        """Name a failed session as 0.8.0 does."""
        return _renamed(state, _FAILED, _CREATION_FAILED)

    def terminal_info(self, info: Json) -> Json:
        """Tell an exit by its code; without one it cannot be told."""
        match info.get("lifecycle"):
            case {"status": "exited", "exitCode": code}:
                return put(without(info, "lifecycle"), "exitCode", code)
        return without(info, "lifecycle")

    def claim(self, claim: Json) -> Json:
        """Leave out which chat holds a terminal."""
        return without(claim, "chat") if claim.get("kind") == "session" else claim

    def annotation(self, annotation: Json) -> Json:
        """Name the turn alone; an annotation of none has an empty one, for 0.8.0 wants a name."""
        origin = annotation.get("origin")
        if not isinstance(origin, dict):
            return annotation
        return {**without(annotation, "origin"), "turnId": origin.get("turnId") or ""}


class Up(Rewriter):
    """Rewrites nodes from 0.8.0 to 0.9.0, knowing what lies around them and who sent them."""

    def __init__(self, around: Whereabouts, sender: Sender) -> None:
        self._around = around
        self._sender = sender

    def turn(self, turn: Json) -> Json:
        """Tell a failure in a part."""
        return turn_up(turn)

    def session(self, state: Json) -> Json:
        """Name a failed session as 0.9.0 does."""
        return _renamed(state, _CREATION_FAILED, _FAILED)

    def terminal_info(self, info: Json) -> Json:
        """Say whether a terminal has exited, which is so if it has a code."""
        code = info.get("exitCode")
        exited = {"status": "exited", "exitCode": code}
        lifecycle = {"status": "running"} if code is None else exited
        return {**without(info, "exitCode"), "lifecycle": lifecycle}

    def claim(self, claim: Json) -> Json:
        """Say which chat holds a terminal; without one no client may claim it for a session."""
        if claim.get("kind") != "session" or claim.get("chat") is not None:
            return claim
        chat = self._holder(claim)
        if chat is None and self._sender == "client":
            raise Untranslatable("the session has no chat to hold the terminal")
        return put(claim, "chat", chat)

    def _holder(self, claim: Json) -> str | None:
        call, turn, around = claim.get("toolCallId"), claim.get("turnId"), self._around
        return (
            (around.chat_of_call(call) if isinstance(call, str) else None)
            or (around.chat_of_turn(turn) if isinstance(turn, str) else None)
            or around.default_chat()
        )

    def annotation(self, annotation: Json) -> Json:
        """Say whose an annotation is; a turn that nobody knows is named without its chat."""
        if "turnId" not in annotation:
            return annotation
        turn, newer = annotation["turnId"], without(annotation, "turnId")
        if turn is None:
            return newer
        if not isinstance(turn, str):
            # Not for us to refuse: what it becomes has no turn by that name.
            return {**newer, "origin": {"session": self._around.session, "turnId": turn}}
        origin: Json = {"session": self._around.session}
        chat = self._around.chat_of_turn(turn) if turn else None
        return {**newer, "origin": put(put(origin, "chat", chat), "turnId", turn or None)}


def _renamed(state: Json, name: str, other: str) -> Json:
    return inside(state, "lifecycle", lambda held: other if held == name else held)
