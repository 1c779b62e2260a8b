"""Names in ``_meta`` that are agenthost's own: what the protocol does not have, or no longer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from agenthost.protocol.common import JsonObject
    from agenthost.protocol.own_commands import AboutResult

# In ``createSession``: the session is to be the copy of another up to one of its turns, as
# ``{session, turnId}``. The protocol used to have a member for it.
FORK: Final = "agenthost/fork"

# In the answer to ``initialize``: who the client is here, as ``{name, role}``.
ME: Final = "agenthost/me"

# What the page calls itself in ``clientInfo``.
PAGE_PROGRAM: Final = "agenthost-page"


def own_members(about: AboutResult) -> JsonObject:
    """Return what ``agenthost/about`` tells as members of ``_meta``."""
    return {f"agenthost/{name}": value for name, value in about.items()}
