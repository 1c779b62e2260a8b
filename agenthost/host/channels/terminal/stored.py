"""Terminals inside of old results: their last states, kept for as long as their sessions are.

A terminal itself is in memory only. What ran for a tool call is kept under the terminal's URI from
its beginning on, so that a result always names something that can be opened: after a crash at least
what was run.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from agenthost.host.channels.session.content_owners import sessions_of
from agenthost.host.channels.terminal.claims import narrowed
from agenthost.host.channels.terminal.kind import SCROLLBACK, TERMINAL, TerminalChannel
from agenthost.host.channels.terminal.scrollback import without_oldest
from agenthost.host.log.directory import Directory
from agenthost.host.log.ledger import Ledger
from agenthost.host.log.stored_values import stored_value
from agenthost.host.store import PutBlob, Store
from agenthost.protocol.jsonrpc import dumps
from agenthost.protocol.uris import terminal_uri

if TYPE_CHECKING:
    from agenthost.protocol.terminal import (
        TerminalContentPart,
        TerminalLifecycleState,
        TerminalState,
    )

CONTENT_TYPE = "application/json"


class StoredTerminals:
    """Keeps the last states of terminals, and opens them again."""

    def __init__(self, store: Store, ledger: Ledger, directory: Directory) -> None:
        self._store = store
        self._ledger = ledger
        self._directory = directory
        directory.on_missing(self._open)

    def keep(self, channel: TerminalChannel, session: str) -> None:
        """Keep what a terminal shows now, until its session goes or it is kept again."""
        state = dumps(as_ended(channel.state))
        self._ledger.write(PutBlob(channel.uri, session, CONTENT_TYPE, state))

    async def _open(self, uri: str) -> TerminalChannel | None:
        if not uri.startswith(terminal_uri("")):
            return None
        # It may still be on its way to the disk.
        if self._ledger.backlog:
            await self._ledger.settle()
        blob = await self._store.blob(uri)
        if blob is None:
            return None
        state = _owned(stored_value(blob.data, uri), sessions_of(blob.owner))
        return self._directory.get(uri, TERMINAL) or self._directory.create(uri, TERMINAL, state)


def _owned(state: TerminalState, sessions: Sequence[str]) -> TerminalState:
    """Return a state that names a session which still has it: its chat may have moved."""
    claim = state["claim"]
    if claim["kind"] != "session" or claim["session"] in sessions:
        return state
    return {**state, "claim": {**claim, "session": sessions[0]}}


def as_ended(state: TerminalState) -> TerminalState:
    """Return a state as it is once nothing runs in it any more, however that came about."""
    kept = without_oldest(state, SCROLLBACK)
    lifecycle: TerminalLifecycleState = state["lifecycle"]
    if lifecycle["status"] != "exited":
        lifecycle = {"status": "exited"}
    content = [_complete(part) for part in kept["content"]]
    return {**kept, "content": content, "lifecycle": lifecycle, "claim": narrowed(kept["claim"])}


def _complete(part: TerminalContentPart) -> TerminalContentPart:
    if part["type"] == "command" and not part["isComplete"]:
        return {**part, "isComplete": True}
    return part
