"""One running agent program: its pipes, its standard error, and its end.

Knows processes and nothing of what is said over the pipes. The program leads a process group of
its own, so that whatever it started ends with it.
"""

from __future__ import annotations

import asyncio
import codecs
import logging
import re
import signal
from asyncio.subprocess import PIPE, SubprocessStreamProtocol
from collections import deque
from collections.abc import Mapping, Sequence

from agenthost.agents.child_guard import ChildGuard
from agenthost.agents.processes import group_emptied, signal_group

log = logging.getLogger(__name__)

# A single message may carry a file; a longer one is a fault.
LONGEST_LINE = 32 * 1024 * 1024
# Seconds between SIGTERM to the group and SIGKILL.
TERMINATION_GRACE = 0.4
# What is kept and shown of standard error: lines, and characters of each.
LAST_LINES = 5
LONGEST_WORDS = 300
# Seconds in which what a process that lives on wrote to standard error before its answer arrives.
HEARSAY = 0.1
# Lines of standard error that one process may put into the host's log.
MOST_LOGGED = 2000
READ_SIZE = 16 * 1024

HIDDEN = "***"
# A shorter value would blot out ordinary words.
SHORTEST_SECRET = 6

_SECRET_NAME = re.compile(r"key|token|secret|passw|credential|auth(?!or)", re.IGNORECASE)
_BEARER = re.compile(r"\b(Bearer|Basic)\s+[A-Za-z0-9._~+/=-]{6,}", re.IGNORECASE)
_ASSIGNED = re.compile(
    r"((?:api[_-]?key|access[_-]?token|token|secret|password|passwd)[\"']?\s*[=:]\s*[\"']?)"
    r"[^\s\"',;]+",
    re.IGNORECASE,
)
# The beginnings by which well-known services mark their tokens.
_MARKED = re.compile(
    r"\b(?:sk|pk|rk|gh[opsur]|github_pat|glpat|xox[abprs]|AKIA|AIza)[-_A-Za-z0-9]{10,}"
)


class Redactor:
    """Hides the secrets of an environment, and whatever looks like one, in what a program says.

    A best effort: it knows the values of variables whose names sound secret, and the usual shapes
    of tokens. It cannot know a secret that looks like a word.
    """

    def __init__(self, environment: Mapping[str, str]) -> None:
        values = {
            value
            for name, value in environment.items()
            if _SECRET_NAME.search(name) and len(value) >= SHORTEST_SECRET
        }
        # Longest first: one secret may begin with another.
        known = "|".join(re.escape(value) for value in sorted(values, key=len, reverse=True))
        self._known = re.compile(known) if known else None

    def __repr__(self) -> str:
        return "Redactor()"

    def __call__(self, text: str) -> str:
        """Return the text without secrets."""
        if self._known is not None:
            text = self._known.sub(HIDDEN, text)
        text = _BEARER.sub(rf"\1 {HIDDEN}", text)
        text = _ASSIGNED.sub(rf"\1{HIDDEN}", text)
        return _MARKED.sub(HIDDEN, text)


class _Protocol(SubprocessStreamProtocol):
    """Streams and an exit event: ``Process.wait`` also waits for heirs of the pipes."""

    def __init__(self) -> None:
        super().__init__(limit=LONGEST_LINE, loop=asyncio.get_running_loop())
        self.exited = asyncio.Event()

    def process_exited(self) -> None:
        super().process_exited()
        self.exited.set()


