"""Worktrees for sessions: made before the first turn, taken up again, removed with the session.

A session that asks for it works in a git worktree of its own. Which one is noted before git is
started, so that a host that ends in between, and even a git that goes on without it, leaves nothing
that nobody knows of. A worktree in which there is anything that is nowhere else is kept.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable
from typing import TYPE_CHECKING
from urllib.parse import quote
from weakref import WeakValueDictionary

from agenthost.agents.api import AgentError
from agenthost.agents.common_settings import BRANCH
from agenthost.host.channels.chat.extra import ChatChannel
from agenthost.host.channels.session.catalogue import SessionCatalogue
from agenthost.host.channels.session.consequences import FollowReplacement
from agenthost.host.channels.session.kind import SESSION, SessionChannel, WorktreeRecord
from agenthost.host.channels.session.place_settings import wants_worktree
from agenthost.host.channels.session.places import Places
from agenthost.host.channels.session.records import PlaceRecords, first_directory
from agenthost.host.log.directory import Directory
from agenthost.host.log.effects import Effects
from agenthost.host.log.writer import Writer
from agenthost.tasks import Tasks
from agenthost.workspace import file_path
from agenthost.workspace.git.program import GitFailed, GitProgram
from agenthost.workspace.git.repository import Repository, find_repository
from agenthost.workspace.git.worktrees import (
    Worktree,
    is_worktree,
    make_worktree,
    plan_worktree,
    remove_worktree,
    take_up_worktree,
    worktrees_folder,
)

if TYPE_CHECKING:
    from agenthost.protocol.common import JsonObject

log = logging.getLogger(__name__)

# What people are shown meanwhile, and the word by which editors know that it went wrong.
ACTIVITY = "Creating isolated worktree"
FAILURE = "worktreeCreationFailure"
# Sessions that are looked through at once for one that works in a worktree, too.
_PAGE = 500


class SessionWorktrees:
    """Makes and removes the worktrees of sessions."""

    def __init__(
        self,
        writer: Writer,
        directory: Directory,
        catalogue: SessionCatalogue,
        effects: Effects,
        tasks: Tasks,
        program: GitProgram,
        places: Places,
        records: PlaceRecords,
    ) -> None:
        self._writer = writer
        self._directory = directory
        self._catalogue = catalogue
        self._effects = effects
        self._tasks = tasks
        self._program = program
        self._places = places
        self._records = records
        # Session URI -> the making of its worktree, while it is under way.
        self._making: dict[str, asyncio.Task[str | None]] = {}
        # Where a repository keeps what it knows -> held while one looks for a free name there.
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def prepare(
        self, chat: ChatChannel, session: SessionChannel, tell: Callable[[str | None], None]
    ) -> None:
        """Let a session work in its worktree, if it asks for one; AgentError says why it cannot."""
        config = session.state.get("config")
        kept = self._records.worktree(session)
        if config is None or not wants_worktree(config["values"]) or (kept and kept["made"]):
            return
        making = self._making.get(session.uri)
        if making is None:
            making = self._tasks.start(self._make(session), f"worktree of {session.uri}")
            self._making[session.uri] = making
            making.add_done_callback(lambda _: self._making.pop(session.uri, None))
        tell(ACTIVITY)
        try:
            # A turn that is cancelled takes nothing away from others that wait for it.
            await asyncio.wait({making})
        finally:
            tell(None)
        if making.cancelled():
            raise AgentError("the host stopped while the worktree was being made", FAILURE)
        reason = making.result()
        if reason is not None:
            message = f"No worktree could be made: {reason}"
            self._notify(chat, message)
            raise AgentError(message, FAILURE)

    def release(self, session: str, keep: bool) -> None:
        """Remove the worktree of a session that is gone for good, if nothing would be lost."""
        if not keep:
            self._tasks.start(self._remove(session), f"remove the worktree of {session}")

    async def _make(self, session: SessionChannel) -> str | None:
        """Make the worktree and let the session work there; return why that cannot be."""
        first = first_directory(session.state)
        trusted = self._records.is_trusted(session)
        repository = await self._places.repository(first, trusted=trusted)
        if repository is None:
            return "the session's folder is in no git repository that it may use"
        beside = worktrees_folder(repository)
        if not self._places.may_have_worktree(repository, trusted=trusted):
            return f"{beside} is outside of the folders that this host works in"
        lock = self._locks.setdefault(repository.common_dir, asyncio.Lock())
        async with lock:
            try:
                worktree = await self._made(session, repository)
            except GitFailed as failure:
                self._note(session, None)
                return str(failure)
            except OSError as error:
                self._note(session, None)
                return error.strerror or str(error)
        await self._move_in(session, repository, worktree)
        return None

    async def _made(self, session: SessionChannel, repository: Repository) -> Worktree:
        begun = self._records.worktree(session)
        if begun is not None and begun["own"]:
            former = Worktree(begun["folder"], begun["branch"], begun["commit"])
            # Of a host that ended before this.
            if await take_up_worktree(self._program, repository, former):
                return former
        title = session.state["title"]
        config = session.state.get("config")
        chosen = config["values"].get(BRANCH) if config is not None else None
        base = chosen if isinstance(chosen, str) else None
        worktree = await plan_worktree(self._program, repository, title, base)
        self._note(session, _record(worktree, repository, made=False))
        # It must be known before it is there.
        await self._writer.ledger.settle()
        await make_worktree(self._program, repository, worktree)
        return worktree

    async def _move_in(
        self, session: SessionChannel, repository: Repository, worktree: Worktree
    ) -> None:
        """Let a session work in its worktree, in each of its directories that is in there."""
        moves = []
        for directory in session.state.get("workingDirectories", ()):
            path = file_path(directory)
            if path is not None:
                found = await find_repository(self._program, str(path))
                if found is not None and found.top == repository.top:
                    inner = await asyncio.to_thread(_same_inside, found, str(path), worktree)
                    moves.append((directory, inner))
        if not self._directory.has(session):
            # Should it come back from the trash, its next turn takes the worktree up.
            return
        for old, new in moves:
            if old in session.state.get("workingDirectories", ()):
                action = {"directory": old, "replacement": new}
                self._writer.apply(session, {"type": "session/workingDirectoryReplaced", **action})
        # In one commit with the above.
        self._note(session, _record(worktree, repository, made=True))
        for old, new in moves:
            await self._effects.carry_out_later(FollowReplacement(session, old, new))

    def _note(self, session: SessionChannel, worktree: WorktreeRecord | None) -> None:
        if self._directory.has(session):
            self._records.keep_worktree(session, worktree)

    def _notify(self, chat: ChatChannel, message: str) -> None:
        active = chat.state.get("activeTurn")
        if active is not None:
            part: JsonObject = {
                "kind": "systemNotification",
                "content": message,
                "_meta": {"kind": FAILURE},
            }
            self._writer.apply(
                chat, {"type": "chat/responsePart", "turnId": active["id"], "part": part}
            )

    async def _remove(self, session: str) -> None:
        making = self._making.get(session)
        if making is not None:
            await asyncio.wait({making})
        record = await self._records.stored(session)
        if record is None or self._directory.get(session, SESSION) is not None:
            # There is a new one of the same name.
            return
        kept = record.get("worktree")
        mine = kept if kept is not None and kept["own"] else None
        self._records.drop(session, mine)
        if mine is not None:
            await self._clear_away(mine)

    async def clear_left_behind(self) -> None:
        """Deal with worktrees whose sessions went just before the last host ended."""
        for kept in await self._records.left_behind():
            await self._clear_away(kept)

    async def _clear_away(self, kept: WorktreeRecord) -> None:
        worktree = Worktree(kept["folder"], kept["branch"], kept["commit"])
        repository = await find_repository(self._program, kept["top"])
        # Otherwise somebody has done something else with it.
        if repository is not None and await is_worktree(self._program, repository, worktree):
            gone = not await self._is_used(worktree) and await remove_worktree(
                self._program, repository, worktree.folder
            )
            if not gone:
                log.info("%s is kept, for there is work in it", worktree.folder)
        self._records.drop_left_behind(kept)

    async def _is_used(self, worktree: Worktree) -> bool:
        """Say whether another session, a fork perhaps, works in a worktree."""
        name = _uri(worktree.folder).encode()
        cursor = None
        while True:
            summaries, cursor = await self._catalogue.page(_PAGE, cursor)
            if any(name in summary for summary in summaries):
                return True
            if cursor is None:
                return False


def _record(worktree: Worktree, repository: Repository, *, made: bool) -> WorktreeRecord:
    return {
        "folder": worktree.folder,
        "branch": worktree.branch,
        "commit": worktree.commit,
        "top": repository.top,
        "made": made,
        "own": True,
    }


def _uri(path: str) -> str:
    return "file://" + quote(os.fsencode(path))


def _same_inside(repository: Repository, folder: str, worktree: Worktree) -> str:
    """Return the folder of a worktree that corresponds to one of its repository; blocking."""
    (below,) = repository.inside([folder])
    inner = os.path.normpath(os.path.join(worktree.folder, below))
    # One that is not in any commit is not in the worktree either.
    return _uri(inner if os.path.isdir(inner) else worktree.folder)
