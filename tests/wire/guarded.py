"""An agent that needs its people to sign in somewhere first."""

from __future__ import annotations

import logging

from agenthost.agents import Agent, AgentError, Turn

__all__ = ["EXTRA", "OPTIONAL", "REQUIRED", "RESOURCE", "Guarded"]

RESOURCE, EXTRA = "https://api.example.org", "https://extra.example.org"
REQUIRED = {
    "resource": RESOURCE,
    "resource_name": "Example",
    "authorization_servers": ["https://login.example.org"],
    "scopes_supported": ["read", "write"],
}
OPTIONAL = {"resource": EXTRA, "required": False}

log = logging.getLogger(__name__)


class Guarded(Agent):
    """Takes every token but those that begin with ``bad``, and refuses ``old`` ones later."""

    provider, display_name = "guarded", "Guarded"
    protected_resources = (REQUIRED, OPTIONAL)

    async def check_token(self, resource: str, token: str) -> None:
        if token.startswith("bad"):
            raise AgentError("the token is not good enough")
        if token.startswith("crash"):
            raise RuntimeError(f"cannot check {token} for {resource}")

    async def run(self, turn: Turn) -> None:
        token = turn.credential(RESOURCE)
        log.info("working for somebody with a token: %s", token is not None)
        if token is None:
            raise AgentError("nobody signed in", "authRequired")
        if turn.text.startswith("quote"):
            if turn.text.endswith("forgotten"):
                turn.reject_credential(RESOURCE)
            kind = AgentError if turn.text.startswith("quote to people") else RuntimeError
            raise kind(f"the service refused {token!r}")
        if token.startswith("old"):
            turn.reject_credential(RESOURCE)
            raise AgentError("the token has expired", "authRequired")
        if turn.text.startswith("ask"):
            call = turn.tool("guarded", input="something")
            async with call:
                await call.confirm("May I?")
        extra = turn.credential(EXTRA)
        await turn.write(f"{len(token)} characters, extra: {extra is not None}")
