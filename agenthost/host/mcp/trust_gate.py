"""Which declared servers may start in a session: decided before, or asked in a turn."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from agenthost.host.channels.chat.consequences import TRUST_QUESTION, TrustAnswered
from agenthost.host.channels.chat.turn_facts import TurnFacts
from agenthost.host.channels.session.kind import SessionChannel
from agenthost.host.channels.session.participants import takes_part
from agenthost.host.customizations.service import DeclaredServer
from agenthost.host.folder_trust import FolderTrust
from agenthost.host.log.writer import Writer
from agenthost.host.mcp.trust_question import (
    QUESTION,
    place_of,
    trust_answer,
    trust_request,
    what_it_is,
)
from agenthost.host.mcp.turn_questions import ask_in_turn, new_request_id
from agenthost.mcp.types import McpFailed, ServerDeclaration

if TYPE_CHECKING:
    from agenthost.host.trust import Principal
    from agenthost.protocol.common import JsonObject

# What clients are told beside the protocol's own: whether it may start, and what would run.
TRUST_META = "agenthost/trust"
RUNS_META = "agenthost/runs"

# What its own user put there needs nobody's word.
_OWN = ("user", "builtin")


class TrustGate:
    """Decides what may start, and asks people where nobody has decided."""

    def __init__(self, trust: FolderTrust, writer: Writer) -> None:
        self._trust = trust
        self._writer = writer
        # Who has answered which question.
        self._answered: dict[str, Principal] = {}
        # Session -> held while it is asked.
        self._asking: dict[str, asyncio.Lock] = {}

    def decision(self, session: SessionChannel, server: DeclaredServer) -> bool | None:
        """Return whether a server may start in a session; None if nobody has decided."""
        if server.origin in _OWN:
            return True
        digest = server.declaration.digest
        return self._trust.decision(place_of(server), digest, session.uri)

    def undecided(
        self, session: SessionChannel, servers: Iterable[DeclaredServer]
    ) -> list[DeclaredServer]:
        """Return those of some servers that nobody has decided on."""
        return [each for each in servers if self.decision(session, each) is None]

    def told(self, session: SessionChannel, server: DeclaredServer) -> JsonObject:
        """Return what clients are shown of a server that needs somebody's word: what, and whose."""
        if server.origin in _OWN:
            return {}
        decided = self.decision(session, server)
        state = "untrusted" if decided is None else "refused"
        if decided:
            state = "trusted" if self._is_owners(server) else "session"
        digest = server.declaration.digest
        trust = {"folder": place_of(server), "state": state, "digest": digest}
        return {TRUST_META: trust, RUNS_META: what_it_is(server.declaration)}

    def resolved(self, session: SessionChannel, server: DeclaredServer) -> ServerDeclaration:
        """Return a server's declaration as it is to be started, just before that.

        Raises:
            McpFailed: nobody has trusted it, or it needs what it is not given.
        """
        if self.decision(session, server) is not True:
            raise McpFailed(why_untrusted(server), "refused")
        declaration = server.declaration
        if declaration.host_variables and not self._is_owners(server):
            names = ", ".join(declaration.host_variables)
            reason = f"it takes {names} of this host's environment, which only an owner can allow"
            raise McpFailed(reason, "refused")
        return declaration.with_host_variables(os.environ)

    async def ask(self, turn: TurnFacts, servers: Sequence[DeclaredServer]) -> None:
        """Ask in a turn about those of some servers that nobody has decided on; once for all."""
        if not self.undecided(turn.session, servers):
            return
        # Turns of other chats do not ask the same at the same time.
        asking = self._asking.setdefault(turn.session.uri, asyncio.Lock())
        if asking.locked():
            turn.tell("Waiting for an answer about MCP servers in another chat")
        async with asking:
            turn.tell(None)
            await self._ask(turn, self.undecided(turn.session, servers))

    async def _ask(self, turn: TurnFacts, unknown: Sequence[DeclaredServer]) -> None:
        if not unknown:
            return
        id = new_request_id(TRUST_QUESTION)
        try:
            answers = await ask_in_turn(self._writer, turn, {"id": id, **trust_request(unknown)})
            person = self._answered.get(id)
        finally:
            self._answered.pop(id, None)
        answer = trust_answer(answers)
        if person is None or not takes_part(turn.session, person) or answer is None:
            # Nobody whose word counts: they are asked about again.
            return
        if answer == "start":
            await self.trust(turn.session, unknown, person)
            return
        for place, named in _by_place(unknown).items():
            self._trust.refuse(
                place, named, by=person, session=turn.session.uri, kept=answer == "never"
            )

    async def trust(
        self, session: SessionChannel, servers: Sequence[DeclaredServer], person: Principal
    ) -> None:
        """Let servers be started; on return that is on the disk, where it is to be kept."""
        for place, named in _by_place(servers).items():
            self._trust.trust(place, named, by=person, session=session.uri)
        await self._trust.settled()

    def session_ends(self, session: str) -> None:
        """Forget a session that is gone."""
        self._asking.pop(session, None)

    def answered(self, effect: TrustAnswered) -> None:
        """Take note of who answered a question, and not only let somebody else's draft stand."""
        if QUESTION in effect.answered:
            self._answered[effect.request_id] = effect.principal

    def _is_owners(self, server: DeclaredServer) -> bool:
        """Say whether it is an owner's word that lets a server start."""
        if server.origin in _OWN:
            return True
        # What is decided for no session in particular an owner has decided.
        return self._trust.decision(place_of(server), server.declaration.digest, "") is True


def why_untrusted(server: DeclaredServer) -> str:
    """Return why a server may not start, and what to do about it."""
    place = place_of(server)
    return (
        f"nobody has trusted {place} to start {server.declaration.name}: the next turn of an agent "
        "that uses it asks, or an owner of the host trusts it"
    )


def _by_place(servers: Iterable[DeclaredServer]) -> Mapping[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for server in servers:
        named = found.setdefault(place_of(server), {})
        named[server.declaration.digest] = server.declaration.name
    return found
