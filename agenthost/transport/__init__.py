"""The contract between a connection and whatever carries its messages, and an in-memory carrier.

Knows nothing of JSON, of the protocol or of sockets: ``host.transports`` and ``client.link`` have
those.
"""

from agenthost.transport.contract import LOW_WATER, CloseCode, Encoded, Transport, TransportClosed
from agenthost.transport.memory import memory_pair
from agenthost.transport.receive_queue import ReceiveQueue

__all__ = [
    "LOW_WATER",
    "CloseCode",
    "Encoded",
    "ReceiveQueue",
    "Transport",
    "TransportClosed",
    "memory_pair",
]
