"""The rules for what clients dispatch: finds the ones that an action must pass (pure)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agenthost.host.channels import annotations as annotation_rules
from agenthost.host.channels import root_rules, settings
from agenthost.host.channels.chat import answers
from agenthost.host.channels.chat import rules as chat
from agenthost.host.channels.session import rules as session
from agenthost.host.trust.message_bounds import check_bounds

if TYPE_CHECKING:
    from agenthost.host.channels.rule_context import RuleContext, Rules
    from agenthost.protocol.common import Action

_RULES: Rules[Any] = {
    **annotation_rules.RULES,
    **chat.RULES,
    **root_rules.RULES,
    **settings.SESSION_RULES,
    **answers.RULES,
    **session.RULES,
}


def check(state: Any, action: Action, context: RuleContext) -> str | None:
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
