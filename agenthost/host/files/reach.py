"""Which folders somebody may reach: what the policy asks early, and the walk decides."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterable, Iterator, Sequence

from agenthost.host.channels.session.kind import SESSION
from agenthost.host.log.directory import Directory
from agenthost.host.trust import Principal, Role
from agenthost.workspace import file_path, resolve
from agenthost.workspace.roots import Roots

# Roots of so many different people are kept open.
MOST_KEPT = 64


class Reach:
    """The folders of the host, and of sessions that are in memory, for each who asks.

    Owners reach the host's folders and those of every session; others nothing, until somebody
    says which sessions they take part in.
    """

    def __init__(
        self, directory: Directory, host_roots: Sequence[str], denied: Iterable[os.PathLike[str]]
    ) -> None:
        self._directory = directory
        self._host_roots = tuple(host_roots)
        # What is the host's own, whoever asks.
        self._denied = tuple(denied)
        # The folders -> the same, held open.
        self._kept: dict[tuple[str, ...], Roots] = {}
        self._lock = threading.Lock()

    def folders(self, principal: Principal) -> tuple[str, ...]:
        """Return the folders that somebody may reach, as they are named; nothing is looked up."""
        if principal.role is not Role.OWNER:
            return ()
        found = dict.fromkeys(self._host_roots)
        for session in self._directory.loaded(SESSION):
            paths = map(file_path, session.state.get("workingDirectories", ()))
            found.update(dict.fromkeys(str(path) for path in paths if path is not None))
        return tuple(found)

    def real_folders(self, principal: Principal) -> tuple[str, ...]:
        """Return where those folders are, for a first refusal."""
        return tuple(_resolved(self.folders(principal)))

    def roots(self, folders: tuple[str, ...]) -> Roots:
        """Return folders to be walked inside of; opens them, so in a thread."""
        with self._lock:
            roots = self._kept.pop(folders, None) or Roots(folders, self._denied)
            # Those asked for longest ago go first; whoever still walks inside of them holds them.
            self._kept[folders] = roots
            if len(self._kept) > MOST_KEPT:
                del self._kept[next(iter(self._kept))]
        return roots


def _resolved(folders: Iterable[str]) -> Iterator[str]:
    for folder in folders:
        # It may not be there, or lead in circles.
        with contextlib.suppress(OSError):
            yield str(resolve(folder))
