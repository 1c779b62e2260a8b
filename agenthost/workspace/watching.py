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
import time
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterable, Sequence

from inotify_simple import INotify, parse_events  # type: ignore[import-untyped]
from inotify_simple import flags as events

from agenthost.errors import AgentHostError
from agenthost.workspace.change_batches import ChangeKind, FileChange
from agenthost.workspace.roots import Place, identity, opened_path
from agenthost.workspace.time_slices import Slices
from agenthost.workspace.tree_watch import IsHidden, TreeWatch, WatchedFolder

log = logging.getLogger(__name__)

MOST_FOLDERS = 50_000
# Names that one watch remembers, to find out what changed when the kernel has lost count, and
# that all do together.
MOST_REMEMBERED = 50_000
MOST_REMEMBERED_BY_ALL = 200_000
# Bytes of events that are read at once, and names told or forgotten between two looks at the time.
_READ = 32 * 1024
_NAMES_AT_ONCE = 100
# Deeper down nothing is told: patterns take the longer the more names a path has.
DEEPEST = 100
# What may lie between the kernel's coarse clock and ours, in nanoseconds.
_CLOCKS = 1_000_000_000

_ADDED = int(events.CREATE | events.MOVED_TO)
_GONE = int(events.DELETE | events.MOVED_FROM)
_SELF = int(events.DELETE_SELF | events.MOVE_SELF | events.UNMOUNT)
_ENTRIES = _ADDED | _GONE | int(events.MODIFY | events.CLOSE_WRITE | events.ATTRIB)
# Adds to what others, who watch the same folder, want to know.
_HOW = int(events.MASK_ADD | events.ONLYDIR | events.EXCL_UNLINK)


# A folder, and what happened to a name in it.
_Event = tuple[WatchedFolder, int, str]


class TooManyFolders(AgentHostError):
    """A tree has more folders than can be watched; the message says whose limit that is."""


