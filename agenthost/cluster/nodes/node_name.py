"""What a machine is called in its realm: given, or made once and kept in its data directory."""

from __future__ import annotations

import contextlib
import re
import secrets
import socket
from pathlib import Path

from agenthost.errors import AgentHostError

# A name is a part of subjects, where dots, blanks and wildcards mean something.
NODE_NAME = re.compile(r"[A-Za-z0-9_-]{1,48}")
# The file in the data directory.
NAME_FILE = "node-name"


class BadNodeName(AgentHostError):
    """A machine cannot be called that."""


def check_node_name(name: str) -> str:
    """Return the name, if a node can have it."""
    if not NODE_NAME.fullmatch(name):
        raise BadNodeName(
            f"{name[:60]!r} cannot be a node's name: 1 to 48 letters, digits, - and _ can"
        )
    return name


def own_name(data_dir: Path) -> str:
    """Return the name of the node with a data directory: the machine's, and a few letters."""
    file = data_dir / NAME_FILE
    with contextlib.suppress(OSError):
        kept = file.read_text().strip()
        if kept:
            return check_node_name(kept)
    host = re.sub(r"[^A-Za-z0-9_-]+", "-", socket.gethostname().partition(".")[0]).strip("-")
    name = f"{host[:40] or 'node'}-{secrets.token_hex(2)}"
    data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    file.write_text(f"{name}\n")
    return name
