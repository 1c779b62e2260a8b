"""Which clients know that some messages are commands: those whose version tells them the prefix.

To all others such a text is an ordinary message, and running it would surprise whoever wrote it.
"""

from __future__ import annotations

from functools import cache

from agenthost.protocol.versions import translator


@cache
def is_told_prefix(version: str) -> bool:
    """Say whether clients of a version are told what commands begin with."""
    told = {"terminalCommandPrefix": ""}
    return "terminalCommandPrefix" in translator(version).result_down("initialize", {}, told)
