"""The entry to the rules: which check an action must pass, and what the checks may know."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from agenthost.host.channels import annotations as annotation_rules
from agenthost.host.channels import settings as config
from agenthost.host.channels.chat import answers as inputs
from agenthost.host.channels.chat import rules as chat
from agenthost.host.channels.rule_context import RuleContext
from agenthost.host.channels.session import rules as session
from agenthost.host.trust.message_bounds import check_bounds

State = Mapping[str, Any]
Action = Mapping[str, Any]
Rule = Callable[[State, Action, RuleContext], str | None]

_RULES: dict[str, Rule] = {
    **annotation_rules.RULES,
    **chat.RULES,
    **config.RULES,
    **inputs.RULES,
    **session.RULES,
}


def check(state: State, action: Action, context: RuleContext) -> str | None:
    """Return why a client's action is refused in this state, or None when it is fine."""
    too_much = check_bounds(state, action)
    if too_much is not None:
        return too_much
    if action["type"].startswith("chat/"):
        failed = chat.check_session(context)
        if failed is not None:
            return failed
    rule = _RULES.get(action["type"])
    return rule(state, action, context) if rule is not None else None