class AgentProcess:
    """A program that was started, with pipes to it."""

    def __init__(
        self,
        name: str,
        transport: asyncio.SubprocessTransport,
        protocol: _Protocol,
        redact: Redactor,
        guard: ChildGuard,
    ) -> None:
        assert protocol.stdin is not None
        assert protocol.stdout is not None
        assert protocol.stderr is not None
        self.name = name
        self.pid = transport.get_pid()
        self.stdin = protocol.stdin
        self.stdout = protocol.stdout
        self.exited = protocol.exited
        self.redact = redact
        self._transport = transport
        self._guard = guard
        guard.watch(self.pid)
        # The last lines of standard error, without secrets.
        self._last_lines: deque[str] = deque(maxlen=LAST_LINES)
        # How many lines there were in all.
        self.stderr_lines = 0
        self._reading_stderr = asyncio.create_task(
            self._read_stderr(protocol.stderr), name=f"standard error of {name}[{self.pid}]"
        )

    @classmethod
    async def start(
        cls, name: str, command: Sequence[str], *, cwd: str, env: Mapping[str, str]
    ) -> AgentProcess:
        """Start a program.

        Raises:
            OSError: there is no such program or directory.
        """
        guard = await ChildGuard.start()
        try:
            transport, protocol = await asyncio.get_running_loop().subprocess_exec(
                _Protocol,
                *command,
                stdin=PIPE,
                stdout=PIPE,
                stderr=PIPE,
                cwd=cwd,
                env=dict(env),
                start_new_session=True,
            )
        except BaseException:
            await guard.release()
            raise
        return cls(name, transport, protocol, Redactor(env), guard)

    @property
    def exit_description(self) -> str:
        """How the program ended, e.g. "ended with exit code 1"."""
        code = self._transport.get_returncode()
        if code is None:
            return "is still running"
        if code < 0:
            return f"was killed by {signal.Signals(-code).name}"
        return f"ended with exit code {code}"

    async def stderr_tail(self, since: int = 0) -> str:
        """Return the last lines of standard error, of those that came after the first ``since``.

        Waits until all has been read that there is.
        """
        patience = TERMINATION_GRACE if self.exited.is_set() else HEARSAY
        await asyncio.wait({self._reading_stderr}, timeout=patience)
        fresh = min(self.stderr_lines - since, len(self._last_lines))
        return "\n".join(list(self._last_lines)[-fresh:] if fresh > 0 else ())

    async def end(self, patience: float) -> None:
        """End the program and its group: by closing its input, by SIGTERM, by SIGKILL.

        Cancelled, by SIGKILL at once.
        """
        self.stdin.close()
        try:
            await self._end_group(patience)
            await self.exited.wait()
            await self._guard.release()
            # An heir of the pipe that left the group is not waited for.
            await asyncio.wait({self._reading_stderr}, timeout=TERMINATION_GRACE)
        finally:
            # Also when this is cancelled: whoever cancels it may close the loop next.
            self._guard.let_go()
            self._reading_stderr.cancel()
            self._transport.close()

    async def _end_group(self, patience: float) -> None:
        try:
            if not await self._group_ended(patience):
                self._signal(signal.SIGTERM)
                await self._group_ended(TERMINATION_GRACE)
        finally:
            # Also when this is cancelled: nobody may be left.
            self.kill()

    def kill(self) -> None:
        """Kill the program and its group at once."""
        self._signal(signal.SIGKILL)

    async def _group_ended(self, seconds: float) -> bool:
        """Wait until nobody is left in the group; False when that takes too long."""
        try:
            async with asyncio.timeout(seconds):
                await self.exited.wait()
                # Whoever outlives its leader had its chance.
                self._signal(signal.SIGTERM)
                await group_emptied(self.pid)
        except TimeoutError:
            return False
        return True

    def _signal(self, number: int) -> bool:
        """Signal the group; False when nobody is left in it."""
        return signal_group(self.pid, number)

    async def _read_stderr(self, stderr: asyncio.StreamReader) -> None:
        decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        rest = ""
        while data := await stderr.read(READ_SIZE):
            *lines, rest = (rest + decoder.decode(data)).split("\n")
            if len(rest) > READ_SIZE:
                lines, rest = [*lines, rest], ""
            for line in lines:
                self._note(line)
        self._note(rest)

    def _note(self, line: str) -> None:
        line = self.redact(line.rstrip())[:LONGEST_WORDS]
        if not line:
            return
        self._last_lines.append(line)
        self.stderr_lines += 1
        if self.stderr_lines <= MOST_LOGGED:
            log.debug("%s[%d]: %s", self.name, self.pid, line)
        elif self.stderr_lines == MOST_LOGGED + 1:
            log.info("%s[%d] says too much; the rest is not logged", self.name, self.pid)
