"""The step between 0.7.0 and 0.6.0.

Towards 0.6.0: a list of working directories becomes its first entry, a side chat's origin a plain
one, a chat attachment a simple one, referenced tool input is left out, and a terminal's result gets
a block of its own. The other way these are put together again.
"""

from __future__ import annotations

from typing import Any

from agenthost.protocol.versions.calls import find_call
from agenthost.protocol.versions.node_edits import Json, inside, put, without
from agenthost.protocol.versions.rewriter import Rewriter
from agenthost.protocol.versions.step import (
    DownContext,
    ReducerTable,
    Step,
    Untranslatable,
    UpContext,
)
from agenthost.protocol.versions.v0_7_0_to_v0_6_0.attachments import (
    chat_attachment_down,
    chat_attachment_up,
)
from agenthost.protocol.versions.v0_7_0_to_v0_6_0.contributors import (
    actions_to_retell,
    turn_told_anew,
)
from agenthost.protocol.versions.v0_7_0_to_v0_6_0.reducers import older_reducers
from agenthost.protocol.versions.v0_7_0_to_v0_6_0.terminals import (
    fold_terminals,
    has_outcome,
    unfold_terminals,
)


class Step070To060(Step):
    """Translates between 0.7.0 and 0.6.0."""

    newer = "0.7.0"
    older = "0.6.0"

    def __init__(self) -> None:
        self.actions_down = {
            "chat/toolCallDelta": self._delta_down,
            "chat/toolCallReady": self._ready_down,
            "chat/toolCallConfirmed": self._confirmed_down,
        }
        self.actions_up = {
            "chat/toolCallContentChanged": _content_changed_up,
            "chat/toolCallComplete": _complete_up,
        }

    def down(self, *, reviewable: bool = True) -> Rewriter:
        """Return what becomes of single nodes on the way DOWN."""
        return _Down()

    def up(self) -> Rewriter:
        """Return what becomes of single nodes on the way UP."""
        return _Up()

    def reducers(self, newer: ReducerTable) -> ReducerTable:
        """Return the reducers that 0.6.0 has other than ``newer``."""
        return older_reducers(newer)

    def params_down(self, method: str, params: Any) -> Any:
        """Translate a command's params DOWN; a side chat cannot be asked for."""
        params = super().params_down(method, params)
        if not isinstance(params, dict):
            return params
        if method == "createSession":
            return _one_directory(params)
        if method == "createChat":
            return inside(without(params, "workingDirectories"), "source", _source_down)
        return params

    def params_up(self, method: str, params: Any) -> Any:
        """Translate a command's params UP."""
        params = super().params_up(method, params)
        if not isinstance(params, dict):
            return params
        if method == "createSession":
            return _directory_list(params)
        if method == "createChat":
            return inside(params, "source", _source_up)
        return params

    def path_down(self, path: str) -> str:
        """Translate the path of a field DOWN: the first directory was the only one."""
        return path.replace("workingDirectories[0]", "workingDirectory")

    def _delta_down(self, action: Json, context: DownContext) -> list[Json]:
        # Without content an old reducer appends the word "undefined".
        return [action if action.get("content") is not None else {**action, "content": ""}]

    def _ready_down(self, action: Json, context: DownContext) -> list[Json]:
        given = (find_call(context.after(), action) or action).get("toolInput")
        text = _inline(given)
        if text is None and given is not None and self._shows_input(action, context):
            # Nobody must approve a call by the input that it had before.
            text = ""
        # Old reducers forget the input unless it is repeated.
        ready = put(without(action, "contributor", "intention"), "toolInput", text)
        if not self.extra_actions(action, context.before(), context.after()):
            return [ready]
        older = self.state_down("chat", context.before())
        return [*turn_told_anew(older, action, context.after()), ready]

    def extra_actions(self, action: Json, before: Json, after: Json) -> int:
        """Say how many more actions are needed: those that tell a turn with a late contributor."""
        if action["type"] != "chat/toolCallReady" or action.get("contributor") is None:
            return 0
        return actions_to_retell(before, action, after)

    def _shows_input(self, action: Json, context: DownContext) -> bool:
        """Say whether an old client would keep the input that it was shown for a pending call."""
        call = find_call(context.before(), action) or {}
        if call.get("status") != "pending-confirmation" or action.get("confirmed"):
            return False
        return _inline(call.get("toolInput")) is not None

    def _confirmed_down(self, action: Json, context: DownContext) -> list[Json]:
        (rewritten,) = self.rewritten_down(action, context)
        if action.get("editedToolInput") is None:
            return [rewritten]
        # Old reducers always take the edit; here it counts only for what the call then holds.
        call = find_call(context.after(), action) or {}
        text = _inline(call.get("toolInput"))
        return [put(rewritten, "editedToolInput", text)]


