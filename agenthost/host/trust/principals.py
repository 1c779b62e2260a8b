"""Principals: who is at the other end of a connection, as a name and a role, never a secret.

How a principal is proved is ``tokens``' matter, what it may do is ``policy``'s.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from agenthost.tokens import OWNER_NAME, Role


@dataclass(frozen=True, slots=True)
class Principal:
    """Someone the host knows by name; two connections of one name are the same principal."""

    name: str
    role: Role
    # Tells a token from its successor of the same name, so that a revoked one can be cut off.
    # Derived from the secret one way, and still kept out of logs.
    credential: str | None = field(default=None, compare=False, repr=False)


LOCAL_OWNER = Principal(OWNER_NAME, Role.OWNER)
"""Whoever reaches a host started without a token.

It bears the owner's name on purpose: the same person restarts the host with a token tomorrow, and
their clients keep their client ids.
"""


@dataclass(frozen=True, slots=True)
class Starter:
    """On whose behalf a turn runs."""

    principal: str
    locale: str | None = None
    # The client at which it was started.
    client_id: str | None = None
    # How many workers stand above it.
    depth: int = 0
    # Whether that client can have meant a message to be a command: it was told how one begins.
    knows_commands: bool = False


NOBODY = Starter("")
