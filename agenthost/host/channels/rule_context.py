"""What a rule may know besides the channel's own state, and what a rule is."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from msgspec import Struct, field

if TYPE_CHECKING:
    from agenthost.protocol.chat.state import ChatState
    from agenthost.protocol.common import Action
    from agenthost.protocol.root import AgentCapabilities, SessionModelInfo
    from agenthost.protocol.session.state import SessionState

S = TypeVar("S")
# Returns why a client's action is refused in a state, or None when it is fine.
Rule: TypeAlias = Callable[[S, "Action", "RuleContext"], str | None]
# Action type -> its rule.
Rules: TypeAlias = dict[str, Rule[S]]

_NO_CAPABILITIES: AgentCapabilities = {}


class RuleContext(Struct, frozen=True):
    """The surroundings of one dispatched action."""

    # Who dispatches.
    client_id: str
    # The state of the session that owns the channel; None on the root channel.
    session: SessionState | None = None
    # What the session's agent advertises (AgentInfo.capabilities).
    capabilities: AgentCapabilities = field(default_factory=lambda: _NO_CAPABILITIES)
    # States of the chats that the action's attachments name; None for a chat that does not exist.
    chats: Mapping[str, ChatState | None] = field(default_factory=dict)
    # Annotations channels that the action's attachments name and that there are.
    notes: frozenset[str] = frozenset()
    # The models that the session's agent offers; none where it does not say.
    models: Sequence[SessionModelInfo] = ()
    # The turns that an annotation may be about -> the chat that each is in.
    turns: Mapping[str, str] = field(default_factory=dict)
    # The session's own URI, where there is one.
    session_uri: str = ""
