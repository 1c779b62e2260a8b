"""Which node gets what: new sessions by load, those of a dead node by a draw that all agree on.

Pure.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Sequence
from pathlib import PurePosixPath
from urllib.parse import unquote, urlsplit

from agenthost.cluster.nodes.node_info import NodeInfo


def best_place(
    nodes: Sequence[NodeInfo],
    provider: str | None,
    directories: Sequence[str],
    prefer: str | None = None,
) -> str | None:
    """Return the node with the agent, and if one has them the directories, that does least."""
    fit = fitting(nodes, provider, directories)
    if prefer is not None and any(node.id == prefer for node in fit):
        return prefer
    # Equals change with the number of sessions that each has, so that they take turns.
    least = min(fit, key=lambda node: (node.turns, node.sessions, node.load, node.id), default=None)
    return None if least is None else least.id


def heir(
    unit: str,
    nodes: Sequence[NodeInfo],
    provider: str | None,
    directories: Sequence[str] = (),
    besides: Collection[str] = (),
) -> str | None:
    """Return the node that takes over a unit: every node that sees the same ones says the same.

    Where none has the agent, one keeps the session readable. By rendezvous: each unit ranks the
    nodes in an order of its own, so that what one leaves behind is spread over all.
    """
    left = [node for node in nodes if node.id not in besides]
    able = fitting(left, provider, directories) or fitting(left, None, ())
    return max((node.id for node in able), key=lambda node: _rank(unit, node), default=None)


def fitting(
    nodes: Iterable[NodeInfo], provider: str | None, directories: Sequence[str]
) -> list[NodeInfo]:
    """Return the nodes that stay and have the agent; of those the ones with the directories."""
    able = [
        node
        for node in nodes
        if not node.draining and (provider is None or provider in node.providers)
    ]
    near = [node for node in able if all(_has(node, each) for each in directories)]
    # Who may work where is the owner's to judge: it says so better than "no node".
    return near or able


def _has(node: NodeInfo, directory: str) -> bool:
    parts = urlsplit(directory)
    if parts.scheme not in ("", "file"):
        return True
    path = PurePosixPath(unquote(parts.path))
    return any(path.is_relative_to(root) for root in node.roots)


def _rank(unit: str, node: str) -> bytes:
    return hashlib.blake2b(f"{node}\n{unit}".encode(), digest_size=8).digest()
