"""The folders that somebody may reach, and the walk that never leaves them.

A path is walked from ``/`` name by name, each opened below the descriptor of the one before it and
never through a link; links are read and walked as text. What is inside is decided by identity: one
of the folders that were walked through *is* a root. So there is no moment between the check and the
use in which somebody could put a link: whoever works on a file works on the descriptors that the
walk ends with. A folder that is moved out of a root while its descriptor is held stays reachable
until it is closed; no system call could prevent that. A hard link to a file outside is a file
inside.

Made for Linux (``O_PATH``, ``/proc/self/fd``). Elsewhere files are opened to be looked at, so only
what may be read is found, and a link cannot be held.
"""

from __future__ import annotations

import contextlib
import errno
import itertools
import os
import stat
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from types import TracebackType
from typing import Self

from msgspec import Struct

from agenthost.errors import AgentHostError
from agenthost.workspace.paths import LONGEST_PATH, MOST_LINKS, MOST_NAMES

# Opens nothing where the system can do that, and never waits for the other end of a pipe.
_PINNED = getattr(os, "O_PATH", os.O_NONBLOCK) | os.O_NOFOLLOW | os.O_CLOEXEC
_ANYTHING = getattr(os, "O_PATH", 0) | os.O_CLOEXEC
_FOLDER = getattr(os, "O_PATH", 0) | os.O_DIRECTORY | os.O_CLOEXEC
# Filesystems whose files are the kernel's own words: memory, devices, settings of the machine.
_PSEUDO = frozenset(
    {
        "binfmt_misc", "bpf", "cgroup", "cgroup2", "configfs", "debugfs", "devpts", "devtmpfs",
        "efivarfs", "fusectl", "mqueue", "proc", "pstore", "securityfs", "sysfs", "tracefs",
    }
)  # fmt: skip

# Device and inode: what a file or folder is, whatever it is called.
Identity = tuple[int, int]


# Whether a descriptor can be opened anew by its number.
_REOPENS = hasattr(os, "O_PATH")


class _Missing(Enum):
    """What becomes of names that are missing on the way to the last one."""

    REFUSED = "the walk fails"
    MADE = "they become folders, the last one too"
    TOLD = "they are part of the answer"


class OutsideRoots(AgentHostError):
    """A path leads to no root, or to what is kept from everybody; nothing more is told of it."""


def identity(info: os.stat_result) -> Identity:
    """Return what tells a file or folder from all others."""
    return info.st_dev, info.st_ino


def opened_path(descriptor: int) -> str:
    """Return the name under which the kernel knows an open descriptor, never through a link."""
    return f"/proc/self/fd/{descriptor}"


@dataclass(slots=True, eq=False)
class Place:
    """Where a walk ended: the descriptors of what was found and of the folder that holds it."""

    # The path that was walked, with no links in it.
    real: Path
    # The last name of it; empty for ``/``.
    name: str
    # What was found, not opened; None where nothing has that name.
    leaf: int | None
    # What it was when it was found.
    info: os.stat_result | None
    is_root: bool
    # The folders that were walked through and the leaf.
    passed: frozenset[Identity]
    _folder: int = field(repr=False)

    @property
    def folder(self) -> int:
        """The descriptor of the folder that holds it.

        Raises:
            OutsideRoots: it is a root itself, so that folder is outside.
        """
        if self.is_root:
            raise OutsideRoots(f"{self.real} is itself a folder that others work in")
        return self._folder

    @property
    def key(self) -> tuple[Identity, str]:
        """The folder and the name in it: what two who write the same file have in common."""
        return identity(os.fstat(self.folder)), self.name

    def open(self, flags: int = os.O_RDONLY) -> int:
        """Open the regular file or folder that was found; the caller closes it.

        Raises:
            FileNotFoundError: there is none.
            OSError: it is something else than file or folder, or the kernel refuses it.
        """
        if self.leaf is None or self.info is None:
            raise _error(errno.ENOENT, str(self.real))
        if not (stat.S_ISREG(self.info.st_mode) or stat.S_ISDIR(self.info.st_mode)):
            raise _error(errno.EINVAL, str(self.real))
        if _REOPENS:
            return os.open(opened_path(self.leaf), flags | os.O_CLOEXEC)
        return self._open_by_name(flags)

    def _open_by_name(self, flags: int) -> int:
        if self.is_root:
            return os.dup(self.leaf or -1)
        flags |= os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        # Emptied only once it is known to be the one that was found.
        found = os.open(self.name, flags & ~os.O_TRUNC, dir_fd=self._folder)
        if self.info is None or identity(os.fstat(found)) != identity(self.info):
            os.close(found)
            raise _error(errno.ENOENT, str(self.real))
        if flags & os.O_TRUNC:
            os.ftruncate(found, 0)
        return found

    def close(self) -> None:
        """Let go of the descriptors."""
        for descriptor in (self._folder, self.leaf):
            if descriptor is not None and descriptor >= 0:
                os.close(descriptor)
        self._folder, self.leaf = -1, None

    def __del__(self) -> None:
        # Of one that nobody waited for, in a thread.
        self.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


