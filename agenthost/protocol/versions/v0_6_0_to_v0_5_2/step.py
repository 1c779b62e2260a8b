"""The step between 0.6.0 and 0.5.2.

Towards 0.5.2: open input requests leave the active turn for a list of their own, nothing blocks on
authentication, turns carry no timing, and a Ready on a pending call must be said otherwise. The
other way the host's own clock supplies the timing that an old client does not send.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from agenthost.protocol.json_edits import same, without
from agenthost.protocol.status import ACTIVITY_MASK, IN_PROGRESS, INPUT_NEEDED
from agenthost.protocol.versions.node_edits import Json, dropping, find_call, put
from agenthost.protocol.versions.rewriter import Rewriter
from agenthost.protocol.versions.step import (
    DownContext,
    ReducerTable,
    Step,
    Untranslatable,
    UpContext,
)
from agenthost.protocol.versions.v0_6_0_to_v0_5_2.inputs import (
    is_open,
    keep_resolved,
    requests_down,
    requests_up,
)
from agenthost.protocol.versions.v0_6_0_to_v0_5_2.reducers import older_reducers

_ENDINGS = ("chat/turnComplete", "chat/turnCancelled", "chat/error")
# What a Ready says of a call, besides whether it may run.
_SHOWN = (
    *("invocationMessage", "toolInput", "confirmationTitle"),
    *("edits", "editable", "options"),
)


class _Down(Rewriter):
    def __init__(self, *, reviewable: bool) -> None:
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


class _Up(Rewriter):
    def chat(self, state: Json) -> Json:
        """Put listed requests into the active turn."""
        return requests_up(state)


_NOT_REVIEWABLE = _Down(reviewable=False)


class Step060To052(Step):
    """Translates between 0.6.0 and 0.5.2."""

    newer = "0.6.0"
    older = "0.5.2"
    nodes_down = _Down(reviewable=True)
    nodes_up = _Up()

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
        self.commands_down = {"authenticate": dropping("scopes")}

    def down(self, *, reviewable: bool = True) -> Rewriter:
        """Return what becomes of single nodes on the way DOWN."""
        return self.nodes_down if reviewable else _NOT_REVIEWABLE

    def reducers(self, newer: ReducerTable) -> ReducerTable:
        """Return the reducers that 0.5.2 has other than ``newer``."""
        return older_reducers(newer)

    def extra_actions(self, action: Json, before: Json, after: Json) -> int:
        """Say how many more actions may be needed: one to update a call that waits already."""
        call = find_call(before, action) if action["type"] == "chat/toolCallReady" else None
        return int(call is not None and call["status"] == "pending-confirmation")

    def _response_part_down(self, action: Json, context: DownContext) -> list[Json]:
        if is_open(action["part"]):
            return [{"type": "chat/inputRequested", "request": action["part"]["request"]}]
        return self.rewritten_down(action, reviewable=context.reviewable)

    def _input_needed_set_down(self, action: Json, context: DownContext) -> list[Json]:
        rewritten = self.rewritten_down(action, reviewable=context.reviewable)
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
    call = context.before.call(action)
    status = None if call is None else call["status"]
    if status == "auth-required":
        # A paused call took no notice.
        return []
    if call is None or status != "pending-confirmation":
        # Any other call shows what the action says and nothing else, in both versions.
        return [without(action, "riskAssessment")]
    after = context.after.call(action) or call
    # Where the turn was told anew, the chat does not count the call as waiting before this.
    counts = context.before()["status"] == context.after()["status"]
    if counts and same(without(call, "riskAssessment"), without(after, "riskAssessment")):
        return []
    return _pending_ready_down(action, call, after)


def _pending_ready_down(action: Json, before: Json, after: Json) -> list[Json]:
    """Say what became of a pending call, which old reducers let a Ready change in no way.

    So the call is let run first: to a running call they apply a Ready, whether it asks again or
    not. Nobody must approve by what a call was going to do before.
    """
    named = _given(action, "turnId", "toolCallId")
    confirmed = action.get("confirmed")
    released = {
        **named,
        "type": "chat/toolCallConfirmed",
        "approved": True,
        "confirmed": confirmed or "not-needed",
    }
    ready = {**named, "type": "chat/toolCallReady", **_given(after, "_meta", *_SHOWN)}
    if not confirmed:
        return [released, ready]
    if not same(before.get("invocationMessage"), after.get("invocationMessage")):
        return [released, {**ready, "confirmed": confirmed}]
    edited = after.get("toolInput")
    if before.get("toolInput") == edited:
        edited = None
    elif edited is None:
        return [released, {**ready, "confirmed": confirmed}]
    return [put({**released, **_given(action, "_meta")}, "editedToolInput", edited)]


def _complete_down(action: Json, context: DownContext) -> list[Json]:
    call = context.before.call(action)
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
    call = context.before.call(action)
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
