"""What agents keep to go on with a session: opaque to the host, shown to nobody, stored with it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agenthost.host.channels.session.kind import RESUME, SessionChannel, extra_of
from agenthost.host.log.ledger import Ledger
from agenthost.host.store import DropRecord, PutRecord
from agenthost.protocol.jsonrpc import dumps


class ResumeStates:
    """What each session's agent has kept for it."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def get(self, session: SessionChannel) -> Mapping[str, Any] | None:
        """Return what the agent of a session has kept, and no other; any thread may ask."""
        kept = extra_of(session).resume
        if kept is None or kept["provider"] != session.settled["provider"]:
            return None
        state: Mapping[str, Any] = kept["state"]
        return state

    def keep(self, session: SessionChannel, state: Mapping[str, Any] | None) -> None:
        """Keep something for a session in place of what was kept before; None keeps nothing."""
        extra = extra_of(session)
        if state is None:
            self.forget(session)
            return
        if self.get(session) == state:
            return
        extra.resume = {"provider": session.state["provider"], "state": state}
        self._ledger.write(PutRecord(RESUME, session.uri, dumps(extra.resume)))

    def forget(self, session: SessionChannel) -> None:
        """Forget what was kept for a session."""
        extra = extra_of(session)
        if extra.resume is not None:
            extra.resume = None
            self._ledger.write(DropRecord(RESUME, session.uri))
