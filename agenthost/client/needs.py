"""What waits for somebody in a chat, in the words in which sessions list it.

Pure. Sessions of the oldest hosts have no such list; what they would list is told from the chats.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, cast

from agenthost.protocol import translator
from agenthost.protocol.session.state import SessionInputRequest

__all__ = ["needs_of", "sessions_list_needs"]

_UNDECIDED = ("pending-confirmation", "pending-result-confirmation")


def sessions_list_needs(version: str) -> bool:
    """Say whether sessions of a protocol version list what waits in their chats."""
    return translator(version).exists("session/inputNeededSet")


def needs_of(chat: str, state: Mapping[str, Any]) -> Iterator[SessionInputRequest]:
    """Yield what waits for somebody in the turn under way of a chat, which ``chat`` names."""
    turn = state.get("activeTurn") or {"responseParts": ()}
    for part in turn["responseParts"]:
        need = _need(part)
        if need is not None:
            kind, id, more = need
            if kind != "chatInput":
                more = {"turnId": turn["id"], **more}
            entry = {"id": f"{chat}#{kind}/{id}", "chat": chat, "kind": kind, **more}
            yield cast(SessionInputRequest, entry)


def _need(part: Mapping[str, Any]) -> tuple[str, str, dict[str, Any]] | None:
    """Return the kind, the id and the content of what a part waits for."""
    match part:
        case {"kind": "inputRequest", "request": request} if part.get("response") is None:
            return "chatInput", request["id"], {"request": request}
        case {"kind": "toolCall", "toolCall": {"status": status} as call}:
            if status in _UNDECIDED:
                return "toolConfirmation", call["toolCallId"], {"toolCall": call}
            owner = (call.get("contributor") or {}).get("clientId")
            if status == "running" and owner is not None:
                told = {"clientId": owner, "toolCall": call}
                return "toolClientExecution", call["toolCallId"], told
    return None
