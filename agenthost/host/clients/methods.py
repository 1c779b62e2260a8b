"""From a message to its handler and back: the one place that turns exceptions into wire errors.

Owns the path of every command: version UP, validation, policy, handler, version DOWN. Handlers
work on canonical, validated params and know nothing of versions or JSON-RPC.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, TypeAlias

from agenthost.agents.api import AgentError
from agenthost.errors import (
    InternalError,
    InvalidParams,
    MethodNotFound,
    UnsupportedProtocolVersion,
    WireError,
)
from agenthost.host.clients.concurrent_requests import waiting_for_a_client
from agenthost.host.store import StoreDamaged, StoreError
from agenthost.host.trust.message_bounds import check_lengths
from agenthost.protocol.inbound import accept_params
from agenthost.protocol.jsonrpc import Notification, Request, dumps
from agenthost.protocol.methods import METHODS
from agenthost.protocol.peer import is_side_channel
from agenthost.protocol.versions import NOWHERE, Whereabouts, translator

if TYPE_CHECKING:
    from agenthost.host.clients.connection import Connection
    from agenthost.protocol.common import JsonObject

log = logging.getLogger(__name__)


class EncodedResult:
    """A result that is JSON in the connection's own version already, in pieces."""

    __slots__ = ("json",)

    def __init__(self, *json: bytes) -> None:
        self.json = json


Handler: TypeAlias = Callable[["Connection", "JsonObject"], Awaitable[object]]
LookAround: TypeAlias = Callable[["Connection", "JsonObject"], Awaitable[Whereabouts]]

_handlers: dict[str, Handler] = {}
_looks: dict[str, LookAround] = {}


def handles(method: str) -> Callable[[Handler], Handler]:
    """Register the decorated function as the handler of a method."""

    def register(handler: Handler) -> Handler:
        _handlers[method] = handler
        return handler

    return register


def looks_around(method: str) -> Callable[[LookAround], LookAround]:
    """Register what looks up that which older versions leave unsaid in a method's params."""

    def register(look: LookAround) -> LookAround:
        _looks[method] = look
        return look

    return register


def methods() -> Mapping[str, Handler]:
    """Return all handlers by method."""
    return _handlers


async def handle_request(connection: Connection, request: Request) -> None:
    """Carry out a request and answer it exactly once."""
    # Only names that are known here, or there would be as many counters as a client makes up.
    counted = "mcp" if is_side_channel(request) else request.method
    connection.core.metrics.count("agenthost_requests_total", method=counted)
    try:
        if is_side_channel(request):
            result = await _ask_server(connection, request)
        else:
            result = await _carry_out(connection, request.method, request.params)
        encoded = result.json if isinstance(result, EncodedResult) else (dumps(result),)
    except WireError as error:
        connection.peer.refuse(request.id, error)
        if isinstance(error, UnsupportedProtocolVersion):
            connection.send(*connection.peer.take_output())
            connection.refuse_version(error)
    except StoreError as error:
        log.error("%s failed: %s", request.method, error)
        damaged = isinstance(error, StoreDamaged)
        told = str(error) if damaged else "the host's storage failed"
        connection.peer.refuse(request.id, InternalError(told))
    except AgentError as error:
        connection.peer.refuse(request.id, InternalError(str(error)))
    except Exception:
        log.exception("%s failed", request.method)
        connection.peer.refuse(request.id, InternalError())
    else:
        connection.peer.respond_encoded(request.id, encoded)


async def handle_notification(connection: Connection, notification: Notification) -> None:
    """Carry out a notification; what is wrong with it can only be logged."""
    try:
        await _carry_out(connection, notification.method, notification.params)
    except WireError as error:
        log.info("%s: %s ignored: %s", connection.name, notification.method, error.message)
    except Exception:
        log.exception("%s failed", notification.method)


async def _carry_out(connection: Connection, method: str, params: JsonObject) -> object:
    handler = connection.core.kind_methods.get(method) or _handlers.get(method)
    if handler is None or not translator(connection.version).has_method(method):
        raise MethodNotFound(f"this host does not serve {method}")
    if METHODS[method].raw:
        return await handler(connection, params)
    around = await _around(connection, method, params)
    accepted = accept_params(connection.version, method, params, around=around)
    core = connection.core
    core.policy.command(connection.principal, method, accepted, core.policy_context)
    too_long = check_lengths(accepted)
    if too_long is not None:
        raise InvalidParams(too_long)
    remote_owner = core.remote_owner
    try:
        if remote_owner is not None and remote_owner.takes(method):
            result = await remote_owner.request(connection, method, accepted)
        else:
            result = await handler(connection, accepted)
    except InvalidParams as error:
        if error.path is None:
            raise
        # The client is told the name under which it sent the field.
        path = translator(connection.version).path_down(error.path)
        raise InvalidParams(error.message, path=path) from error
    if isinstance(result, EncodedResult):
        return result
    return translator(connection.version).result_down(method, accepted, result)


async def _ask_server(connection: Connection, request: Request) -> object:
    """Carry out what belongs to MCP, and so to no version of this protocol."""
    params = {name: value for name, value in request.params.items() if name != "channel"}
    core = connection.core
    ask = core.mcp.side_channel if core.remote_owner is None else core.remote_owner.side_channel
    # It may wait for this very client to sign in.
    with waiting_for_a_client():
        return await ask(connection, request.params["channel"], request.method, params)


async def _around(connection: Connection, method: str, params: JsonObject) -> Whereabouts:
    look = _looks.get(method)
    if look is None or translator(connection.version).is_identity:
        return NOWHERE
    return await look(connection, params)
