"""What passing on must know around a front: who owns what, who lives, where things begin."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from agenthost.cluster.realm.errors import NO_ROOM


class RealmMap(Protocol):
    """What forwarding must know of the local copy."""

    def owner_of(self, unit: str) -> str | None:
        """Return the node that owns a unit."""
        ...

    def unit_of_channel(self, channel: str) -> str | None:
        """Return the unit that a channel belongs to."""
        ...

    async def reached(self, position: int) -> None:
        """Wait until everything up to a message can be read."""
        ...

    def on_commit(self, tell: Callable[[Any], None]) -> object:
        """Tell somebody of every commit, in order."""
        ...


def why_full(living: Mapping[str, Any]) -> str | None:
    """Say why nothing can be stored, if one of these nodes has found no room for it."""
    ailments = (info.ailment for info in living.values())
    found = next((ailment for ailment in ailments if ailment.startswith(NO_ROOM)), None)
    if found is None:
        return None
    return f"nothing can be stored at the moment: {found}. Try again when there is room"


class KnownNodes(Protocol):
    """What forwarding must know of the nodes of the realm."""

    @property
    def living(self) -> Mapping[str, Any]:
        """The nodes that live, by name."""
        ...

    def place(
        self, provider: str | None, directories: Sequence[str], prefer: str | None
    ) -> str | None:
        """Return the node for something new."""
        ...


class OwnerClaims(Protocol):
    """Finds out who owns what."""

    async def owner(self, unit: str) -> str:
        """Return the living node that has a unit; AgentHostError where none can."""
        ...

    def forget(self, unit: str) -> None:
        """Find it out anew the next time."""
        ...
