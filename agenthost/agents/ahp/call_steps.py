"""Brings the local copy of a tool call to where the call stands at the remote host, as actions.

Pure. Works from states: whatever happened in between at the far host, the steps lead from what
people here have seen to what is true there, each of them an action of the chat channel. Ids and
contents are made this host's own before (``adapted_contents``).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agenthost.errors import AgentHostError
from agenthost.protocol.json_edits import carry, carry_given, same

Call = Mapping[str, Any]
Steps = list[dict[str, Any]]

_BASE = ("toolName", "displayName", "intention", "contributor", "_meta")
_INVOCATION = ("intention", "contributor", "invocationMessage", "toolInput")
_CONFIRMATION = ("confirmationTitle", "riskAssessment", "edits", "editable", "options")
_ASKED = frozenset(_CONFIRMATION)
_RESULT = ("success", "pastTenseMessage", "content", "structuredContent", "error")
_OVER = ("completed", "cancelled")


class CallDiverged(AgentHostError):
    """A call has ended here otherwise than at the far host, and nothing can take that back."""


def call_steps(near: Call | None, far: Call, *, is_last: bool = False) -> Steps:
    """Return the actions, without their ids, that lead from one state of a call to another.

    ``near`` is None before the call was shown. ``is_last`` says that the far turn has ended: what
    the end of a turn does to a call, it does here as well.

    Raises:
        CallDiverged: no action leads there.
    """
    steps: Steps = []
    if near is None:
        steps.append({"type": "chat/toolCallStart", **carry_given(far, *_BASE)})
        near = {**carry_given(far, *_BASE), "status": "streaming"}
    if near["status"] in _OVER:
        if near["status"] == far["status"] or far["status"] == "streaming":
            return steps
        raise CallDiverged(f"the call is {near['status']} here and {far['status']} there")
    match far["status"]:
        case "streaming":
            return steps + _streamed(near, far)
        case "pending-confirmation":
            return steps + _asked(near, far)
        case "cancelled":
            return steps + _cancelled(near, far, is_last)
    return steps + _worked(near, far)


def _streamed(near: Call, far: Call) -> Steps:
    if near["status"] != "streaming":
        return []
    shown, whole = near.get("partialInput") or "", far.get("partialInput") or ""
    more: dict[str, Any] = {}
    is_first = "partialInput" in far and "partialInput" not in near
    if whole.startswith(shown) and (is_first or len(whole) > len(shown)):
        more["content"] = whole[len(shown) :]
    more |= _changed(near, far, "invocationMessage", "_meta")
    return [{"type": "chat/toolCallDelta", **more}] if more else []


def _asked(near: Call, far: Call) -> Steps:
    if near["status"] == "pending-result-confirmation":
        raise CallDiverged("the call has a result here and waits to be allowed there")
    is_same = near["status"] == far["status"] and _says_the_same(near, far, *_CONFIRMATION)
    if is_same and not near.keys() & _ASKED - far.keys():
        return []
    shown = carry_given(far, *_CONFIRMATION)
    steps = _unpaused(near)
    is_clients = (far.get("contributor") or {}).get("kind") == "client"
    if near["status"] == far["status"] and near.keys() & _ASKED - far.keys() and not is_clients:
        # It was asked anew, with less to show: only a call that ran forgets what it showed. Not a
        # client's, which would take that for the moment to begin.
        steps.append(_ready(far, confirmed="not-needed"))
    return [*steps, _ready(far, **shown)]


def _cancelled(near: Call, far: Call, is_last: bool) -> Steps:
    if far["reason"] == "result-denied":
        return _refused_result(near, far)
    plain = far["reason"] == "skipped" and not carry_given(far, "reasonMessage", "userSuggestion")
    by_its_turn = is_last and plain and "selectedOption" not in far
    has_result = near["status"] == "pending-result-confirmation"
    if by_its_turn and near["status"] != "streaming" and (has_result or _says_the_same(near, far)):
        return []
    if has_result:
        raise CallDiverged("the call has a result here and was never run there")
    denial = carry_given(far, "reasonMessage", "userSuggestion")
    # The word for why is open in a state, not in the action.
    denial["reason"] = "denied" if far["reason"] == "denied" else "skipped"
    return _unpaused(near) + _decided(near, far, approved=False, **denial)


def _refused_result(near: Call, far: Call) -> Steps:
    steps: Steps = []
    if near["status"] != "pending-result-confirmation":
        steps += _running(near, {**far, "confirmed": near.get("confirmed") or "not-needed"})
        # What it was is not told any more.
        result = {"success": True, "pastTenseMessage": far["invocationMessage"]}
        steps.append(_complete(result, requiresResultConfirmation=True))
    refused = {"type": "chat/toolCallResultConfirmed", "approved": False}
    return [*steps, {**refused, **_changed(near, far, "_meta")}]


def _worked(near: Call, far: Call) -> Steps:
    """Return the steps to a call that runs, waits for a token, or has a result."""
    if near["status"] == "pending-result-confirmation":
        if far["status"] == near["status"]:
            return []
        if far["status"] == "completed":
            reviewed = {"type": "chat/toolCallResultConfirmed", "approved": True}
            return [{**reviewed, **_changed(near, far, "_meta")}]
        raise CallDiverged("the call has a result here and still runs there")
    if near["status"] == far["status"] == "auth-required" and _is_same_pause(near, far):
        return []
    steps = _running(near, far)
    if far["status"] in ("running", "auth-required"):
        kept = near.get("content") if not steps or steps[-1]["type"] == _RESOLVED else None
        steps += _shown(kept, near, far)
        if far["status"] == "auth-required":
            steps.append({"type": "chat/toolCallAuthRequired", "auth": far["auth"]})
        return steps
    review = {"requiresResultConfirmation": True} if far["status"] != "completed" else {}
    result = carry_given(far, *_RESULT)
    return [*steps, _complete(result, **review, **_changed(near, far, "_meta"))]


_RESOLVED = "chat/toolCallAuthResolved"


def _is_same_pause(near: Call, far: Call) -> bool:
    return _runs_the_same(near, far) and same(near["auth"], far["auth"])


def _running(near: Call, far: Call) -> Steps:
    """Return the steps to a call that runs as the far one does; none if it does."""
    steps = _unpaused(near)
    if near["status"] in ("running", "auth-required") and _runs_the_same(near, far):
        return steps
    if "selectedOption" not in far:
        return [*steps, _ready(far, confirmed=far["confirmed"] or "not-needed")]
    return steps + _decided(near, far, approved=True, confirmed=far["confirmed"] or "not-needed")


def _decided(near: Call, far: Call, **decision: Any) -> Steps:
    """Return the steps to a call that somebody decided on, with the option that they chose."""
    chosen = far.get("selectedOption")
    offered = near.get("options") or ()
    steps: Steps = []
    waits = near["status"] == "pending-confirmation" and _says_the_same(near, far)
    if not waits or (chosen is not None and not any(same(chosen, each) for each in offered)):
        steps.append(_ready(far, **({} if chosen is None else {"options": [chosen]})))
    if chosen is not None:
        decision["selectedOptionId"] = chosen["id"]
    return [*steps, {"type": "chat/toolCallConfirmed", **decision}]


def _shown(kept: object, near: Call, far: Call) -> Steps:
    content = far.get("content")
    more = _changed(near, far, "_meta") if kept is not None or content is not None else {}
    if content is None or (same(kept, content) and not more):
        return []
    return [{"type": "chat/toolCallContentChanged", "content": content, **more}]


def _unpaused(near: Call) -> Steps:
    return [{"type": _RESOLVED}] if near["status"] == "auth-required" else []


def _ready(far: Call, **more: Any) -> dict[str, Any]:
    said = {"invocationMessage": "", **carry_given(far, *_INVOCATION, "_meta")}
    return {"type": "chat/toolCallReady", **said, **more}


def _complete(result: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "chat/toolCallComplete", "result": dict(result), **more}


def _says_the_same(near: Call, far: Call, *more: str) -> bool:
    # A member that the far call has not says nothing: no action takes one away.
    names = (*_INVOCATION, "_meta", *more)
    return all(same(near.get(name), far[name]) for name in names if far.get(name) is not None)


def _runs_the_same(near: Call, far: Call) -> bool:
    """Say whether a running call needs no new start: its content and metadata can change."""
    if any(not same(near.get(name), far[name]) for name in _INVOCATION if name in far):
        return False
    lost = near.get("content") is not None and far.get("content") is None
    lost = lost and far["status"] in ("running", "auth-required")
    meta = far.get("content") is None and bool(_changed(near, far, "_meta"))
    meta = meta and far["status"] in ("running", "auth-required")
    decision = ("confirmed", "selectedOption")
    return not lost and not meta and same(carry(near, *decision), carry(far, *decision))


def _changed(near: Call, far: Call, *names: str) -> dict[str, Any]:
    return {
        name: far[name]
        for name in names
        if far.get(name) is not None and not same(near.get(name), far[name])
    }
