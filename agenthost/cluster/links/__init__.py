"""Links: connections between a node that shows sessions and the one that owns them.

A link is a ``Transport`` over plain messages of the realm, which may be lost: frames are numbered,
and a link that misses one ends. Whoever opened it opens another.
"""

from agenthost.cluster.links.opening import open_link
from agenthost.cluster.links.server import LinkServer

__all__ = ["LinkServer", "open_link"]
