"""The list of all sessions: read once, then kept up to date by notifications.

Notifications are not replayed, so the list is read anew after every reconnect.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, cast

from agenthost.client.errors import ConnectionLost
from agenthost.client.link.connection_status import Closed, Connected, ConnectionState
from agenthost.client.state.signals import Signal

if TYPE_CHECKING:
    from agenthost.client.state.client_core import ClientCore
    from agenthost.protocol.session.state import SessionSummary

# What a change of a summary never touches.
_IDENTITY = frozenset({"resource", "provider", "createdAt"})

_NOTICES = frozenset({"root/sessionAdded", "root/sessionRemoved", "root/sessionSummaryChanged"})


def merged(summary: SessionSummary, changes: Mapping[str, Any]) -> SessionSummary:
    """Return a summary with a partial update in it; an empty activity means that there is none."""
    fields: dict[str, Any] = {
        **summary,
        **{key: value for key, value in changes.items() if key not in _IDENTITY},
    }
    if not fields.get("activity", True):
        del fields["activity"]
    return cast("SessionSummary", fields)


class SessionList:
    """All sessions of a host by URI: iterate over it to follow them."""

    def __init__(
        self, core: ClientCore, read: Callable[[], Awaitable[list[SessionSummary]]]
    ) -> None:
        self._core = core
        self._read = read
        self._sessions: dict[str, SessionSummary] = {}
        # Whether the list has to be read, and what was told while that is under way.
        self._outdated = True
        self._meanwhile: list[tuple[str, Mapping[str, Any]]] | None = None
        self._changed = Signal()

    async def __aiter__(self) -> AsyncIterator[Mapping[str, SessionSummary]]:
        """Yield the sessions by URI, now and after every change; several may come as one."""
        stop = self._core.status.on_change(self._on_status)
        self._core.on_notice.append(self._on_notice)
        try:
            while True:
                count = self._changed.count
                if self._outdated:
                    await self._refresh()
                yield dict(self._sessions)
                await self._changed.wait_past(count)
        finally:
            stop()
            self._core.on_notice.remove(self._on_notice)

    async def _refresh(self) -> None:
        while self._outdated:
            self._outdated, self._meanwhile = False, []
            try:
                listed = await self._read()
            except (ConnectionLost, TimeoutError):
                # Whoever follows the list does so over any number of drops.
                self._outdated = True
        self._sessions = {summary["resource"]: summary for summary in listed}
        told, self._meanwhile = self._meanwhile or [], None
        for method, params in told:
            # The list may hold it already; then telling it again changes nothing.
            self._apply(method, params)

    def _on_status(self, state: ConnectionState) -> None:
        # Once it is closed, reading raises the reason.
        if isinstance(state, Connected | Closed):
            self._outdated = True
            self._changed.send()

    def _on_notice(self, method: str, params: Mapping[str, Any]) -> None:
        if method not in _NOTICES:
            return
        if self._meanwhile is not None:
            self._meanwhile.append((method, params))
        self._apply(method, params)
        self._changed.send()

    def _apply(self, method: str, params: Mapping[str, Any]) -> None:
        if method == "root/sessionAdded":
            summary = params["summary"]
            self._sessions[summary["resource"]] = summary
        elif method == "root/sessionRemoved":
            self._sessions.pop(params["session"], None)
        elif params["session"] in self._sessions:
            known = self._sessions[params["session"]]
            self._sessions[params["session"]] = merged(known, params["changes"])