class _Down(Rewriter):
    def attachment(self, attachment: Json) -> Json:
        return chat_attachment_down(attachment)

    def contents(self, contents: list[Json], title: str | None) -> list[Json]:
        return unfold_terminals(contents)

    def tool_call(self, call: Json) -> Json:
        given = call.get("toolInput")
        if given is None or isinstance(given, str):
            return call
        return put(call, "toolInput", _inline(given))

    def chat_summary(self, summary: Json) -> Json:
        return inside(_one_directory(summary), "origin", _origin_down)

    def session_summary(self, summary: Json) -> Json:
        return _one_directory(summary)

    def agent(self, agent: Json) -> Json:
        return inside(agent, "capabilities", _capabilities_down)

    def terminal(self, state: Json) -> Json:
        return without(state, "isPty")


class _Up(Rewriter):
    def attachment(self, attachment: Json) -> Json:
        return chat_attachment_up(attachment)

    def contents(self, contents: list[Json], title: str | None) -> list[Json]:
        # Without a title these are an action's, whose call first has to be looked up.
        return contents if title is None else fold_terminals(contents, title)

    def chat_summary(self, summary: Json) -> Json:
        return _directory_list(summary)

    def session_summary(self, summary: Json) -> Json:
        return _directory_list(summary)


def _one_directory(node: Json) -> Json:
    """Say the first of the working directories; an empty list cannot be said at all."""
    if "workingDirectories" not in node:
        return node
    directories = node["workingDirectories"]
    first = directories[0] if isinstance(directories, list) and directories else None
    return put(without(node, "workingDirectories"), "workingDirectory", first)


def _directory_list(node: Json) -> Json:
    if "workingDirectory" not in node:
        return node
    directory = node["workingDirectory"]
    directories = None if directory is None else [directory]
    return put(without(node, "workingDirectory"), "workingDirectories", directories)


def _origin_down(origin: Any) -> Any:
    # Not a fork: a client would expect to see copied turns.
    side_chat = isinstance(origin, dict) and origin.get("kind") == "sideChat"
    return {"kind": "user"} if side_chat else origin


def _source_down(source: Any) -> Any:
    if not isinstance(source, dict):
        return source
    if source.get("kind") == "sideChat":
        raise Untranslatable("side chats need a newer host")
    return without(source, "kind")


def _source_up(source: Any) -> Any:
    if not isinstance(source, dict) or source.get("kind") is not None:
        return source
    return {**source, "kind": "fork"}


def _capabilities_down(capabilities: Any) -> Any:
    if not isinstance(capabilities, dict):
        return capabilities
    older = without(capabilities, "multipleWorkingDirectories")
    return inside(older, "multipleChats", lambda chats: without(chats, "sideChat"))


def _inline(given: Any) -> str | None:
    """Return tool input as text; a reference has none."""
    return given if isinstance(given, str) else None


def _content_changed_up(action: Json, context: UpContext) -> Json:
    return _folded(action, action, context)


def _complete_up(action: Json, context: UpContext) -> Json:
    def fold(result: Any) -> Any:
        return _folded(result, action, context) if isinstance(result, dict) else result

    return inside(action, "result", fold)


def _folded(holder: Json, action: Json, context: UpContext) -> Json:
    if not has_outcome(holder.get("content")):
        return holder
    call = find_call(context.before(), action) or {}
    return {**holder, "content": fold_terminals(holder["content"], call.get("displayName"))}