class FileWatcher:
    """Everything that is watched in one process."""

    def __init__(self, *, most_folders: int = MOST_FOLDERS) -> None:
        self.loop = asyncio.get_running_loop()
        self._most_folders = most_folders
        self._inotify = INotify(nonblocking=True)
        self._descriptor: int = self._inotify.fileno()
        self._watches: set[TreeWatch] = set()
        # Folders that watches have entered, each as often as it is watched, and names remembered.
        self._entered = 0
        self._remembered = 0
        # Folders that the watches of each holder have entered; whoever it is leaves half of them.
        self._held: Counter[str] = Counter()
        self._most_of_one = max(1, most_folders // 2)
        # The kernel's number of a watched folder -> those who watch it.
        self._folders: dict[int, list[WatchedFolder]] = {}
        # Folders to be looked into; whether all in them is new; since when files count as changed.
        self._unseen: deque[tuple[WatchedFolder, bool, int | None]] = deque()
        # The one that is being looked into, how to go on, and what has happened in it meanwhile.
        self._current: tuple[WatchedFolder, Generator[None, None, None]] | None = None
        self._meanwhile: list[_Event] = []
        # Folders that are gone, and their paths, with names that are still to be told.
        self._telling: list[tuple[WatchedFolder, str]] = []
        # Folders to be let go of.
        self._leaving: list[WatchedFolder] = []
        # Events were lost while folders were being looked into.
        self._lost = False
        self._is_closed = False
        # What the kernel has told, and which of those who watch are to hear of the first of it.
        self._events: deque[tuple[int, int, int, str]] = deque()
        self._due: deque[_Event] = deque()
        # Whether there may be events to be read, and when there were none left, by the wall clock.
        self._readable = False
        self._drained = time.time_ns()
        # What is gone is told first, or it would take back what is told of something new.
        self._work = Slices(
            self.loop, self._tell_some, self._take_one, self._let_go_of_one, self._look_on
        )
        self._await_events()

    @property
    def folders(self) -> int:
        """How many folders are watched."""
        return len(self._folders)

    def close(self) -> None:
        """End all watches."""
        self._is_closed = True
        for watch in list(self._watches):
            watch.close()
        self._work.close()
        if self._current is not None:
            self._current[1].close()
        # All at once, and with it all its watches.
        self._leaving.clear()
        self._folders.clear()
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
        holder: str | None = None,
    ) -> TreeWatch:
        """Watch what a walk has found; return when nothing that happens from now on is missed.

        The place may be closed afterwards. A folder that is not watched recursively tells of
        itself and of what is directly in it. Of what ``is_hidden`` nothing is told. All watches of
        one ``holder`` together take at most half of the folders.

        Raises:
            BadGlob: a pattern cannot be used.
            FileNotFoundError: nothing is there.
            OSError: it cannot be watched, or the watcher is closed.
            TooManyFolders: there are too many.
        """
        if self._is_closed:
            raise OSError(errno.EBADF, "the watcher is closed", place.name)
        if place.leaf is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), place.name)
        watch = TreeWatch(self, place, on_batch, recursive, excludes, includes, is_hidden, holder)
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
        """Let go of all folders of a watch; nothing of it is told any more."""
        if watch not in self._watches:
            return
        self._watches.discard(watch)
        # There is room for others at once, although it takes a while.
        self._count_folders(watch, -watch.entered)
        self._count_names(watch, -watch.remembered)
        watch.ended = True
        self._leaving += (watch.top, watch.above)
        self._work.begin()

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

    def _attach(self, folder: WatchedFolder, descriptor: int, mask: int) -> None:
        try:
            wd: int = self._inotify.add_watch(opened_path(descriptor), mask | _HOW)
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise
            limit = "fs.inotify.max_user_watches"
            raise TooManyFolders(f"the machine watches no more folders: see {limit}") from None
        if folder.wd == wd:
            return
        self._release(folder)
        folder.wd = wd
        self._folders.setdefault(wd, []).append(folder)

    def _release(self, folder: WatchedFolder) -> None:
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

    def _let_go_of_one(self) -> bool:
        if not self._leaving:
            return False
        one = self._leaving.pop()
        one.gone = True
        self._leaving += one.children.values()
        one.children.clear()
        self._count_names(one.watch, -len(one.names))
        self._count_folders(one.watch, -1)
        one.names.clear()
        self._release(one)
        return True

    # Looking into folders

    def _look_later(self, folder: WatchedFolder, *, new: bool, since: int | None = None) -> None:
        folder.watch.unseen += 1
        self._unseen.append((folder, new, since))
        self._work.begin()

    def _look_on(self) -> bool:
        """Look at some more entries; False when there are none."""
        if self._current is None:
            if not self._unseen:
                return self._look_again() if self._lost else False
            folder, new, since = self._unseen.popleft()
            self._current = folder, self._look(folder, new, since)
        folder, look = self._current
        if folder.gone or folder.watch.ended or self._is_over(folder, look):
            look.close()
            self._looked(folder)
        return True

    def _is_over(self, folder: WatchedFolder, look: Generator[None, None, None]) -> bool:
        try:
            next(look)
        except StopIteration:
            return True
        except TooManyFolders as error:
            self._too_many(folder.watch, error)
            return True
        return False

    def _looked(self, folder: WatchedFolder) -> None:
        watch, self._current = folder.watch, None
        # Before all that came after it.
        self._due.extendleft(reversed(self._meanwhile))
        self._meanwhile = []
        watch.unseen -= 1
        if watch.unseen == 0 and not watch.ready.done():
            watch.ready.set_result(None)

    def _look(
        self, folder: WatchedFolder, new: bool, since: int | None
    ) -> Generator[None, None, None]:
        """Watch a folder and compare what is in it with what is known of it, a little at a time.

        Entries that nobody knew of are told if they are new, that is if this is not the first look
        at what was there before.
        """
        parts = folder.parts()
        known = list(folder.children.values()) if since is not None else ()
        try:
            with folder.watch.opened(parts) as descriptor:
                folder.identity = identity(os.fstat(descriptor))
                if folder.watch.hides(folder):
                    return
                self._attach(folder, descriptor, _ENTRIES | _SELF)
                with os.scandir(descriptor) as entries:
                    yield from self._compare(folder, "/".join(parts), entries, new, since)
        except OSError:
            # Gone meanwhile, or nobody's to be read: the folder above tells.
            return
        for child in known:
            self._look_later(child, new=new, since=since)

    def _compare(
        self,
        folder: WatchedFolder,
        path: str,
        entries: Iterable[os.DirEntry[str]],
        new: bool,
        since: int | None,
    ) -> Generator[None, None, None]:
        watch = folder.watch
        gone = folder.names | folder.children.keys()
        for entry in entries:
            # Whoever looks at the time does so after each: a pattern may take its own.
            yield
            name = entry.name
            below = f"{path}/{name}" if path else name
            if watch.excludes(folder, below, name):
                continue
            gone.discard(name)
            is_folder = entry.is_dir(follow_symlinks=False)
            if not watch.includes(below):
                pass
            elif name not in folder.names:
                self._remember(folder, name)
                if new:
                    watch.note(below, "added")
            elif since is not None and not is_folder:
                with contextlib.suppress(OSError):
                    if entry.stat(follow_symlinks=False).st_ctime_ns >= since:
                        watch.note(below, "updated")
            if is_folder and watch.recursive and name not in folder.children:
                self._enter(folder, name, new=new)
        for number, name in enumerate(gone):
            if number % _NAMES_AT_ONCE == _NAMES_AT_ONCE - 1:
                yield
            is_told = name in folder.names
            self._forget_entry(folder, name)
            if is_told:
                watch.note(f"{path}/{name}" if path else name, "deleted")

    def _enter(self, folder: WatchedFolder, name: str, *, new: bool) -> None:
        if folder.depth >= DEEPEST:
            log.debug("%s is watched down to %d folders", folder.watch.real, DEEPEST)
            return
        if (refusal := self._refusal(folder.watch)) is not None:
            self._too_many(folder.watch, TooManyFolders(refusal))
            return
        self._count_folders(folder.watch, +1)
        child = folder.children[name] = WatchedFolder(folder.watch, folder, name)
        self._look_later(child, new=new)

    def _refusal(self, watch: TreeWatch) -> str | None:
        """Return why a watch cannot enter another folder; None if it can."""
        if watch.holder is not None and self._held[watch.holder] >= self._most_of_one:
            return f"you may watch {self._most_of_one} folders at once"
        if self._entered >= self._most_folders:
            return f"no more than {self._most_folders} folders are watched at once"
        return None

    def _remember(self, folder: WatchedFolder, name: str) -> None:
        watch = folder.watch
        if watch.remembers and name not in folder.names:
            folder.names.add(name)
            self._count_names(watch, +1)
            watch.remembers = (
                watch.remembered <= MOST_REMEMBERED and self._remembered <= MOST_REMEMBERED_BY_ALL
            )

    def _count_folders(self, watch: TreeWatch, change: int) -> None:
        if watch.ended:
            # Counted out already, perhaps by whoever was told of the change that is being taken.
            return
        watch.entered += change
        self._entered += change
        if watch.holder is not None:
            self._held[watch.holder] += change
            if not self._held[watch.holder]:
                del self._held[watch.holder]

    def _count_names(self, watch: TreeWatch, change: int) -> None:
        if watch.ended:
            return
        watch.remembered += change
        self._remembered += change

    def _forget_entry(self, folder: WatchedFolder, name: str) -> None:
        if name in folder.names:
            folder.names.discard(name)
            self._count_names(folder.watch, -1)
        if (child := folder.children.pop(name, None)) is not None:
            child.gone = True
            self._telling.append((child, "/".join(child.parts())))
            self._leaving.append(child)
            self._work.begin()

    def _tell_some(self) -> bool:
        """Tell that what is known below a folder is gone with it.

        Were it told of the folder alone, a new one of that name would hide what is missing in it.
        """
        if not self._telling:
            return False
        folder, path = self._telling[-1]
        folder.gone = True
        for _ in range(_NAMES_AT_ONCE):
            if not folder.names or folder.watch.ended:
                self._telling.pop()
                below = folder.children.items()
                self._telling += ((child, f"{path}/{name}") for name, child in below)
                break
            name = folder.names.pop()
            self._count_names(folder.watch, -1)
            folder.watch.note(f"{path}/{name}", "deleted")
        return True

    def _too_many(self, watch: TreeWatch, error: TooManyFolders) -> None:
        if not watch.ready.done():
            watch.ready.set_exception(error)
        elif not watch.is_partial:
            # Told to nobody who could do something about it; the rest goes on.
            log.warning("%s is watched in part: %s", watch.real, error)
        watch.is_partial = True

    # Events

    def _await_events(self) -> None:
        self.loop.add_reader(self._descriptor, self._are_there)

    def _are_there(self) -> None:
        # They are read when it is their turn; until then nobody need be told again.
        self.loop.remove_reader(self._descriptor)
        self._readable = True
        self._work.begin()

    def _take_one(self) -> bool:
        if self._due:
            self._take(*self._due.popleft())
        elif self._events:
            self._share(*self._events.popleft())
        else:
            return self._read()
        return True

    def _read(self) -> bool:
        """Read events; False when there are none."""
        if not self._readable:
            return False
        now = time.time_ns()
        try:
            data = os.read(self._descriptor, _READ)
        except BlockingIOError:
            self._readable = False
            self._drained = now
            self._await_events()
            return False
        self._events.extend(parse_events(data))
        return True

    def _share(self, wd: int, mask: int, _: int, name: str) -> None:
        """Have those hear of an event who watch its folder."""
        if mask & events.Q_OVERFLOW:
            self._look_again()
        elif mask & events.IGNORED:
            for folder in self._folders.pop(wd, ()):
                folder.wd = None
        else:
            self._due.extend((folder, mask, name) for folder in self._folders.get(wd, ()))

    def _take(self, folder: WatchedFolder, mask: int, name: str) -> None:
        watch = folder.watch
        if folder.gone or watch.ended:
            return
        if self._current is not None and self._current[0] is folder:
            # It may be about something that is still to be looked at.
            self._meanwhile.append((folder, mask, name))
        elif mask & _SELF:
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

    def _take_entry(self, folder: WatchedFolder, mask: int, name: str) -> None:
        watch = folder.watch
        path = "/".join((*folder.parts(), name))
        if watch.excludes(folder, path, name):
            return
        kind = _kind(mask)
        is_folder = bool(mask & events.ISDIR)
        is_told = watch.includes(path)
        if kind == "updated":
            # A folder changes by what happens in it.
            if is_told and not is_folder:
                watch.note(path, kind)
            return
        known = name in folder.names or name in folder.children
        if kind == "added" and known and mask & events.CREATE:
            # Found when the folder was looked into, and told then.
            return
        # Gone, or something else is there now.
        self._forget_entry(folder, name)
        if is_told:
            # What takes the place of something is not new: if it goes, that must still be told.
            watch.note(path, "updated" if kind == "added" and known else kind)
        if kind == "added":
            if is_told:
                self._remember(folder, name)
            if is_folder and watch.recursive:
                self._enter(folder, name, new=True)

    def _look_again(self) -> bool:
        """Find out what happened while the kernel told nothing; False if that must wait."""
        self._lost = bool(self._unseen)
        if self._lost:
            return False
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
            if watch.is_folder:
                since = self._drained - _CLOCKS
                self._look_later(watch.top, new=watch.remembers, since=since)
        return True


def _kind(mask: int) -> ChangeKind:
    if mask & _ADDED:
        return "added"
    return "deleted" if mask & _GONE else "updated"
