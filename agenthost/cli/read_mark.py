"""Marking a session as read while a person watches it."""

from __future__ import annotations

import contextlib

from agenthost.cli.format.state_format import is_unread
from agenthost.client import Dispatch, Rejected, Session
from agenthost.errors import AgentHostError


class ReadMark:
    """Marks a session as read while a person watches it.

    Only while nothing runs: of a turn that goes on when its watcher leaves, the end is unread.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._last: Dispatch | None = None

    def mark_if_unread(self, *, running: bool) -> Dispatch | None:
        """Mark the session as read if it is unread; return the dispatch, if any."""
        if running or not is_unread(self._session.channel.confirmed["status"]):
            return None
        if self._last is not None and not _is_taken(self._last):
            return None
        with contextlib.suppress(AgentHostError):
            self._last = self._session.mark_read()
            return self._last
        return None


def _is_taken(dispatch: Dispatch) -> bool:
    """Return whether the host accepted an action; a rejected one is not repeated."""
    return dispatch.done and not isinstance(dispatch.outcome.exception(), Rejected)
