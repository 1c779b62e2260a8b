"""What the host lets people do in a shell besides what agents do there."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ShellPolicy:
    """Which ways to a shell there are; whoever may take one is the role's affair."""

    # A message that begins with this is a command and no message to the agent; None for no such.
    prefix: str | None = None
