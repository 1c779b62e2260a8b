"""Which sessions the picker lists, in which order, and which one is selected.

Pure: no terminal, no connection, no clock. The selection is a session and not a row, because the
list changes under somebody's hands: what moves up or down stays selected.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agenthost.cli.format.state_format import (
    activity_word,
    directory_text,
    is_archived,
    is_unread,
    session_id,
    short_id,
    status_words,
)
from agenthost.cli.format.terminal_text import one_line

if TYPE_CHECKING:
    from agenthost.protocol.session.state import SessionSummary

MOST_TITLE = 400
"""Characters of a title that are kept: no row shows more."""

# Whoever waits comes first, then whoever works, then what is new.
_FIRST = {"needs input": 0, "running": 1}
_UNREAD, _REST = 2, 3


@dataclass(frozen=True, slots=True)
class SessionRow:
    """One session as the list shows it; all texts are safe to print."""

    uri: str
    id: str
    title: str
    # needs input, running, error or idle
    status: str
    unread: bool
    archived: bool
    activity: str
    agent: str
    folder: str
    changed_at: str
    # What is searched, with all case folded.
    searched: str

    @property
    def is_working(self) -> bool:
        """Whether a turn is under way in it."""
        return self.status in _FIRST

    @property
    def rank(self) -> int:
        """Where it stands: the lower, the earlier."""
        return _FIRST.get(self.status, _UNREAD if self.unread else _REST)


def row_of(summary: SessionSummary) -> SessionRow:
    """Return the row of a session."""
    status = summary["status"]
    folders = [one_line(directory_text(uri)) for uri in summary.get("workingDirectories") or ()]
    title = one_line(summary["title"][: MOST_TITLE * 4])[:MOST_TITLE]
    agent = one_line(summary["provider"])
    words = (title, *folders, agent, session_id(summary["resource"]), *status_words(status))
    return SessionRow(
        uri=summary["resource"],
        id=short_id(summary["resource"]),
        title=title or "(no title)",
        status=activity_word(status),
        unread=is_unread(status),
        archived=is_archived(status),
        activity=one_line((summary.get("activity") or "")[:MOST_TITLE]),
        agent=agent,
        folder=folders[0] if folders else "",
        changed_at=summary["modifiedAt"],
        searched="\n".join(words).casefold(),
    )


class PickerModel:
    """The list, what is searched in it, and the selection.

    ``selected`` is a session's URI, or None for the first row, which starts a new session.
    """

    def __init__(self, query: str = "", *, current: str | None = None) -> None:
        self.query = query
        # The session that one comes from, if there is one.
        self.current = current
        self.selected: str | None = current
        # Whether the list was read.
        self.is_known = False
        # The sessions that are listed.
        self.rows: Sequence[SessionRow] = ()
        self._summaries: Mapping[str, Any] = {}
        self._all: list[SessionRow] = []
        self._rows: dict[str, SessionRow] = {}
        # How many there are, without the archived ones.
        self.known = 0

    @property
    def row(self) -> SessionRow | None:
        """The selected session; None for a new one."""
        return self._rows.get(self.selected) if self.selected is not None else None

    @property
    def index(self) -> int:
        """The selected row: 0 starts a session, the others are ``rows`` from 1 on."""
        return next((n for n, row in enumerate(self.rows, 1) if row.uri == self.selected), 0)

    def update(self, summaries: Mapping[str, SessionSummary]) -> None:
        """Take over the sessions that there are; the selection stays where it is still listed."""
        known, before = self._summaries, self._rows
        self._rows = {
            uri: before[uri] if summary is known.get(uri) else row_of(summary)
            for uri, summary in summaries.items()
        }
        self._summaries = summaries
        newest_first = sorted(self._rows.values(), key=lambda row: row.changed_at, reverse=True)
        self._all = sorted(newest_first, key=lambda row: row.rank)
        self.known = sum(not row.archived for row in self._all)
        index, is_first = self.index, not self.is_known
        self.is_known = True
        self.rows = self._matching()
        if is_first and self.query.strip():
            self._select_first()
        elif self.selected is not None and all(row.uri != self.selected for row in self.rows):
            # It is gone: whatever took its place, or else the last.
            self._select(min(index, len(self.rows)))

    def search(self, query: str) -> None:
        """List what matches other words; the first match is selected."""
        if query != self.query:
            self.query = query
            self.rows = self._matching()
            self._select_first()

    def move(self, by: int) -> None:
        """Select another row, so many further down."""
        self._select(min(max(self.index + by, 0), len(self.rows)))

    def _select_first(self) -> None:
        """Select the first match; where nothing is searched, what there was at the beginning."""
        if self.query.strip():
            self._select(min(1, len(self.rows)))
        else:
            self.selected = self.current

    def _select(self, index: int) -> None:
        self.selected = self.rows[index - 1].uri if index else None

    def _matching(self) -> list[SessionRow]:
        """Return the sessions that hold all words; archived ones only where no others do."""
        words = self.query.casefold().split()
        found = [row for row in self._all if all(word in row.searched for word in words)]
        present = [row for row in found if not row.archived]
        return present if present or not words else found
