"""Where sessions work: the repositories of their folders, and branches and worktrees to choose.

Answers what a client waits for, so nothing here takes longer than a moment: a repository that is
slow is one that is not known yet. Nobody learns of a repository outside of what they may reach.
"""

from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote

from msgspec import Struct

from agenthost.agents.common_settings import BRANCH, DIRECTORY
from agenthost.host.channels.session.kind import SessionChannel
from agenthost.host.channels.session.place_settings import (
    WORKING_DIRECTORY,
    PlaceChoices,
    wants_worktree,
    with_place_settings,
)
from agenthost.host.channels.session.records import PlaceRecords
from agenthost.host.trust import Role
from agenthost.host.trust.policy import real_path
from agenthost.tasks import Tasks
from agenthost.workspace import file_path
from agenthost.workspace.git.program import GitFailed, GitProgram
from agenthost.workspace.git.repository import (
    Repository,
    base_branch,
    commit_of,
    current_branch,
    find_repository,
)
from agenthost.workspace.git.worktrees import (
    find_branches,
    has_branch,
    main_folder,
    worktrees_folder,
)
from agenthost.workspace.roots import OutsideRoots, Roots

if TYPE_CHECKING:
    from agenthost.protocol.commands import SessionConfigValueItem
    from agenthost.protocol.common import JsonObject
    from agenthost.protocol.session.state import ProjectInfo, SessionConfigSchema

_T = TypeVar("_T")

# Seconds that whoever makes a session waits for git.
MOMENT = 1.0
# Seconds for which a repository that was found is not looked for again.
RECENT = 2.0
# Questions of clients that git answers at the same time, beside longer work in repositories.
QUESTIONS_AT_ONCE = 2
# Entries of a folder that are looked at to complete the name of another in it.
MOST_ENTRIES = 10_000


