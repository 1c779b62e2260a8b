"""The step between 0.9.0 and 0.8.0.

Towards 0.8.0: failures leave the parts of a turn, a resumed turn is told anew, terminals and
annotations say less of where they belong, and a changeset's error has to be repeated. The other way
most of it is put together again; what a resumed turn was before is not.
"""

from __future__ import annotations

from agenthost.protocol.json_edits import carry, carry_given, index_by, without
from agenthost.protocol.own_members import FORK
from agenthost.protocol.versions.node_edits import Json, dropping, put
from agenthost.protocol.versions.rewriter import Rewriter
from agenthost.protocol.versions.step import (
    NOWHERE,
    DownContext,
    ReducerTable,
    Sender,
    Step,
    Untranslatable,
    UpContext,
    Whereabouts,
)
from agenthost.protocol.versions.v0_9_0_to_v0_8_0.errors import (
    error_down,
    error_up,
    response_part_up,
)
from agenthost.protocol.versions.v0_9_0_to_v0_8_0.reducers import older_reducers
from agenthost.protocol.versions.v0_9_0_to_v0_8_0.resume import resumption, retelling_length
from agenthost.protocol.versions.v0_9_0_to_v0_8_0.rewriters import Down, Up


class Step090To080(Step):
    """Translates between 0.9.0 and 0.8.0."""

    newer = "0.9.0"
    older = "0.8.0"
    nodes_down = Down()

    def __init__(self) -> None:
        self.actions_down = {
            "chat/error": error_down,
            "chat/turnResume": self._turn_resume_down,
            "changeset/contentChanged": self._content_changed_down,
        }
        self.actions_up = {
            "chat/error": error_up,
            "chat/responsePart": response_part_up,
            "annotations/set": _set_up,
            "annotations/updated": _updated_up,
            "changeset/contentChanged": _content_changed_up,
        }
        self.splits_up = {"changeset/contentChanged": _content_and_error_up}
        self.commands_down = {"createSession": _create_session_down}
        self.commands_up = {"createSession": _create_session_up}
        self.results_down = {"initialize": dropping("_meta", "automations")}

    def up(self, around: Whereabouts = NOWHERE, sender: Sender = "host") -> Rewriter:
        """Return what becomes of single nodes on the way UP."""
        return Up(around, sender)

    def reducers(self, newer: ReducerTable) -> ReducerTable:
        """Return the reducers that 0.8.0 has other than ``newer``."""
        return older_reducers(newer)

    def path_down(self, path: str) -> str:
        """Translate the path of a field DOWN: forks and turns had members of their own."""
        return path.replace(f"_meta.{FORK}", "fork").replace("origin.turnId", "turnId")

    def extra_actions(self, action: Json, before: Json, after: Json) -> int:
        """Say how many more actions are needed: those that tell a resumed turn anew."""
        if action["type"] != "chat/turnResume" or after is before:
            return 0
        return retelling_length(after) - 1

    def _turn_resume_down(self, action: Json, context: DownContext) -> list[Json]:
        if context.sender == "client":
            # What it would do is the host's to say, and there may be no turn to resume.
            raise Untranslatable("chat/turnResume needs a newer host")
        return resumption(self.state_down("chat", context.after()), context.last_turn())

    def _content_changed_down(self, action: Json, context: DownContext) -> list[Json]:
        # Old reducers forget the error unless it is repeated.
        rewritten = self.rewritten_down(action, reviewable=context.reviewable)
        error = context.after().get("error")
        return [put(changed, "error", error) for changed in rewritten]


def _content_changed_up(action: Json, context: UpContext) -> Json:
    return without(action, "error")


def _content_and_error_up(action: Json, context: UpContext) -> list[Json]:
    """Tell the error of a changeset that has failed by itself; one that has not shows none."""
    changed = _content_changed_up(action, context)
    if context.before().get("status") != "error":
        return [changed]
    failed = {"type": "changeset/statusChanged", "status": "error"}
    return [changed, {**failed, **carry_given(action, "error")}]


def _set_up(action: Json, context: UpContext) -> Json:
    annotation = action.get("annotation")
    if not isinstance(annotation, dict):
        return action
    return {**action, "annotation": _keeping_origin(annotation, annotation.get("id"), context)}


def _updated_up(action: Json, context: UpContext) -> Json:
    return _keeping_origin(action, action.get("annotationId"), context)


def _keeping_origin(node: Json, annotation_id: object, context: UpContext) -> Json:
    """Leave an annotation its origin unless another turn is named: there is more in it than that.

    Old clients say the turn whenever they say anything, and know neither its chat nor what it means
    that there is none.
    """
    held = context.before()["annotations"]
    index = index_by(held, "id", annotation_id) if "origin" in node else None
    if index is None or _turn_of(held[index]) != _turn_of(node):
        return node
    return {**node, **carry(held[index], "origin")}


def _turn_of(node: Json) -> object:
    origin = node.get("origin")
    return origin.get("turnId") if isinstance(origin, dict) else origin


def _create_session_down(params: Json) -> Json:
    """Name the source of a fork in a member of its own."""
    meta = params.get("_meta")
    if not isinstance(meta, dict) or FORK not in meta:
        return params
    return {**put(params, "_meta", without(meta, FORK) or None), "fork": meta[FORK]}


def _create_session_up(params: Json) -> Json:
    """Name the source of a fork where only this host looks for it."""
    if params.get("fork") is None:
        return without(params, "fork")
    meta, newer = params.get("_meta"), without(params, "fork")
    if meta is not None and not isinstance(meta, dict):
        # For validation to refuse.
        return newer
    return {**newer, "_meta": {**(meta or {}), FORK: params["fork"]}}
