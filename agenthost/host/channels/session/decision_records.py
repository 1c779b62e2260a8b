"""What was decided in one session about its customizations, stored with it.

What the decisions mean is known in ``host/customizations``; here they go where the session goes.
"""

from __future__ import annotations

from collections.abc import Mapping

from agenthost.host.channels.session.kind import ENABLEMENT, SessionChannel, extra_of
from agenthost.host.log.ledger import Ledger
from agenthost.host.store import DropRecord, PutRecord
from agenthost.protocol.jsonrpc import dumps


def keep_decisions(ledger: Ledger, session: SessionChannel, decided: Mapping[str, bool]) -> None:
    """Let decisions hold in a session, also after a restart."""
    extra_of(session).decided = decided
    if decided:
        ledger.write(PutRecord(ENABLEMENT, session.uri, dumps(decided)))
    else:
        forget_decisions(ledger, session.uri)


def inherit_decisions(ledger: Ledger, session: SessionChannel, source: SessionChannel) -> None:
    """Let what was decided in a session hold in one that goes on from there."""
    decided = extra_of(source).decided
    if decided:
        keep_decisions(ledger, session, decided)


def forget_decisions(ledger: Ledger, session: str) -> None:
    """Forget what was decided in a session that is gone for good."""
    ledger.write(DropRecord(ENABLEMENT, session))
