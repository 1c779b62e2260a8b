"""Approvals that were given for a whole session, and tokens that people brought for agents.

Permissions are stored with the session; tokens live in memory only and appear in no log.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING

from agenthost.host.channels.session.kind import PERMISSIONS, SessionChannel, extra_of
from agenthost.host.log.ledger import Ledger
from agenthost.host.store import DropRecord, PutRecord
from agenthost.host.trust.redaction import REDACTED
from agenthost.protocol.jsonrpc import dumps

if TYPE_CHECKING:
    from agenthost.protocol.common import ProtectedResourceMetadata

# A shorter token is no secret, and taking it out would leave no text readable.
SHORTEST_SECRET = 4
# Tokens that no longer count and that a turn may still hold.
MOST_FORMER = 100


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


class Credentials:
    """The newest token of each principal for each protected resource; never stored or shown."""

    def __init__(self) -> None:
        self._tokens: dict[tuple[str, str], str] = {}
        self._former: deque[str] = deque(maxlen=MOST_FORMER)

    def __repr__(self) -> str:
        return f"Credentials({len(self._tokens)})"

    def put(self, principal: str, resource: str, token: str) -> None:
        """Keep a token that a client of this principal brought."""
        self.drop(principal, resource)
        self._tokens[principal, resource] = token

    def drop(self, principal: str, resource: str) -> None:
        """Forget a token that no longer works."""
        former = self._tokens.pop((principal, resource), None)
        if former is not None:
            self._former.append(former)

    def get(self, principal: str, resource: str) -> str | None:
        """Return the principal's token for a resource, if it brought one."""
        return self._tokens.get((principal, resource))

    def mask(self, text: str) -> str:
        """Return a text without any token that was brought, plain or escaped."""
        held = {*self._tokens.values(), *self._former}
        secrets = {form for token in held for form in (token, repr(token)[1:-1])}
        # The longest first: one may be part of another.
        words = [
            re.escape(secret)
            for secret in sorted(secrets, key=len, reverse=True)
            if len(secret) >= SHORTEST_SECRET
        ]
        return re.sub("|".join(words), REDACTED, text) if words else text

    def missing(
        self, principal: str, resources: Sequence[ProtectedResourceMetadata]
    ) -> list[ProtectedResourceMetadata]:
        """Return those required resources for which the principal has brought no token."""
        return [
            item
            for item in resources
            if item.get("required", True) and self.get(principal, item["resource"]) is None
        ]
