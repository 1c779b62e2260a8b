"""How a client asks for a session that is the copy of another, which the protocol cannot say.

``createSession`` had a member for it in older versions; now it is said in the metadata.
"""

from typing import Final

# The key in a creation's ``_meta``; its value is ``{session, turnId}``, the turn being the last one
# that is copied.
FORK: Final = "agenthost/fork"
