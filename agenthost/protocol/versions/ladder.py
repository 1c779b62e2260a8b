"""The ladder: composing the steps between the canonical model and the version of a connection.

A ``Translator`` speaks one version. DOWN is from the canonical model to it, UP is back. For the
newest version there is nothing to climb, and every method gives back the very object it was given.

Snapshots inside results and actions inside envelopes are not looked into: their translations are
``state_down`` and ``action_down``, for which the caller knows the channel's kind and its states.
"""

from __future__ import annotations

from functools import cache, partial
from typing import TYPE_CHECKING, Any, Final

from msgspec.structs import replace

from agenthost.protocol.versions.node_edits import find_call, without_history
from agenthost.protocol.versions.reduction import reducers_of
from agenthost.protocol.versions.step import (
    NOWHERE,
    DownContext,
    Sender,
    Step,
    Untranslatable,
    UpContext,
    Whereabouts,
)
from agenthost.protocol.versions.steps import all_steps, steps_to
from agenthost.protocol.versions.supported import (
    all_actions,
    exists_in,
    introduced_in,
    kind_exists_in,
    method_exists_in,
    tolerated_in,
)

if TYPE_CHECKING:
    from agenthost.protocol.versions.node_edits import Json

_SOME_TIME: Final = "1970-01-01T00:00:00.000Z"

# Actions that bring news although no state changes; they are never left out as void.
_EVENTS: Final = frozenset({"resourceWatch/changed", "terminal/input"})


@cache
def translator(version: str) -> Translator:
    """Return the translator to a supported version."""
    return Translator(version, steps_to(version))


