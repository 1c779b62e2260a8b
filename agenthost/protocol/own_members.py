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

# There too: which build of the page this host serves, so that a page knows that it is an older one.
PAGE: Final = "agenthost/page"

# There too: the key that browsers want to be told before they take pushes from this host.
PUSH: Final = "agenthost/push"

# What the page calls itself in ``clientInfo``.
PAGE_PROGRAM: Final = "agenthost-page"


def own_members(about: AboutResult) -> JsonObject:
    """Return what ``agenthost/about`` tells as members of ``_meta``."""
    return {f"agenthost/{name}": value for name, value in about.items()}
