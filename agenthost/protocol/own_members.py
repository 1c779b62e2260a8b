"""Names in ``_meta`` that are agenthost's own: what the protocol does not have, or no longer."""

from __future__ import annotations

from typing import Final

# In ``createSession``: the session is to be the copy of another up to one of its turns, as
# ``{session, turnId}``. The protocol used to have a member for it.
FORK: Final = "agenthost/fork"
