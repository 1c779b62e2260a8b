"""The contract of one rung: translating between two neighbouring versions, DOWN and UP.

A step knows its own difference and no other version. DOWN is from the newer to the older version,
UP is the way back; both hosts and clients use both. Composing steps is the work of ``ladder``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Final, Literal, Protocol

from msgspec import Struct

from agenthost.errors import AgentHostError
from agenthost.protocol.reducer_registry import Reducer
from agenthost.protocol.versions.node_edits import Json
from agenthost.protocol.versions.node_walks import (
    nodes_in,
    walk_action,
    walk_call,
    walk_notification,
    walk_params,
    walk_result,
    walk_state,
    walk_turn,
)
from agenthost.protocol.versions.rewriter import Rewriter
from agenthost.protocol.versions.supported import exists_in, notification_exists_in

ReducerTable = Mapping[str, Reducer]
# Who sent what is translated. Some actions were the host's alone in older versions.
Sender = Literal["client", "host"]


class Untranslatable(AgentHostError):
    """The other version has no way to say this; the reason is fit for a rejection."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(reason)


def _nothing_known(_: str = "") -> str | None:
    return None


class Whereabouts(Struct, frozen=True):
    """What lies around a channel, for translations UP of what an older version leaves unsaid.

    Looking up may cost time, so a step asks only when it cannot do without.
    """

    # The session that the channel belongs to; empty when that is not known.
    session: str = ""
    # The chat of the session in which a turn or a tool call took place.
    chat_of_turn: Callable[[str], str | None] = _nothing_known
    chat_of_call: Callable[[str], str | None] = _nothing_known
    default_chat: Callable[[], str | None] = _nothing_known


NOWHERE: Final = Whereabouts()
"""Whereabouts of which nothing is known."""


class Form(Protocol):
    """One state in a step's newer form, of which no more is translated than somebody asks for."""

    def __call__(self) -> Json:
        """Return the state; a chat's comes without its completed turns."""
        ...

    def call(self, action: Json) -> Json | None:
        """Return the tool call that an action names, if that is in the active turn."""
        ...


class DownContext(Struct, frozen=True):
    """The circumstances of an action on its way DOWN; the states are in the step's newer form.

    The states cost time, so a step asks for one only when it cannot do without: translating an
    action must not depend on the chat's length, and a call costs much less than its turn.
    """

    before: Form
    after: Form
    # Whether the changeset at hand can be reviewed, which only its catalogue entry tells.
    reviewable: bool = True
    sender: Sender = "host"
    # The id of the last completed turn after the action, which the states do not show.
    last_turn: Callable[[], str | None] = _nothing_known


class UpContext(Struct, frozen=True):
    """The circumstances of an action on its way UP; see ``DownContext`` about the state."""

    before: Form
    # When the action was received, as ISO 8601.
    now: str
    sender: Sender = "client"
    around: Whereabouts = NOWHERE


DownAction = Callable[[Json, DownContext], list[Json]]
UpAction = Callable[[Json, UpContext], Json]
UpActions = Callable[[Json, UpContext], list[Json]]
Edit = Callable[[Json], Json]


