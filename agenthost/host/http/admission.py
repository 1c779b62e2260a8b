"""Admission: decides on WebSocket upgrades and pages by asking the gate."""

from __future__ import annotations

import time

from agenthost.host.http.messages import HttpRequest, HttpResponse
from agenthost.host.trust.gate import Gate, Refusal, is_open_page
from agenthost.host.trust.principals import Principal


def admit(gate: Gate, request: HttpRequest) -> Principal | Refusal:
    """Decide who may come in with a request."""
    return gate.check(
        token=request.token,
        origin=request.origin,
        host=request.headers.get("Host"),
        # Without the port: the same machine comes back with another one.
        peer=request.peer.rpartition(":")[0].strip("[]"),
        now=time.time(),
    )


def refuse_page(gate: Gate, request: HttpRequest) -> HttpResponse | None:
    """Return the refusal of a plain page, or None when it may be shown."""
    if is_open_page(request.path):
        return None
    decision = admit(gate, request)
    if not isinstance(decision, Refusal):
        return None
    return HttpResponse(decision.status, decision.text.encode(), headers=decision.headers)
