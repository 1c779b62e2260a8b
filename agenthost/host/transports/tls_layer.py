"""TLS over a socket that was accepted plain and is counted already.

A listening socket of asyncio's that speaks TLS tells nobody of a connection before its handshake is
done, and has given it a quarter of a megabyte by then. Here a socket is one like any other until it
says its first word; ``upgrade`` then puts this layer between the socket and itself.
"""

from __future__ import annotations

import asyncio
import ssl
from asyncio.sslproto import SSLProtocol
from typing import Any

# The first byte of whatever begins a TLS connection: a record of a handshake, RFC 8446 section 5.1.
_FIRST_BYTE = b"\x16"

# Seconds that the last bytes of a connection get to leave, and the peer's goodbye to come.
_GOODBYE = 10.0


class TlsLayer(SSLProtocol):
    """Speaks TLS below a protocol, which is told of its connection once the handshake is done.

    ``loop.start_tls`` makes one too, but gives it nothing of what the socket has read before, and
    has no say in the size of its buffer.
    """

    max_size = 32 * 1024
    """Bytes read at once, and kept for it as long as the connection lasts: two of TLS' records."""

    def __init__(
        self, protocol: asyncio.Protocol, context: ssl.SSLContext, handshake_timeout: float
    ) -> None:
        # Its types know neither that nobody need wait for it nor that seconds may be fractions.
        options: dict[str, Any] = {
            "waiter": None,
            "ssl_handshake_timeout": handshake_timeout,
            "ssl_shutdown_timeout": _GOODBYE,
        }
        loop = asyncio.get_running_loop()
        super().__init__(loop, protocol, context, server_side=True, **options)
        # Whom to tell of the end, also of one before the handshake is done.
        self._above = protocol

    def begin(self, sock: asyncio.Transport, received: bytes) -> None:
        """Take over a socket, with what it has received so far."""
        sock.set_protocol(self)
        self.connection_made(sock)
        for start in range(0, len(received), self.max_size):
            piece = received[start : start + self.max_size]
            self.get_buffer(len(piece))[: len(piece)] = piece
            self.buffer_updated(len(piece))

    def connection_lost(self, exc: Exception | None) -> None:  # type: ignore[override]
        """Tell the protocol, also where a handshake failed; asyncio does not do that then."""
        super().connection_lost(exc)
        self._above.connection_lost(exc)


def begins_tls(received: bytes) -> bool:
    """Tell whether the first bytes of a connection can be those of TLS."""
    return received.startswith(_FIRST_BYTE)
