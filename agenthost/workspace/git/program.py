"""The one place where the ``git`` program is run: harmlessly, briefly, with bounded output.

A repository's configuration can name programs: filters, hooks, monitors, ways to reach a network.
None of them runs just because somebody looks at the repository, and nothing of it is locked.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import signal
import subprocess
import tempfile
import threading
from collections.abc import AsyncIterator, Mapping, Sequence
from weakref import WeakValueDictionary

from msgspec import Struct

from agenthost.tasks import in_own_thread

# Seconds, and bytes of output, after which a repository is too large to be looked at.
PATIENCE = 5.0
LONG_PATIENCE = 60.0
# Seconds that a git that is to end has to put its things in order.
GRACE = 1.0
MOST_OUTPUT = 32 * 1024 * 1024
MOST_AT_ONCE = 2
# Seconds after which others need not wait for one to end, and how many such there may be.
SEATED = 1.0
MOST_STANDING = 16
_LONGEST_REASON = 300

# Nothing goes on in the background.
_SHORT = (("gc.auto", "0"), ("maintenance.auto", "false"))
# Settings for every call that looks at a repository, over those of its own.
_HARMLESS = (
    *_SHORT,
    ("core.fsmonitor", "false"),
    ("core.hooksPath", "/dev/null"),
    ("core.splitIndex", "false"),
    # A folder that merely looks like a repository may be part of somebody's download.
    ("safe.bareRepository", "explicit"),
)
_ENVIRONMENT = {
    # No questions at somebody's terminal, no locks in the way of somebody's work, no network.
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "LC_ALL": "C",
}
_SECRET = re.compile("agenthost|token|secret|passw|passphrase|credential|api_?key", re.IGNORECASE)
_FILTER_PROGRAMS = (".clean", ".smudge", ".process")

_OF_INTEREST = r"^(filter\..*|remote\..*\.url)$"

Settings = Sequence[tuple[str, str]]


class Configured(Struct, frozen=True):
    """What of a repository's configuration matters to whoever looks at it."""

    # The settings that switch off the filters that the repository itself defines.
    filters_off: Settings = ()
    # Where its remotes are.
    remotes: tuple[str, ...] = ()


class GitFailed(Exception):
    """The git program gave no answer; the message says why. Not the same as an empty answer."""

    def __init__(self, reason: str, code: int | None = None) -> None:
        super().__init__(reason)
        # Its exit code, if it has ended by itself.
        self.code = code


class TooManyFiles(GitFailed):
    """More files have changed than anybody would look at."""

    def __init__(self, count: int, most: int) -> None:
        super().__init__(f"{count} files have changed; {most} at most are shown")
        self.count = count


class GitProgram:
    """Runs git, for so many at the same time.

    One that takes long, because its repository does not answer perhaps, keeps those who look at
    the same repository waiting, and after a moment nobody else.
    """

    def __init__(self, at_once: int = MOST_AT_ONCE) -> None:
        self._at_once = at_once
        self._seats = asyncio.Semaphore(at_once)
        # How many go on without a seat.
        self._standing = 0
        # Folder -> the seats of those who look there.
        self._folders: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()

    @contextlib.asynccontextmanager
    async def _seat(self, folder: str) -> AsyncIterator[None]:
        """Wait until there is room for one more, and hold it for as long as that is fair."""
        async with self._folders.setdefault(folder, asyncio.Semaphore(self._at_once)):
            await self._seats.acquire()
            stands = False

            def stand_up() -> None:
                nonlocal stands
                if self._standing < MOST_STANDING:
                    stands = True
                    self._standing += 1
                    self._seats.release()

            timer = asyncio.get_running_loop().call_later(SEATED, stand_up)
            try:
                yield
            finally:
                timer.cancel()
                if stands:
                    self._standing -= 1
                else:
                    self._seats.release()

    async def run(
        self,
        folder: str | os.PathLike[str],
        *arguments: str,
        settings: Settings = (),
        env: Mapping[str, str] | None = None,
        data: bytes = b"",
        patience: float = PATIENCE,
        as_user: bool = False,
    ) -> bytes:
        """Return what git prints in a folder.

        ``as_user``: somebody wants this done to the repository as their own git would do it, with
        its filters and hooks. Nothing that only looks may say so.

        Raises:
            GitFailed: it says no, takes too long or prints too much, or there is no git.
        """
        variables = environment([*(_SHORT if as_user else _HARMLESS), *settings], env)
        async with self._seat(os.fspath(folder)):
            child = _Child()
            # Not as a child of the event loop: one whose end is noticed twice, when it is killed
            # just as it ends, would be complained about.
            running = in_own_thread(
                lambda: _run(folder, arguments, variables, data, patience, child), "git"
            )
            try:
                return await asyncio.shield(running)
            except asyncio.CancelledError:
                child.end()
                # Until then it may hold a lock, in the way of whoever puts things right.
                await asyncio.wait({running})
                raise

    async def configured(self, folder: str | os.PathLike[str]) -> Configured:
        """Return the filters and the remotes of a repository.

        Raises:
            GitFailed: what it would run is not known, so nothing may be run.
        """
        try:
            listed = await self.run(
                folder, "config", "--show-scope", "-z", "--get-regexp", _OF_INTEREST
            )
        except GitFailed as failure:
            # Nothing of that is configured.
            if failure.code == 1:
                return Configured()
            raise
        return read_configured(listed)