class Roots:
    """Folders that somebody may reach, without what is kept from everybody.

    ``denied`` files and folders are refused under whatever name, also if they are replaced or
    made later. With ``within`` a root counts only while it lies inside of those other roots. Roots
    that are not there count as soon as they are. Safe in threads.
    """

    def __init__(
        self,
        paths: Iterable[str | os.PathLike[str]],
        denied: Iterable[str | os.PathLike[str]] = (),
        *,
        within: Roots | None = None,
    ) -> None:
        # While a descriptor is held nothing else can have its identity.
        self._held = contextlib.ExitStack()
        self._kept_away: dict[Identity, int] = {}
        self._lock = threading.Lock()
        self._paths = tuple(os.fspath(path) for path in paths)
        self._denied_paths = tuple(os.fspath(path) for path in denied)
        self._within = within
        self._pseudo = _pseudo_devices()
        self._roots: frozenset[Identity] = frozenset()
        self._denied: frozenset[Identity] = frozenset()
        self._denied_names: frozenset[tuple[Identity, str]] = frozenset()
        self._above_denied: frozenset[Identity] = frozenset()
        self._open()

    def close(self) -> None:
        """Let go of the roots; nothing is inside any more."""
        with self._lock:
            self._paths = self._denied_paths = ()
            self._roots = frozenset()
            self._held.close()
            for descriptor in self._kept_away.values():
                os.close(descriptor)
            self._kept_away.clear()

    def __del__(self) -> None:
        # Whoever lets go of the last reference need not think of descriptors.
        self.close()

    def walk(
        self,
        path: str | os.PathLike[str],
        *,
        follow: bool = True,
        make_folders: bool = False,
    ) -> Place:
        """Walk to a path; the last name may be missing.

        ``follow`` says whether a link as last name is followed. With ``make_folders`` every
        missing name becomes a folder.

        Raises:
            OutsideRoots: it leads elsewhere, or somewhere that cannot be told from elsewhere.
            FileNotFoundError: a folder on the way is missing.
            OSError: the kernel refuses it.
        """
        missing = _Missing.MADE if make_folders else _Missing.REFUSED
        return self._find(os.fspath(path), follow, missing)

    def real(self, path: str | os.PathLike[str]) -> Path:
        """Return where a path leads; the last names may be missing if none of them goes up.

        Raises:
            OutsideRoots: as ``walk`` does.
            OSError: the kernel refuses it.
        """
        with self._find(os.fspath(path), True, _Missing.TOLD) as place:
            return place.real

    def _find(self, text: str, follow: bool, missing: _Missing) -> Place:
        try:
            return self._walk(text, follow, missing)
        except OutsideRoots:
            # A root may have been made, or replaced, since it was looked for.
            if not self._reopened():
                raise
        return self._walk(text, follow, missing)

    def is_denied(self, folder: Identity, name: str, entry: Identity | None = None) -> bool:
        """Say whether an entry of a folder is kept from everybody."""
        return (folder, name) in self._denied_names or entry in self._denied

    def is_hidden(self, folder: Identity, name: str, entry: Identity | None = None) -> bool:
        """Say whether whoever may see a folder is told nothing of an entry, nor of what is in it.

        That is denied, or the kernel's own.
        """
        return self.is_denied(folder, name, entry) or (
            entry is not None and entry[0] in self._pseudo
        )

    def holds_denied(self, folder: Identity) -> bool:
        """Say whether something that is kept from everybody lies below a folder, or is it."""
        return folder in self._above_denied or folder in self._denied

    def _walk(self, text: str, follow: bool, missing: _Missing) -> Place:
        walk = _Walk(self, text)
        try:
            while walk.names:
                walk.step(follow, missing)
            return walk.end()
        except (OSError, ValueError) as error:
            if isinstance(error, ValueError) or not self._is_inside(walk.steps):
                raise OutsideRoots(_outside(text)) from None
            raise
        finally:
            walk.close()

    def _is_inside(self, steps: list[_Step]) -> bool:
        passed = {step.identity for step in steps}
        if passed.isdisjoint(self._roots) or not passed.isdisjoint(self._denied):
            return False
        pairs = itertools.pairwise(steps)
        return not any((above.identity, below.name) in self._denied_names for above, below in pairs)

    def _open(self) -> None:
        roots, names, above = set(), set(), set()
        held = contextlib.ExitStack()
        for path in self._paths:
            with contextlib.suppress(OSError, ValueError, OutsideRoots):
                descriptor = self._open_root(path)
                held.callback(os.close, descriptor)
                roots.add(identity(os.fstat(descriptor)))
        for path in self._denied_paths:
            with contextlib.suppress(OSError, ValueError):
                folder, name = os.path.split(os.path.abspath(path))
                real = Path(os.path.realpath(folder))
                descriptor = os.open(real, _FOLDER)
                held.callback(os.close, descriptor)
                names.add((identity(os.fstat(descriptor)), name))
                above |= {identity(os.stat(up)) for up in (real, *real.parents)}
                self._deny(os.open(path, _ANYTHING))
        self._denied = frozenset(self._kept_away)
        self._denied_names, self._above_denied = frozenset(names), frozenset(above)
        self._roots = frozenset(roots)
        # Only now: what nobody holds may come back as something else.
        before, self._held = self._held, held
        before.close()

    def _deny(self, descriptor: int) -> None:
        # What was denied once stays so: another name may still lead to it.
        if self._kept_away.setdefault(identity(os.fstat(descriptor)), descriptor) != descriptor:
            os.close(descriptor)

    def _open_root(self, path: str) -> int:
        if self._within is None:
            return os.open(path, _FOLDER)
        with self._within.walk(path) as place:
            return place.open(_FOLDER)

    def _reopened(self) -> bool:
        with self._lock:
            before = self._roots
            self._open()
            return self._roots != before