class Places:
    """Looks at the folders that sessions work in, or may work in."""

    def __init__(
        self,
        tasks: Tasks,
        host_roots: Sequence[str],
        denied: Sequence[str | os.PathLike[str]] = (),
    ) -> None:
        self._tasks = tasks
        self._host_roots = tuple(host_roots)
        self._denied = tuple(denied)
        # Of its own: a checkpoint of a large repository must not keep anybody waiting.
        self.questions = GitProgram(QUESTIONS_AT_ONCE)
        # Directories that did not answer in a moment, and still do not.
        self._slow: set[str] = set()
        # Directories, and whether owners chose them -> when they were looked at, what was found.
        self._found: dict[tuple[str, bool], tuple[float, Repository | None]] = {}

    async def repository(self, directory: str | None, *, trusted: bool) -> Repository | None:
        """Return the repository of a working directory, or None.

        Unless an owner chose the directory, only one that lies in the host's folders as a whole:
        a folder can say that its repository is anywhere.
        """
        folder = file_path(directory) if directory is not None else None
        if folder is None or not await asyncio.to_thread(in_some_repository, folder):
            return None
        found = await find_repository(self.questions, str(folder))
        if found is None or trusted:
            return found
        parts = (found.top, found.git_dir, found.common_dir)
        return found if all(map(self._is_inside, parts)) else None

    def is_elsewhere(self, directory: str | None) -> bool:
        """Say whether a directory is outside of the host's folders, where owners alone work."""
        real = real_path(directory) if directory is not None else None
        return real is not None and not self._is_inside(real)

    async def _recent(self, directory: str, *, trusted: bool) -> Repository | None:
        """Return the same, or what was found a moment ago: a client asks several times in a row."""
        now, key = asyncio.get_running_loop().time(), (directory, trusted)
        if key in self._found and now - self._found[key][0] < RECENT:
            return self._found[key][1]
        found = await self.repository(directory, trusted=trusted)
        self._found = {key: each for key, each in self._found.items() if now - each[0] < RECENT}
        self._found[key] = (now, found)
        return found

    def may_have_worktree(self, repository: Repository, *, trusted: bool) -> bool:
        """Say whether worktrees of a repository lie where whoever chose it may reach them."""
        return trusted or self._is_inside(worktrees_folder(repository))

    async def project(self, directory: str | None, *, trusted: bool) -> ProjectInfo | None:
        """Return the project of a working directory, if that is known in a moment."""
        if directory is None:
            return None
        found = await self._in_a_moment(
            directory, lambda: self._recent(directory, trusted=trusted), None
        )
        return project_of(found) if found is not None else None

    async def schema(
        self,
        offered: SessionConfigSchema,
        values: JsonObject,
        directory: str | None,
        role: Role,
    ) -> tuple[SessionConfigSchema, JsonObject]:
        """Return an agent's schema with the settings of the place, and values without bad ones."""
        if directory is None or file_path(directory) is None:
            return offered, values
        choices, asked = PlaceChoices(), values
        if self._may_look(directory, role):
            trusted = role is Role.OWNER
            # What is asked for stays so where git is slow: whoever makes the worktree will see.
            unknown = PlaceChoices(
                wants_worktree(values), _text(values.get(BRANCH)), has_folders=True
            )
            try:
                choices = await self._in_a_moment(
                    directory, lambda: self._choices(asked, directory, trusted=trusted), unknown
                )
            except GitFailed:
                choices = unknown
        folders = choices.has_folders and bool(values.get(DIRECTORY))
        if folders and await self.inner_folder(directory, values, role) is None:
            values = {key: value for key, value in values.items() if key != DIRECTORY}
        if values.get(BRANCH) not in (None, choices.branch):
            # There is none of this name; remembered from another repository perhaps.
            values = {key: value for key, value in values.items() if key != BRANCH}
        return with_place_settings(offered, choices, values), values

    async def inner_folder(self, directory: str, values: JsonObject, role: Role) -> str | None:
        """Return the URI of the folder that the settings choose in a directory; None if none."""
        chosen = values.get(DIRECTORY)
        folder = file_path(directory)
        if not isinstance(chosen, str) or not chosen or folder is None:
            return None
        if chosen.startswith("/") or ".." in chosen.split("/"):
            return None
        try:
            found = await asyncio.to_thread(self._is_folder, folder, chosen, role)
        except (OSError, ValueError, OutsideRoots):
            return None
        return f"{directory.rstrip('/')}/{quote(chosen.strip('/'))}" if found else None

    async def complete(
        self, setting: str, query: str, directory: str | None, role: Role, most: int
    ) -> list[SessionConfigValueItem] | None:
        """Offer values for a setting of the place; None for any other setting."""
        if setting not in (BRANCH, DIRECTORY):
            return None
        if directory is None or not self._may_look(directory, role):
            return []
        if setting == DIRECTORY:
            return await self._complete_folder(query, directory, role, most)
        names: list[str] = await self._in_a_moment(
            directory, lambda: self._branches(query, directory, role, most), []
        )
        return [{"value": name, "label": name} for name in names]

    async def _branches(self, query: str, directory: str, role: Role, most: int) -> list[str]:
        found = await self.repository(directory, trusted=role is Role.OWNER)
        try:
            return await find_branches(self.questions, found, query, most) if found else []
        except GitFailed:
            return []

    async def _choices(self, values: JsonObject, directory: str, *, trusted: bool) -> PlaceChoices:
        found = await self._recent(directory, trusted=trusted)
        if found is None:
            return PlaceChoices(has_folders=True)
        program = self.questions
        commit, current = await asyncio.gather(
            commit_of(program, found), current_branch(program, found)
        )
        reachable = self.may_have_worktree(found, trusted=trusted)
        has_worktrees = reachable and commit is not None
        chosen = values.get(BRANCH)
        may_choose = has_worktrees and wants_worktree(values) and isinstance(chosen, str)
        if may_choose and await has_branch(program, found, str(chosen)):
            return PlaceChoices(has_worktrees, str(chosen), has_folders=True)
        branch = current or await base_branch(program, found)
        return PlaceChoices(has_worktrees, branch, has_folders=True)

    async def _complete_folder(
        self, query: str, directory: str, role: Role, most: int
    ) -> list[SessionConfigValueItem]:
        folder = file_path(directory)
        above, _, beginning = query.rpartition("/")
        if folder is None or query.startswith("/") or ".." in above.split("/"):
            return []
        names: list[str] = await self._in_a_moment(
            directory, lambda: self._listed(folder, above, role), []
        )
        wanted = beginning.lower()
        fitting = sorted(
            (name for name in names if wanted in name.lower()),
            key=lambda name: (not name.lower().startswith(wanted), name.lower()),
        )
        paths = [f"{above}/{name}" if above else name for name in fitting[:most]]
        items: list[SessionConfigValueItem] = [{"value": path, "label": path} for path in paths]
        # Whoever has chosen a folder must be able to go back.
        if not above and wanted in WORKING_DIRECTORY.lower():
            items.insert(0, {"value": "", "label": WORKING_DIRECTORY})
        return items[:most]

    async def _listed(self, folder: Path, below: str, role: Role) -> list[str]:
        try:
            return await asyncio.to_thread(self._folders_in, folder, below, role)
        except (OSError, ValueError, OutsideRoots):
            return []

    def _folders_in(self, folder: Path, below: str, role: Role) -> list[str]:
        """List the folders in a folder, without hidden ones; blocking."""
        found: list[str] = []
        with self._roots(folder, role).walk(folder / below) as place:
            descriptor = place.open(os.O_RDONLY | os.O_DIRECTORY)
        try:
            with os.scandir(descriptor) as entries:
                for number, entry in enumerate(entries):
                    if number >= MOST_ENTRIES:
                        break
                    shown = entry.name.isprintable() and not entry.name.startswith(".")
                    if shown and entry.is_dir(follow_symlinks=False):
                        found.append(entry.name)
        finally:
            os.close(descriptor)
        return found

    def _is_folder(self, folder: Path, below: str, role: Role) -> bool:
        with self._roots(folder, role).walk(folder / below) as place:
            return place.info is not None and stat.S_ISDIR(place.info.st_mode)

    def _roots(self, folder: Path, role: Role) -> Roots:
        """Return what may be walked to inside of a working directory."""
        # Owners make sessions anywhere; of what others may choose, the host's folders decide.
        if role is Role.OWNER:
            return Roots([folder], self._denied)
        return Roots([folder], self._denied, within=Roots(self._host_roots, self._denied))

    def _may_look(self, directory: str, role: Role) -> bool:
        """Say whether somebody could make a session in a directory."""
        real = real_path(directory)
        if real is None or role is Role.VIEWER:
            return False
        return role is Role.OWNER or self._is_inside(real)

    def _is_inside(self, path: str) -> bool:
        roots = self._host_roots
        return any(path == root or path.startswith(root.rstrip("/") + "/") for root in roots)

    async def _in_a_moment(
        self, directory: str, work: Callable[[], Coroutine[Any, Any, _T]], otherwise: _T
    ) -> _T:
        """Return what comes of work on a directory, or something else where that takes too long."""
        if directory in self._slow:
            return otherwise
        # It goes on all the same: what runs in a thread cannot be stopped, and keeps its seat.
        task = self._tasks.start(work(), f"look at {directory}")
        ended, _ = await asyncio.wait({task}, timeout=MOMENT)
        if ended:
            return task.result()
        # Whoever asks next does not wait as long for the same.
        self._slow.add(directory)
        task.add_done_callback(lambda _: self._slow.discard(directory))
        return otherwise


