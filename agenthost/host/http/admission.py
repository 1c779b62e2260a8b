"""Between a request and the gate: takes from the one what the other decides on."""

from __future__ import annotations

import time

from agenthost.host.transports import Accept, HttpRequest, HttpResponse, Refuse, UpgradeRequest
from agenthost.host.trust import Gate, Refusal


def admit(gate: Gate, request: UpgradeRequest) -> Accept | Refuse:
    """Decide on a WebSocket upgrade."""
    decision = gate.check(
        token=request.token,
        origin=request.origin,
        host=request.headers.get("Host"),
        peer=_address(request.peer),
        now=time.time(),
    )
    if isinstance(decision, Refusal):
        return Refuse(decision.status, decision.text, decision.headers)
    return Accept(decision)


def refuse_page(gate: Gate, request: HttpRequest) -> HttpResponse | None:
    """Return the refusal of a plain page, or None when it may be shown."""
    refusal = gate.check_page(
        request.path,
        token=request.token,
        origin=request.origin,
        host=request.headers.get("Host"),
        peer=_address(request.peer),
        now=time.time(),
    )
    if refusal is None:
        return None
    return HttpResponse(refusal.status, refusal.text.encode(), headers=refusal.headers)


def _address(peer: str) -> str:
    """Drop the port: the same machine comes back with another one."""
    return peer.rpartition(":")[0].strip("[]")
