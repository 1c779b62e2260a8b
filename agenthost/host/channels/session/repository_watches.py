"""Watches the repositories of sessions that somebody follows, to tell of what happens there.

A commit, a checkout or a fetch changes a handful of files in what git keeps: those are watched, the
working tree is not. Whatever cannot be watched is still looked at after each turn.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING
from weakref import WeakSet

from msgspec import Struct, field

from agenthost.errors import AgentHostError
from agenthost.host.channels.session.git_metadata import GitMetadata
from agenthost.host.channels.session.kind import SESSION, SessionChannel
from agenthost.host.log.directory import Directory
from agenthost.workspace.git.repository import Repository
from agenthost.workspace.roots import Place, Roots

if TYPE_CHECKING:
    from agenthost.workspace.change_batches import FileChange
    from agenthost.workspace.tree_watch import TreeWatch
    from agenthost.workspace.watching import FileWatcher

log = logging.getLogger(__name__)

# Seconds between two looks at which sessions are followed.
LOOK_SECONDS = 1.0
# Seconds between a change and the look at it: git changes several files at a time.
DEBOUNCE = 0.5
MOST_REPOSITORIES = 64
# What git changes of a working tree, and of all of a repository together.
_OF_TREE = ("HEAD", "index", "FETCH_HEAD", "MERGE_HEAD")
_OF_ALL = ("packed-refs", "FETCH_HEAD", "config")


class _Watched(Struct, eq=False):
    watches: list[TreeWatch] = field(default_factory=list)
    timer: asyncio.TimerHandle | None = None

    def close(self) -> None:
        for watch in self.watches:
            watch.close()
        if self.timer is not None:
            self.timer.cancel()


class RepositoryWatches:
    """Keeps what sessions tell of their repositories current while somebody follows them."""

    def __init__(
        self, directory: Directory, git: GitMetadata, watcher: Callable[[], FileWatcher]
    ) -> None:
        self._directory = directory
        self._git = git
        # What watches files for the whole host, made when it is first needed.
        self._watcher = watcher
        self._watched: dict[Repository, _Watched] = {}
        # Sessions that were looked at since they are followed, or were once.
        self._looked_at: WeakSet[SessionChannel] = WeakSet()

    async def run(self) -> None:
        """Watch what is followed, until this is cancelled."""
        if sys.platform != "linux":
            return
        try:
            while True:
                await asyncio.sleep(LOOK_SECONDS)
                await self._adjust()
        finally:
            for watched in self._watched.values():
                watched.close()

    async def _adjust(self) -> None:
        for session in self._directory.loaded(SESSION):
            # Somebody has come back to it, perhaps after a restart.
            if session.subscriptions and session not in self._looked_at:
                self._looked_at.add(session)
                self._git.refresh(session)
        followed = {repository for _, repository in self._followed()}
        for repository in self._watched.keys() - followed:
            self._watched.pop(repository).close()
        for repository in followed - self._watched.keys():
            if len(self._watched) < MOST_REPOSITORIES:
                self._watched[repository] = watched = _Watched()
                await self._watch(repository, watched)
                # What happened before it was watched.
                self._look(repository, watched)

    def _followed(self) -> Iterator[tuple[SessionChannel, Repository]]:
        for session in self._directory.loaded(SESSION):
            repository = self._git.repository(session) if session.subscriptions else None
            if repository is not None:
                yield session, repository

    async def _watch(self, repository: Repository, watched: _Watched) -> None:
        heads = os.path.join(repository.common_dir, "refs", "heads")
        wanted = (
            (repository.git_dir, _OF_TREE, False),
            (repository.common_dir, _OF_ALL, False),
            (heads, None, True),
        )

        def changed(changes: Sequence[FileChange]) -> None:
            self._changed(repository)

        for folder, names, recursive in wanted:
            try:
                with await asyncio.to_thread(_place, folder) as place:
                    watch = await self._watcher().watch(
                        place, changed, recursive=recursive, includes=names
                    )
            except (OSError, AgentHostError) as error:
                log.info("%s is not watched: %s", folder, error)
            else:
                watched.watches.append(watch)

    def _changed(self, repository: Repository) -> None:
        watched = self._watched.get(repository)
        if watched is not None and watched.timer is None:
            loop = asyncio.get_running_loop()
            watched.timer = loop.call_later(DEBOUNCE, self._look, repository, watched)

    def _look(self, repository: Repository, watched: _Watched) -> None:
        watched.timer = None
        if any(watch.ended for watch in watched.watches):
            # It is gone, and perhaps another is there: watched anew if that is so.
            self._watched.pop(repository, None)
            watched.close()
        for session, its in list(self._followed()):
            if its == repository:
                self._git.refresh(session)


def _place(folder: str) -> Place:
    return Roots([folder]).walk(folder)
