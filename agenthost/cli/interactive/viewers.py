"""What somebody with a viewer's token meets in a chat: everything to read, nothing to write."""

from __future__ import annotations

from agenthost.client import Client

VIEWER = "viewer"

READ_ONLY = "read-only "
"""In front of what a viewer types, which can only be commands."""

ONLY_LOOKING = "read-only: your token lets you look, not write · /help lists what you can do"
"""What a viewer is told who types a message."""

SOMEBODY_ELSE = "somebody else must answer"
"""Below what is asked, instead of choices."""


def is_viewer(client: Client) -> bool:
    """Return whether a client may only look."""
    me = client.me
    return me is not None and me["role"] == VIEWER


def not_for_viewers(name: str) -> str:
    """Return what to say to a command that changes something."""
    return f"read-only: /{name} changes something, and your token only lets you look"
