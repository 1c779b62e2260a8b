"""MCP servers: a worker process that runs them, and the host's end of it.

The host never imports the `mcp` package: importing it takes a second and 60 MB, and what a server
sends would be parsed on the host's own loop. `link.py` starts `worker/` and talks to it by lines of
JSON over pipes. Nothing here knows sessions, turns or the wire of the protocol.
"""
