"""Optional dependencies: how to get one, wherever agenthost itself came from."""

from __future__ import annotations


def how_to_install(extra: str) -> str:
    """Say how to install an extra, of the package or of a checkout."""
    return f"pip install 'agenthost[{extra}]', or in a checkout pip install '.[{extra}]'"
