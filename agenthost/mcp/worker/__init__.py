"""The process that runs MCP servers for a host, with the official `mcp` package.

Started by `agenthost.mcp.link`. Everything that a server sends is read, bounded and parsed here;
the host gets small messages of ours. It ends when its input does, and nothing outlives it.
"""
