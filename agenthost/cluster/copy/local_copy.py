"""The copy as a whole: takes the feed in, tells of it, and says what is known."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self

from agenthost.cluster.commits import Commit, CommitReader
from agenthost.cluster.copy import bases
from agenthost.cluster.copy.applied import AppliedCommit, numbered
from agenthost.cluster.copy.compaction import Compactor
from agenthost.cluster.copy.intake import ABOUT, POSITION, STREAM, Intake
from agenthost.cluster.copy.list_book import KNOWN_SINCE, LIST, ListBook
from agenthost.cluster.copy.realm_source import RealmSource
from agenthost.cluster.copy.source import CopyFailed, CopySource, LogFeed, LogState
from agenthost.cluster.copy.store import CopyStore
from agenthost.cluster.copy.unit_book import UnitBook
from agenthost.cluster.realm import FellBehind, RealmInfo, RealmLink, RealmReplaced
from agenthost.errors import AgentHostError
from agenthost.host.channels.content_upgrade import StoredModel
from agenthost.host.store import Append, DropChannel, PutRecord
from agenthost.tasks import Tasks

FILE = "realm.sqlite"
"""The copy, in its folder."""

# A feed that was not heard for longer may have fallen behind, in seconds.
FRESH_SECONDS = 3.0
# For so many seconds a leader may be behind what was seen, which happens while servers come back.
STALE_SECONDS = 15.0
# Seconds for taking leave of the feed's server, which may be gone.
CLOSE_SECONDS = 2.0
# Seconds after which tasks that ask the realm are told again to end.
CANCEL_SECONDS = 0.2
# Messages that are taken without a pause for others.
MESSAGES_AT_ONCE = 32
# Seconds between two looks at where the feed is.
MARK_SECONDS = 30.0
# A unit whose log ends so much earlier than what is kept is to be renewed, or earlier where there
# are many units: so that at most one of ten appends is for that.
STALE_SHARE, STALE_PER_UNIT = 1.5, 10

log = logging.getLogger(__name__)


class LocalCopy:
    """All of the realm in one file, as far as the feed has come; ``async with`` opens it."""

    def __init__(
        self,
        folder: Path,
        link: RealmLink | None,
        info: RealmInfo | None,
        *,
        source: CopySource | None = None,
    ) -> None:
        """Keep the copy in a folder; ``source`` stands in for the realm's link."""
        if source is None:
            assert link is not None, "a copy needs a realm"
            assert info is not None, "a copy needs a realm that is open"
            source = RealmSource(link, info)
        self._source = source
        self._folder = folder
        self.store = CopyStore(folder / FILE, StoredModel())
        # The last message taken from the feed.
        self.position = 0
        self._book = UnitBook()
        self.lists = ListBook()
        self._tellers: list[Callable[[AppliedCommit], None]] = []
        self._tasks = Tasks(self._fail)
        self._intake = Intake(self.store, (self._book, self.lists), self._fail)
        self._compactor: Compactor
        self._compacting: asyncio.Task[None]
        # Whether somebody goes by what was read, so that it cannot be exchanged for a base.
        self._is_relied_on = False
        self._feed: LogFeed | None = None
        # Where the feed was when, oldest first.
        self._marks: deque[tuple[float, int]] = deque()
        self._following: asyncio.Task[None]
        self._marking: asyncio.Task[None]
        self._failed: asyncio.Future[None]
        self._making_base = asyncio.Lock()
        # How many bytes a message of the log has, on average.
        self._message_size = 0

    async def __aenter__(self) -> Self:
        """Open the copy, take a base where it must, and begin to follow the feed.

        Raises:
            RealmReplaced: it is of another log, or of one that was set back.
            CopyFailed: the log's beginning is gone, and there is no base.
            StoreError: the file cannot be used.
            RealmError: the realm cannot be asked.
        """
        self._failed = asyncio.get_running_loop().create_future()
        # Whether anybody awaits it or not.
        self._failed.add_done_callback(lambda done: done.cancelled() or done.exception())
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        await self._begin()
        self._mark()
        self._following = self._tasks.start(self._keep_following(), "copy: feed")
        self._marking = self._tasks.start(self._keep_marks(), "copy: marks")
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        # Not once: a cancel that comes while the client of NATS flushes is swallowed there
        # (``Client._flush_pending``).
        while asking := [task for task in (self._following, self._marking) if not task.done()]:
            for task in asking:
                task.cancel()
            await asyncio.wait(asking, timeout=CANCEL_SECONDS)
        await self._tasks.close()
        if self._feed is not None:
            with contextlib.suppress(TimeoutError, AgentHostError):
                async with asyncio.timeout(CLOSE_SECONDS):
                    await self._feed.close()
        self._intake.give_up(CopyFailed("the copy of the realm was closed"))
        self._failed.cancel()
        try:
            await self.store.close()
        except AgentHostError as error:
            # Nothing is lost that the realm does not have.
            log.error("the copy of the realm could not be closed: %s", error)

    async def _begin(self) -> None:
        """Open the file, with the newest base in its place if the log does not go on from it."""
        state = await self._source.state()
        if not await self._open(state):
            await bases.take_base(self._source, self._folder / FILE, state)
            if not await self._open(state):
                raise CopyFailed("the base that was taken is not what it was a moment ago")
        self._intake.begin_at(self.position)
        self._compactor = Compactor(self.store, lambda: self.position, self._intake.reached)
        self._compacting = self._tasks.start(self._compactor.run(), "copy: compaction")

    async def _open(self, state: LogState) -> bool:
        """Open the file; False, and it is closed again, if the log does not go on from there."""
        await self.store.open()
        try:
            self.position = await self._stand(state)
            if goes_on := self.position + 1 >= state.first:
                await self._book.load(self.store)
                await self.lists.load(self.store, self.position)
                self._book.forget_before(state.first)
        except BaseException:
            await self.store.close()
            raise
        if not goes_on:
            await self.store.close()
        return goes_on

    async def _stand(self, state: LogState) -> int:
        """Return where an open copy stands; refuse what cannot go on with this log."""
        stored = await self.store.record(ABOUT, POSITION)
        identity = await self.store.record(ABOUT, STREAM)
        advice = f"To begin anew with what is there now, move {self._folder / FILE} away."
        if identity is not None and identity.decode() != state.identity:
            raise RealmReplaced(
                "the realm's log is another one than this node has copied: somebody deleted the "
                f"stream and made it again, or this is another realm. {advice}"
            )
        position = 0 if stored is None else int(stored)
        until = time.monotonic() + STALE_SECONDS
        while position > state.last and time.monotonic() < until:
            # A leader that is none any more may say so too, or a server that is just starting.
            await asyncio.sleep(0.1)
            state = await self._source.state()
        if position > state.last:
            raise RealmReplaced(
                f"the realm's log ends at message {state.last}, but this node has seen message "
                f"{position}: the servers were set back to an older state. {advice}"
            )
        if identity is None:
            if state.first == state.began:
                position = state.first - 1
            await self.store.put(
                PutRecord(ABOUT, STREAM, state.identity.encode()),
                PutRecord(ABOUT, POSITION, str(position).encode()),
                PutRecord(LIST, KNOWN_SINCE, b"0"),
            )
        return position

    def on_commit(self, tell: Callable[[AppliedCommit], None]) -> Callable[[], None]:
        """Tell somebody of every commit, in order, as it comes; what is returned ends that.

        Whatever they raise fails the copy: who missed a commit must not go on.
        """
        # Others than those who are being told just now.
        self._tellers = [*self._tellers, tell]

        def end() -> None:
            self._tellers = [each for each in self._tellers if each is not tell]

        return end

    async def reached(self, position: int) -> None:
        """Wait until a message was taken from the feed and can be read from the store.

        From then on the copy fails with `FellBehind` where the log lost what comes next: whoever
        goes by what was read is to begin anew, with another copy, which takes a base.

        Raises:
            AgentHostError: the copy has failed.
        """
        if self._failed.done():
            await self._failed
        await self._intake.reached(position)
        self._is_relied_on = True

    async def caught_up(self) -> None:
        """Wait until all can be read that the log's leader had when this was called."""
        await self.reached((await self._source.state()).last)

    async def failed(self) -> None:
        """Wait for as long as the copy is kept up; raises why it is not any more."""
        await asyncio.shield(self._failed)

    @property
    def failure(self) -> BaseException | None:
        """Why the copy is not kept up any more, if it is not."""
        has_failed = self._failed.done() and not self._failed.cancelled()
        return self._failed.exception() if has_failed else None

    @property
    def is_fresh(self) -> bool:
        """Whether the feed was heard a moment ago, so that little can be missing."""
        if self._feed is None or self._failed.done():
            return False
        return time.monotonic() - self._feed.heard_at < FRESH_SECONDS

    # What is known about units.

    def owner_of(self, unit: str) -> str | None:
        """Return the node that owns a unit, if one does."""
        return self._book.owner_of(unit)

    def last_of(self, unit: str) -> int:
        """Return the last message of a unit's log; 0 where there is none."""
        return self._book.last_of(unit)

    def units_of(self, node: str) -> list[str]:
        """Return the units that a node owns and that are still there."""
        return self._book.units_of(node)

    def is_made(self, unit: str) -> bool:
        """Say whether there is or was what a unit is named after, and not only an owner of it."""
        return self._book.is_made(unit)

    def unit_of_channel(self, channel: str) -> str | None:
        """Return the unit that a channel belongs to; ``None`` where there is no such channel."""
        return self._book.unit_of_channel(channel)

    def stale_units(self) -> dict[str, str | None]:
        """Return the units that keep the log from being purged, and who owns them.

        Something is to be appended there, be it nothing: a unit without a message has no fence.
        """
        age = max(round(STALE_SHARE * self._kept), STALE_PER_UNIT * len(self._book))
        return self._book.ending_before(self.position - age)

    @property
    def _kept(self) -> int:
        """How many of the last messages stay in the log."""
        return min(bases.KEPT_MESSAGES, bases.KEPT_BYTES // max(1, self._message_size))

    # Bases.

    async def base_is_due(self) -> bool:
        """Say whether so much came since the newest base that another one is worth it."""
        state = await self._measured()
        newest = await bases.names_by_age(self._source)
        since = newest[0][0] if newest else state.first - 1
        grown = state.last - since
        # What the log has beyond the kept part tells how large messages are here.
        share = grown / max(1, state.last - state.first + 1)
        return grown >= bases.BASE_EVERY or share * state.size >= bases.BASE_BYTES

    async def make_base(self) -> None:
        """Put a base into the realm, and purge what lies well before it.

        Raises:
            AgentHostError: it did not come about; what was there is still there.
        """
        async with self._making_base:
            await self._intake.settle()
            position = await bases.put_base(self._source, self.store, self._folder)
            horizon = time.monotonic() - bases.KEPT_SECONDS
            old = max((at for moment, at in self._marks if moment <= horizon), default=0)
            before = min(position - self._kept, old) + 1
            end = self._book.oldest_end()
            if end is not None:
                before = min(before, end)
            if before > (await self._source.state()).first:
                await self._source.purge_before(before)
                self._book.forget_before(before)

    # The feed.

    async def _keep_following(self) -> None:
        """Follow the feed; a log that is cut while the copy begins is taken up from a base."""
        while True:
            try:
                await self._follow()
                return
            except FellBehind as error:
                await self._intake.settle()
                # Those who were just told that they can read go first.
                await asyncio.sleep(0)
                if self._is_relied_on:
                    raise
                log.info("the realm's log was cut while it was read: %s", error)
            self._compacting.cancel()
            await asyncio.wait([self._compacting])
            if self._feed is not None:
                await self._feed.close()
            await self.store.close()
            await self._begin()

    async def _follow(self) -> None:
        reader = CommitReader()
        # What belongs together is taken together: all of it or none.
        pieces: list[tuple[int, Commit]] = []
        feed = self._feed = self._source.feed(self.position)
        expected = self.position + 1
        taken = 0
        async for message in feed:
            if self._failed.done():
                return
            if message.seq != expected:
                await self._check_gap(expected, message.seq)
            expected = message.seq + 1
            commit = reader.feed(message.body)
            if commit is not None:
                if pieces and pieces[-1][1].id != commit.id:
                    # The rest of that commit will not come.
                    self._take(pieces)
                    pieces = []
                pieces.append((message.seq, commit))
                if not commit.continues:
                    self._take(pieces)
                    pieces = []
            taken += 1
            if taken % MESSAGES_AT_ONCE == 0:
                await asyncio.sleep(0)
            await self._intake.room()
            await self._compactor.room()
        raise CopyFailed("the realm's feed ended")

    async def _check_gap(self, expected: int, found: int) -> None:
        if found < expected:
            raise RealmReplaced(
                f"the realm's log went back from message {expected - 1} to {found}: the servers "
                "were set back to an older state, or the stream was made anew"
            )
        first = (await self._source.state()).first
        if first > expected:
            raise FellBehind(
                f"this node was away for too long: it needs message {expected}, and the realm's "
                f"log begins with {first}"
            )

    def _take(self, pieces: list[tuple[int, Commit]]) -> None:
        for seq, commit in pieces:
            applied = numbered(seq, commit)
            self._intake.take(seq, applied.writes)
            self._book.take(applied)
            self.lists.take(applied)
            for _, write in applied.writes:
                if isinstance(write, Append):
                    self._compactor.appended(write.channel, len(write.action))
                elif isinstance(write, DropChannel):
                    self._compactor.dropped(write.channel)
            self.position = seq
            for tell in self._tellers:
                tell(applied)
        self._intake.flush()

    async def _keep_marks(self) -> None:
        while True:
            await asyncio.sleep(MARK_SECONDS)
            self._mark()
            with contextlib.suppress(AgentHostError):
                self._book.forget_before((await self._measured()).first)

    async def _measured(self) -> LogState:
        """Ask how the log is, and take note of how long its messages are."""
        state = await self._source.state()
        self._message_size = state.size // max(1, state.last - state.first + 1)
        return state

    def _mark(self) -> None:
        now = time.monotonic()
        self._marks.append((now, self.position))
        while len(self._marks) > 1 and self._marks[1][0] <= now - bases.KEPT_SECONDS:
            self._marks.popleft()

    def _fail(self, error: Exception) -> None:
        if self._failed.done():
            return
        if not isinstance(error, AgentHostError):
            log.error("the copy of the realm failed", exc_info=error)
            error = CopyFailed(f"the copy of the realm failed: {error!r}")
        self._failed.set_exception(error)
        self._following.cancel()
        self._intake.give_up(error)
