"""How a server fares in the protocol's words, whatever the server says of itself."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from agenthost.host.mcp.server_states import ServerFare
from agenthost.mcp.types import Challenge, ServerDeclaration
from agenthost.protocol.common import ProtectedResourceMetadata
from agenthost.protocol.schema.validation import validate_action

PLAIN = ServerDeclaration("it", url="https://it.example/mcp")


def told(fare: ServerFare, declaration: ServerDeclaration = PLAIN) -> Any:
    """Return a state, which is one of the protocol's."""
    state = fare.to_wire(declaration)
    validate_action({"type": "session/mcpServerStateChanged", "id": "c-1", "state": state})
    return state


def test_each_state_is_told() -> None:
    assert told(ServerFare()) == {"kind": "stopped"}
    assert told(ServerFare("starting")) == {"kind": "starting"}
    assert told(ServerFare("starting", blocking=True)) == {"kind": "starting", "blocking": True}
    assert told(ServerFare("ready")) == {"kind": "ready"}
    error = told(ServerFare("error", "x" * 5000))["error"]
    assert error == {"errorType": "mcpServerFailed", "message": "x" * 1000}
    assert told(ServerFare("error"))["error"]["message"] == "it failed"


def test_what_is_wanted_is_told_with_the_client_to_use() -> None:
    resource = {
        "resource": "https://it.example/mcp",
        "authorization_servers": ["https://as.example"],
    }
    challenge = Challenge("insufficientScope", resource, ("a", "b"), "more, please")
    known = ServerDeclaration("it", url="https://it.example/mcp", oauth_client=("id", "secret"))
    assert told(ServerFare("authRequired", challenge=challenge), known) == {
        "kind": "authRequired",
        "reason": "insufficientScope",
        "resource": resource,
        "oauthClient": {"clientId": "id", "clientSecret": "secret"},
        "requiredScopes": ["a", "b"],
        "description": "more, please",
    }
    public = ServerDeclaration("it", url="https://it.example/mcp", oauth_client=("id", None))
    shown = told(ServerFare("authRequired", challenge=challenge), public)
    assert shown["oauthClient"] == {"clientId": "id"}


def test_no_link_leads_anywhere_but_into_the_web() -> None:
    metadata = {
        "resource": "https://it.example/mcp",
        "authorization_servers": ["javascript:alert(1)", "https://as.example", 7],
        "resource_documentation": "file:///etc/passwd",
        "resource_tos_uri": "https://it.example/terms",
        "resource_name": "It\x1b[2J",
        "scopes_supported": ["a", None, "x" * 5000],
        "required": "perhaps",
    }
    shown = told(ServerFare("authRequired", challenge=Challenge("required", metadata)))
    assert shown["resource"] == {
        "resource": "https://it.example/mcp",
        "authorization_servers": ["https://as.example"],
        "resource_tos_uri": "https://it.example/terms",
        "scopes_supported": ["a"],
    }


_VALUES = st.none() | st.booleans() | st.integers() | st.text() | st.lists(st.text() | st.none())
_NAMES = st.sampled_from(sorted(ProtectedResourceMetadata.__annotations__)) | st.text()


@given(st.dictionaries(_NAMES, _VALUES))
def test_whatever_a_server_writes_is_a_state_of_the_protocol(metadata: dict[str, Any]) -> None:
    challenge = Challenge("required", {**metadata, "resource": "https://it.example/mcp"})
    told(ServerFare("authRequired", challenge=challenge))
