"""The rules for what clients dispatch, and the kinds of channels that ask them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from msgspec import Struct

from agenthost.host.channels import annotation_rules, root_rules, settings
from agenthost.host.channels.chat import question_answers
from agenthost.host.channels.chat import rules as chat_rules
from agenthost.host.channels.chat.attachments import references
from agenthost.host.channels.rule_context import RuleContext, Rules
from agenthost.host.channels.session import rules as session_rules
from agenthost.host.log.kind import ChannelKind, DeclinedAction, Find, S, Surroundings
from agenthost.host.trust.message_bounds import check_bounds

if TYPE_CHECKING:
    from agenthost.agents.api import Agent
    from agenthost.host.log.channel import LiveChannel, OwnerChannel
    from agenthost.protocol.chat.state import ChatState
    from agenthost.protocol.common import Action, JsonObject, ProtectedResourceMetadata
    from agenthost.protocol.root import AgentCapabilities, SessionModelInfo

_RULES: Rules[Any] = {
    **annotation_rules.RULES,
    **chat_rules.RULES,
    **root_rules.RULES,
    **settings.SESSION_RULES,
    **question_answers.RULES,
    **session_rules.RULES,
}


def check(state: Any, action: Action, context: RuleContext) -> str | None:
    """Return why a client's action is refused in this state, or None when it is fine."""
    too_much = check_bounds(state, action)
    if too_much is not None:
        return too_much
    if action["type"].startswith("chat/"):
        failed = chat_rules.check_session(context)
        if failed is not None:
            return failed
    rule = _RULES.get(action["type"])
    return rule(state, action, context) if rule is not None else None


class Gathered(Struct, frozen=True):
    """What is needed to judge one action."""

    rules: RuleContext
    # What the agent protects and this client brought no token for, if the action needs the agent.
    missing_tokens: Sequence[ProtectedResourceMetadata] = ()
    # Why the agent that the action needs cannot work here, if it cannot.
    no_agent: str | None = None


class RuledKind(ChannelKind[S]):
    """Looks up what the rules must know, and asks them."""

    async def gather(
        self,
        channel: LiveChannel[S],
        owner: OwnerChannel | None,
        action: Action,
        around: Surroundings,
    ) -> Gathered:
        """Gather what the rules need to know, loading what an action refers to."""
        is_session = self.name == "session"
        session = cast("OwnerChannel", channel) if is_session else owner
        agent = around.agent(session) if session is not None else None
        rules = await rule_context(around.find, around.connection.client_id, session, agent, action)
        if session is None or not self.needs_agent(action):
            return Gathered(rules)
        protects = agent is not None and agent.protected_resources
        missing = around.missing_tokens(session) if protects else ()
        return Gathered(rules, missing, self.why_no_agent(session))

    def needs_agent(self, action: Action) -> bool:
        """Say whether an action makes the agent work, now or as soon as it has time."""
        return False

    def why_no_agent(self, session: OwnerChannel) -> str | None:
        """Return why the agent of a session cannot work here, or None."""
        return None

    def understood(self, state: S, action: Action) -> Action:
        """Return an action as the rules, and then the reducer, are to read it."""
        return action

    def judge(
        self, channel: LiveChannel[S], action: Action, context: Gathered
    ) -> DeclinedAction | None:
        """Return why the rules refuse an action, or which tokens are missing."""
        state: Any = channel.state
        refusal = check(state, self.understood(state, action), context.rules)
        refusal = refusal or context.no_agent
        if refusal is not None:
            return DeclinedAction(refusal)
        if not context.missing_tokens:
            return None
        notices = [
            ("auth/required", {"resource": dict(item), "reason": "required"})
            for item in context.missing_tokens
        ]
        return DeclinedAction("the agent needs you to sign in first", notices)


async def rule_context(
    find: Find,
    client_id: str,
    session: OwnerChannel | None,
    agent: Agent | None,
    action: JsonObject,
) -> RuleContext:
    """Gather what the rules need to know, loading what an action refers to."""
    capabilities = cast("AgentCapabilities", agent.capabilities if agent is not None else {})
    models = cast("Sequence[SessionModelInfo]", agent.models if agent is not None else ())
    message = action.get("message") or action.get("userSuggestion")
    chats: dict[str, ChatState | None] = {}
    notes: set[str] = set()
    for kind, uri, _ in references(message):
        channel = await find(uri)
        if channel is None or channel.kind.name != kind:
            continue
        if kind == "chat":
            chats[uri] = channel.state
        else:
            notes.add(uri)
    state = session.state if session is not None else None
    turns = await _turns_to_note(find, session, action) if session is not None else {}
    uri = session.uri if session is not None else ""
    return RuleContext(client_id, state, capabilities, chats, frozenset(notes), models, turns, uri)


async def _turns_to_note(
    find: Find, session: OwnerChannel, action: JsonObject
) -> Mapping[str, str]:
    """Return the turns that an annotation may name; what names none gets none."""
    if not action.get("type", "").startswith("annotations/"):
        return {}
    origin = action.get("annotation", action).get("origin") or {}
    return await chats_of_turns(find, session) if origin.get("turnId") else {}


async def chats_of_turns(find: Find, session: OwnerChannel) -> dict[str, str]:
    """Return in which chat of a session each of its turns is."""
    found: dict[str, str] = {}
    for entry in list(session.state["chats"]):
        chat = await find(entry["resource"])
        if chat is not None:
            active = chat.state.get("activeTurn")
            found.update((turn["id"], chat.uri) for turn in chat.state["turns"])
            found.update([(active["id"], chat.uri)] if active is not None else [])
    return found
