"""The changesets that somebody looks at: opened by name, found out, and kept true.

Nothing is worked out that nobody follows. While somebody does, it is looked at again when a turn
ends or an operation was carried out, and now and then besides, for files change by many hands.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable
from typing import TYPE_CHECKING

from agenthost.clock import Clock
from agenthost.errors import InvalidParams, NotFound
from agenthost.host.channels.changeset.blobs import BlobUris, content_type_of
from agenthost.host.channels.changeset.catalogue import ChangesetName, is_of_chats, read_name
from agenthost.host.channels.changeset.checkpoint_book import CheckpointBook
from agenthost.host.channels.changeset.compute import ChangeFinder, Found, Scope, Uncomputable
from agenthost.host.channels.changeset.kind import (
    CHANGESET,
    ChangesetChannel,
    CloseChangeset,
    changeset_extra,
)
from agenthost.host.channels.changeset.offered_operations import offered_operations
from agenthost.host.channels.changeset.operations import ChangesetOperations
from agenthost.host.channels.changeset.reviews import Reviews, shown_files
from agenthost.host.channels.chat.kind import CHAT
from agenthost.host.channels.session.kind import SESSION, SessionChannel
from agenthost.host.channels.session.places import Workplaces
from agenthost.host.log.channel import AnyChannel
from agenthost.host.log.directory import Directory
from agenthost.host.log.effects import Effects
from agenthost.host.log.writer import Writer
from agenthost.host.store import Blob
from agenthost.host.trust import Limits
from agenthost.tasks import Tasks
from agenthost.workspace.git.program import GitFailed, TooManyFiles
from agenthost.workspace.git.repository import Repository

if TYPE_CHECKING:
    from agenthost.protocol.changeset import ChangesetFile, ChangesetState
    from agenthost.protocol.common import Action

log = logging.getLogger(__name__)

# Seconds in which a changeset must be found out.
PATIENCE = 60.0
# Seconds between two looks at files that somebody may have changed, and how many times longer than
# a look takes it is until the next.
LOOK_SECONDS = 5.0
LOOK_SHARE = 20
# Files that are told one by one; more of them are told together.
MOST_SINGLE = 50


class Changesets:
    """All changesets that are open."""

    def __init__(
        self,
        writer: Writer,
        directory: Directory,
        effects: Effects,
        tasks: Tasks,
        clock: Clock,
        book: CheckpointBook,
        workplaces: Workplaces,
        limits: Limits,
    ) -> None:
        self._writer = writer
        self._directory = directory
        self._tasks = tasks
        self._clock = clock
        self.book = book
        self.workplaces = workplaces
        self._most_bytes = limits.max_resource_bytes
        self._blobs = BlobUris()
        self._reviews = Reviews(book.store, writer.ledger, effects)
        most = limits.max_changeset_files
        self.finder = ChangeFinder(directory, book, workplaces, self._blobs, most)
        self.operations = ChangesetOperations(self, writer, directory, effects, tasks)
        effects.on(CloseChangeset, lambda effect: self._close(effect.channel))
        directory.on_missing(self._open)

    async def open(self) -> None:
        """Take up what is kept for all of them."""
        await self._blobs.open(self.book.store, self._writer.ledger)
        await self.book.clear_left_behind()

    async def content(self, uri: str) -> Blob:
        """Return a file as it was, by the name under which a changeset tells of it.

        Raises:
            NotFound: this host has made no such name, or the content is gone.
            InvalidParams: it is too large.
        """
        name = self._blobs.read(uri)
        session = await self._directory.find(name.session, SESSION) if name is not None else None
        if name is None or session is None:
            raise NotFound(f"there is no content {uri}")
        page = await self.book.page(session.uri)
        places = {**page.places}
        for place in await self.workplaces.find(session, Scope(session).directories):
            places[place.top] = place.repository
        for repository in places.values():
            size = await self._size(session, repository, name.blob)
            if size is not None and size > self._most_bytes:
                most = self._most_bytes
                raise InvalidParams(f"has {size} bytes; {most} at most are read", path="uri")
            if size is not None:
                data = await page.checkpoints.read(repository, name.blob, self._most_bytes)
                kind = content_type_of(name.name, is_text=b"\0" not in data)
                return Blob(session.uri, kind, data)
        raise NotFound(f"the content {uri} is not there any more")

    async def _size(self, session: SessionChannel, repository: Repository, blob: str) -> int | None:
        page = await self.book.page(session.uri)
        try:
            return (await page.checkpoints.sizes(repository, [blob])).get(blob)
        except GitFailed:
            # The repository is gone; perhaps another one has it.
            return None

    # Opening and closing.

    async def _open(self, uri: str) -> AnyChannel | None:
        name = read_name(uri)
        scope = await self.scope(name) if name is not None else None
        if name is None or scope is None:
            return None
        owner = scope.chat or scope.session
        name = ChangesetName(owner.uri, name.kind, name.turns)
        reviewed = await self._reviews.read(name.uri)
        known = self._directory.get(name.uri)
        if known is not None:
            return known
        if not self._directory.has(scope.session):
            return None
        state: ChangesetState = {"status": "computing", "files": []}
        channel = self._directory.create(name.uri, CHANGESET, state, scope.session.uri)
        extra = changeset_extra(channel)
        extra.name, extra.reviewed = name, reviewed
        extra.is_sessions = scope.chat is None
        self.refresh(channel)
        extra.looking = self._tasks.start(self._look(channel), f"look after {name.uri}")
        return channel

    async def scope(self, name: ChangesetName) -> Scope | None:
        """Return whose changes a name means; None if it is not there, or has none such."""
        owner = await self._directory.find(name.owner)
        if owner is not None and owner.kind is SESSION:
            return Scope(owner)
        if owner is None or owner.kind is not CHAT or not is_of_chats(name.kind):
            return None
        session = self._directory.owner(owner)
        return Scope(session, owner) if session is not None else None

    def _close(self, channel: ChangesetChannel) -> None:
        extra = changeset_extra(channel)
        for task in (extra.task, extra.looking):
            if task is not None and task is not asyncio.current_task():
                task.cancel()
        if self._directory.has(channel):
            self._directory.drop(channel)

    def end_session(self, session: str, keep: bool) -> None:
        """Close the changesets of a session that goes; ``keep`` what it needs to come back."""
        for channel in self._directory.loaded(CHANGESET):
            if channel.session == session:
                self._end(channel)
        if keep:
            self.book.leave(session)
        else:
            self._reviews.forget(session)
            self._tasks.start(self.book.forget(session), f"forget checkpoints of {session}")

    def _end(self, channel: ChangesetChannel) -> None:
        self._apply(channel, {"type": "changeset/cleared"})
        self._close(channel)

    # Finding out.

    def of_session(self, session: SessionChannel) -> list[ChangesetChannel]:
        """Return the open changesets of a session and of its chats."""
        loaded = self._directory.loaded(CHANGESET)
        return [channel for channel in loaded if channel.session == session.uri]

    def refresh_all(
        self, session: SessionChannel, tops: Iterable[str], turn: str | None = None
    ) -> None:
        """Look again at what is open of a session, and of others in the same working trees.

        Not at what former turns did: that is over, unless it is ``turn`` that has just ended.
        """
        changed = set(tops)
        for channel in self._directory.loaded(CHANGESET):
            extra = changeset_extra(channel)
            if extra.is_over and (extra.name is None or turn not in extra.name.turns):
                continue
            shared = extra.found is not None and changed & extra.found.tops
            if channel.session == session.uri or shared:
                self.refresh(channel)

    def refresh(self, channel: ChangesetChannel, *, quietly: bool = False) -> None:
        """Find out anew what a changeset shows; ``quietly``: nobody asked for that."""
        extra = changeset_extra(channel)
        if extra.task is not None:
            extra.again = extra.again or not quietly
            return
        extra.task = self._tasks.start(self._find_out(channel, quietly), f"find {channel.uri}")

    async def settled(self, channel: ChangesetChannel) -> None:
        """Wait until what a changeset shows is found out."""
        while (task := changeset_extra(channel).task) is not None:
            await asyncio.wait({task})

    async def _look(self, channel: ChangesetChannel) -> None:
        extra = changeset_extra(channel)
        while self._directory.has(channel):
            await self._clock.sleep(max(LOOK_SECONDS, extra.took * LOOK_SHARE))
            may_differ = extra.found is None or extra.found.is_live
            if channel.subscriptions and may_differ:
                self.refresh(channel, quietly=True)

    async def _find_out(self, channel: ChangesetChannel, quietly: bool) -> None:
        extra = changeset_extra(channel)
        try:
            extra.again = True
            while extra.again and self._directory.has(channel):
                extra.again = False
                began = self._clock.monotonic()
                await self._find_once(channel, quietly)
                extra.took = self._clock.monotonic() - began
                quietly = False
        finally:
            extra.task = None

    async def _find_once(self, channel: ChangesetChannel, quietly: bool) -> None:
        name = changeset_extra(channel).name
        assert name is not None
        if not quietly and channel.state["status"] in ("ready", "error"):
            again = "recomputing" if channel.state["status"] == "ready" else "computing"
            self._apply(channel, {"type": "changeset/statusChanged", "status": again})
        try:
            async with asyncio.timeout(PATIENCE):
                scope = await self.scope(name)
                if scope is None:
                    return self._end(channel)
                self._follow_chat(channel, scope)
                found = await self.finder.find(name, scope)
        except TimeoutError:
            self._fail(channel, "timeout", f"this took longer than {PATIENCE:g} s")
        except TooManyFiles as error:
            self._fail(channel, "tooManyFiles", str(error))
        except Uncomputable as error:
            self._fail(channel, error.error_type, str(error))
        except GitFailed as error:
            self._fail(channel, "gitFailed", str(error))
        except OSError as error:
            self._fail(channel, "failed", error.strerror or "the files cannot be read")
        else:
            self._tell(channel, scope.session, found)

    def _follow_chat(self, channel: ChangesetChannel, scope: Scope) -> None:
        """Let a chat's changeset go with it to another session."""
        if channel.session != scope.session.uri and self._directory.has(channel):
            self._directory.give(channel, scope.session)

    # Telling.

    def _fail(self, channel: ChangesetChannel, error_type: str, message: str) -> None:
        changeset_extra(channel).found = None
        if channel.state.get("operations"):
            # Nothing can be done with what is not known.
            self._apply(channel, {"type": "changeset/operationsChanged", "operations": []})
        error = {"errorType": error_type, "message": message}
        if channel.state.get("error") != error:
            self._apply(
                channel, {"type": "changeset/statusChanged", "status": "error", "error": error}
            )

    def _tell(self, channel: ChangesetChannel, session: SessionChannel, found: Found) -> None:
        changeset_extra(channel).found = found
        files = shown_files(channel, list(found.files))
        is_first = channel.state["status"] in ("computing", "error")
        if is_first:
            operations = offered_operations(channel, self.is_busy(session))
            self._apply(
                channel,
                {"type": "changeset/contentChanged", "files": files, "operations": operations},
            )
        else:
            for action in _steps(channel.state["files"], files):
                self._apply(channel, action)
            self.tell_operations(channel, session)
        if channel.state["status"] != "ready":
            self._apply(channel, {"type": "changeset/statusChanged", "status": "ready"})

    def tell_operations(self, channel: ChangesetChannel, session: SessionChannel) -> None:
        """Tell what can be done with a changeset now, if that has changed."""
        if changeset_extra(channel).found is None:
            return
        operations = offered_operations(channel, self.is_busy(session))
        if channel.state.get("operations") != operations:
            action = {"type": "changeset/operationsChanged", "operations": operations}
            self._apply(channel, action)

    def is_busy(self, session: SessionChannel) -> bool:
        """Say whether a turn runs in a session; its chat is in memory then."""
        chats = [self._directory.get(c["resource"], CHAT) for c in session.state["chats"]]
        return any(chat is not None and chat.state.get("activeTurn") for chat in chats)

    def _apply(self, channel: ChangesetChannel, action: Action) -> None:
        if self._directory.has(channel):
            self._writer.apply(channel, action)


def _steps(before: list[ChangesetFile], after: list[ChangesetFile]) -> list[Action]:
    """Plan the actions that lead from the files that clients hold to others."""
    held, wanted = ({file["id"]: file for file in files} for files in (before, after))
    gone: list[Action] = [
        {"type": "changeset/fileRemoved", "fileId": id} for id in held if id not in wanted
    ]
    new: list[Action] = [
        {"type": "changeset/fileSet", "file": file}
        for id, file in wanted.items()
        if held.get(id) != file
    ]
    if len(gone) + len(new) > MOST_SINGLE:
        return [{"type": "changeset/contentChanged", "files": after}]
    return [*gone, *new]
