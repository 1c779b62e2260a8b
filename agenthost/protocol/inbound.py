"""Translates and validates what a peer sent, or raises the protocol's own error.

The edge between a connection's version and everything inside: first the version ladder UP, then
validation. Nothing behind it looks at raw input again. Pure.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from agenthost.errors import InvalidParams, NotFound, WireError, shortened
from agenthost.protocol.methods import METHODS
from agenthost.protocol.reducer_registry import Kind, client_may_dispatch, kind_of
from agenthost.protocol.schema.validation import validate_action, validate_params, validate_result
from agenthost.protocol.uris import ROOT
from agenthost.protocol.versions import NOWHERE, Untranslatable, Whereabouts, translator

_T = TypeVar("_T")


def accept_params(
    version: str, method: str, params: dict[str, Any], *, around: Whereabouts = NOWHERE
) -> dict[str, Any]:
    """Return canonical, validated params, or raise InvalidParams."""
    if "channel" not in params and method in METHODS and METHODS[method].concerns_root:
        params = {**params, "channel": ROOT}
    canonical = _translated(lambda: translator(version).params_up(method, params, around=around))
    return _checked(version, lambda: validate_params(method, canonical))


def accept_answer(version: str, method: str, params: dict[str, Any], result: Any) -> Any:
    """Return a client's canonical, validated answer to a request of the host's.

    Raises NotFound for any other: whoever asked for it did nothing wrong.
    """
    try:
        canonical = _translated(lambda: translator(version).result_up(method, params, result))
        return validate_result(method, canonical)
    except InvalidParams as error:
        raise NotFound(f"the client answered {method} wrongly: {error.message}") from error


def accept_action(
    version: str,
    kind: Kind,
    action: Any,
    before: Any,
    *,
    now: str,
    around: Whereabouts = NOWHERE,
) -> dict[str, Any]:
    """Return a client's action in canonical form, or raise InvalidParams with the reason.

    ``before`` is the canonical state that the action would change.
    """
    if not isinstance(action, dict) or not isinstance(action.get("type"), str):
        raise InvalidParams("an action is an object with a type", path="action.type")
    action_type: str = action["type"]
    if kind_of(action_type) != kind:
        reason = f"{shortened(action_type)} does not belong on a {kind} channel"
        raise InvalidParams(reason, path="action.type")
    if not client_may_dispatch(action_type):
        reason = f"clients may not dispatch {shortened(action_type)}"
        raise InvalidParams(reason, path="action.type")
    climb = translator(version).action_up
    canonical = _translated(lambda: climb(kind, action, before, now=now, around=around))
    return _checked(version, lambda: validate_action(canonical))


def _checked(version: str, validate: Callable[[], _T]) -> _T:
    """Validate; report the faulty field under the peer's name for it."""
    try:
        return validate()
    except InvalidParams as error:
        if error.path is None:
            raise
        sent = translator(version).path_down(error.path)
        if sent == error.path:
            raise
        raise InvalidParams(error.message.replace(error.path, sent, 1), path=sent) from None


def _translated(translate: Callable[[], _T]) -> _T:
    try:
        return translate()
    except Untranslatable as error:
        raise InvalidParams(error.reason) from error
    except WireError:
        raise
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        # The ladder climbs over what validation has not seen yet: a shape it cannot climb is
        # one that validation would refuse.
        raise InvalidParams("the parameters do not have the shape of this version") from error
