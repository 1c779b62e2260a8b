"""What a session and its summary tell of git, under the names that editors read.

Looked up in the background: when a session is made, and after each of its turns. Never for the list
itself, which would cost a process per session.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from agenthost.host.channels.session.catalogue import SessionCatalogue
from agenthost.host.channels.session.kind import SESSION, RefreshGit, SessionChannel
from agenthost.host.log.directory import Directory
from agenthost.host.log.effects import Effects
from agenthost.host.log.writer import Writer
from agenthost.tasks import Tasks
from agenthost.workspace import GitStatus, file_path, git_status

if TYPE_CHECKING:
    from agenthost.protocol.common import JsonObject

# Repositories that are looked at at the same time.
MOST_AT_ONCE = 2


def git_meta(status: GitStatus) -> JsonObject:
    """Return what editors read of a repository's state; what is not known is left out."""
    meta: JsonObject = {
        "isDetachedHead": status.branch is None,
        "hasGitRemote": bool(status.remotes),
        "hasGitHubRemote": any(map(_is_github, status.remotes)),
        "uncommittedChanges": status.uncommitted,
        "branchName": status.branch,
        "upstreamBranchName": status.upstream,
        "incomingChanges": status.behind,
        "outgoingChanges": status.ahead,
    }
    return {key: value for key, value in meta.items() if value is not None}


def _is_github(remote: str) -> bool:
    # Either a URL, or user@host:path as ssh has it.
    host = urlsplit(remote).hostname if "://" in remote else remote.partition(":")[0]
    return (host or "").rpartition("@")[2].lower() == "github.com"


class GitMetadata:
    """Keeps the ``git`` entry of sessions' metadata."""

    def __init__(
        self,
        writer: Writer,
        directory: Directory,
        catalogue: SessionCatalogue,
        effects: Effects,
        tasks: Tasks,
    ) -> None:
        self._writer = writer
        self._directory = directory
        self._catalogue = catalogue
        self._tasks = tasks
        self._seats = asyncio.Semaphore(MOST_AT_ONCE)
        # Sessions that are being looked at, and whether somebody asked again meanwhile.
        self._asked: dict[str, bool] = {}
        effects.on(RefreshGit, lambda effect: self.refresh(effect.session))

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
                directories = session.state.get("workingDirectories") if session else None
                folder = file_path(directories[0]) if directories else None
                if folder is None:
                    return
                async with self._seats:
                    status = await git_status(folder)
                if status is not None:
                    self._tell(uri, git_meta(status))
                again = self._asked[uri]
        finally:
            del self._asked[uri]

    def _tell(self, uri: str, git: JsonObject) -> None:
        session = self._directory.get(uri, SESSION)
        if session is None:
            return
        meta = session.state.get("_meta") or {}
        if meta.get("git") != git:
            self._catalogue.add_meta(session, {"git": git})
            self._writer.apply(
                session, {"type": "session/metaChanged", "_meta": {**meta, "git": git}}
            )
