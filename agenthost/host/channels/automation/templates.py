"""What the runs of an automation are made from: whether it can be done, and how it is asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, cast

from agenthost.agents.api import AgentError
from agenthost.errors import WireError
from agenthost.host.channels.chat.message_rules import check_automation_message
from agenthost.host.channels.ruled_kind import rule_context
from agenthost.host.channels.session.lifecycle import KEEP, AgentCalls, SessionRegistry
from agenthost.host.channels.settings import check_complete, sanitize
from agenthost.host.log.directory import Directory
from agenthost.host.trust import Policy, PolicyContext, Principal

if TYPE_CHECKING:
    from agenthost.protocol.automation.definition import AutomationDefinition
    from agenthost.protocol.chat.messages import Message
    from agenthost.protocol.common import JsonObject
    from agenthost.protocol.session.state import SessionConfigSchema


class Templates:
    """Checks definitions against the agents that there are and what their owners may do."""

    def __init__(
        self,
        directory: Directory,
        sessions: SessionRegistry,
        loops: AgentCalls,
        policy: Policy,
        context: PolicyContext,
        is_admitted: Callable[[str], bool],
    ) -> None:
        self._directory = directory
        self._sessions = sessions
        self._loops = loops
        self._policy = policy
        self._context = context
        self._is_admitted = is_admitted

    async def refusal(self, owner: Principal, definition: AutomationDefinition) -> str | None:
        """Return why a session cannot be made so on somebody's behalf now, or None."""
        if not self._is_admitted(owner.name):
            return (
                f"{owner.name}, on whose behalf it would run, may not come in any more: the token "
                "was revoked or has expired. Whoever changes what the automation says takes it over"
            )
        params = session_params("ahp-session:/automation", definition)
        try:
            self._policy.command(owner, "createSession", params, self._context)
            agent = self._sessions.agent(params.get("provider"))
            values = params.get("config", {})
            folder = next(iter(params.get("workingDirectories", ())), None)
            offered = await self._loops.read(agent, agent.config_schema, values, folder)
        except WireError as error:
            return error.message
        except AgentError as error:
            return str(error)
        schema = cast("SessionConfigSchema", dict(offered))
        incomplete = check_complete(schema, sanitize(schema, values))
        if incomplete is not None:
            return incomplete
        message = automation_message(definition)
        find = self._directory.find
        facts = await rule_context(find, "", None, agent, {"message": message})
        return check_automation_message(message, facts)


def session_params(uri: str, definition: AutomationDefinition) -> JsonObject:
    """Return the params of ``createSession`` for a run's session."""
    template = definition["session"]
    params: JsonObject = {"channel": uri, "_meta": {KEEP: True}}
    for name in ("provider", "workingDirectories", "config"):
        if name in template:
            params[name] = template[name]
    return params


def automation_message(definition: AutomationDefinition) -> Message:
    """Return the message that begins a run, with what the session was to work with."""
    message, template = definition["message"], definition["session"]
    result: Message = {**message}
    if "model" in template:
        result.setdefault("model", template["model"])
    if "agent" in template:
        result.setdefault("agent", template["agent"])
    return result
