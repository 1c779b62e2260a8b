"""Whose tokens the servers of a session are given."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from agenthost.host.channels.session.kind import SessionChannel, extra_of
from agenthost.host.channels.session.participants import takes_part
from agenthost.host.mcp.server_context import Token
from agenthost.host.trust.credentials import Credentials

if TYPE_CHECKING:
    from agenthost.host.log.receiver import Receiver


def may_sign_in(connection: Receiver, session: SessionChannel) -> bool:
    """Say whether a token that a client brings is for a session too.

    It is for those that somebody takes part in. An owner takes part in all of them, so there it
    is those that are followed: others' servers are not signed in behind their backs.
    """
    if connection.principal.name in extra_of(session).participants:
        return True
    return session in connection.subscriptions and takes_part(session, connection.principal)


def held_tokens(
    credentials: Credentials, session: SessionChannel, resource: str
) -> Iterator[Token]:
    """Return the tokens that those who take part in a session have brought for a resource."""
    for name in sorted(extra_of(session).participants):
        token = credentials.get(name, resource)
        if token is not None:
            yield Token(name, token)
