"""Signing in at a server with tokens that come from outside, and what a server asks for.

The package's own OAuth provider opens browsers and keeps tokens; here the host's clients do.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from typing import Any
from urllib.parse import unquote, urlsplit

import httpx2
import orjson
from mcp.client.auth.utils import (
    build_protected_resource_metadata_discovery_urls,
    extract_field_from_www_auth,
    extract_resource_metadata_from_www_auth,
    extract_scope_from_www_auth,
)
from msgspec import Struct

from agenthost.mcp.limits import METADATA_PATIENCE, MOST_METADATA
from agenthost.mcp.types import Challenge, ChallengeReason, McpFailed
from agenthost.mcp.worker.running_calls import RunningCall, current_call

# How often one request is tried with another token.
_ROUNDS = 3
# Characters of what a server says about itself.
_LONGEST_TEXT = 500
_MOST_SCOPES = 64


class Demand(Struct, frozen=True):
    """A response that asked for a token, or for a better one."""

    reason: ChallengeReason
    metadata_url: str | None
    scope: str
    description: str
    call: RunningCall | None


class OutsideTokens(httpx2.Auth):
    """Puts a token on each request; where a server wants another, the request waits for it."""

    def __init__(self, token: str | None, demanded: Callable[[Demand], None]) -> None:
        self._token = token
        self._demanded = demanded
        self._changed = asyncio.Event()

    def give(self, token: str) -> None:
        """Use another token from now on; what waits for one goes on."""
        self._token = token
        self._changed.set()
        self._changed = asyncio.Event()

    async def async_auth_flow(
        self, request: httpx2.Request
    ) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        """Send the request, as often as there is another token to try."""
        call = current_call.get()
        for _ in range(_ROUNDS):
            used, changed = self._token, self._changed
            if used is not None:
                request.headers["Authorization"] = f"Bearer {used}"
            response = yield request
            demand = _demand(response, used is not None, call)
            if demand is None or not await self._another(demand, used, changed):
                return

    async def _another(self, demand: Demand, used: str | None, changed: asyncio.Event) -> bool:
        """Wait for a token that was not tried; False when nobody waits for the result any more."""
        if self._token != used:
            return True
        self._demanded(demand)
        if demand.call is None:
            await changed.wait()
            return True
        with demand.call.waiting_for_a_person():
            waiting = {asyncio.ensure_future(e.wait()) for e in (changed, demand.call.over)}
            try:
                await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for task in waiting:
                    task.cancel()
        return not demand.call.over.is_set()


def _demand(response: httpx2.Response, had_token: bool, call: RunningCall | None) -> Demand | None:
    reason: ChallengeReason
    if response.status_code == 401:
        reason = "expired" if had_token else "required"
    elif (
        response.status_code == 403
        and extract_field_from_www_auth(response, "error") == "insufficient_scope"
    ):
        reason = "insufficientScope"
    else:
        return None
    return Demand(
        reason,
        extract_resource_metadata_from_www_auth(response),
        extract_scope_from_www_auth(response) or "",
        extract_field_from_www_auth(response, "error_description") or "",
        call,
    )


async def describe(demand: Demand, url: str, client: httpx2.AsyncClient) -> Challenge:
    """Find out what is asked for: the metadata of the protected resource (RFC 9728).

    Raises:
        McpFailed: the metadata is that of somebody else.
    """
    metadata = await _metadata(demand, url, client)
    if not _covers(str(metadata["resource"]), url):
        raise McpFailed("it asks for a token that belongs to another address", "refused")
    scopes = demand.scope.split() or metadata.get("scopes_supported") or ()
    return Challenge(
        demand.reason,
        metadata,
        tuple(str(scope)[:_LONGEST_TEXT] for scope in list(scopes)[:_MOST_SCOPES]),
        demand.description[:_LONGEST_TEXT],
    )


async def _metadata(demand: Demand, url: str, client: httpx2.AsyncClient) -> dict[str, Any]:
    """Return the metadata, or the little that is known without it."""
    for place in build_protected_resource_metadata_discovery_urls(demand.metadata_url, url):
        # Elsewhere a server could send us anywhere, also to what only this machine can reach.
        if _origin(place) != _origin(url):
            continue
        try:
            async with asyncio.timeout(METADATA_PATIENCE):
                found = await _fetched(place, client)
        except (TimeoutError, httpx2.HTTPError, httpx2.StreamError):
            continue
        if found is not None:
            return found
    return {"resource": url}


async def _fetched(place: str, client: httpx2.AsyncClient) -> dict[str, Any] | None:
    body = b""
    async with client.stream("GET", place, auth=None, follow_redirects=False) as response:
        if response.status_code != 200:
            return None
        async for part in response.aiter_bytes():
            body += part
            if len(body) > MOST_METADATA:
                return None
    try:
        found = orjson.loads(body)
    except ValueError:
        return None
    usable = isinstance(found, dict) and isinstance(found.get("resource"), str)
    return found if usable and _are_texts(found) else None


def _are_texts(metadata: dict[str, Any]) -> bool:
    """Say whether the lists that clients will go through hold what they should."""
    lists = [metadata.get(name) for name in ("authorization_servers", "scopes_supported")]
    return all(
        found is None or (isinstance(found, list) and all(isinstance(text, str) for text in found))
        for found in lists
    )


def _covers(resource: str, url: str) -> bool:
    """Say whether an address lies in a protected resource.

    On one host the servers of many people may lie beside each other: a token for one of them is
    nothing that another may ask for.
    """
    if _origin(resource) != _origin(url):
        return False
    path = _folder_path(url)
    return ".." not in path.split("/") and path.startswith(_folder_path(resource))


def _folder_path(url: str) -> str:
    return f"{unquote(urlsplit(url).path).rstrip('/')}/"


def _origin(url: str) -> tuple[str, str | None, int | None] | None:
    try:
        parts = urlsplit(url)
        port = parts.port or {"http": 80, "https": 443}.get(parts.scheme)
    except ValueError:
        return None
    return (parts.scheme, parts.hostname, port)
