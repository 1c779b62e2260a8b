"""Any agent that speaks the Agent Client Protocol, as an agent of this host."""

from agenthost.agents.acp.agent import AcpAgent
from agenthost.agents.acp.spec import AcpUnavailable, BadAcpSpec, parse_acp_spec

__all__ = ["AcpAgent", "AcpUnavailable", "BadAcpSpec", "parse_acp_spec"]
