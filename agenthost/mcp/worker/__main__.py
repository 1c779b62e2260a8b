"""Runs the worker: ``python -m agenthost.mcp.worker ID``."""

from agenthost.mcp.worker.main import main

main()