class Workplace(Struct, frozen=True):
    """Folders that somebody works in, and the repository that they are in."""

    repository: Repository
    # Below its top.
    folders: tuple[str, ...]

    @property
    def top(self) -> str:
        """Where its working tree begins."""
        return self.repository.top


class Workplaces:
    """Finds the repositories of sessions."""

    def __init__(self, places: Places, records: PlaceRecords) -> None:
        self._places = places
        self._records = records

    async def find(self, session: SessionChannel, directories: Sequence[str]) -> list[Workplace]:
        """Return the repositories that directories are in; those in none are left out."""
        trusted = self._records.is_trusted(session)
        found: dict[str, Repository] = {}
        for directory in directories:
            repository = await self._places.repository(directory, trusted=trusted)
            # What is no text could not be kept.
            if repository is not None and _is_text(repository.top):
                found[repository.top] = repository
        folders = folders_of(directories)
        return [Workplace(each, each.inside(folders)) for each in found.values()]


def in_some_repository(folder: str | os.PathLike[str]) -> bool:
    """Say whether a folder looks as if it were in a repository; reads the disk, starts nothing."""
    path = Path(os.path.realpath(folder))
    return any(os.path.lexists(above / ".git") for above in (path, *path.parents))


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def project_of(repository: Repository) -> ProjectInfo:
    """Return a repository as the project that sessions in it work on, whichever its worktree."""
    top = main_folder(repository)
    # As it was given, bytes and all.
    return {"uri": "file://" + quote(os.fsencode(top)), "displayName": os.path.basename(top) or top}


def folders_of(directories: Sequence[str]) -> list[str]:
    """Return the paths of directories that are here."""
    return [str(path) for path in map(file_path, directories) if path is not None]


def _is_text(path: str) -> bool:
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True
