"""The program of an ACP agent and the connection to it."""
