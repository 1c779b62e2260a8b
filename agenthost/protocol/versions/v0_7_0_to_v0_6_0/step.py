"""The step between 0.7.0 and 0.6.0.

Towards 0.6.0: a list of working directories becomes its first entry, a side chat's origin a plain
one, a chat attachment a simple one, referenced tool input is left out, and a terminal's result gets
a block of its own. The other way these are put together again. A call whose contributor comes late
is told by telling its turn anew. What reducers do otherwise is in ``reducers``.
"""

from __future__ import annotations

from typing import Any, Final

from agenthost.protocol.json_edits import carry, without
from agenthost.protocol.versions.node_edits import Json, inside, put
from agenthost.protocol.versions.rewriter import Rewriter
from agenthost.protocol.versions.step import (
    DownContext,
    ReducerTable,
    Step,
    Untranslatable,
    UpContext,
)
from agenthost.protocol.versions.v0_7_0_to_v0_6_0.reducers import older_reducers
from agenthost.protocol.versions.v0_7_0_to_v0_6_0.terminals import (
    fold_terminals,
    has_outcome,
    unfold_terminals,
)

# Chat attachments, which 0.6.0 lacks, travel in the ``_meta`` of simple ones. Clients send back
# what they got there, so an old client that edits a message keeps the attachment unknowingly. What
# returns is validated like any attachment: the stash grants nothing.
STASH: Final = "agenthost/chatAttachment"

# What both kinds of attachment have; the stash holds the rest.
_SHARED: Final = ("type", "label", "range", "displayKind", "_meta")

# A turn of more parts is not told anew: what an agent says about each of many calls must not cost
# more and more. An old client then shows a call that waits for authentication as running.
MOST_PARTS: Final = 1000


class _Down(Rewriter):
    def attachment(self, attachment: Json) -> Json:
        return _attachment_down(attachment)

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
        return _attachment_up(attachment)

    def contents(self, contents: list[Json], title: str | None) -> list[Json]:
        # Without a title these are an action's, whose call first has to be looked up.
        return contents if title is None else fold_terminals(contents, title)

    def chat_summary(self, summary: Json) -> Json:
        return _directory_list(summary)

    def session_summary(self, summary: Json) -> Json:
        return _directory_list(summary)


def _attachment_down(attachment: Json) -> Json:
    """Return a chat attachment as a simple one that names the chat; others as they are."""
    if attachment.get("type") != "chat":
        return attachment
    shared: Json = {key: attachment[key] for key in _SHARED if key in attachment}
    return {
        **shared,
        "type": "simple",
        "modelRepresentation": _described(attachment),
        "_meta": {**(attachment.get("_meta") or {}), STASH: without(attachment, *_SHARED)},
    }


def _attachment_up(attachment: Json) -> Json:
    """Return the chat attachment that a simple one carries; others as they are."""
    meta = attachment.get("_meta")
    if attachment.get("type") != "simple" or not isinstance(meta, dict):
        return attachment
    stash = meta.get(STASH)
    if not isinstance(stash, dict):
        return attachment
    shared = without(attachment, "modelRepresentation")
    return {**put(shared, "_meta", without(meta, STASH) or None), **stash, "type": "chat"}


def _described(attachment: Json) -> str:
    until = attachment.get("endTurn")
    extent = "its latest completed turn" if until is None else f"turn {until}"
    return f"The chat {attachment.get('resource')}, up to {extent}."


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


def _create_chat_down(params: Json) -> Json:
    """Leave out the working directories; a side chat cannot be asked for."""
    return inside(without(params, "workingDirectories"), "source", _source_down)


def _create_chat_up(params: Json) -> Json:
    return inside(params, "source", _source_up)


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
    call = context.before.call(action) or {}
    return {**holder, "content": fold_terminals(holder["content"], call.get("displayName"))}