class Step:
    """A rung whose two versions do not differ; subclasses say where theirs do."""

    newer: ClassVar[str]
    older: ClassVar[str]

    # What becomes of single nodes.
    nodes_down: Rewriter = Rewriter()
    nodes_up: Rewriter = Rewriter()
    # Actions whose translation takes more than rewriting what they carry.
    actions_down: Mapping[str, DownAction] = {}
    actions_up: Mapping[str, UpAction] = {}
    # Actions of an older host that take several in the newer version: instead of ``actions_up``,
    # where it is a host that sent them.
    splits_up: Mapping[str, UpActions] = {}
    # The same for commands: what becomes of the params and of the result, by method.
    commands_down: Mapping[str, Edit] = {}
    commands_up: Mapping[str, Edit] = {}
    results_down: Mapping[str, Edit] = {}
    results_up: Mapping[str, Edit] = {}
    # And for the params of notifications.
    notifications_down: Mapping[str, Edit] = {}
    notifications_up: Mapping[str, Edit] = {}

    def down(self, *, reviewable: bool = True) -> Rewriter:
        """Return what becomes of single nodes on the way DOWN; see ``DownContext``.

        Whatever the circumstances, it is of one class, and so is what ``up`` returns.
        """
        return self.nodes_down

    def up(self, around: Whereabouts = NOWHERE, sender: Sender = "host") -> Rewriter:
        """Return what becomes of single nodes on the way UP, by where they are and who sent them.

        What is kept in a store counts as sent by a host.
        """
        return self.nodes_up

    def state_down(self, kind: str, state: Json, *, reviewable: bool = True) -> Json:
        """Translate a channel's state DOWN."""
        return walk_state(self.down(reviewable=reviewable), kind, state)  # type: ignore[no-any-return]

    def state_up(self, kind: str, state: Json, around: Whereabouts = NOWHERE) -> Json:
        """Translate a channel's state UP."""
        return walk_state(self.up(around), kind, state)  # type: ignore[no-any-return]

    def turn_down(self, turn: Json) -> Json:
        """Translate one completed turn DOWN, as the chat's state would have it."""
        return walk_turn(self.down(), turn)

    def turn_up(self, turn: Json) -> Json:
        """Translate one completed turn UP."""
        return walk_turn(self.up(), turn)

    def call_down(self, call: Json) -> Json:
        """Translate a tool call DOWN, as the chat's state would have it."""
        return walk_call(self.down(), call)

    def action_down(self, action: Json, context: DownContext) -> list[Json]:
        """Translate an action DOWN: into none, when the older version has nothing like it.

        Of several, the last must be what the action itself becomes.
        """
        special = self.actions_down.get(action["type"])
        if special is not None:
            return special(action, context)
        return self.rewritten_down(action, reviewable=context.reviewable)

    def passes_down(self, action_type: str) -> bool:
        """Say whether every action of this type goes DOWN just as it is."""
        return (
            self.rewrites_down(action_type)
            and exists_in(action_type, self.older)
            and not self.down().changes_any(nodes_in(action_type))
        )

    def rewrites_down(self, action_type: str) -> bool:
        """Say whether an action of this type goes DOWN by ``rewritten_down`` alone."""
        return type(self).action_down is Step.action_down and action_type not in self.actions_down

    def passes_up(self, action_type: str) -> bool:
        """Say whether every action of this type goes UP just as it is."""
        return (
            type(self).action_up is Step.action_up
            and action_type not in self.actions_up
            and action_type not in self.splits_up
            and not self.up().changes_any(nodes_in(action_type))
        )

    def extra_actions(self, action: Json, before: Json, after: Json) -> int:
        """Return how many extra actions a translation may need, at most.

        Asked about those in ``actions_down`` whether or not anybody needs the translation, so it
        must cost next to nothing. The states are canonical, which may be newer than the step's own
        form.
        """
        return 0

    def rewritten_down(self, action: Json, *, reviewable: bool = True) -> list[Json]:
        """Rewrite what an action carries, if the older version has the action at all."""
        if not exists_in(action["type"], self.older):
            return []
        rewritten = walk_action(self.down(reviewable=reviewable), action)
        return [] if rewritten is None else [rewritten]

    def action_up(self, action: Json, context: UpContext) -> Json:
        """Translate an action UP, or raise Untranslatable."""
        special = self.actions_up.get(action["type"])
        rewritten = self._rewritten_up(action, context)
        return rewritten if special is None else special(rewritten, context)

    def host_action_up(self, action: Json, context: UpContext) -> list[Json]:
        """Translate an action that a host sent UP, into as many as it takes."""
        split = self.splits_up.get(action["type"])
        if split is None:
            return [self.action_up(action, context)]
        return split(self._rewritten_up(action, context), context)

    def _rewritten_up(self, action: Json, context: UpContext) -> Json:
        rewritten = walk_action(self.up(context.around, context.sender), action)
        if rewritten is None:
            raise Untranslatable(f"{action['type']} says nothing in a newer version")
        return rewritten

    def params_down(self, method: str, params: Any) -> Any:
        """Translate a command's params DOWN, or raise Untranslatable."""
        return _edited(walk_params(self.down(), method, params), self.commands_down.get(method))

    def params_up(self, method: str, params: Any, around: Whereabouts = NOWHERE) -> Any:
        """Translate a command's params UP."""
        walked = walk_params(self.up(around, "client"), method, params)
        return _edited(walked, self.commands_up.get(method))

    def path_down(self, path: str) -> str:
        """Translate the path of a field DOWN, as far as a rename is all that happened to it."""
        return path

    def result_down(self, method: str, params: Any, result: Any) -> Any:
        """Translate a command's result DOWN; ``params`` are in the newer form."""
        return _edited(walk_result(self.down(), method, result), self.results_down.get(method))

    def result_up(self, method: str, params: Any, result: Any) -> Any:
        """Translate a command's result UP; ``params`` are in the older form."""
        return _edited(walk_result(self.up(), method, result), self.results_up.get(method))

    def notification_down(self, method: str, params: Any) -> Any:
        """Translate a notification's params DOWN; None drops the notification."""
        if not notification_exists_in(method, self.older):
            return None
        walked = walk_notification(self.down(), method, params)
        return _edited(walked, self.notifications_down.get(method))

    def notification_up(self, method: str, params: Any) -> Any:
        """Translate a notification's params UP; None drops the notification."""
        walked = walk_notification(self.up(), method, params)
        return _edited(walked, self.notifications_up.get(method))

    def reducers(self, newer: ReducerTable) -> ReducerTable:
        """Return the reducers that the older version has other than ``newer``."""
        return {}


def _edited(value: Any, edit: Edit | None) -> Any:
    # What is no object is for validation to refuse.
    return value if edit is None or not isinstance(value, dict) else edit(value)
