"""What changed in the list of sessions while a client was away.

Notifications are never replayed, and editors that resume do not ask for the list again, so a row
would go on saying that something runs. Owns at which number each session last changed, since this
host started; a client that was connected to an earlier one has heard everything before that.
"""

from __future__ import annotations

from collections.abc import Iterator

# Sessions that are remembered, those that changed latest.
MOST_REMEMBERED = 10_000


class ListNews:
    """When sessions appeared in the list, changed there, and went."""

    def __init__(self) -> None:
        # Session URI -> the number at which it appeared, if that was here, and last changed.
        self._changed: dict[str, tuple[int | None, int]] = {}
        self._removed: dict[str, int] = {}

    def added(self, session: str, seq: int) -> None:
        """Note that a session appeared."""
        self._removed.pop(session, None)
        self._note(session, seq, seq)

    def changed(self, session: str, seq: int) -> None:
        """Note that a session's line changed."""
        appeared, _ = self._changed.pop(session, (None, 0))
        self._note(session, appeared, seq)

    def removed(self, session: str, seq: int) -> None:
        """Note that a session went."""
        self._changed.pop(session, None)
        self._removed[session] = seq
        if len(self._removed) > MOST_REMEMBERED:
            del self._removed[next(iter(self._removed))]

    def gone_since(self, seq: int) -> Iterator[str]:
        """Yield the sessions that went after a number."""
        yield from (uri for uri, at in self._removed.items() if at > seq)

    def new_since(self, seq: int) -> Iterator[tuple[str, bool]]:
        """Yield the sessions that changed after a number, and whether they are new since then."""
        for uri, (appeared, at) in self._changed.items():
            if at > seq:
                yield uri, appeared is not None and appeared > seq

    def _note(self, session: str, appeared: int | None, seq: int) -> None:
        self._changed[session] = (appeared, seq)
        if len(self._changed) > MOST_REMEMBERED:
            del self._changed[next(iter(self._changed))]
