"""Approvals that were given for a whole session; they are stored with it."""

from __future__ import annotations

from agenthost.host.channels.session.kind import PERMISSIONS, SessionChannel, extra_of
from agenthost.host.log.ledger import Ledger
from agenthost.host.store import DropRecord, PutRecord
from agenthost.protocol.jsonrpc import dumps


class Permissions:
    """Tools that run without asking, per session."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def is_allowed(self, session: SessionChannel, tool: str) -> bool:
        """Say whether a tool is allowed in a session; any thread may ask."""
        return tool in extra_of(session).allowed

    def allow(self, session: SessionChannel, tool: str) -> None:
        """Allow a tool from now on, also after a restart."""
        extra = extra_of(session)
        extra.allowed |= {tool}
        self._ledger.write(PutRecord(PERMISSIONS, session.uri, dumps(sorted(extra.allowed))))

    def forget(self, session: SessionChannel) -> None:
        """Forget what was allowed in a session that is gone."""
        extra = extra_of(session)
        if extra.allowed:
            extra.allowed = frozenset()
            self._ledger.write(DropRecord(PERMISSIONS, session.uri))
