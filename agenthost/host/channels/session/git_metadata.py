"""What a session and its summary tell of git, under the names that editors read.

Looked up in the background: when a session is made, after each of its turns, when it works
elsewhere, and when its repository changes while somebody follows it. Never for the list itself,
which would cost a process per session.
"""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary, WeakValueDictionary

from agenthost.agents.common_settings import BRANCH
from agenthost.host.channels.session.catalogue import SessionCatalogue
from agenthost.host.channels.session.consequences import RefreshGit
from agenthost.host.channels.session.kind import SESSION, SessionChannel
from agenthost.host.channels.session.place_settings import wants_worktree
from agenthost.host.channels.session.places import Places, in_some_repository, project_of
from agenthost.host.channels.session.records import PlaceRecords, first_directory
from agenthost.host.log.directory import Directory
from agenthost.host.log.effects import Effects
from agenthost.host.log.writer import Writer
from agenthost.tasks import Tasks
from agenthost.workspace import file_path
from agenthost.workspace.git.program import GitProgram
from agenthost.workspace.git.repository import Repository, github_repository
from agenthost.workspace.git.status import GitOverview, git_overview

if TYPE_CHECKING:
    from agenthost.protocol.common import JsonObject
    from agenthost.protocol.session.state import SessionState


def git_meta(overview: GitOverview) -> JsonObject:
    """Return what editors read of a repository's state; what is not known is left out."""
    status = overview.status
    beyond = overview.beyond_base
    owner, name = overview.github or (None, None)
    meta: JsonObject = {
        "isDetachedHead": status.branch is None,
        "hasGitRemote": bool(status.remotes),
        "hasGitHubRemote": any(map(github_repository, status.remotes)),
        "uncommittedChanges": status.uncommitted,
        "branchName": status.branch,
        "baseBranchName": overview.base,
        "upstreamBranchName": status.upstream,
        "incomingChanges": status.behind,
        # What was never pushed is all that the base has not.
        "outgoingChanges": status.ahead if status.upstream is not None else beyond,
        "hasBaseBranchChanges": beyond > 0 if beyond is not None else None,
        "githubOwner": owner,
        "githubRepo": name,
        "githubHeadOwner": overview.head_owner,
    }
    return {key: value for key, value in meta.items() if value is not None}


class GitMetadata:
    """Keeps the project and the ``git`` entry of sessions' metadata."""

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
        self._tasks = tasks
        self._program = program
        self._places = places
        self._records = records
        # Sessions that are being looked at, and whether somebody asked again meanwhile.
        self._asked: dict[str, bool] = {}
        # Session -> the repository that it was last seen in.
        self._repositories: WeakKeyDictionary[SessionChannel, Repository] = WeakKeyDictionary()
        # Repositories and the bases that sessions want to compare with -> the look that has not
        # begun, and what is held during one.
        self._next_looks: dict[tuple[Repository, str | None], asyncio.Task[GitOverview | None]] = {}
        self._looking: WeakValueDictionary[tuple[Repository, str | None], asyncio.Lock] = (
            WeakValueDictionary()
        )
        effects.on(RefreshGit, lambda effect: self.refresh(effect.session))

    def repository(self, session: SessionChannel) -> Repository | None:
        """Return the repository that a session was last seen to work in."""
        return self._repositories.get(session)

    def refresh(self, session: SessionChannel) -> None:
        """Look at a session's first folder again, soon."""
        if session.uri in self._asked:
            self._asked[session.uri] = True
            return
        self._asked[session.uri] = False
        self._tasks.start(self._look(session.uri), name=f"git of {session.uri}")

    async def _look(self, uri: str) -> None:
        try:
            again = True
            while again:
                self._asked[uri] = False
                session = self._directory.get(uri, SESSION)
                if session is None:
                    return
                await self._look_at(session)
                again = self._asked[uri]
        finally:
            del self._asked[uri]

    async def _look_at(self, session: SessionChannel) -> None:
        first = first_directory(session.state)
        folder = file_path(first) if first is not None else None
        trusted = self._records.is_trusted(session)
        if not self._records.is_known(session):
            trusted = self._places.is_elsewhere(first)
        found = await self._places.repository(first, trusted=trusted)
        if found is None:
            self._repositories.pop(session, None)
            is_none = folder is None or not await asyncio.to_thread(in_some_repository, folder)
            # One that does not answer is not gone. What another chose may be none of theirs.
            if (is_none or not trusted) and self._works_in(session, first):
                self._tell_none(session, folder)
            return
        overview = await self._overview(found, _wanted_base(session.state))
        if not self._works_in(session, first):
            # It works elsewhere by now, and was asked for again.
            return
        self._repositories[session] = found
        self._catalogue.tell_project(session, project_of(found))
        if overview is not None:
            self._tell(session, git_meta(overview))

    async def _overview(self, repository: Repository, base: str | None) -> GitOverview | None:
        """Look at a repository, once for all sessions in it that want to know."""
        key = (repository, base)
        look = self._next_looks.get(key)
        if look is None:
            look = self._tasks.start(self._next_look(key), f"overview of {repository.top}")
            self._next_looks[key] = look
        # A session that goes takes nothing away from the others.
        return await asyncio.shield(look)

    async def _next_look(self, key: tuple[Repository, str | None]) -> GitOverview | None:
        lock = self._looking.setdefault(key, asyncio.Lock())
        async with lock:
            # Whoever asks from now on wants to know of what happens from now on.
            del self._next_looks[key]
            return await git_overview(self._program, *key)

    def _works_in(self, session: SessionChannel, first: str | None) -> bool:
        return self._directory.has(session) and first_directory(session.state) == first

    def _tell_none(self, session: SessionChannel, folder: os.PathLike[str] | None) -> None:
        if folder is not None and self._catalogue.project(session) is not None:
            # No update can take a project away; this one is at least the right place.
            path = os.fspath(folder)
            name = os.path.basename(path.rstrip("/")) or path
            uri = first_directory(session.state)
            assert uri is not None
            self._catalogue.tell_project(session, {"uri": uri, "displayName": name})
        self._tell(session, None)

    def _tell(self, session: SessionChannel, git: JsonObject | None) -> None:
        self._catalogue.tell_git(session, git)
        meta = session.state.get("_meta") or {}
        if meta.get("git") != git:
            told = {key: value for key, value in meta.items() if key != "git"}
            if git is not None:
                told["git"] = git
            self._writer.apply(session, {"type": "session/metaChanged", "_meta": told})


def _wanted_base(state: SessionState) -> str | None:
    """Return the branch that a session's worktree was made from."""
    config = state.get("config")
    values = config["values"] if config is not None else {}
    chosen = values.get(BRANCH) if wants_worktree(values) else None
    return chosen if isinstance(chosen, str) else None
