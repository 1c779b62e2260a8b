"""Tells what changes in folders, from the kernel's own events: gathered, complete, never by a link.

One inotify instance serves all watches, because a user has few of them. Each folder is opened name
by name through no link, watched by its descriptor, and only then looked into: what was made before
is found by looking, what comes later is told by events. Excluded folders are never watched. When
the kernel loses events, folders are looked into again and compared with what was known of them.

Imported late and on Linux only. Belongs to one event loop.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import os
import stat
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence

from inotify_simple import INotify, parse_events  # type: ignore[import-untyped]
from inotify_simple import flags as events

from agenthost.errors import AgentHostError
from agenthost.workspace.change_batches import ChangeBatches, ChangeKind, FileChange
from agenthost.workspace.file_trees import is_unfinished
from agenthost.workspace.globs import Globs
from agenthost.workspace.roots import Identity, Place, identity, opened_path

log = logging.getLogger(__name__)

# What nobody wants to be told of, and what changes in great numbers.
ALWAYS_EXCLUDED = ("**/.git/objects", "**/.git/lfs")
MOST_FOLDERS = 50_000
# Names that one watch remembers, to find out what changed when the kernel has lost count.
MOST_REMEMBERED = 50_000
# Bytes of events, and folders to be looked into, before others get their turn.
_READ = 128 * 1024
_LOOKS = 32
# What may lie between the kernel's coarse clock and ours, in nanoseconds.
_CLOCKS = 1_000_000_000

_ADDED = int(events.CREATE | events.MOVED_TO)
_GONE = int(events.DELETE | events.MOVED_FROM)
_SELF = int(events.DELETE_SELF | events.MOVE_SELF | events.UNMOUNT)
_ENTRIES = _ADDED | _GONE | int(events.MODIFY | events.CLOSE_WRITE | events.ATTRIB)
# Adds to what others, who watch the same folder, want to know.
_HOW = int(events.MASK_ADD | events.ONLYDIR | events.EXCL_UNLINK)
_FOLDER = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_LISTED = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


# Whether an entry of a folder is told to nobody: the folder, the name, and what it is if known.
IsHidden = Callable[[Identity, str, Identity | None], bool]


def _nothing_hidden(folder: Identity, name: str, entry: Identity | None) -> bool:
    return False


class TooManyFolders(AgentHostError):
    """A tree has more folders than can be watched; the message says whose limit that is."""


class _Folder:
    """A folder that a watch looks at."""

    __slots__ = ("children", "gone", "identity", "name", "names", "parent", "watch", "wd")

    def __init__(self, watch: TreeWatch, parent: _Folder | None, name: str) -> None:
        self.watch = watch
        self.parent = parent
        self.name = name
        self.wd: int | None = None
        # What it is; known once it was looked into.
        self.identity: Identity = (-1, -1)
        # Another one may have its name by now.
        self.gone = False
        self.children: dict[str, _Folder] = {}
        self.names: set[str] = set()

    def parts(self) -> list[str]:
        """Return the names that lead here from what is watched."""
        parts: list[str] = []
        folder = self
        while folder.parent is not None:
            parts.append(folder.name)
            folder = folder.parent
        return parts[::-1]


class TreeWatch:
    """One watch: on a file, on a folder, or on a folder with all that is below it."""

    def __init__(
        self,
        watcher: FileWatcher,
        place: Place,
        on_batch: Callable[[Sequence[FileChange]], None],
        recursive: bool,
        excludes: Iterable[str],
        includes: Iterable[str] | None,
        is_hidden: IsHidden | None,
    ) -> None:
        assert place.info is not None
        self._watcher = watcher
        self._excludes = Globs((*ALWAYS_EXCLUDED, *excludes))
        self._includes = Globs(includes) if includes is not None else None
        self._is_hidden = is_hidden or _nothing_hidden
        self.recursive = recursive
        self.real = str(place.real)
        self.name = place.name
        self.is_folder = stat.S_ISDIR(place.info.st_mode)
        self.identity: Identity = identity(place.info)
        self.ended = False
        # Of a file: whether it is there, for it may come again.
        self.exists = True
        # What is watched, if it is a folder, and the folder that holds it.
        self.top = _Folder(self, None, "")
        self.above = _Folder(self, None, "")
        # Folders that are still to be looked into.
        self.unseen = 0
        self.ready: asyncio.Future[None] = watcher.loop.create_future()
        # How many names it remembers, and whether these are all: once too many, never again.
        self.remembered = 0
        self.remembers = True
        self._batches = ChangeBatches(watcher.loop, on_batch)

    def close(self) -> None:
        """Tell nothing any more."""
        self._watcher.forget(self)
        self._batches.close()
        if not self.ready.done():
            self.ready.cancel()

    def excludes(self, folder: _Folder, path: str, name: str) -> bool:
        """Say whether something in a folder is neither told nor looked into."""
        if is_unfinished(name) or self._excludes.match(path):
            return True
        return self._is_hidden(folder.identity, name, None)

    def hides(self, folder: _Folder) -> bool:
        """Say whether nothing in a folder is told, whatever it is called."""
        above = folder.parent.identity if folder.parent is not None else (-1, -1)
        return self._is_hidden(above, folder.name, folder.identity)

    def note(self, path: str, kind: ChangeKind) -> None:
        """Gather a change with those before it, if it is wanted."""
        wanted = not path or self._includes is None or self._includes.match(path)
        if wanted and not self.ended:
            self._batches.add(path, kind)

    def end(self) -> None:
        """Tell that what was watched is gone; nothing comes after that."""
        if not self.ended:
            self.note("", "deleted")
            self.ended = True
            self._watcher.forget(self)

    @contextlib.contextmanager
    def opened(self, parts: Sequence[str]) -> Iterator[int]:
        """Open a folder below the one that is watched, through no link, to list it.

        Raises:
            OSError: it is not there, or what is there is not what was watched.
        """
        descriptor = os.open(self.real, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            # Whatever the path leads to now: it must be the folder that we were given.
            if identity(os.fstat(descriptor)) != self.identity:
                raise OSError(errno.ESTALE, os.strerror(errno.ESTALE))
            for part in parts:
                below = os.open(part, _FOLDER, dir_fd=descriptor)
                os.close(descriptor)
                descriptor = below
            listed = os.open(".", _LISTED, dir_fd=descriptor)
        finally:
            os.close(descriptor)
        try:
            yield listed
        finally:
            os.close(listed)


class FileWatcher:
    """Everything that is watched in one process."""

    def __init__(self, *, most_folders: int = MOST_FOLDERS) -> None:
        self.loop = asyncio.get_running_loop()
        self._most_folders = most_folders
        self._inotify = INotify(nonblocking=True)
        self._descriptor: int = self._inotify.fileno()
        self._watches: set[TreeWatch] = set()
        # The kernel's number of a watched folder -> those who watch it.
        self._folders: dict[int, list[_Folder]] = {}
        # Folders to be looked into; whether all in them is new; since when files count as changed.
        self._unseen: deque[tuple[_Folder, bool, int | None]] = deque()
        self._looking: asyncio.Handle | None = None
        # Events were lost while folders were being looked into.
        self._lost = False
        # When there were no events left to be read, by the wall clock.
        self._drained = time.time_ns()
        self.loop.add_reader(self._descriptor, self._read)

    @property
    def folders(self) -> int:
        """How many folders are watched."""
        return len(self._folders)

    def close(self) -> None:
        """End all watches."""
        for watch in list(self._watches):
            watch.close()
        if self._looking is not None:
            self._looking.cancel()
        self.loop.remove_reader(self._descriptor)
        self._inotify.close()

    async def watch(
        self,
        place: Place,
        on_batch: Callable[[Sequence[FileChange]], None],
        *,
        recursive: bool = False,
        excludes: Iterable[str] = (),
        includes: Iterable[str] | None = None,
        is_hidden: IsHidden | None = None,
    ) -> TreeWatch:
        """Watch what a walk has found; return when nothing that happens from now on is missed.

        The place may be closed afterwards. A folder that is not watched recursively tells of
        itself and of what is directly in it. Of what ``is_hidden`` nothing is told.

        Raises:
            BadGlob: a pattern cannot be used.
            FileNotFoundError: nothing is there.
            TooManyFolders: there are too many.
        """
        if place.leaf is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), place.name)
        watch = TreeWatch(self, place, on_batch, recursive, excludes, includes, is_hidden)
        self._watches.add(watch)
        try:
            self._watch_above(watch, place)
            if watch.is_folder:
                self._look_later(watch.top, new=False)
                await watch.ready
        except BaseException:
            watch.close()
            raise
        return watch

    def forget(self, watch: TreeWatch) -> None:
        """Let go of all folders of a watch."""
        self._watches.discard(watch)
        self._detach(watch.top)
        self._detach(watch.above)

    # Folders come and go

    def _watch_above(self, watch: TreeWatch, place: Place) -> None:
        """Watch the folder that holds it: the way to learn that it is gone, or all about a file.

        Of that folder nothing else is told.
        """
        try:
            above = os.open(os.path.dirname(watch.real), os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError:
            if not watch.is_folder:
                raise
            return
        try:
            if not watch.is_folder and not os.path.samestat(
                os.fstat(above), os.fstat(place.folder)
            ):
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), place.name)
            self._attach(watch.above, above, _GONE if watch.is_folder else _ENTRIES | _SELF)
        except PermissionError:
            if not watch.is_folder:
                raise
        finally:
            os.close(above)

    def _attach(self, folder: _Folder, descriptor: int, mask: int) -> None:
        try:
            wd: int = self._inotify.add_watch(opened_path(descriptor), mask | _HOW)
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise
            limit = "fs.inotify.max_user_watches"
            raise TooManyFolders(f"the machine watches no more folders: see {limit}") from None
        if folder.wd == wd:
            return
        if wd not in self._folders and len(self._folders) >= self._most_folders:
            self._inotify.rm_watch(wd)
            raise TooManyFolders(f"no more than {self._most_folders} folders are watched at once")
        self._release(folder)
        folder.wd = wd
        self._folders.setdefault(wd, []).append(folder)

    def _release(self, folder: _Folder) -> None:
        wd, folder.wd = folder.wd, None
        if wd is None or wd not in self._folders:
            return
        folders = self._folders[wd]
        folders.remove(folder)
        if not folders:
            del self._folders[wd]
            # The kernel has let go of it already if it was removed.
            with contextlib.suppress(OSError):
                self._inotify.rm_watch(wd)

    def _detach(self, folder: _Folder) -> None:
        """Let go of a folder and of those below it."""
        if folder.parent is not None and folder.parent.children.get(folder.name) is folder:
            del folder.parent.children[folder.name]
        below = [folder]
        while below:
            one = below.pop()
            one.gone = True
            below.extend(one.children.values())
            one.children.clear()
            one.watch.remembered -= len(one.names)
            one.names.clear()
            self._release(one)

    # Looking into folders

    def _look_later(self, folder: _Folder, *, new: bool, since: int | None = None) -> None:
        folder.watch.unseen += 1
        self._unseen.append((folder, new, since))
        self._look_soon()

    def _look_soon(self) -> None:
        if self._looking is None:
            self._looking = self.loop.call_soon(self._look_at_some)

    def _look_at_some(self) -> None:
        self._looking = None
        for _ in range(min(_LOOKS, len(self._unseen))):
            folder, new, since = self._unseen.popleft()
            watch = folder.watch
            watch.unseen -= 1
            if not folder.gone:
                try:
                    self._look(folder, new, since)
                except TooManyFolders as error:
                    self._too_many(watch, error)
            if watch.unseen == 0 and not watch.ready.done():
                watch.ready.set_result(None)
        if self._unseen:
            self._look_soon()
        elif self._lost:
            self._look_again()

    def _look(self, folder: _Folder, new: bool, since: int | None) -> None:
        """Watch a folder and compare what is in it with what is known of it.

        Entries that nobody knew of are told if they are new, that is if this is not the first look
        at what was there before.
        """
        parts = folder.parts()
        try:
            with folder.watch.opened(parts) as descriptor:
                folder.identity = identity(os.fstat(descriptor))
                if folder.watch.hides(folder):
                    return
                self._attach(folder, descriptor, _ENTRIES | _SELF)
                with os.scandir(descriptor) as entries:
                    self._compare(folder, "/".join(parts), entries, new, since)
        except OSError:
            # Gone meanwhile, or nobody's to be read: the folder above tells.
            return

    def _compare(
        self,
        folder: _Folder,
        path: str,
        entries: Iterable[os.DirEntry[str]],
        new: bool,
        since: int | None,
    ) -> None:
        watch = folder.watch
        gone = set(folder.names)
        for entry in entries:
            name = entry.name
            below = f"{path}/{name}" if path else name
            if watch.excludes(folder, below, name):
                continue
            gone.discard(name)
            is_folder = entry.is_dir(follow_symlinks=False)
            if name not in folder.names:
                self._remember(folder, name)
                if new:
                    watch.note(below, "added")
            elif since is not None and not is_folder:
                with contextlib.suppress(OSError):
                    if entry.stat(follow_symlinks=False).st_ctime_ns >= since:
                        watch.note(below, "updated")
            if is_folder and watch.recursive and name not in folder.children:
                self._enter(folder, name, new=new)
        for name in gone:
            self._forget_entry(folder, name)
            watch.note(f"{path}/{name}" if path else name, "deleted")

    def _enter(self, folder: _Folder, name: str, *, new: bool) -> None:
        child = folder.children[name] = _Folder(folder.watch, folder, name)
        self._look_later(child, new=new)

    def _remember(self, folder: _Folder, name: str) -> None:
        watch = folder.watch
        if watch.remembers and name not in folder.names:
            folder.names.add(name)
            watch.remembered += 1
            watch.remembers = watch.remembered <= MOST_REMEMBERED

    def _forget_entry(self, folder: _Folder, name: str) -> None:
        if name in folder.names:
            folder.names.discard(name)
            folder.watch.remembered -= 1
        if (child := folder.children.get(name)) is not None:
            self._tell_gone(child)
            self._detach(child)

    def _tell_gone(self, folder: _Folder) -> None:
        """Tell that all that is known below a folder is gone: one that is moved away says nothing.

        Were it told of the folder alone, a new one of that name would hide what is missing in it.
        """
        below = [(folder, "/".join(folder.parts()))]
        while below:
            one, path = below.pop()
            for name in one.names:
                one.watch.note(f"{path}/{name}", "deleted")
            below.extend((child, f"{path}/{name}") for name, child in one.children.items())

    def _too_many(self, watch: TreeWatch, error: TooManyFolders) -> None:
        if watch.ready.done():
            # Told to nobody who could do something about it; the rest goes on.
            log.warning("%s is watched in part: %s", watch.real, error)
        else:
            watch.ready.set_exception(error)

    # Events

    def _read(self) -> None:
        try:
            data = os.read(self._descriptor, _READ)
        except BlockingIOError:
            return
        for wd, mask, _, name in parse_events(data):
            if mask & events.Q_OVERFLOW:
                self._look_again()
            else:
                for folder in tuple(self._folders.get(wd, ())):
                    self._take(folder, mask, name)
            if mask & events.IGNORED:
                for folder in self._folders.pop(wd, ()):
                    folder.wd = None
        if len(data) < _READ // 2:
            self._drained = time.time_ns()

    def _take(self, folder: _Folder, mask: int, name: str) -> None:
        watch = folder.watch
        if mask & _SELF:
            # Of other folders the one above tells.
            if folder is watch.top or (folder is watch.above and not watch.is_folder):
                watch.end()
        elif not name:
            return
        elif folder is watch.above:
            self._take_above(watch, mask, name)
        else:
            self._take_entry(folder, mask, name)

    def _take_above(self, watch: TreeWatch, mask: int, name: str) -> None:
        if name != watch.name:
            return
        if not watch.is_folder:
            kind = _kind(mask)
            if kind == "added" and watch.exists:
                kind = "updated"
            watch.exists = kind != "deleted"
            watch.note("", kind)
        elif mask & _GONE:
            watch.end()

    def _take_entry(self, folder: _Folder, mask: int, name: str) -> None:
        watch = folder.watch
        path = "/".join((*folder.parts(), name))
        if watch.excludes(folder, path, name):
            return
        kind = _kind(mask)
        is_folder = bool(mask & events.ISDIR)
        if kind == "updated":
            # A folder changes by what happens in it.
            if not is_folder:
                watch.note(path, kind)
            return
        known = name in folder.names
        if kind == "added" and known and mask & events.CREATE:
            # Found when the folder was looked into, and told then.
            return
        # Gone, or something else is there now.
        self._forget_entry(folder, name)
        # What takes the place of something is not new: if it goes, too, that must still be told.
        watch.note(path, "updated" if kind == "added" and known else kind)
        if kind == "added":
            self._remember(folder, name)
            if is_folder and watch.recursive:
                self._enter(folder, name, new=True)

    def _look_again(self) -> None:
        """Find out what happened while the kernel told nothing."""
        self._lost = bool(self._unseen)
        if self._lost:
            return
        log.info("the kernel has lost file events; folders are looked into again")
        for watch in list(self._watches):
            if not os.path.lexists(watch.real):
                if watch.is_folder:
                    watch.end()
                else:
                    watch.exists = False
                    watch.note("", "deleted")
                continue
            if not watch.is_folder or not watch.remembers:
                watch.note("", "updated")
            below = [watch.top] if watch.is_folder else []
            while below:
                folder = below.pop()
                below.extend(folder.children.values())
                self._look_later(folder, new=watch.remembers, since=self._drained - _CLOCKS)


def _kind(mask: int) -> ChangeKind:
    if mask & _ADDED:
        return "added"
    return "deleted" if mask & _GONE else "updated"
