"""How a server fares, in the protocol's words (pure)."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from msgspec import Struct

from agenthost.mcp.types import Challenge, ServerDeclaration, ServerState

if TYPE_CHECKING:
    from agenthost.protocol.common import JsonObject
    from agenthost.protocol.session.customizations import McpAuthRequirement, McpServerState

# Characters of a reason, or of anything else that a server says of itself; and how much it lists.
_LONGEST = 1000
_MOST_LISTED = 64
# What metadata of a protected resource may tell (RFC 9728).
_TEXTS = ("resource_name",)
_LINKS = ("jwks_uri", "resource_documentation", "resource_policy_uri", "resource_tos_uri")
_LISTS = (
    "scopes_supported",
    "bearer_methods_supported",
    "resource_signing_alg_values_supported",
)


class ServerFare(Struct, frozen=True):
    """How a server fares; ``detail`` says why it failed, ``challenge`` what it waits for."""

    kind: ServerState = "stopped"
    detail: str = ""
    challenge: Challenge | None = None
    # Whether a turn waits for its start.
    blocking: bool = False

    def to_wire(self, declaration: ServerDeclaration) -> McpServerState:
        """Return the state as clients are told it."""
        if self.kind == "starting":
            return {"kind": "starting", "blocking": True} if self.blocking else {"kind": "starting"}
        if self.kind == "error":
            message = self.detail[:_LONGEST] or "it failed"
            return {"kind": "error", "error": {"errorType": "mcpServerFailed", "message": message}}
        if self.kind == "authRequired" and self.challenge is not None:
            wanted = auth_requirement(self.challenge, declaration)
            return cast("McpServerState", {"kind": "authRequired", **wanted})
        return cast("McpServerState", {"kind": self.kind})


def auth_requirement(challenge: Challenge, declaration: ServerDeclaration) -> McpAuthRequirement:
    """Return what a server asks for, as clients are told it."""
    wanted: JsonObject = {"reason": challenge.reason, "resource": _resource(challenge.resource)}
    if declaration.oauth_client is not None:
        id, secret = declaration.oauth_client
        wanted["oauthClient"] = {"clientId": id} | ({"clientSecret": secret} if secret else {})
    if challenge.scopes:
        wanted["requiredScopes"] = list(challenge.scopes)
    if challenge.description:
        wanted["description"] = challenge.description
    return cast("McpAuthRequirement", wanted)


def _resource(metadata: JsonObject) -> JsonObject:
    """Return metadata as clients can read it: a server may have written anything into it."""
    told: JsonObject = {"resource": metadata["resource"]}
    for name in (*_TEXTS, *_LINKS):
        if _is_text(value := metadata.get(name), link=name in _LINKS):
            told[name] = value
    for name in (*_LISTS, "authorization_servers"):
        values = metadata.get(name)
        is_link = name == "authorization_servers"
        if isinstance(values, list):
            told[name] = [value for value in values if _is_text(value, link=is_link)][:_MOST_LISTED]
    return told


def _is_text(value: object, *, link: bool) -> bool:
    """Say whether a value is a text of sane length; a link that people follow leads to the web."""
    if not isinstance(value, str) or not 0 < len(value) <= _LONGEST or not value.isprintable():
        return False
    return not link or value.lower().startswith(("http://", "https://"))
