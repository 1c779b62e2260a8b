"""Which folders somebody may reach: what the policy asks early, and the walk decides."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import lru_cache

from msgspec import Struct

from agenthost.host.channels.session.kind import SessionChannel
from agenthost.host.channels.session.participants import Participants
from agenthost.host.trust import Principal, Role
from agenthost.workspace import file_path, resolve
from agenthost.workspace.roots import Roots

# Roots of so many different people are kept open, and folders in all of them: each takes one of the
# process's descriptors, and whoever makes many sessions must not use them up.
MOST_KEPT = 16
MOST_FOLDERS = 256
# Seconds for which it is known where a folder is. Each request asks for all of somebody's, and on
# the event loop; the walk decides anyway.
MOMENT = 0.5


class ReachableFolders(Struct, frozen=True):
    """Folders by name, and whether they count only inside of the host's own."""

    paths: tuple[str, ...] = ()
    within_host_roots: bool = True


class Reach:
    """The folders of the host, and of sessions that are in memory, for each who asks.

    Owners reach the host's folders and those of every session. Operators reach those of the
    sessions that they take part in, as far as they lie inside of the host's: a link in there leads
    them nowhere else. Viewers reach nothing.
    """

    def __init__(
        self,
        participants: Participants,
        host_roots: Sequence[str],
        denied: Iterable[os.PathLike[str]],
    ) -> None:
        self._participants = participants
        self._host_roots = tuple(host_roots)
        # What is the host's own, whoever asks.
        self._denied = tuple(denied)
        # The host's own folders, held open once somebody needs them.
        self._host: Roots | None = None
        # The folders -> the same, held open.
        self._kept: dict[ReachableFolders, Roots] = {}
        self._lock = threading.Lock()
        # A folder -> when it was looked for, and where it was; None for nowhere.
        self._reals: dict[str, tuple[float, str | None]] = {}

    @property
    def host(self) -> Roots:
        """The host's own folders, held open once for all; opens them, so in a thread."""
        with self._lock:
            return self._opened_host()

    def folders(self, principal: Principal) -> ReachableFolders:
        """Return the folders that somebody may reach, as they are named; nothing is looked up."""
        owner = principal.role is Role.OWNER
        found = set(self._host_roots if owner else ())
        sessions = self._participants.sessions(principal)
        # Those that were used last, should they be too many.
        for session in sorted(sessions, key=lambda session: session.last_used, reverse=True):
            if len(found) >= MOST_FOLDERS:
                break
            found.update(_local(session))
        # In one order always, for the same folders are opened once.
        return ReachableFolders(tuple(sorted(found)), within_host_roots=not owner)

    def reaches(self, principal: Principal, folders: Collection[str]) -> bool:
        """Say whether somebody may reach one of some folders, as they are named.

        Asked by every watch before it tells something, and there may be hundreds.
        """
        if principal.role is Role.OWNER and not set(self._host_roots).isdisjoint(folders):
            return True
        sessions = self._participants.sessions(principal)
        return any(folder in folders for session in sessions for folder in _local(session))

    def real_folders(self, principal: Principal) -> tuple[str, ...]:
        """Return where those folders are, or were a moment ago, for a first refusal."""
        found = map(self._real, self.folders(principal).paths)
        return tuple(folder for folder in found if folder is not None)

    def _real(self, folder: str) -> str | None:
        now = time.monotonic()
        known = self._reals.get(folder)
        if known is None or now - known[0] > MOMENT:
            while len(self._reals) >= 2 * MOST_FOLDERS:
                del self._reals[next(iter(self._reals))]
            known = self._reals[folder] = now, _resolved(folder)
        return known[1]

    def roots(self, folders: ReachableFolders) -> Roots:
        """Return folders to be walked inside of; opens them, so in a thread."""
        with self._lock:
            roots = self._kept.pop(folders, None) or self._open(folders)
            # Those asked for longest ago go first; whoever still walks inside of them holds them.
            self._kept[folders] = roots
            while len(self._kept) > 1 and self._is_too_much():
                del self._kept[next(iter(self._kept))]
        return roots

    def _is_too_much(self) -> bool:
        opened = sum(len(folders.paths) for folders in self._kept)
        return len(self._kept) > MOST_KEPT or opened > 2 * MOST_FOLDERS

    def _open(self, folders: ReachableFolders) -> Roots:
        if not folders.within_host_roots:
            return Roots(folders.paths, self._denied)
        return Roots(folders.paths, self._denied, within=self._opened_host())

    def _opened_host(self) -> Roots:
        self._host = self._host or Roots(self._host_roots, self._denied)
        return self._host


def _local(session: SessionChannel) -> Iterator[str]:
    """Yield the folders of a session that are on this machine."""
    for uri in session.state.get("workingDirectories", ()):
        path = _path(uri)
        if path is not None:
            yield path


@lru_cache(4 * MOST_FOLDERS)
def _path(uri: str) -> str | None:
    path = file_path(uri)
    return None if path is None else str(path)


def _resolved(folder: str) -> str | None:
    try:
        return str(resolve(folder))
    except OSError:
        # It leads in circles, or is not to be entered.
        return None