class Translator:
    """Translates between the canonical model and one version."""

    def __init__(self, version: str, steps: tuple[Step, ...]) -> None:
        self.version = version
        self._steps = steps
        # Whether this is the newest version, where nothing needs translating.
        self.is_identity = not steps
        # Most steps touch few actions, and none the streamed text that most of them are.
        self._passing_down = [_passing_down(step) for step in steps]
        self._rewritten_down = [_rewritten_down(step) for step in steps]
        self._passing_up = [_passing_up(step) for step in steps]
        self._untouched_down = frozenset(all_actions()).intersection(*self._passing_down)
        self._untouched_up = frozenset(
            filter(self.exists, frozenset(all_actions()).intersection(*self._passing_up))
        )

    @property
    def pages_into_state(self) -> bool:
        """Whether ``fetchTurns`` loads turns into the state, rather than giving a page of them."""
        return self.exists("chat/turnsLoaded")

    def exists(self, action_type: str) -> bool:
        """Say whether the version has this action."""
        return exists_in(action_type, self.version)

    def has_kind(self, kind: str) -> bool:
        """Say whether the version has channels of this kind."""
        return kind_exists_in(kind, self.version)

    def has_method(self, method: str) -> bool:
        """Say whether the version has this request; an unknown one is not ours to judge."""
        return method_exists_in(method, self.version)

    def state_down(self, kind: str, state: Any, *, reviewable: bool = True) -> Any:
        """Translate a channel's state DOWN; what needs no change keeps its identity."""
        for step in self._steps:
            state = step.state_down(kind, state, reviewable=reviewable)
        return state

    def state_up(self, kind: str, state: Any, *, around: Whereabouts = NOWHERE) -> Any:
        """Translate a channel's state UP."""
        for step in reversed(self._steps):
            state = step.state_up(kind, state, around)
        return state

    def turn_down(self, turn: Any) -> Any:
        """Translate one completed turn DOWN, exactly as ``state_down`` does for its chat."""
        for step in self._steps:
            turn = step.turn_down(turn)
        return turn

    def turn_up(self, turn: Any) -> Any:
        """Translate one completed turn UP."""
        for step in reversed(self._steps):
            turn = step.turn_up(turn)
        return turn

    def action_down(
        self,
        kind: str,
        before: Any,
        action: Any,
        after: Any,
        *,
        reviewable: bool = True,
        sender: Sender = "host",
    ) -> list[Any]:
        """Translate an action that led from one canonical state to another DOWN.

        An action that changed nothing is not sent, because an old client may be in a translated
        state where it does change something; those that never change state, being events, are.
        Of several, the last is the action itself, and each needs a sequence number of its own: see
        ``sequence_numbers_needed``. A client cannot say several at once: Untranslatable.
        """
        if not self._steps:
            return [action]
        action_type = action["type"]
        if after is before and action_type not in _EVENTS:
            return []
        if action_type in self._untouched_down:
            return [action]
        befores = _Rungs(self._steps, kind, before, reviewable)
        afters = _Rungs(self._steps, kind, after, reviewable)
        last_turn = partial(_last_turn, after)
        actions = [action]
        for rung, step in enumerate(self._steps):
            if not actions:
                break
            if len(actions) == 1:
                name = actions[0]["type"]
                if name in self._passing_down[rung]:
                    continue
                if name in self._rewritten_down[rung]:
                    actions = step.rewritten_down(actions[0], reviewable=reviewable)
                    continue
            forms = _Form(befores, rung), _Form(afters, rung)
            whole = DownContext(*forms, reviewable, sender, last_turn)
            if len(actions) == 1:
                actions = step.action_down(actions[0], whole)
            else:
                actions = _each_down(step, actions, whole)
        if sender == "client" and len(actions) > 1:
            # What a host would make of one of them without the others is not what was meant.
            raise Untranslatable(f"{action_type} needs a newer host")
        return actions

    def action_up(
        self,
        kind: str,
        action: Any,
        before: Any,
        *,
        now: str,
        sender: Sender = "client",
        around: Whereabouts = NOWHERE,
    ) -> Any:
        """Translate an action UP, or raise Untranslatable.

        The reason is the one with which to refuse a client; what a host sent is to be ignored.
        ``before`` is the canonical state that it is about to change; ``now`` stands in for times
        that an old client does not send.
        """
        if not self._can_climb(action, sender):
            return action
        befores = _Rungs(self._steps, kind, before)
        for rung in reversed(range(len(self._steps))):
            if action["type"] not in self._passing_up[rung]:
                context = UpContext(_Form(befores, rung), now, sender, around)
                action = self._steps[rung].action_up(action, context)
        return action

    def actions_up(
        self,
        kind: str,
        action: Any,
        before: Any,
        *,
        now: str,
        around: Whereabouts = NOWHERE,
    ) -> list[Any]:
        """Translate an action that a host sent UP, into as many as it takes; see ``action_up``.

        Of several, each but the first is translated as if those before it had changed nothing.
        """
        if not self._can_climb(action, "host"):
            return [action]
        befores = _Rungs(self._steps, kind, before)
        actions = [action]
        for rung in reversed(range(len(self._steps))):
            if len(actions) == 1 and actions[0]["type"] in self._passing_up[rung]:
                continue
            step = self._steps[rung]
            context = UpContext(_Form(befores, rung), now, "host", around)
            actions = [new for old in actions for new in step.host_action_up(old, context)]
        return actions

    def _can_climb(self, action: Any, sender: Sender) -> bool:
        """Say whether an action needs translating UP; Untranslatable if the version lacks it."""
        if not self._steps or not isinstance(action, dict):
            return False
        action_type = action.get("type")
        if not isinstance(action_type, str):
            return False
        if action_type in self._untouched_up:
            return False
        if self.exists(action_type) or introduced_in(action_type) is None:
            return True
        if sender == "client" and tolerated_in(action_type, self.version):
            return True
        raise Untranslatable(f"{action_type} is not part of protocol {self.version}")

    def params_down(self, method: str, params: Any) -> Any:
        """Translate a command's params DOWN, or raise Untranslatable."""
        if not self.has_method(method):
            raise Untranslatable(f"protocol {self.version} has no {method}")
        for step in self._steps:
            params = step.params_down(method, params)
        return params

    def params_up(self, method: str, params: Any, *, around: Whereabouts = NOWHERE) -> Any:
        """Translate a command's params UP, or raise Untranslatable."""
        for step in reversed(self._steps):
            params = step.params_up(method, params, around)
        return params

    def path_down(self, path: str) -> str:
        """Translate the path of a canonical field DOWN, for whoever sent it under another name."""
        for step in self._steps:
            path = step.path_down(path)
        return path

    def result_down(self, method: str, params: Any, result: Any) -> Any:
        """Translate a command's result DOWN; ``params`` are the canonical ones."""
        for step in self._steps:
            result = step.result_down(method, params, result)
        return result

    def result_up(self, method: str, params: Any, result: Any) -> Any:
        """Translate a command's result UP; ``params`` are those that were sent."""
        for step in reversed(self._steps):
            result = step.result_up(method, params, result)
        return result

    def notification_down(self, method: str, params: Any) -> Any:
        """Translate a notification's params DOWN; None means not to send it."""
        for step in self._steps:
            if params is None:
                return None
            params = step.notification_down(method, params)
        return params

    def notification_up(self, method: str, params: Any) -> Any:
        """Translate a notification's params UP; None means to ignore it."""
        for step in reversed(self._steps):
            if params is None:
                return None
            params = step.notification_up(method, params)
        return params