def _replay_length(before: Json, action: Json, after: Json) -> int:
    """Return how many actions tell the turn anew; none if no call has another contributor now.

    0.6.0 hears of a contributor when a call starts and never again, and without one it lets no call
    pause for authentication. So a late contributor is told by telling the whole turn anew.
    """
    turn, later = before.get("activeTurn"), after.get("activeTurn")
    if turn is None or later is None or turn["id"] != action["turnId"]:
        return 0
    parts = turn["responseParts"]
    pairs = zip(parts, later["responseParts"], strict=True)
    changed = any(
        old is not new and _contributor_of(old) != _contributor_of(new) for old, new in pairs
    )
    # The states may be newer ones, with failures between the parts that are never told.
    told: int = sum(part["kind"] != "error" for part in parts)
    if not changed or told > MOST_PARTS:
        return 0
    return 1 + told + int("usage" in turn)


def _turn_replayed(older: Json, action: Json, after: Json) -> list[Json]:
    """Return what tells the active turn of a 0.6.0 state, with the contributors of ``after``."""
    turn, named = older["activeTurn"], {"turnId": action["turnId"]}
    started = {"type": "chat/turnStarted", **named, **carry(turn, "startedAt", "message")}
    parts = [
        {"type": "chat/responsePart", **named, "part": _with_contributor(part, later)}
        for part, later in zip(
            turn["responseParts"], after["activeTurn"]["responseParts"], strict=True
        )
    ]
    usage = [{"type": "chat/usage", **named, "usage": turn["usage"]}] if "usage" in turn else []
    return [started, *parts, *usage]


def _contributor_of(part: Json) -> object:
    return part["toolCall"].get("contributor") if part["kind"] == "toolCall" else None


def _with_contributor(part: Json, later: Json) -> Json:
    if part["kind"] != "toolCall":
        return part
    call = part["toolCall"]
    for member in ("contributor", "intention"):
        call = put(call, member, later["toolCall"].get(member))
    return {**part, "toolCall": call}


class Step070To060(Step):
    """Translates between 0.7.0 and 0.6.0."""

    newer = "0.7.0"
    older = "0.6.0"
    nodes_down = _Down()
    nodes_up = _Up()

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
        self.commands_down = {"createSession": _one_directory, "createChat": _create_chat_down}
        self.commands_up = {"createSession": _directory_list, "createChat": _create_chat_up}

    def reducers(self, newer: ReducerTable) -> ReducerTable:
        """Return the reducers that 0.6.0 has other than ``newer``."""
        return older_reducers(newer)

    def path_down(self, path: str) -> str:
        """Translate the path of a field DOWN: the first directory was the only one."""
        return path.replace("workingDirectories[0]", "workingDirectory")

    def _delta_down(self, action: Json, context: DownContext) -> list[Json]:
        # Without content an old reducer appends the word "undefined".
        return [action if action.get("content") is not None else {**action, "content": ""}]

    def _ready_down(self, action: Json, context: DownContext) -> list[Json]:
        given = (context.after.call(action) or action).get("toolInput")
        text = _inline(given)
        if text is None and given is not None and self._shows_input(action, context):
            # Nobody must approve a call by the input that it had before.
            text = ""
        # Old reducers forget the input unless it is repeated.
        ready = put(without(action, "contributor", "intention"), "toolInput", text)
        if action.get("contributor") is None:
            return [ready]
        if not self.extra_actions(action, context.before(), context.after()):
            return [ready]
        older = self.state_down("chat", context.before())
        return [*_turn_replayed(older, action, context.after()), ready]

    def extra_actions(self, action: Json, before: Json, after: Json) -> int:
        """Say how many more actions are needed: those that tell a turn with a late contributor."""
        if action["type"] != "chat/toolCallReady" or action.get("contributor") is None:
            return 0
        return _replay_length(before, action, after)

    def _shows_input(self, action: Json, context: DownContext) -> bool:
        """Say whether an old client would keep the input that it was shown for a pending call."""
        call = context.before.call(action) or {}
        if call.get("status") != "pending-confirmation" or action.get("confirmed"):
            return False
        return _inline(call.get("toolInput")) is not None

    def _confirmed_down(self, action: Json, context: DownContext) -> list[Json]:
        (rewritten,) = self.rewritten_down(action, reviewable=context.reviewable)
        if action.get("editedToolInput") is None:
            return [rewritten]
        # Old reducers always take the edit; here it counts only for what the call then holds.
        call = context.after.call(action) or {}
        text = _inline(call.get("toolInput"))
        return [put(rewritten, "editedToolInput", text)]
