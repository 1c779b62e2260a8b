"""Ways for clients to reach a host: WebSocket with pages beside it, and stdio."""

from agenthost.host.http.messages import (
    Headers,
    HttpRequest,
    HttpResponse,
    UpgradeRequest,
)
from agenthost.host.transports.listening_sockets import CannotListen
from agenthost.host.transports.stdio import StdioTransport, open_stdio
from agenthost.host.transports.websocket_server import (
    Admit,
    AnswerPage,
    Serve,
    WebSocketServer,
    no_pages,
)
from agenthost.host.transports.websocket_transport import ServerWebSocket, WebSocketOptions

__all__ = [
    "Admit",
    "AnswerPage",
    "CannotListen",
    "Headers",
    "HttpRequest",
    "HttpResponse",
    "Serve",
    "ServerWebSocket",
    "StdioTransport",
    "UpgradeRequest",
    "WebSocketOptions",
    "WebSocketServer",
    "no_pages",
    "open_stdio",
]
