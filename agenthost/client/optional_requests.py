"""Requests for what not every host serves: refused in words that say what is missing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from agenthost.client.errors import ConnectionLost, Unsupported
from agenthost.errors import MethodNotFound, WireError

if TYPE_CHECKING:
    from agenthost.client.state.client_core import ClientCore

_MOST_TRIES = 10


async def ask(
    core: ClientCore, method: str, params: Mapping[str, Any], *, lacking: str, repeat: bool = False
) -> Any:
    """Send a request; ``lacking`` names what a host has not that does not know it.

    Raises:
        Unsupported: the host does not serve this.
        WireError: the host refuses.
    """
    try:
        return await core.request(method, params, repeat=repeat)
    except MethodNotFound as error:
        raise Unsupported(f"this host has no {lacking}: {method} is unknown to it") from error


async def ask_until_done(
    core: ClientCore,
    method: str,
    params: Mapping[str, Any],
    done: type[WireError],
    *,
    lacking: str,
) -> None:
    """Repeat an idempotent request until it is confirmed.

    Where an answer was lost, the request is made again, and ``done`` then means success.
    """
    tried = False
    for _ in range(_MOST_TRIES):
        try:
            await ask(core, method, params, lacking=lacking)
            return
        except ConnectionLost:
            tried = True
        except done:
            if tried:
                return
            raise
    raise ConnectionLost(f"the connection is lost whenever {method} is asked for")
