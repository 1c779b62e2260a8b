"""The step between 0.6.0 and 0.5.2.

Towards 0.5.2: open input requests leave the active turn for a list of their own, nothing blocks on
authentication, turns carry no timing, and a Ready on a pending call must be said otherwise or not
at all. The other way the host's own clock supplies the timing that an old client does not send.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from agenthost.protocol.versions.calls import find_call
from agenthost.protocol.versions.edits import Json, put, without
from agenthost.protocol.versions.rewriter import Rewriter
from agenthost.protocol.versions.step import (
    DownContext,
    Outside,
    ReducerTable,
    Step,
    Untranslatable,
    UpContext,
)
from agenthost.protocol.versions.v0_6_0_to_v0_5_2.inputs import is_open
from agenthost.protocol.versions.v0_6_0_to_v0_5_2.reducers import older_reducers
from agenthost.protocol.versions.v0_6_0_to_v0_5_2.rewriters import Down, Up

__all__ = ["Step060To052"]

_ENDINGS = ("chat/turnComplete", "chat/turnCancelled", "chat/error")


class Step060To052(Step):
    """Translates between 0.6.0 and 0.5.2."""

    newer = "0.6.0"
    older = "0.5.2"

    def __init__(self) -> None:
        self.actions_down = {
            "chat/turnStarted": _turn_started_down,
            **dict.fromkeys(_ENDINGS, _ending_down),
            "chat/responsePart": self._response_part_down,
            "chat/toolCallReady": _ready_down,
            "chat/toolCallComplete": _complete_down,
            "session/inputNeededSet": self._input_needed_set_down,
            "changeset/filesReviewChanged": _files_review_changed_down,
        }
        self.actions_up = {
            "chat/turnStarted": _turn_started_up,
            **dict.fromkeys(_ENDINGS, _ending_up),
            "chat/toolCallReady": _ready_up,
            "changeset/filesReviewedChanged": _files_reviewed_changed_up,
        }

    def down(self, outside: Outside) -> Rewriter:
        """Return what becomes of single nodes on the way DOWN."""
        return Down(outside.reviewable)

    def up(self) -> Rewriter:
        """Return what becomes of single nodes on the way UP."""
        return Up()

    def params_down(self, method: str, params: object) -> object:
        """Translate a command's params DOWN."""
        params = super().params_down(method, params)
        if method == "authenticate" and isinstance(params, dict):
            return without(params, "scopes")
        return params

    def reducers(self, newer: ReducerTable) -> ReducerTable:
        """Return the reducers that 0.5.2 has other than ``newer``."""
        return older_reducers(newer)

    def _response_part_down(self, action: Json, context: DownContext) -> list[Json]:
        if is_open(action["part"]):
            return [{"type": "chat/inputRequested", "request": action["part"]["request"]}]
        return self.rewritten_down(action, context)

    def _input_needed_set_down(self, action: Json, context: DownContext) -> list[Json]:
        rewritten = self.rewritten_down(action, context)
        if rewritten:
            return rewritten
        # Nothing old to say, unless it takes the place of something that was said.
        request_id = action["request"]["id"]
        listed = context.before().get("inputNeeded") or []
        replaced = any(
            entry["id"] == request_id and entry["kind"] != "toolAuthentication" for entry in listed
        )
        return [{"type": "session/inputNeededRemoved", "id": request_id}] if replaced else []


def _turn_started_down(action: Json, context: DownContext) -> list[Json]:
    return [without(action, "startedAt")]


def _ending_down(action: Json, context: DownContext) -> list[Json]:
    return [without(action, "duration")]


def _ready_down(action: Json, context: DownContext) -> list[Json]:
    call = find_call(context.before(), action)
    status = None if call is None else call["status"]
    if call is not None and status == "pending-confirmation" and action.get("confirmed"):
        return [_confirmation(action, call, find_call(context.after(), action) or {})]
    if status in ("pending-confirmation", "auth-required"):
        # No old action can update a pending call, and a paused one took no notice.
        return []
    # Any other call shows what the action says and nothing else, in both versions.
    return [without(action, "riskAssessment")]


def _confirmation(action: Json, before: Json, after: Json) -> Json:
    """Say that a pending call runs now, in the one way that old reducers understand."""
    confirmed = {
        **_given(action, "turnId", "toolCallId", "_meta"),
        "type": "chat/toolCallConfirmed",
        "approved": True,
        "confirmed": action["confirmed"],
    }
    changed = after.get("toolInput") != before.get("toolInput")
    return put(confirmed, "editedToolInput", after.get("toolInput") if changed else None)


def _complete_down(action: Json, context: DownContext) -> list[Json]:
    call = find_call(context.before(), action)
    if call is None or call["status"] != "auth-required":
        return [action]
    if action["result"].get("success"):
        return []
    # To an old client the call is running, so what pausing preserved has to be restated, and a
    # review that nobody will conclude must not begin.
    result = {**_given(call, "content"), **action["result"]}
    return [{**without(action, "requiresResultConfirmation"), "result": result}]


def _files_review_changed_down(action: Json, context: DownContext) -> list[Json]:
    if context.sender == "client":
        return []
    renamed = without(action, "files")
    return [{**renamed, "type": "changeset/filesReviewedChanged", "fileIds": action["files"]}]


def _turn_started_up(action: Json, context: UpContext) -> Json:
    # A client of an older host does not know when that turn began, and must not guess.
    if context.sender == "host" or action.get("startedAt") is not None:
        return action
    return {**action, "startedAt": context.now}


def _ending_up(action: Json, context: UpContext) -> Json:
    if context.sender == "host" or action.get("duration") is not None:
        return action
    turn = context.before().get("activeTurn") or {}
    return {**action, "duration": _elapsed(turn.get("startedAt"), context.now)}


def _ready_up(action: Json, context: UpContext) -> Json:
    call = find_call(context.before(), action)
    if call is not None and call["status"] == "pending-confirmation":
        raise Untranslatable("a call that is pending cannot be made ready in this version")
    return action


def _files_reviewed_changed_up(action: Json, context: UpContext) -> Json:
    if context.sender == "client":
        raise Untranslatable("only the host may change a review in this protocol version")
    renamed = without(action, "fileIds")
    return {**renamed, "type": "changeset/filesReviewChanged", "files": action.get("fileIds")}


def _elapsed(since: object, until: str) -> int:
    """Return the milliseconds between two ISO times; none when they do not tell."""
    try:
        elapsed = datetime.fromisoformat(until) - datetime.fromisoformat(str(since))
    except (TypeError, ValueError):
        return 0
    return max(0, elapsed // timedelta(milliseconds=1))


def _given(node: Json, *keys: str) -> Json:
    return {key: node[key] for key in keys if node.get(key) is not None}
