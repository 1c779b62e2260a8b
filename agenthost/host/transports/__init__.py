"""Ways for clients to reach a host: WebSocket with pages beside it, and stdio."""

from agenthost.host.transports.listening_sockets import CannotListen
from agenthost.host.transports.stdio import StdioTransport, open_stdio
from agenthost.host.transports.websocket_server import Serve, WebSocketServer
from agenthost.host.transports.websocket_transport import ServerWebSocket, WebSocketOptions

__all__ = [
    "CannotListen",
    "Serve",
    "ServerWebSocket",
    "StdioTransport",
    "WebSocketOptions",
    "WebSocketServer",
    "open_stdio",
]
