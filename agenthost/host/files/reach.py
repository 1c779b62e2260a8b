"""Which folders somebody may reach: what the policy asks early, and the walk decides."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from agenthost.host.channels.session.participants import Participants
from agenthost.host.trust import Principal, Role
from agenthost.workspace import file_path, resolve
from agenthost.workspace.roots import Roots

# Roots of so many different people are kept open, and folders in all of them: each takes one of the
# process's descriptors, and whoever makes many sessions must not use them up.
MOST_KEPT = 16
MOST_FOLDERS = 256


@dataclass(frozen=True, slots=True)
class ReachableFolders:
    """ReachableFolders by name, and whether they count only inside of the host's own."""

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

    def folders(self, principal: Principal) -> ReachableFolders:
        """Return the folders that somebody may reach, as they are named; nothing is looked up."""
        owner = principal.role is Role.OWNER
        found = set(self._host_roots if owner else ())
        sessions = self._participants.sessions(principal)
        # Those that were used last, should they be too many.
        for session in sorted(sessions, key=lambda session: session.last_used, reverse=True):
            if len(found) >= MOST_FOLDERS:
                break
            paths = map(file_path, session.state.get("workingDirectories", ()))
            found.update(str(path) for path in paths if path is not None)
        # In one order always, for the same folders are opened once.
        return ReachableFolders(tuple(sorted(found)), within_host_roots=not owner)

    def real_folders(self, principal: Principal) -> tuple[str, ...]:
        """Return where those folders are, for a first refusal."""
        return tuple(_resolved(self.folders(principal).paths))

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
        self._host = self._host or Roots(self._host_roots, self._denied)
        return Roots(folders.paths, self._denied, within=self._host)


def _resolved(folders: Iterable[str]) -> Iterator[str]:
    for folder in folders:
        # It may not be there, or lead in circles.
        with contextlib.suppress(OSError):
            yield str(resolve(folder))
