"""MCP servers for tests: programs as text, each with one bad habit or none."""

from __future__ import annotations

import sys
from pathlib import Path

from agenthost.mcp.types import ServerDeclaration

__all__ = ["ANSWERING", "REPOSITORY", "declared", "python_server"]

REPOSITORY = Path(__file__).parent.parent.parent
"""Where programs run that are modules of these tests."""

# As much of MCP as a client needs, without a library, so that a program starts at once. What
# comes after it may define `call`, and `before` to be run ahead of anything else.
ANSWERING = """
import json, os, sys, time, threading
def send(**message): print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)
def text(words): return {"content": [{"type": "text", "text": words}]}
def call(number, name, arguments, meta): send(id=number, result=text(json.dumps(arguments)))
def ready(): pass
tools = [{"name": "echo", "inputSchema": {"type": "object"}}]
def serve():
    for line in sys.stdin:
        message = json.loads(line)
        method, number, params = message.get("method"), message.get("id"), message.get("params", {})
        if method == "initialize":
            send(id=number, result={"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
                "serverInfo": {"name": "test", "version": "1"}})
        elif method == "notifications/initialized": ready()
        elif method == "tools/list": send(id=number, result={"tools": tools})
        elif method == "tools/call":
            call(number, params["name"], params.get("arguments"), params.get("_meta"))
        elif method is None: answered(number, message.get("result"), message.get("error"))
def answered(number, result, error): pass
"""


def python_server(code: str, *, answering: bool = True, **declared: object) -> ServerDeclaration:
    """Declare a server that is a Python program; one that answers does so after its own code."""
    text = f"{ANSWERING}\n{code}\nserve()" if answering else code
    return _declaration((sys.executable, "-I", "-S", "-c", text), **declared)


def declared(*command: str) -> ServerDeclaration:
    """Declare a server that is a program."""
    return _declaration(command)


def _declaration(command: tuple[str, ...], **declared: object) -> ServerDeclaration:
    return ServerDeclaration("test", command=command, **declared)  # type: ignore[arg-type]
