"""agenthost: the agent host that every client can reach.

Import what you need from its parts: ``agenthost.host`` to embed a host, ``agenthost.agents`` to
write an agent, ``agenthost.protocol`` for the protocol itself.
"""

__all__: list[str] = []
