"""The machines of a realm: who lives, who shall own what, who leads, and how one of them leaves."""

from agenthost.cluster.nodes.beats import Nodes
from agenthost.cluster.nodes.claims import Claims, NobodyOwns
from agenthost.cluster.nodes.keeper import Keeper
from agenthost.cluster.nodes.node_info import NodeInfo
from agenthost.cluster.nodes.root_keeper import RootKeeper

__all__ = ["Claims", "Keeper", "NobodyOwns", "NodeInfo", "Nodes", "RootKeeper"]
