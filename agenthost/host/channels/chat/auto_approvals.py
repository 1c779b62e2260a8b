"""Approves waiting tool calls that the session's approval mode covers (pure).

A call says by its ``_meta`` which mode it needs; one that says nothing waits for people.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from agenthost.agents.common_settings import is_covered, needed_mode
from agenthost.protocol.chat.parts import tool_calls

if TYPE_CHECKING:
    from agenthost.protocol.chat.state import ChatState
    from agenthost.protocol.common import Action
    from agenthost.protocol.session.state import SessionState


def approvals_by_mode(chat: ChatState, session: SessionState) -> Iterator[Action]:
    """Yield the answers to all calls of a chat that its session's mode lets run."""
    config, active = session.get("config"), chat.get("activeTurn")
    if config is None or active is None:
        return
    for call in tool_calls(active):
        needed = needed_mode(call.get("_meta"))
        waits = call["status"] == "pending-confirmation"
        if waits and needed is not None and is_covered(config["values"], needed):
            yield {
                "type": "chat/toolCallConfirmed",
                "turnId": active["id"],
                "toolCallId": call["toolCallId"],
                "approved": True,
                "confirmed": "setting",
            }
