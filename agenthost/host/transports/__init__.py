"""Ways for clients to reach a host: WebSocket with pages beside it, and stdio."""

from agenthost.host.http.messages import (
    Accept,
    Headers,
    HttpRequest,
    HttpResponse,
    Refuse,
    UpgradeRequest,
)
from agenthost.host.transports.listening_sockets import CannotListen
from agenthost.host.transports.stdio import StdioTransport, open_stdio
from agenthost.host.transports.websocket_server import Gate, Pages, Serve, WebSocketServer, no_pages
from agenthost.host.transports.websocket_transport import WebSocketOptions, WebSocketTransport

__all__ = [
    "Accept",
    "CannotListen",
    "Gate",
    "Headers",
    "HttpRequest",
    "HttpResponse",
    "Pages",
    "Refuse",
    "Serve",
    "StdioTransport",
    "UpgradeRequest",
    "WebSocketOptions",
    "WebSocketServer",
    "WebSocketTransport",
    "no_pages",
    "open_stdio",
]
