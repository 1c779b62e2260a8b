"""Tokens for protected resources: handed over on every connection, as long as they are good.

A host forgets them with the connection. When one has expired, by its own clock or by the host's
word, it is not sent again: whoever has a new one calls ``authenticate``.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agenthost.client.errors import ClientError
from agenthost.errors import WireError

if TYPE_CHECKING:
    from agenthost.client.state.client_core import ClientCore
    from agenthost.protocol.common import JsonObject

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Token:
    params: JsonObject
    # When it ceases to be good, by the monotonic clock; None if that is not known.
    expires_at: float | None


class Tokens:
    """The tokens of one client, by resource."""

    def __init__(self, core: ClientCore) -> None:
        self._core = core
        self._tokens: dict[str, _Token] = {}
        core.on_up.append(self._hand_over_again)
        core.on_notice.append(self._on_notice)

    async def hand_over(
        self, resource: str, token: str, *, scopes: Sequence[str] | None, expires_in: float | None
    ) -> None:
        """Give the host a token, and remember it once the host has taken it."""
        if not token:
            raise ValueError("a token is not empty; revoke() takes one back")
        params: JsonObject = {"resource": resource, "token": token}
        if scopes is not None:
            params["scopes"] = list(scopes)
        expires_at = None
        if expires_in is not None:
            if expires_in < 1:
                raise ValueError("a token that expires at once is good for nothing")
            expires_at = self._core.clock.monotonic() + expires_in
        given = _Token(params, expires_at)
        await self._core.request("authenticate", self._params(given))
        self._tokens[resource] = given

    async def revoke(self, resource: str) -> None:
        """Forget a token, and let the host forget it."""
        self._tokens.pop(resource, None)
        await self._core.request("authenticate", {"resource": resource, "token": ""})

    def _params(self, token: _Token) -> JsonObject:
        """Return what to tell the host: how long it is good counts from when it is sent."""
        if token.expires_at is None:
            return token.params
        left = token.expires_at - self._core.clock.monotonic()
        return {**token.params, "expiresIn": max(1, int(left))}

    def _hand_over_again(self) -> None:
        now = self._core.clock.monotonic()
        for resource, token in list(self._tokens.items()):
            if token.expires_at is not None and token.expires_at - now < 1:
                del self._tokens[resource]
            else:
                self._core.tasks.start(self._hand_over(token), name="authenticate")

    async def _hand_over(self, token: _Token) -> None:
        resource = token.params["resource"]
        try:
            await self._core.request("authenticate", self._params(token))
        except WireError as error:
            log.warning("%s takes its token no more: %s", resource, error.message)
        except (ClientError, TimeoutError) as error:
            # The next connection hands it over again.
            log.info("%s has no token for now: %s", resource, error)

    def _on_notice(self, method: str, params: Any) -> None:
        match method, params:
            case "auth/required", {"reason": "expired", "resource": {"resource": str(resource)}}:
                self._tokens.pop(resource, None)
