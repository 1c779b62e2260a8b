"""Names under which models know the tools of MCP servers.

Every provider takes letters, digits, ``_`` and ``-``, at most 64 of them; servers name their tools
as they like, and two servers may be named alike. A name says which server a tool is of, and is the
same whichever other servers are there, as long as none of them is named alike.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Sequence
from typing import Final

# What every provider takes as the name of a tool.
LONGEST_NAME: Final = 64
TOOL_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
_OTHERS: Final = re.compile(r"[^A-Za-z0-9_-]+")
# Between a server's name and a tool's.
SEPARATOR: Final = "__"
_LONGEST_SERVER: Final = 24


def mcp_tool_names(tools: Sequence[tuple[str, str, str]]) -> list[str]:
    """Return a name for each tool, given its server's id and name and its own; all different."""
    plain = [_plain_name(server, tool) for _, server, tool in tools]
    counts = Counter(plain)
    names: dict[str, None] = {}
    for name, origin in zip(plain, tools, strict=True):
        if counts[name] > 1:
            name = _marked(name, "\0".join(origin))
        while name in names:
            # Listed twice, or named to look like another one.
            name = _marked(name, f"{name}\0{len(names)}")
        names[name] = None
    return list(names)


def plain_names(names: Sequence[str], taken: Sequence[str] = ()) -> list[str]:
    """Return short names for servers, as most programs take them; all different."""
    made = set(taken)
    found: list[str] = []
    for name in names:
        fitting = _fitting(name)[:_LONGEST_SERVER] or "mcp"
        number = 2
        unique = fitting
        while unique in made:
            unique, number = f"{fitting}_{number}", number + 1
        made.add(unique)
        found.append(unique)
    return found


def _plain_name(server: str, tool: str) -> str:
    """Return ``server__tool``, marked where that leaves something out."""
    given = f"{server}{SEPARATOR}{tool}"
    name = f"{_fitting(server)[:_LONGEST_SERVER] or 'mcp'}{SEPARATOR}{_fitting(tool) or 'tool'}"
    return name if name == given and len(name) <= LONGEST_NAME else _marked(name, given)


def _fitting(name: str) -> str:
    return _OTHERS.sub("_", name).strip("_")


def _marked(name: str, origin: str) -> str:
    """Return a name that no other origin has, as short as names must be."""
    mark = hashlib.sha256(origin.encode(errors="surrogatepass")).hexdigest()[:8]
    return f"{name[: LONGEST_NAME - len(mark) - 1]}_{mark}"
