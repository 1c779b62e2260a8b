"""Which declared MCP servers may be started: what people decided, folder by folder.

A decision is about one declaration (its digest), not about a folder for ever: whoever can edit a
folder, an agent too, could otherwise have anything run. An owner's decision is kept; an operator's
counts in the session in which it was taken, and goes with that.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from agenthost.clock import Clock
from agenthost.errors import PermissionDenied
from agenthost.host.log.ledger import Ledger
from agenthost.host.log.shared_records import SharedRecords
from agenthost.host.log.stored_values import stored_value
from agenthost.host.store import DropRecord, PutRecord, Store, StoreDamaged
from agenthost.host.trust import Principal
from agenthost.protocol.jsonrpc import dumps
from agenthost.tokens import Role

if TYPE_CHECKING:
    from agenthost.protocol.own_commands import TrustedFolder, TrustedServer

log = logging.getLogger(__name__)

# Decisions that are kept of one folder: the newest, should its declarations change all the time.
MOST_KEPT = 256
# The records of owners' decisions: the real path of a folder -> what was decided.
TRUST = "trust"


class FolderTrust:
    """What people decided about the servers that folders declare."""

    def __init__(self, store: Store, ledger: Ledger, clock: Clock) -> None:
        self._ledger = ledger
        self._records = SharedRecords(store, ledger, TRUST)
        self._clock = clock
        # Folder -> digest -> what an owner decided.
        self._kept: dict[str, dict[str, TrustedServer]] = {}
        # Session -> folder and digest -> what somebody decided for that session alone.
        self._for_session: dict[str, dict[tuple[str, str], bool]] = {}
        # Who is told of folders where something may not run any more.
        self._observers: list[Callable[[str], None]] = []

    async def open(self) -> None:
        """Read what was decided in the past, or elsewhere: what may not run any more ends."""
        records = await self._records.read()
        before, self._kept = self._kept, {}
        for folder, stored in records.items():
            try:
                decided = stored_value(stored, folder)
                self._kept[folder] = {each["digest"]: each for each in decided}
            except (StoreDamaged, TypeError, KeyError):
                # Nothing starts that nobody is known to have trusted.
                log.error("what was decided about the servers of %s is lost", ascii(folder))
        for folder, servers in before.items():
            now = self._kept.get(folder, {})
            trusted = (digest for digest, each in servers.items() if each["trusted"])
            if not all(digest in now and now[digest]["trusted"] for digest in trusted):
                self._tell_observers(folder)

    def decision(self, folder: str, digest: str, session: str) -> bool | None:
        """Return what holds for a declaration in a session; None if it must be asked."""
        decided = self._for_session.get(session, {}).get((folder, digest))
        if decided is not None:
            return decided
        kept = self._kept.get(folder, {}).get(digest)
        return None if kept is None else kept["trusted"]

    def is_trusted(self, folder: str, digest: str, session: str) -> bool:
        """Say whether a server that a folder declares may be started in a session."""
        return self.decision(folder, digest, session) is True

    def trust(
        self, folder: str, servers: Mapping[str, str], *, by: Principal, session: str
    ) -> None:
        """Let servers be started, given as digest -> name: an owner's yes is kept.

        Raises PermissionDenied for who may not say so.
        """
        self._decide(folder, servers, by, session, trusted=True, kept=by.role is Role.OWNER)

    def refuse(
        self,
        folder: str,
        servers: Mapping[str, str],
        *,
        by: Principal,
        session: str,
        kept: bool = False,
    ) -> None:
        """Let servers not be started in a session, or with ``kept`` by an owner in none."""
        kept = kept and by.role is Role.OWNER
        self._decide(folder, servers, by, session, trusted=False, kept=kept)
        self._tell_observers(folder)

    def forget(self, folder: str) -> bool:
        """Forget all that was decided about a folder, in sessions too; False if nothing was."""
        known = self._kept.pop(folder, None) is not None
        if known:
            self._records.write(DropRecord(TRUST, folder))
        for decided in self._for_session.values():
            for key in [key for key in decided if key[0] == folder]:
                del decided[key]
                known = True
        if known:
            self._tell_observers(folder)
        return known

    def on_withdrawn(self, tell: Callable[[str], None]) -> None:
        """Tell somebody of every folder that is trusted less than before: what runs must end."""
        self._observers.append(tell)

    def _tell_observers(self, folder: str) -> None:
        for tell in self._observers:
            tell(folder)

    def listed(self) -> list[TrustedFolder]:
        """Return what owners decided, by folder."""
        return [
            {"folder": folder, "servers": list(servers.values())}
            for folder, servers in sorted(self._kept.items())
        ]

    def session_ends(self, session: str, keep: bool) -> None:
        """Forget what was decided for a session that is gone."""
        self._for_session.pop(session, None)

    async def settled(self) -> None:
        """Return when all that was decided is on the disk: nothing may start before that."""
        await self._ledger.settle()

    def _decide(
        self,
        folder: str,
        servers: Mapping[str, str],
        by: Principal,
        session: str,
        *,
        trusted: bool,
        kept: bool,
    ) -> None:
        if by.role is Role.VIEWER:
            raise PermissionDenied("viewers may not decide what is started")
        if kept:
            self._keep(folder, servers, by, trusted=trusted)
            self._forget_in_sessions(folder, servers)
        else:
            decided = self._for_session.setdefault(session, {})
            decided |= {(folder, digest): trusted for digest in servers}

    def _keep(
        self, folder: str, servers: Mapping[str, str], by: Principal, *, trusted: bool
    ) -> None:
        now = self._clock.now()
        entries = self._kept.setdefault(folder, {})
        for digest, name in servers.items():
            # The newest last.
            entries.pop(digest, None)
            entries[digest] = {
                "digest": digest,
                "name": name,
                "trusted": trusted,
                "by": by.name,
                "at": now,
            }
        for oldest in list(entries)[:-MOST_KEPT]:
            del entries[oldest]
        self._records.write(PutRecord(TRUST, folder, dumps(list(entries.values()))))

    def _forget_in_sessions(self, folder: str, digests: Iterable[str]) -> None:
        """Let an owner's word count where somebody decided otherwise for a session."""
        for decided in self._for_session.values():
            for digest in digests:
                decided.pop((folder, digest), None)
