"""An agent that leaves a tool call in any state of the protocol's table, and waits."""

from __future__ import annotations

import asyncio
from typing import Any

from agenthost.agents import Agent, Turn

__all__ = ["CALL", "OPTIONS", "STATES", "Parker"]

Json = dict[str, Any]

CALL = "call-1"
OPTIONS = [
    {"id": "yes", "label": "Yes", "kind": "approve"},
    {"id": "no", "label": "No", "kind": "deny"},
]

_READY: Json = {"type": "chat/toolCallReady", "invocationMessage": "Use it", "toolInput": "in"}
_RUN: Json = {**_READY, "confirmed": "not-needed"}
_DONE: Json = {
    "type": "chat/toolCallComplete",
    "result": {"success": True, "pastTenseMessage": "Used it"},
}
_RESOURCE = {"resource": "https://example.org", "scopes_supported": ["all"]}

# Status -> the actions that lead there from the start of a call.
STATES: dict[str, list[Json]] = {
    "streaming": [{"type": "chat/toolCallDelta", "content": "{"}],
    "pending-confirmation": [{**_READY, "options": OPTIONS, "editable": True}],
    "running": [_RUN],
    "auth-required": [
        _RUN,
        {
            "type": "chat/toolCallAuthRequired",
            "auth": {"reason": "required", "resource": _RESOURCE},
        },
    ],
    "pending-result-confirmation": [_RUN, {**_DONE, "requiresResultConfirmation": True}],
    "completed": [_RUN, _DONE],
    "cancelled": [
        _READY,
        {"type": "chat/toolCallConfirmed", "approved": False, "reason": "denied"},
    ],
}


class Parker(Agent):
    """Takes a status and the call's contributor, as ``STATUS [CLIENT]``."""

    provider, display_name = "parker", "Parker"

    async def run(self, turn: Turn) -> None:
        status, _, client = turn.text.partition(" ")
        # Not by the agents' API: it would go on by itself when somebody acts.
        emit = turn._port.emit
        target = {"turnId": turn.id, "toolCallId": CALL}
        start: Json = {"toolName": "tool", "displayName": "Tool"}
        if status == "auth-required":
            start["contributor"] = {"kind": "mcp", "customizationId": "server"}
        elif client:
            start["contributor"] = {"kind": "client", "clientId": client}
        emit({"type": "chat/toolCallStart", **target, **start})
        for action in STATES[status]:
            emit({**action, **target})
        await turn.set_activity("parked")
        await asyncio.Event().wait()
