"""What each method does, one module per area; importing this registers them all."""

from agenthost.host.handlers import (
    actions,
    chats,
    configuration,
    handshake,
    resources,
    sessions,
    subscriptions,
    trash,
)

__all__ = [
    "actions",
    "chats",
    "configuration",
    "handshake",
    "resources",
    "sessions",
    "subscriptions",
    "trash",
]
