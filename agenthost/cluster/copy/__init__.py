"""The local copy: all of the realm in a SQLite file of this node, kept up by the feed.

Both hosts of a node read from it, so nothing is loaded over the network, and a node that takes a
session over finds everything at hand. It decides nothing and writes nothing to the realm, except
for bases: whole copies from which a new node goes on, so that the stream's beginning can go.
"""

from agenthost.cluster.copy.applied import Applied, AppliedCommit
from agenthost.cluster.copy.local_copy import LocalCopy
from agenthost.cluster.copy.store import CopyStore

__all__ = ["Applied", "AppliedCommit", "CopyStore", "LocalCopy"]
