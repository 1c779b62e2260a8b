"""What the host holds for a session outside of its channels, let go when the session goes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from agenthost.host.channels.session.consequences import ReleaseWorkspace
from agenthost.host.log.effects import Effects

# Takes the session, and whether it may come back from the trash.
End: TypeAlias = Callable[[str, bool], None]


class WorkspaceReleases:
    """Tells all who run or keep something for a session, such as its terminals, that it goes."""

    def __init__(self, effects: Effects) -> None:
        self._ends: list[End] = []
        effects.on(ReleaseWorkspace, self._release)

    def on_release(self, end: End) -> None:
        """Tell somebody of sessions that go; those who were added first are told first."""
        self._ends.append(end)

    def _release(self, effect: ReleaseWorkspace) -> None:
        for end in self._ends:
            end(effect.session, effect.keep)
