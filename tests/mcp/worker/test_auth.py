"""Whose token a server may ask for: that of a resource which its own address lies in."""

from __future__ import annotations

import httpx2
import pytest

from agenthost.mcp.types import McpFailed
from agenthost.mcp.worker.auth import Demand, describe

URL = "https://shared.example/team/mcp"


async def described(resource: str, url: str = URL) -> str:
    """Return the resource that people are asked to sign in for."""
    answer = httpx2.MockTransport(lambda request: httpx2.Response(200, json={"resource": resource}))
    async with httpx2.AsyncClient(transport=answer) as client:
        demand = Demand("required", None, "", "", None)
        return str((await describe(demand, url, client)).resource["resource"])


@pytest.mark.parametrize(
    "resource",
    [URL, f"{URL}/", "https://shared.example", "https://shared.example:443/team/"],
)
async def test_it_may_ask_for_what_it_lies_in(resource: str) -> None:
    assert await described(resource) == resource


@pytest.mark.parametrize(
    ("resource", "url"),
    [
        ("https://other.example/team/mcp", URL),
        ("http://shared.example/team/mcp", URL),
        ("https://shared.example/others/mcp", URL),
        ("https://shared.example/tea", URL),
        ("https://shared.example/good", "https://shared.example/good/../evil"),
        ("https://shared.example/good", "https://shared.example/good/%2e%2e/evil"),
    ],
)
async def test_a_token_of_its_neighbours_is_refused(resource: str, url: str) -> None:
    with pytest.raises(McpFailed, match="belongs to another address"):
        await described(resource, url)
