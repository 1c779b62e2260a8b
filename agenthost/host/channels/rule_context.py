"""What a rule may know besides the channel's own state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class RuleContext:
    """The surroundings of one dispatched action."""

    # Who dispatches.
    client_id: str
    # The state of the session that owns the channel; None on the root channel.
    session: Mapping[str, Any] | None = None
    # What the session's agent advertises (AgentInfo.capabilities).
    capabilities: Mapping[str, Any] = field(default_factory=dict)
    # States of the chats that the action's attachments name; None for a chat that does not exist.
    chats: Mapping[str, Mapping[str, Any] | None] = field(default_factory=dict)
    # Annotations channels that the action's attachments name and that there are.
    notes: frozenset[str] = frozenset()
    # The models that the session's agent offers; none where it does not say.
    models: Sequence[Mapping[str, Any]] = ()
    # The turns that an annotation may be about.
    turns: frozenset[str] = frozenset()
