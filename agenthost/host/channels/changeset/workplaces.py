"""The repositories that sessions work in, as far as they may be looked into."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from agenthost.host.channels.session.kind import SessionChannel
from agenthost.host.channels.session.places import Places
from agenthost.host.channels.session.records import PlaceRecords
from agenthost.workspace import file_path
from agenthost.workspace.git.repository import Repository


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


def folders_of(directories: Sequence[str]) -> list[str]:
    """Return the paths of directories that are here."""
    return [str(path) for path in map(file_path, directories) if path is not None]


def _is_text(path: str) -> bool:
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True
