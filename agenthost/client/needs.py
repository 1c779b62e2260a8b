"""Whether the host's sessions list what waits for somebody, or the client works it out itself."""

from __future__ import annotations

from agenthost.protocol import translator


def sessions_list_needs(version: str) -> bool:
    """Say whether sessions of a protocol version list what waits in their chats."""
    return translator(version).exists("session/inputNeededSet")
