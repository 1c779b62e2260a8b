"""What the files of each session looked like at its start, and around each of its turns.

The trees themselves are git's, in a folder of the session; which of them belongs to which turn is
kept in the store.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import Coroutine, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from msgspec import Struct, field

from agenthost.host.log.ledger import Ledger
from agenthost.host.log.stored_values import stored_value
from agenthost.host.store import DropRecord, PutRecord, Store
from agenthost.protocol.jsonrpc import dumps
from agenthost.workspace.git.program import GitProgram
from agenthost.workspace.git.repository import Repository

if TYPE_CHECKING:
    from agenthost.protocol.common import JsonObject
    from agenthost.workspace.git.checkpoints import Checkpoints

log = logging.getLogger(__name__)

CHECKPOINTS = "checkpoints"
# The sessions that are gone and whose folders may still be there.
LEFT_BEHIND = "checkpoints left behind"
MOST_TURNS = 1000
# Sessions whose pages are kept in memory.
MOST_PAGES = 512

# The top of a working tree -> its files at one moment, or that they could not be kept.
Trees = Mapping[str, str]
NOT_KEPT = ""


class TurnTrees(Struct):
    """The files before and after one turn."""

    chat: str
    turn: str
    before: dict[str, str]
    # None while it runs, and of one that ended with the host.
    after: dict[str, str] | None = None


class Page(Struct):
    """What is known of one session."""

    checkpoints: Checkpoints
    start: dict[str, str] = field(default_factory=dict)
    turns: list[TurnTrees] = field(default_factory=list)
    # Where the repositories are that contents come from.
    places: dict[str, Repository] = field(default_factory=dict)
    # The machine that had what came before, where that is not here: another one, or this one and
    # its folder is gone.
    elsewhere: str | None = None
    # The machine that this is, where there are several.
    here: str | None = None
    # Its session is gone, and nothing more is to be stored of it.
    is_closed: bool = False
    # And its folder is gone too.
    is_forgotten: bool = False

    def begin(self, chat: str, turn: str, before: Trees) -> None:
        """Note the files before a turn; one that goes on after a failure has begun before."""
        for top, tree in before.items():
            self.start.setdefault(top, tree)
        known = self.find(turn, {chat})
        if known is not None and known is self.turns[-1]:
            known.after = None
            return
        self.turns = [*self.turns, TurnTrees(chat, turn, dict(before))][-MOST_TURNS:]

    def end(self, chat: str, turn: str, after: Trees) -> None:
        """Note the files after a turn."""
        known = self.find(turn, {chat})
        if known is not None:
            known.after = dict(after)

    def find(self, turn: str, chats: set[str] | None = None) -> TurnTrees | None:
        """Return what is known of a turn: of the last one with that id."""
        for trees in reversed(self.turns):
            if trees.turn == turn and (chats is None or trees.chat in chats):
                return trees
        return None

    def after(self, trees: TurnTrees) -> Trees | None:
        """Return the files after a turn; if that was not noted, before the one that followed."""
        if trees.after is not None:
            return trees.after
        behind = self.turns[self.turns.index(trees) + 1 :]
        return behind[0].before if behind else None

    def as_record(self) -> JsonObject:
        """Return what is to be stored."""
        return {
            "start": self.start,
            "turns": [[each.chat, each.turn, each.before, each.after] for each in self.turns],
            "places": {top: [p.git_dir, p.common_dir] for top, p in self.places.items()},
        }

    def restore(self, record: JsonObject) -> None:
        """Take up what was stored."""
        self.start = record["start"]
        self.elsewhere = record.get("elsewhere")
        self.turns = [TurnTrees(*each) for each in record["turns"]]
        self.places = {top: Repository(top, *dirs) for top, dirs in record["places"].items()}


class CheckpointBook:
    """The checkpoints of all sessions."""

    def __init__(self, store: Store, ledger: Ledger, program: GitProgram, folder: Path) -> None:
        self.store = store
        self._ledger = ledger
        self.program = program
        self._folder = folder
        # Its name, where sessions move from one machine to another and their folders do not.
        self.machine: str | None = None
        self._pages: dict[str, Page] = {}
        # One reads a page at a time; which are being read, and were not let go of since.
        self._opening: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._reading: set[str] = set()

    async def page(self, session: str) -> Page:
        """Return what is known of a session."""
        async with self._opening.setdefault(session, asyncio.Lock()):
            page = self._pages.pop(session, None)
            if page is None:
                self._reading.add(session)
                try:
                    page = await self._read(session)
                    # If it left meanwhile, it may come back changed.
                    page.is_closed = session not in self._reading
                finally:
                    self._reading.discard(session)
            if page.is_closed:
                return page
            # Those asked for longest ago go first.
            self._pages[session] = page
            if len(self._pages) > MOST_PAGES:
                del self._pages[next(iter(self._pages))]
        return page

    def save(self, session: str, page: Page) -> None:
        """Store what is known of a session."""
        if not page.is_closed:
            self._pages[session] = page
            record = page.as_record()
            if self.machine is not None:
                record |= {"machine": self.machine, "elsewhere": page.elsewhere}
            self._ledger.write(PutRecord(CHECKPOINTS, session, dumps(record)))

    def leave(self, session: str) -> None:
        """Let go of a session that may come back, also of what is being read of it."""
        self._reading.discard(session)
        page = self._pages.pop(session, None)
        if page is not None:
            page.is_closed = True

    def forget(self, session: str) -> Coroutine[Any, Any, None]:
        """Forget a session, at once; what is returned removes its files."""
        self._ledger.write(
            DropRecord(CHECKPOINTS, session), PutRecord(LEFT_BEHIND, session, dumps({}))
        )
        page = self._pages.get(session)
        if page is not None:
            page.is_forgotten = True
        self.leave(session)
        return self._remove(session, page.checkpoints if page is not None else None)

    async def _remove(self, session: str, checkpoints: Checkpoints | None = None) -> None:
        await (checkpoints or self._checkpoints(session)).remove()
        self._ledger.write(DropRecord(LEFT_BEHIND, session))

    async def clear_left_behind(self) -> None:
        """Remove the files of sessions that went just before the last host ended."""
        for session in await self.store.records(LEFT_BEHIND):
            await self._remove(session)

    async def _read(self, session: str) -> Page:
        if self._ledger.backlog:
            await self._ledger.settle()
        page = Page(self._checkpoints(session), here=self.machine)
        stored = await self.store.record(CHECKPOINTS, session)
        if stored is None:
            return page
        record = stored_value(stored, session)
        by = record.get("machine")
        # Without its folder, as after a host that had only a temporary one, it is of no use.
        if by == self.machine and await asyncio.to_thread(lambda: page.checkpoints.is_kept):
            page.restore(record)
        elif self.machine is not None:
            page.elsewhere = by or "another machine"
        return page

    def _checkpoints(self, session: str) -> Checkpoints:
        # Late: not before a turn in a repository.
        from agenthost.workspace.git.checkpoints import Checkpoints

        name = hashlib.sha256(session.encode()).hexdigest()[:32]
        return Checkpoints(self.program, self._folder / name)