def read_configured(listed: bytes) -> Configured:
    """Read what ``git config --show-scope -z`` lists."""
    fields = os.fsdecode(listed).split("\0")
    off: dict[str, str] = {}
    remotes: list[str] = []
    for scope, setting in zip(fields[::2], fields[1::2], strict=False):
        key, _, value = setting.partition("\n")
        if key.endswith(".url"):
            remotes.append(value)
        elif scope not in ("local", "worktree"):
            # Those of the user, for large files perhaps, are the user's own wish.
            continue
        elif key.endswith(_FILTER_PROGRAMS):
            off[key] = ""
        elif key.endswith(".required"):
            off[key] = "false"
    return Configured(tuple(off.items()), tuple(remotes))


def environment(settings: Settings, more: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return git's variables: the host's without secrets and without settings of its own."""
    env = {
        key: value
        for key, value in os.environ.items()
        if not key.startswith("GIT_") and not _SECRET.search(key)
    }
    # The way to say that there are no repositories here.
    if os.environ.get("GIT_DIR") == os.devnull:
        env["GIT_DIR"] = os.devnull
    env |= _ENVIRONMENT
    # Not by `-c`, which ends a name at the first `=`; a filter can be called `a=b`.
    env["GIT_CONFIG_COUNT"] = str(len(settings))
    for number, (key, value) in enumerate(settings):
        env |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    return {**env, **(more or {})}


class _Child:
    """A git that may have to end before it is done, or before it has begun."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._unwanted = False
        self._over = False
        self._grace: threading.Timer | None = None

    def begin(self, process: subprocess.Popen[bytes]) -> None:
        """Take note that it runs."""
        with self._lock:
            self._process = process
            if self._unwanted:
                self._ask(process)

    def end(self) -> None:
        """End it, from any thread: git gives back its locks, if it is asked to end."""
        with self._lock:
            if not self._unwanted and not self._over:
                self._unwanted = True
                if self._process is not None:
                    self._ask(self._process)

    def _ask(self, process: subprocess.Popen[bytes]) -> None:
        _send(process, signal.SIGTERM)
        self._grace = threading.Timer(GRACE, self._force, (process,))
        self._grace.start()

    def _force(self, process: subprocess.Popen[bytes]) -> None:
        with self._lock:
            # Its id is its own until it is waited for.
            if not self._over:
                _send(process, signal.SIGKILL)

    def wait(self, process: subprocess.Popen[bytes]) -> int:
        """Wait until it has ended, with all it has started if it had to, and return its code."""
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        with self._lock:
            if self._grace is not None:
                self._grace.cancel()
                _send(process, signal.SIGKILL)
            self._over = True
        return process.wait()


def _run(
    folder: str | os.PathLike[str],
    arguments: Sequence[str],
    env: Mapping[str, str],
    data: bytes,
    patience: float,
    child: _Child,
) -> bytes:
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as complaints:
        given.write(data)
        given.seek(0)
        try:
            process = subprocess.Popen(
                ["git", "-C", os.fspath(folder), *arguments],
                stdin=given,
                stdout=subprocess.PIPE,
                stderr=complaints,
                env=env,
                # Whatever it starts ends with it.
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            raise GitFailed(f"git cannot be run: {error}") from error
        child.begin(process)
        late = threading.Event()

        def impatient() -> None:
            late.set()
            child.end()

        impatience = threading.Timer(patience, impatient)
        impatience.start()
        assert process.stdout is not None
        with process.stdout:
            output = process.stdout.read(MOST_OUTPUT + 1)
        if len(output) > MOST_OUTPUT:
            child.end()
        code = child.wait(process)
        impatience.cancel()
        if len(output) > MOST_OUTPUT:
            raise GitFailed(f"git {arguments[0]} printed too much")
        if late.is_set():
            raise GitFailed(f"git {arguments[0]} took longer than {patience:g} s")
        if code:
            raise GitFailed(_reason(complaints.fileno(), arguments[0], code), code)
        return output


def _send(process: subprocess.Popen[bytes], number: int) -> None:
    with contextlib.suppress(OSError):
        os.killpg(process.pid, number)


def _reason(complaints: int, what: str, code: int) -> str:
    end = os.pread(complaints, 4096, max(0, os.fstat(complaints).st_size - 4096))
    lines = [line for line in end.decode(errors="replace").splitlines() if line.strip()]
    # What follows is advice; what a hook says has no such beginning.
    blunt = [line for line in lines if line.startswith(("fatal: ", "error: "))]
    said = (blunt or lines or [""])[-1].removeprefix("fatal: ").removeprefix("error: ")
    return said[:_LONGEST_REASON] or f"git {what} ended with code {code}"
