"""The methods by which a page says what its browser is pushed, and whether somebody looks at it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from agenthost.errors import InvalidParams
from agenthost.host.clients.methods import handles
from agenthost.host.push.book import PushSubscription
from agenthost.host.push.keys import BadKey, check_browser_keys
from agenthost.host.push.sender import BadEndpoint, place_of

if TYPE_CHECKING:
    from agenthost.host.clients.connection import Connection
    from agenthost.protocol.common import JsonObject


@handles("agenthost/subscribePush")
async def subscribe_push(connection: Connection, params: JsonObject) -> None:
    """Push to a browser from now on, for as long as this client's token counts."""
    target, keys = params["subscription"], params["subscription"]["keys"]
    try:
        place_of(target["endpoint"])
    except BadEndpoint as error:
        raise InvalidParams(str(error), path="subscription.endpoint") from error
    try:
        # Loads a library, once.
        await asyncio.to_thread(check_browser_keys, keys["p256dh"], keys["auth"])
    except BadKey as error:
        raise InvalidParams(str(error), path="subscription.keys") from error
    principal = connection.principal
    await connection.core.push_book.add(
        PushSubscription(
            principal.name,
            principal.credential,
            target["endpoint"],
            keys["p256dh"],
            keys["auth"],
            tuple(dict.fromkeys(params["kinds"])),
            params["withText"],
        )
    )


@handles("agenthost/unsubscribePush")
async def unsubscribe_push(connection: Connection, params: JsonObject) -> None:
    """Push nothing more to a browser of this client's token; to others', as before."""
    await connection.core.push_book.remove(params["endpoint"], name=connection.principal.name)


@handles("agenthost/visible")
async def visible(connection: Connection, params: JsonObject) -> None:
    """Take note whether somebody looks at this client's window."""
    connection.is_visible = params["visible"]
