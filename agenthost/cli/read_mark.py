"""Marking a session and its chats as read while a person watches them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

from agenthost.cli.format.state_format import is_unread
from agenthost.client import Chat, Dispatch, Rejected, Session
from agenthost.errors import AgentHostError


class ReadMark:
    """Marks a session, and the chats that are shown of it, as read while a person watches.

    Only while nothing runs: of a turn that goes on when its watcher leaves, the end is unread.
    """

    def __init__(self, session: Session, *chats: Chat) -> None:
        self._session = session
        # The chats that are shown, by their URIs.
        self.chats = {chat.uri: chat for chat in chats}
        self._last: dict[str, Dispatch] = {}

    def mark_if_unread(self, *, running: bool) -> list[Dispatch]:
        """Mark what is unread as read; return what was dispatched for it."""
        if running:
            return []
        marks: list[Dispatch | None] = [self._mark(self._session, self._session.mark_read)]
        for chat in self.chats.values():
            # Older hosts know it of sessions only.
            if chat.can_be_read and chat.channel.gone is None:
                marks.append(self._mark(chat, chat.mark_read))
        return [dispatch for dispatch in marks if dispatch is not None]

    def _mark(self, what: Session | Chat, mark: Callable[[], Dispatch]) -> Dispatch | None:
        status: int = what.channel.confirmed["status"]
        last = self._last.get(what.uri)
        if not is_unread(status) or (last is not None and not _is_taken(last)):
            return None
        with contextlib.suppress(AgentHostError):
            self._last[what.uri] = mark()
            return self._last[what.uri]
        return None


def _is_taken(dispatch: Dispatch) -> bool:
    """Return whether the host accepted an action; a rejected one is not repeated."""
    return dispatch.done and not isinstance(dispatch.outcome.exception(), Rejected)
