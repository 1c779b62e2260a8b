"""Computes a session's ``inputNeeded`` from a chat's running turn. Pure.

Hosts list it in their sessions, so that whoever follows only the session can act; clients of the
oldest hosts, whose sessions have no such list, work it out from the chats that they follow.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from agenthost.protocol.session.state import SessionInputRequest

State = Mapping[str, Any]


def input_needed_in(chat: str, state: State) -> Iterator[SessionInputRequest]:
    """Yield what waits for somebody in the turn under way of a chat, which ``chat`` names."""
    turn = state.get("activeTurn") or {"responseParts": ()}
    for part in turn["responseParts"]:
        need = _need(part)
        if need is not None:
            kind, id, more = need
            if kind != "chatInput":
                more = {"turnId": turn["id"], **more}
            # An id names its kind: what comes after a prompt is another one, not the same changed.
            entry = {"id": f"{chat}#{kind}/{id}", "chat": chat, "kind": kind, **more}
            yield cast("SessionInputRequest", entry)


def _need(part: State) -> tuple[str, str, dict[str, Any]] | None:
    """Return the kind, the id and the content of what a part waits for."""
    match part:
        case {"kind": "inputRequest", "request": request} if part.get("response") is None:
            return "chatInput", request["id"], {"request": request}
        case {"kind": "toolCall", "toolCall": call}:
            kind, more = _need_of_call(call)
            return (kind, call["toolCallId"], {**more, "toolCall": call}) if kind else None
    return None


def _need_of_call(call: State) -> tuple[str | None, dict[str, Any]]:
    match call["status"]:
        case "pending-confirmation" | "pending-result-confirmation":
            return "toolConfirmation", {}
        case "auth-required":
            return "toolAuthentication", {}
        case "running":
            contributor = call.get("contributor") or {}
            if contributor.get("kind") == "client":
                return "toolClientExecution", {"clientId": contributor["clientId"]}
    return None, {}
