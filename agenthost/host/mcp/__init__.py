"""MCP servers of sessions: trusted, started, stopped, asked, and shown to clients."""
