"""Keeps what was decided about customizations, so that it holds after a restart.

What was decided for one session is stored with it; the rest is in memory while the host runs, for
every session needs it. Written in the same commit as the action that decides.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from agenthost.host.channels.session.decision_records import forget_decisions, keep_decisions
from agenthost.host.channels.session.kind import SessionChannel, extra_of
from agenthost.host.channels.session.place_records import first_directory
from agenthost.host.customizations.enablement import Decided, Scope, SessionDecisions
from agenthost.host.log.ledger import Ledger
from agenthost.host.log.stored_values import stored_value
from agenthost.host.store import DropRecord, PutRecord, Store
from agenthost.protocol.jsonrpc import dumps

if TYPE_CHECKING:
    from agenthost.protocol.session.customizations import CustomizationEnablement

# The record of what was decided for workspaces (their URI), and for everything.
SHARED = "shared enablement"
_EVERYWHERE = "global"
_WORKSPACE = "workspace:"


class EnablementRecords:
    """The decisions of all scopes."""

    def __init__(self, store: Store, ledger: Ledger) -> None:
        self._store = store
        self._ledger = ledger
        # ``global``, or ``workspace:`` and its URI -> what was decided there.
        self._shared: dict[str, Decided] = {}

    async def open(self) -> None:
        """Take up what was decided for workspaces, and for everything."""
        stored = await self._store.records(SHARED)
        self._shared = {key: stored_value(kept, key) for key, kept in stored.items()}

    def of(self, session: SessionChannel) -> SessionDecisions:
        """Return what counts in a session."""
        workspace = first_directory(session.state)
        return SessionDecisions(
            extra_of(session).decided,
            self._shared.get(_WORKSPACE + workspace, {}) if workspace is not None else {},
            self._shared.get(_EVERYWHERE, {}),
            workspace,
        )

    def decide(
        self,
        session: SessionChannel,
        key: str,
        decisions: Sequence[CustomizationEnablement],
        *,
        shown: Sequence[CustomizationEnablement] | None,
    ) -> Scope | None:
        """Keep what somebody decided in a session about one customization.

        ``shown`` are the decisions that it was seen with; None where those are not told. Returns
        the widest scope in which anything is decided otherwise than before.
        """
        before = self.of(session)
        after = before.decided(key, decisions, shown=shown)
        widest: Scope | None = None
        if after.session is not before.session:
            keep_decisions(self._ledger, session, after.session)
            widest = "session"
        if after.workspace is not before.workspace and before.workspace_uri is not None:
            self._keep(_WORKSPACE + before.workspace_uri, after.workspace)
            widest = "workspace"
        if after.everywhere is not before.everywhere:
            self._keep(_EVERYWHERE, after.everywhere)
            widest = "global"
        return widest

    def forget(self, session: str) -> None:
        """Forget what was decided for a session that is gone for good."""
        forget_decisions(self._ledger, session)

    def _keep(self, key: str, decided: Decided) -> None:
        if decided:
            self._shared[key] = decided
            self._ledger.write(PutRecord(SHARED, key, dumps(decided)))
        else:
            self._shared.pop(key, None)
            self._ledger.write(DropRecord(SHARED, key))