def sequence_numbers_needed(action: Any, before: Any, after: Any) -> int:
    """Return how many sequence numbers an action takes: enough for every version.

    Whoever numbers an action takes so many in a row. The last is the action's own; versions that
    need several actions for it are sent those under the numbers before.
    """
    steps = _splitting().get(action["type"])
    if steps is None:
        return 1
    return 1 + sum(step.extra_actions(action, before, after) for step in steps)


@cache
def _splitting() -> dict[str, list[Step]]:
    """Return the steps that may make several of an action; no others need to be asked about it."""
    splitting: dict[str, list[Step]] = {}
    for step in all_steps():
        if type(step).extra_actions is not Step.extra_actions:
            for action_type in step.actions_down:
                splitting.setdefault(action_type, []).append(step)
    return splitting


@cache
def _passing_down(step: Step) -> frozenset[str]:
    """Return the actions that go DOWN a step just as they are."""
    return frozenset(filter(step.passes_down, all_actions()))


@cache
def _rewritten_down(step: Step) -> frozenset[str]:
    """Return the actions whose translation DOWN a step takes no look at a state for."""
    return frozenset(filter(step.rewrites_down, all_actions()))


@cache
def _passing_up(step: Step) -> frozenset[str]:
    """Return the actions that go UP a step just as they are."""
    return frozenset(filter(step.passes_up, all_actions()))


def _each_down(step: Step, actions: list[Any], whole: DownContext) -> list[Any]:
    """Translate each of the actions that one has become above a step DOWN."""
    between, told = _Between(step, actions, whole), []
    for index, action in enumerate(actions):
        context = replace(whole, before=_Form(between, index))
        if index + 1 < len(actions):
            context = replace(context, after=_Form(between, index + 1))
        told += step.action_down(action, context)
    return told


def _last_turn(state: Any) -> str | None:
    """Return the id of a chat's last completed turn."""
    turns = state.get("turns")
    return turns[-1]["id"] if turns else None


class _Between:
    """The states before each of several actions, in a step's newer form, reduced when asked for.

    A turn that is told anew takes an action for each of its parts, and few translations ask.
    """

    def __init__(self, step: Step, actions: list[Any], whole: DownContext) -> None:
        self._reducers = reducers_of(step.newer)
        self._actions = actions
        self._whole = whole
        # The states that were asked for so far, in their order; a gap-free prefix.
        self._states: list[Json] = []

    def call(self, index: int, action: Json) -> Json | None:
        """Return the tool call that an action names in the state of an index."""
        return find_call(self.state(index), action)

    def state(self, index: int) -> Json:
        """Return the state before the action of an index."""
        if not self._states:
            self._states.append(self._whole.before())
        while len(self._states) <= index:
            state, action = self._states[-1], self._actions[len(self._states) - 1]
            reduce = self._reducers.get(action["type"])
            # What time it is makes no difference to a translation.
            self._states.append(state if reduce is None else reduce(state, action, _SOME_TIME))
        return self._states[index]


class _Rungs:
    """One canonical state in the form of each rung, translated when first asked for."""

    def __init__(
        self, steps: tuple[Step, ...], kind: str, state: Any, reviewable: bool = True
    ) -> None:
        self._steps = steps
        self._kind = kind
        self._canonical = state
        self._reviewable = reviewable
        # The forms that were asked for so far, by rung; a gap-free prefix.
        self._forms: list[Json] = []

    def call(self, rung: int, action: Json) -> Json | None:
        """Return the tool call that an action names, in the newer form of the step at a rung."""
        call = find_call(self._canonical, action)
        if call is not None:
            for step in self._steps[:rung]:
                call = step.call_down(call)
        return call

    def state(self, rung: int) -> Json:
        """Return the state in the newer form of the step at a rung."""
        if not self._forms:
            self._forms.append(without_history(self._kind, self._canonical))
        while len(self._forms) <= rung:
            step = self._steps[len(self._forms) - 1]
            form = step.state_down(self._kind, self._forms[-1], reviewable=self._reviewable)
            self._forms.append(form)
        return self._forms[rung]


class _Form:
    """One of several states that are made when they are asked for: see ``step.Form``."""

    __slots__ = ("_index", "_states")

    def __init__(self, states: _Between | _Rungs, index: int) -> None:
        self._states = states
        self._index = index

    def __call__(self) -> Json:
        return self._states.state(self._index)

    def call(self, action: Json) -> Json | None:
        """Return the tool call that an action names."""
        return self._states.call(self._index, action)