class _Step(Struct, frozen=True):
    name: str
    identity: Identity


class _Walk:
    """One walk under way: the folder we are in, the one before it, and the names still to go."""

    def __init__(self, roots: Roots, text: str) -> None:
        self._roots = roots
        self._text = text
        if not _is_walkable(text):
            raise OutsideRoots(_outside(text))
        self.names = _names(text)
        self._links = self._passed = 0
        self._before = -1
        self._here = os.open("/", _FOLDER)
        self._info: os.stat_result | None = os.fstat(self._here)
        self.steps = [_Step("", identity(os.fstat(self._here)))]
        self._missing: list[str] = []

    def step(self, follow: bool, missing: _Missing) -> None:
        """Go one name further."""
        name = self.names.pop()
        self._passed += 1
        if self._passed > MOST_NAMES:
            raise _error(errno.ELOOP, self._text)
        if name == "..":
            self._up()
            return
        try:
            found = os.open(name, _PINNED, dir_fd=self._here)
        except FileNotFoundError:
            inside = self._roots._is_inside([*self.steps, _Step(name, (-1, -1))])
            if missing is _Missing.MADE and inside:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(name, dir_fd=self._here)
                found = os.open(name, _PINNED, dir_fd=self._here)
            elif not self.names or (missing is _Missing.TOLD and ".." not in self.names):
                self._missing = [name, *reversed(self.names)]
                self.names.clear()
                return
            else:
                raise
        except OSError as error:
            # Where links cannot be held; what is no link any more by then fails.
            if _REOPENS or error.errno != errno.ELOOP:
                raise
            self._follow(os.readlink(name, dir_fd=self._here))
            return
        info = os.fstat(found)
        if stat.S_ISLNK(info.st_mode) and (self.names or follow):
            try:
                self._follow(os.readlink("", dir_fd=found))
            finally:
                os.close(found)
            return
        self._go(found, info, _Step(name, identity(info)))

    def end(self) -> Place:
        """Return where we are, if that is inside."""
        steps = self.steps
        leaf: int | None = self._here
        if self._missing:
            steps = [*steps, *(_Step(name, (-1, -1)) for name in self._missing)]
            folder, leaf, info = self._here, None, None
        else:
            folder, info = self._before, self._info
        device = os.fstat(self._here).st_dev
        if not self._roots._is_inside(steps) or device in self._roots._pseudo:
            raise OutsideRoots(_outside(self._text))
        is_root = leaf is not None and steps[-1].identity in self._roots._roots
        if folder < 0 and len(steps) > 1:
            folder = self._open_above(steps[-2])
        place = Place(
            real=Path("/", *(step.name for step in steps)),
            name=steps[-1].name,
            leaf=leaf,
            info=info,
            is_root=is_root or len(steps) == 1,
            passed=frozenset(step.identity for step in steps),
            _folder=folder,
        )
        # They are the place's now.
        self._here = -1
        if not self._missing:
            self._before = -1
        return place

    def close(self) -> None:
        """Let go of what no place has taken over."""
        for descriptor in (self._before, self._here):
            if descriptor >= 0:
                os.close(descriptor)
        self._before = self._here = -1

    def _go(self, found: int, info: os.stat_result, step: _Step) -> None:
        if self._before >= 0:
            os.close(self._before)
        self._before, self._here, self._info = self._here, found, info
        self.steps.append(step)

    def _up(self) -> None:
        if self._info is None or not stat.S_ISDIR(self._info.st_mode):
            raise _error(errno.ENOTDIR, self._text)
        if len(self.steps) == 1:
            return
        above = self._open_above(self.steps[-2])
        for descriptor in (self._before, self._here):
            if descriptor >= 0:
                os.close(descriptor)
        self.steps.pop()
        self._before, self._here, self._info = -1, above, os.fstat(above)

    def _open_above(self, step: _Step) -> int:
        """Open the folder above, which must be the one that we came from.

        Held open all the way, the folders of a deep path would use up the process's descriptors.
        """
        above = os.open("..", _FOLDER, dir_fd=self._here)
        if identity(os.fstat(above)) != step.identity:
            # It was moved while we walked.
            os.close(above)
            raise _error(errno.ENOENT, self._text)
        return above

    def _follow(self, target: str) -> None:
        self._links += 1
        if self._links > MOST_LINKS:
            raise _error(errno.ELOOP, self._text)
        if target.startswith("/"):
            self.close()
            self._here = os.open("/", _FOLDER)
            self._info = os.fstat(self._here)
            del self.steps[1:]
        self.names += _names(target)


def _is_walkable(path: str) -> bool:
    try:
        return path.startswith("/") and "\0" not in path and len(os.fsencode(path)) < LONGEST_PATH
    except UnicodeEncodeError:
        return False


def _names(path: str) -> list[str]:
    return [name for name in reversed(path.split("/")) if name not in ("", ".")]


def _pseudo_devices() -> frozenset[int]:
    return frozenset(_pseudo_mounts())


def _pseudo_mounts() -> Iterator[int]:
    try:
        with open("/proc/self/mountinfo", encoding="utf-8", errors="replace") as mounts:
            for line in mounts:
                left, _, right = line.partition(" - ")
                if right.split(" ", 1)[0] in _PSEUDO:
                    major, _, minor = left.split(" ")[2].partition(":")
                    yield os.makedev(int(major), int(minor))
    except OSError:
        return


def _outside(path: str) -> str:
    # Words of the one who asked; a longer path would only fill somebody's log.
    return f"{path[:200]} lies outside of the folders that may be reached"


def _error(number: int, path: str) -> OSError:
    return OSError(number, os.strerror(number), path[:200])
