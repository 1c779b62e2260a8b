"""Who holds a terminal, and who may hand it to whom (pure)."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agenthost.protocol.terminal import TerminalClaim

_FOR_CALLS = "only the host hands a terminal to a tool call"


def session_of(claim: TerminalClaim) -> str | None:
    """Return the session that holds a terminal; None where a client does."""
    return claim["session"] if claim["kind"] == "session" else None


def is_in_call(claim: TerminalClaim) -> bool:
    """Say whether a tool call uses the terminal."""
    return claim["kind"] == "session" and ("toolCallId" in claim or "turnId" in claim)


def narrowed(claim: TerminalClaim) -> TerminalClaim:
    """Return a session's claim without the tool call; it is background work from then on."""
    if claim["kind"] != "session":
        return claim
    return {"kind": "session", "session": claim["session"], "chat": claim["chat"]}


def why_not_asked(claim: TerminalClaim, client_id: str) -> str | None:
    """Return why a client may not ask for a claim at all, whoever holds the terminal."""
    if claim["kind"] == "client":
        is_own = claim["clientId"] == client_id
        return None if is_own else "a client may claim a terminal for itself only"
    return _FOR_CALLS if is_in_call(claim) else None


def why_not_changed(before: TerminalClaim, wanted: TerminalClaim, client_id: str) -> str | None:
    """Return why a client may not put its claim in the place of the one there is."""
    refusal = why_not_asked(wanted, client_id)
    if refusal is not None:
        return refusal
    if before["kind"] == "client":
        is_own = before["clientId"] == client_id
        return None if is_own else "another client holds this terminal"
    if not is_in_call(before):
        return None
    if wanted == narrowed(before):
        return None
    return "a tool call uses this terminal: let it go on in the background first"
