"""A program that an agent starts as an MCP server, and that carries its messages to a bridge.

Run as a script with nothing but the standard library, so that it is there at once. The address and
the key come by the environment, where other users cannot see them.
"""

import os
import socket
import sys
import threading

CHUNK = 64 * 1024


def main() -> None:
    """Carry standard input to the socket and the socket to standard output, until either ends."""
    bridge = socket.socket(socket.AF_UNIX)
    try:
        bridge.connect(os.environ["AGENTHOST_BRIDGE"])
    except (OSError, KeyError):
        sys.exit("agenthost: the tools of this session are not there any more")
    bridge.sendall(os.environ["AGENTHOST_BRIDGE_KEY"].encode() + b"\n")
    threading.Thread(target=carry_up, args=(bridge,), daemon=True).start()
    while data := bridge.recv(CHUNK):
        while data:
            data = data[os.write(1, data) :]


def carry_up(bridge: socket.socket) -> None:
    """Carry standard input to the bridge, and tell it of the end."""
    while data := os.read(0, CHUNK):
        bridge.sendall(data)
    bridge.shutdown(socket.SHUT_WR)


if __name__ == "__main__":
    main()
