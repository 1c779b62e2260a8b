"""What turns do to files: a checkpoint before and after each, and how much has changed since.

Also tells which changesets a session and its chats offer, which may differ after each turn.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from msgspec import Struct

from agenthost.host.channels.changeset.catalogue import Offer, chat_entries, session_entries
from agenthost.host.channels.changeset.changesets import Changesets
from agenthost.host.channels.changeset.checkpoint_book import NOT_KEPT, Trees
from agenthost.host.channels.changeset.compute import Scope, Uncomputable, wanted_base
from agenthost.host.channels.changeset.tool_edits import edits_in
from agenthost.host.channels.chat.extra import ChatChannel
from agenthost.host.channels.chat.kind import CHAT
from agenthost.host.channels.session.consequences import CountChanges, RefreshChangesets
from agenthost.host.channels.session.kind import SessionChannel, extra_of
from agenthost.host.channels.session.places import Workplace
from agenthost.host.log.directory import Directory
from agenthost.host.log.effects import Effects
from agenthost.host.log.writer import Writer
from agenthost.tasks import Tasks
from agenthost.workspace.git.program import GitFailed
from agenthost.workspace.git.repository import base_branch, current_branch

if TYPE_CHECKING:
    from agenthost.protocol.common import Action

log = logging.getLogger(__name__)

# Seconds after the beginning of a turn in which its agent surely has not begun to work.
IN_TIME = 1.8


class TurnChanges:
    """Looks at the files of sessions before and after their turns."""

    def __init__(
        self,
        writer: Writer,
        directory: Directory,
        effects: Effects,
        tasks: Tasks,
        changesets: Changesets,
    ) -> None:
        self._writer = writer
        self._directory = directory
        self._tasks = tasks
        self._book = changesets.book
        self._program = changesets.book.program
        self._effects = effects
        self._changesets = changesets
        # What is done for one session is done in order; what is told of it, in one of its own, so
        # that no turn waits for what is told of the last.
        self._orders: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._telling: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        effects.on(RefreshChangesets, lambda effect: self.refresh_offer(effect.session))

    async def begins(self, chat: ChatChannel, session: SessionChannel, turn_id: str) -> None:
        """Keep the files as they are before a turn; nothing else is done to them while it runs."""
        for channel in self._changesets.of_session(session):
            self._changesets.tell_operations(channel, session)
        began = asyncio.get_running_loop().time()
        async with _lock(self._orders, session):
            found = await self._find(session)
            places = found.places
            before = await self._take(session, places)
            in_time = asyncio.get_running_loop().time() - began < IN_TIME
            if not in_time and _has_worked(chat, turn_id):
                # They are files that the turn has changed already.
                log.warning("what %s begins with took too long to be looked at", turn_id)
                before = dict.fromkeys(before, NOT_KEPT)
            if places:
                page = await self._book.page(session.uri)
                page.places |= {place.top: place.repository for place in places}
                page.begin(chat.uri, turn_id, before)
                self._book.save(session.uri, page)
        # What it offers anew the agent need not wait for.
        offering = self._offer_in_order(session, chat, found)
        self._tasks.start(offering, f"changesets of {session.uri}")

    def ended(self, chat: ChatChannel, session: SessionChannel, turn_id: str) -> None:
        """Keep the files as they are after a turn, and tell what it changed, soon."""
        self._tasks.start(self._end(chat, session, turn_id), f"look after {turn_id}")

    def refresh_offer(self, session: SessionChannel) -> None:
        """Find out anew which changesets a session offers, soon."""
        self._tasks.start(self._offer_in_order(session), f"changesets of {session.uri}")

    async def _offer_in_order(
        self,
        session: SessionChannel,
        chat: ChatChannel | None = None,
        found: _Found | None = None,
    ) -> None:
        async with _lock(self._telling, session):
            if self._directory.has(session):
                await self._offer(session, chat, await self._places(session, found))

    async def _end(self, chat: ChatChannel, session: SessionChannel, turn_id: str) -> None:
        async with _lock(self._orders, session):
            if not self._directory.has(session):
                return
            found = await self._find(session)
            after = await self._take(session, found.places)
            if not self._directory.has(session):
                return
            page = await self._book.page(session.uri)
            if page.find(turn_id, {chat.uri}) is not None:
                page.end(chat.uri, turn_id, after)
                self._book.save(session.uri, page)
        async with _lock(self._telling, session):
            if self._directory.has(session):
                await self._offer(session, chat, await self._places(session, found))
                await self._count(session, chat, after)
        if self._directory.has(session):
            self._changesets.refresh_all(session, after, turn_id)

    async def _find(self, session: SessionChannel) -> _Found:
        directories = session.state.get("workingDirectories")
        places = await self._changesets.workplaces.find(session, directories or ())
        return _Found(directories, places)

    async def _places(self, session: SessionChannel, found: _Found | None) -> list[Workplace]:
        """Return what was found some time ago, or find it anew if the session has moved since."""
        if found is None or found.directories is not session.state.get("workingDirectories"):
            found = await self._find(session)
        return found.places

    async def _take(self, session: SessionChannel, places: list[Workplace]) -> Trees:
        if not places:
            return {}
        page = await self._book.page(session.uri)
        trees: dict[str, str] = {}
        for place in places:
            try:
                kept = await page.checkpoints.take(place.repository, place.folders)
            except (GitFailed, OSError) as error:
                log.warning("no checkpoint of %s: %s", place.top, error)
                trees[place.top] = NOT_KEPT
            else:
                trees[place.top] = kept.tree
        if page.is_forgotten:
            # The session went meanwhile, for good.
            await page.checkpoints.remove()
        return trees

    # What is told.

    async def _offer(
        self, session: SessionChannel, chat: ChatChannel | None, places: list[Workplace]
    ) -> None:
        branch = base = None
        if places:
            repository = places[0].repository
            branch = await current_branch(self._program, repository)
            # A branch to compare with is offered again once git answers.
            with contextlib.suppress(GitFailed):
                base = await base_branch(self._program, repository, wanted_base(session))
        is_used = self._is_used(session, chat, has_git=bool(places))
        offer = Offer(bool(places), is_used, branch, base)
        if not self._directory.has(session):
            return
        entries = session_entries(session.uri, offer)
        if entries != (session.state.get("changesets") or []):
            action: Action = {"type": "session/changesetsChanged", "changesets": entries}
            self._writer.apply(session, action)
        if chat is not None and self._directory.has(chat):
            entries = chat_entries(chat.uri, offer)
            if entries != (chat.state.get("changesets") or []):
                action = {"type": "chat/changesetsChanged", "changesets": entries}
                self._writer.apply(chat, action)

    def _is_used(self, session: SessionChannel, chat: ChatChannel | None, *, has_git: bool) -> bool:
        """Say whether there may be changes, as far as that is known without loading chats.

        With git that is so after a turn, without it when a tool says that it edited a file.
        """
        if any(entry["changeKind"] == "session" for entry in session.state.get("changesets") or ()):
            return True
        if not has_git:
            return chat is not None and _has_edited(chat)
        chats = [self._directory.get(c["resource"], CHAT) for c in session.state["chats"]]
        return any(chat and (chat.state["turns"] or chat.state.get("activeTurn")) for chat in chats)

    async def _count(self, session: SessionChannel, chat: ChatChannel, now: Trees) -> None:
        if not now and not _has_edited(chat):
            return
        try:
            ours = await self._changesets.finder.counts(Scope(session), now)
            chats = await self._changesets.finder.counts(Scope(session, chat), now)
        except (GitFailed, Uncomputable, OSError) as error:
            log.info("the changes of %s are not counted: %s", session.uri, error)
            return
        if not self._directory.has(session):
            return
        entry = next((c for c in session.state["chats"] if c["resource"] == chat.uri), None)
        if entry is not None and chats != entry.get("changes"):
            action: Action = {"type": "session/chatUpdated", "chat": chat.uri}
            self._writer.apply(session, {**action, "changes": {"changes": chats}})
        facts = extra_of(session).facts
        if facts is not None and ours != facts.get("changes"):
            self._effects.carry_out(CountChanges(session, ours))


class _Found(Struct, frozen=True):
    """The repositories that a session worked in, when these were its directories."""

    directories: Sequence[str] | None
    places: list[Workplace]


def _lock(locks: WeakValueDictionary[str, asyncio.Lock], session: SessionChannel) -> asyncio.Lock:
    return locks.setdefault(session.uri, asyncio.Lock())


def _has_worked(chat: ChatChannel, turn_id: str) -> bool:
    """Say whether a turn may have changed files: an agent thinks, and then says what it does."""
    active = chat.state.get("activeTurn")
    if active is None or active["id"] != turn_id:
        return True
    return any(part["kind"] != "reasoning" for part in active["responseParts"])


def _has_edited(chat: ChatChannel) -> bool:
    """Say whether a tool of a chat's last turn says that it edited a file."""
    return next(edits_in(chat.state["turns"][-1:]), None) is not None
