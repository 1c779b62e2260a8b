"""What the host keeps of a session besides its state, stored with it and shown to nobody.

Which tools it may use without asking, what its agent needs to go on with it, what was decided about
its customizations (what that means is known in ``host/customizations``), and its place: who chose
it, and the worktree made for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from agenthost.host.channels.session.consequences import DistrustPlace
from agenthost.host.channels.session.kind import (
    ENABLEMENT,
    PERMISSIONS,
    PLACES,
    RESUME,
    PlaceRecord,
    SessionChannel,
    WorktreeRecord,
    extra_of,
)
from agenthost.host.log.effects import Effects
from agenthost.host.log.ledger import Ledger
from agenthost.host.log.stored_values import stored_value
from agenthost.host.store import DropRecord, PutRecord, Store
from agenthost.protocol.jsonrpc import dumps

if TYPE_CHECKING:
    from agenthost.protocol.common import JsonMapping
    from agenthost.protocol.session.state import SessionState

# The record of worktrees whose sessions are gone: folder -> worktree.
LEFT_BEHIND = "worktrees left behind"


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


class ResumeStates:
    """What each session's agent has kept for it."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def get(self, session: SessionChannel) -> JsonMapping | None:
        """Return what the agent of a session has kept, and no other; any thread may ask."""
        kept = extra_of(session).resume
        if kept is None or kept["provider"] != session.settled["provider"]:
            return None
        state: JsonMapping = kept["state"]
        return state

    def keep(self, session: SessionChannel, state: JsonMapping | None) -> None:
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


class PlaceRecords:
    """The record of each session's place; it outlives the session as long as it is in the trash."""

    def __init__(self, store: Store, ledger: Ledger, effects: Effects) -> None:
        self._store = store
        self._ledger = ledger
        effects.on(DistrustPlace, lambda effect: self.distrust(effect.session))

    def begin(self, session: SessionChannel, *, by_owner: bool) -> None:
        """Note who chose where a new session works."""
        self._put(session, {"byOwner": by_owner})

    def inherit(self, session: SessionChannel, source: SessionChannel) -> None:
        """Let a session work where another does; a worktree stays that other one's."""
        record = extra_of(source).place
        if record is not None and "worktree" in record:
            record = {**record, "worktree": {**record["worktree"], "own": False}}
        if record is not None:
            self._put(session, record)

    def distrust(self, session: SessionChannel) -> None:
        """Note that somebody else than an owner has chosen a directory."""
        record = extra_of(session).place
        if record is not None and record["byOwner"]:
            self._put(session, {**record, "byOwner": False})

    def is_trusted(self, session: SessionChannel) -> bool:
        """Say whether owners alone have chosen where a session works."""
        record = extra_of(session).place
        return record is not None and record["byOwner"]

    def is_known(self, session: SessionChannel) -> bool:
        """Say whether anything is kept of a session; of those of older hosts nothing is."""
        return extra_of(session).place is not None

    def worktree(self, session: SessionChannel) -> WorktreeRecord | None:
        """Return the worktree that was made, or is being made, for a session."""
        record = extra_of(session).place
        return record.get("worktree") if record is not None else None

    def keep_worktree(self, session: SessionChannel, worktree: WorktreeRecord | None) -> None:
        """Note the worktree of a session; None for none."""
        record = extra_of(session).place or {"byOwner": False}
        kept: PlaceRecord = {"byOwner": record["byOwner"]}
        if worktree is not None:
            kept["worktree"] = worktree
        self._put(session, kept)

    async def restore(self, session: SessionChannel) -> None:
        """Take up what is kept of a session that came back from the trash."""
        extra_of(session).place = await self.stored(session.uri)

    async def stored(self, session: str) -> PlaceRecord | None:
        """Return what is kept of a session that may be gone."""
        await self._ledger.settle()
        kept = await self._store.record(PLACES, session)
        found: PlaceRecord | None = stored_value(kept, session) if kept is not None else None
        return found

    def drop(self, session: str, worktree: WorktreeRecord | None) -> None:
        """Forget what was kept of a session that is gone for good, but its worktree, if any."""
        self._ledger.write(DropRecord(PLACES, session))
        if worktree is not None:
            self._ledger.write(PutRecord(LEFT_BEHIND, worktree["folder"], dumps(worktree)))

    async def left_behind(self) -> list[WorktreeRecord]:
        """Return the worktrees of sessions that are gone which nobody has dealt with yet."""
        stored = await self._store.records(LEFT_BEHIND)
        return [stored_value(kept, folder) for folder, kept in stored.items()]

    def drop_left_behind(self, worktree: WorktreeRecord) -> None:
        """Note that a worktree was dealt with."""
        self._ledger.write(DropRecord(LEFT_BEHIND, worktree["folder"]))

    def _put(self, session: SessionChannel, record: PlaceRecord) -> None:
        extra_of(session).place = record
        self._ledger.write(PutRecord(PLACES, session.uri, dumps(record)))


def first_directory(state: SessionState) -> str | None:
    """Return the directory that a session works in before all others."""
    directories = state.get("workingDirectories")
    return directories[0] if directories else None
