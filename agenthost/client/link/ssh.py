"""Reaching a host by ``ssh://``: the system's own ssh runs ``agenthost relay`` on its machine.

Keys, configuration and known machines are ssh's own business, and nothing listens on a network.
What ssh and the far side say on standard error is caught, and told when dialling fails.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import shlex
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import quote, unquote

from agenthost.client.errors import CannotConnect, ClientError, NotAdmitted
from agenthost.client.link.relay import GREETING
from agenthost.client.link.supervisor import Dial
from agenthost.client.link.transports import MOST_LINE, ProcessTransport
from agenthost.transport import CloseCode, Transport

SSH_VARIABLE = "AGENTHOST_SSH"
"""The environment variable that names another ssh, with options if wanted."""

FAR_COMMAND_VARIABLE = "AGENTHOST_FAR_COMMAND"
"""The environment variable that says what ``agenthost`` is called on the other machine."""

_NAME = r"[A-Za-z0-9_.][A-Za-z0-9_.-]*"
_ADDRESS = re.compile(
    rf"ssh://(?:(?P<user>{_NAME})@)?(?P<machine>{_NAME}|\[[0-9A-Fa-f:.]+\])"
    r"(?::(?P<port>[0-9]{1,5}))?(?P<path>/[^?#]*)?"
)

# Seconds until the far side must answer: without anybody, and with somebody to type a password.
_PATIENCE = 30.0
_PATIENCE_WITH_PEOPLE = 180.0
# Seconds that a process whose output has ended gets to end itself.
_EXIT_GRACE = 2.0
# Bytes of what a far shell may print of its own before the relay speaks.
_MOST_NOISE = 64 * 1024
# Of standard error, this many bytes are kept, and this many lines told.
_TAIL_BYTES = 8 * 1024
_TAIL_LINES = 3
_LINE_LENGTH = 300

# Exit codes: ssh itself failed; the far shell knows no such command.
_SSH_FAILED, _NO_COMMAND = 255, 127
# What ssh says where trying again cannot help.
_FINAL = ("Permission denied", "Host key verification failed", "Too many authentication failures")


@dataclass(frozen=True, slots=True)
class SshPlace:
    """A machine to log in to, and the data directory of a host there."""

    machine: str
    user: str | None = None
    port: int | None = None
    # None for the user's own.
    data_dir: str | None = None

    @classmethod
    def parse(cls, address: str) -> SshPlace:
        """Read ``ssh://[user@]machine[:port][/data/dir]``; ``/~/dir`` is below the far home.

        Raises:
            ValueError: it is not of that form.
        """
        # Nothing is quoted: what stands before an @ may be a password.
        wrong = "that is not the address of a host; it is like ssh://user@machine:22/data/dir"
        parts = _ADDRESS.fullmatch(address)
        if parts is None:
            raise ValueError(wrong)
        port = None if parts["port"] is None else int(parts["port"])
        path = unquote(parts["path"] or "/")
        if not path.isprintable() or (port is not None and not 0 < port < 65536):
            raise ValueError(wrong)
        data_dir = path[1:] if path.startswith("/~") else path
        return cls(
            parts["machine"].strip("[]"), parts["user"], port, None if path == "/" else data_dir
        )

    def __str__(self) -> str:
        machine = f"[{self.machine}]" if ":" in self.machine else self.machine
        user = "" if self.user is None else f"{self.user}@"
        port = "" if self.port is None else f":{self.port}"
        path = "" if self.data_dir is None else "/" + quote(self.data_dir.removeprefix("/"))
        return f"ssh://{user}{machine}{port}{path}"

    def argv(self, *, batch: bool) -> list[str]:
        """Return the command that joins our streams to the host there.

        ``batch`` keeps ssh from asking anybody for a password.
        """
        far = [*shlex.split(os.environ.get(FAR_COMMAND_VARIABLE) or "agenthost"), "relay"]
        far += ["--stdio"] if self.data_dir is None else ["--stdio", "--data-dir", self.data_dir]
        options = ["-T", "-o", "ServerAliveInterval=15", "-o", "ConnectTimeout=10"]
        options += ["-o", "BatchMode=yes"] if batch else []
        options += [] if self.port is None else ["-p", str(self.port)]
        who = self.machine if self.user is None else f"{self.user}@{self.machine}"
        ssh_words = shlex.split(os.environ.get(SSH_VARIABLE) or "ssh")
        return [*ssh_words, *options, "--", who, shlex.join(far)]


def ssh(place: SshPlace, *, may_ask: bool = True, max_message: int | None = None) -> Dial:
    """Return a function that logs in to a machine and talks to the host there.

    Only the first time may a person be asked for a password, and only at a terminal: later there
    is something on it that a question would spoil.
    """
    asking = may_ask and all(each is not None and each.isatty() for each in (sys.stdin, sys.stderr))

    async def dial() -> Transport:
        nonlocal asking
        transport = await _dial(place, asking=asking, max_line=max_message or MOST_LINE)
        asking = False
        return transport

    return dial


async def _dial(place: SshPlace, *, asking: bool, max_line: int) -> Transport:
    argv = place.argv(batch=not asking)
    try:
        process = await asyncio.create_subprocess_exec(
            *argv,
            stdin=PIPE,
            stdout=PIPE,
            stderr=PIPE,
            # Ctrl-C is for us; ssh would end of it, and with it what is to be told to the host.
            preexec_fn=_ignore_interrupts,
            # Without a terminal there is nobody whom ssh could ask.
            start_new_session=not asking,
        )
    except OSError as error:
        raise NotAdmitted(f"{argv[0]} cannot be started: {error.strerror}") from error
    said = ErrorTail(process)
    try:
        async with asyncio.timeout(_PATIENCE_WITH_PEOPLE if asking else _PATIENCE):
            greeted = await _greeting(process)
    except TimeoutError:
        await _end_process(process, said)
        raise CannotConnect(f"{place}: no answer in time") from None
    except BaseException:
        # It may have ended by itself meanwhile, which is not to hide why this does.
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        said.stop()
        raise
    if not greeted:
        raise await _no_greeting(place, process, said)
    return SshTransport(process, place, said, max_line)


def _ignore_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)


async def _greeting(process: Process) -> bool:
    """Wait for the relay to speak; return whether it did. What the far shell prints is skipped."""
    assert process.stdout is not None
    noise = 0
    while noise < _MOST_NOISE:
        try:
            line = await process.stdout.readline()
        except ValueError:
            return False
        if line.strip() == GREETING:
            return True
        if not line:
            return False
        noise += len(line)
    return False


async def _no_greeting(place: SshPlace, process: Process, said: ErrorTail) -> ClientError:
    """End an ssh behind which there is no relay; return the error for it."""
    assert process.stdout is not None
    talks_on = not process.stdout.at_eof()
    if talks_on:
        process.kill()
    code = await _end_process(process, said)
    if talks_on:
        return CannotConnect(f"{place}: what answers there is no agenthost")
    return explain_exit(place, code, said.lines())


async def _end_process(process: Process, said: ErrorTail) -> int:
    """Wait a little for a process, end it if need be, and return its exit code."""
    assert process.stdout is not None
    # Its end is noticed only once all that it has written is read.
    discarding = asyncio.create_task(_discard(process.stdout), name="ssh's last output")
    try:
        async with asyncio.timeout(_EXIT_GRACE):
            code = await process.wait()
    except TimeoutError:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        code = await process.wait()
    finally:
        discarding.cancel()
    await said.ended()
    return code


async def _discard(stream: asyncio.StreamReader) -> None:
    while await stream.read(_MOST_NOISE):
        pass


class ErrorTail:
    """The last of what a process says on standard error."""

    def __init__(self, process: Process) -> None:
        assert process.stderr is not None
        self._stream = process.stderr
        self._tail = b""
        self._task = asyncio.create_task(self._read(), name="ssh's standard error")

    async def _read(self) -> None:
        while data := await self._stream.read(_TAIL_BYTES):
            self._tail = (self._tail + data)[-_TAIL_BYTES:]

    async def ended(self) -> None:
        """Wait for the end of the stream, which a grandchild may keep open, a little while."""
        await asyncio.wait({self._task}, timeout=_EXIT_GRACE)
        self.stop()

    def stop(self) -> None:
        """Read no more."""
        self._task.cancel()

    def lines(self) -> list[str]:
        """Return its lines, without anything that a terminal would take for a command."""
        text = self._tail.decode(errors="replace")
        cleaned = ("".join(filter(str.isprintable, line)).strip() for line in text.splitlines())
        return [line[:_LINE_LENGTH] for line in cleaned if line]


def explain_exit(place: SshPlace, code: int, lines: Sequence[str]) -> ClientError:
    """Return the error for an ssh that ended before the host there had answered."""
    if (told := _told_by_relay(lines)) is not None:
        return CannotConnect(f"{place}: {told}")
    said = "; ".join(lines[-_TAIL_LINES:])
    if code == _NO_COMMAND:
        return NotAdmitted(
            f"{place}: agenthost is not installed there, or not where a login without a terminal "
            f"finds it; ${FAR_COMMAND_VARIABLE} can name its path ({said or 'exit code 127'})"
        )
    if code == _SSH_FAILED:
        words = f"{place}: ssh: {said or 'it failed without a word'}"
        final = any(each in said for each in _FINAL)
        return NotAdmitted(words) if final else CannotConnect(words)
    return CannotConnect(f"{place}: the relay there ended with exit code {code}: {said or '…'}")


def _told_by_relay(lines: Sequence[str]) -> str | None:
    """Return what the relay itself says is wrong, if it does."""
    for line in reversed(lines):
        with contextlib.suppress(ValueError):
            told = json.loads(line)
            if isinstance(told, dict) and "agenthost" in told:
                return str(told.get("message") or told["agenthost"])
    return None


class SshTransport(ProcessTransport):
    """A ``Transport`` through ssh; its end says what ssh said of it."""

    def __init__(self, process: Process, place: SshPlace, said: ErrorTail, max_line: int) -> None:
        super().__init__(process, str(place), max_line=max_line)
        self._place = place
        self._said = said
        # Finds out why the output has ended.
        self._asking: asyncio.Task[None] | None = None

    @property
    def peer(self) -> str:
        """The machine."""
        return str(self._place)

    async def close(self, code: int = CloseCode.NORMAL, reason: str = "") -> None:
        """Close our end, and end ssh if it does not end by itself soon."""
        await super().close(code, reason)
        self._said.stop()
        if self._asking is not None:
            self._asking.cancel()

    def _input_ended(self, failure: tuple[int, str] | None) -> None:
        if failure is not None:
            super()._input_ended(failure)
        else:
            self._asking = asyncio.create_task(self._ask_why(), name="why ssh ended")

    async def _ask_why(self) -> None:
        code = await _end_process(self._process, self._said)
        why = explain_exit(self._place, code, self._said.lines())
        reason = str(why) if code else f"{self._place}: the connection ended"
        self._end(CloseCode.ABNORMAL, reason)
