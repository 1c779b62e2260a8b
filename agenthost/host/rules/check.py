"""The entry to the rules: which check an action must pass, and what the checks may know."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from agenthost.host.rules import annotations as annotation_rules
from agenthost.host.rules import chat, config, inputs, session
from agenthost.host.rules.bounds import check_bounds
from agenthost.host.rules.facts import Facts

__all__ = ["Facts", "check"]

State = Mapping[str, Any]
Action = Mapping[str, Any]
Rule = Callable[[State, Action, Facts], str | None]

_RULES: dict[str, Rule] = {
    **annotation_rules.RULES,
    **chat.RULES,
    **config.RULES,
    **inputs.RULES,
    **session.RULES,
}


def check(state: State, action: Action, facts: Facts) -> str | None:
    """Return why a client's action is refused in this state, or None when it is fine."""
    too_much = check_bounds(state, action)
    if too_much is not None:
        return too_much
    if action["type"].startswith("chat/"):
        failed = chat.check_session(facts)
        if failed is not None:
            return failed
    rule = _RULES.get(action["type"])
    return rule(state, action, facts) if rule is not None else None
