"""One turn of an ACP agent: updates, tool calls, permissions."""
