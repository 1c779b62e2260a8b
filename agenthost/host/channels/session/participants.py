"""Who takes part in a session: whoever made it, wrote in one of its chats, or is active in it.

Everybody may look at every session; its files, its terminals and what one types into them belong to
those who take part, and to owners. Kept with the session, also over a restart.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agenthost.host.channels.session.consequences import TakePart
from agenthost.host.channels.session.kind import PARTICIPANTS, SESSION, SessionChannel, extra_of
from agenthost.host.log.directory import Directory
from agenthost.host.log.effects import Effects
from agenthost.host.log.ledger import Ledger
from agenthost.host.store import DropRecord, PutRecord
from agenthost.host.trust.principals import Principal
from agenthost.protocol.jsonrpc import dumps
from agenthost.tokens import Role

if TYPE_CHECKING:
    from agenthost.host.log.channel import AnyChannel


def takes_part(session: AnyChannel | None, principal: Principal) -> bool:
    """Say whether somebody takes part in a session; owners always do, viewers never."""
    if principal.role is Role.OWNER:
        return True
    if principal.role is not Role.OPERATOR or session is None or session.kind is not SESSION:
        return False
    return principal.name in extra_of(session).participants


class Participants:
    """The names of those who take part in each session."""

    def __init__(self, ledger: Ledger, directory: Directory, effects: Effects) -> None:
        self._ledger = ledger
        self._directory = directory
        effects.on(TakePart, lambda effect: self.add(effect.session, effect.principal))

    def takes_part(self, session: str, principal: Principal) -> bool:
        """Say whether somebody takes part in a session.

        Awaits nothing, so of a session that is not in memory it knows the owners only: whoever
        asks with a client's own words looks for it first.
        """
        return takes_part(self._directory.get(session, SESSION), principal)

    def sessions(self, principal: Principal) -> list[SessionChannel]:
        """Return the sessions in memory that somebody takes part in."""
        loaded = self._directory.loaded(SESSION)
        return [session for session in loaded if takes_part(session, principal)]

    def add(self, session: SessionChannel, *names: str) -> None:
        """Let people take part from now on."""
        extra = extra_of(session)
        # Nobody is whoever the host acts for when it acts for itself.
        added = frozenset(names) - extra.participants - {""}
        if added:
            extra.participants |= added
            known = dumps(sorted(extra.participants))
            self._ledger.write(PutRecord(PARTICIPANTS, session.uri, known))

    def copy(self, source: SessionChannel, target: SessionChannel) -> None:
        """Let those who take part in one session take part in another that comes from it."""
        self.add(target, *extra_of(source).participants)

    def forget(self, session: SessionChannel) -> None:
        """Forget who took part in a session that is gone."""
        extra = extra_of(session)
        if extra.participants:
            extra.participants = frozenset()
            self._ledger.write(DropRecord(PARTICIPANTS, session.uri))


def named(session: SessionChannel) -> list[str]:
    """Return the names of those who take part in a session, in one order always."""
    return sorted(extra_of(session).participants)
