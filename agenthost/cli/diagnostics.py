"""Checks for ``agenthost doctor`` without a protocol connection: files, port, health page.

Looks and changes nothing. What a host that can be reached has to say is ``commands.doctor``'s.
"""

from __future__ import annotations

import asyncio
import fcntl
import http.client
import os
import ssl
import stat
import struct
import sys
import time
from contextlib import closing
from dataclasses import asdict, dataclass
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any, Literal, TypeAlias
from urllib.parse import SplitResult, quote, urlsplit

from agenthost.cli.connection.command_hints import hint
from agenthost.cli.format.terminal_text import Ink, Style, one_line
from agenthost.client.errors import CannotConnect
from agenthost.client.link.tls import pinned_to, trusting
from agenthost.local_host import RunningHost
from agenthost.protocol import SUPPORTED_VERSIONS
from agenthost.tokens import TokenError, read_owner_token

PATIENCE = 5.0
"""Seconds for each attempt to reach something."""

_SQLITE = b"SQLite format 3\0"
"""What every database begins with; one in which nothing was ever written is empty."""

_LOCK_BYTE = 0x4000_0000 + 1023
"""Where a host locks its database, as ``host.store.ownership`` does."""

KNOWN_SCHEMA = 6
"""The newest schema of a store that is known, as ``host.store.schema`` has it."""

UNFINISHED_RESTORE = ".replacing-"
"""How the folder of a restore that was cut off is named, as ``host.backup.replacement`` has it."""

_TRUSTING = (
    "name a copy of the certificate, or of the authority that signed it, with --tls-ca; is the "
    "name in --url one that it is for?"
)
_PERHAPS_TLS = (
    "does it speak TLS? then --url begins with wss://; "
    "else something else than a host listens there"
)
_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_PORTS = {"ws": 80, "wss": 443, "ssh": 22}

Verdict: TypeAlias = Literal["ok", "warning", "problem", "skipped"]

_STYLES: dict[Verdict, Style] = {
    "ok": "green",
    "warning": "yellow",
    "problem": "red",
    "skipped": "dim",
}


@dataclass(frozen=True, slots=True)
class Check:
    """One check: its subject, its verdict, and how to fix what it found."""

    name: str
    verdict: Verdict
    detail: str
    fix: str = ""
    # The same for programs, where it is more than a sentence.
    data: Any = None

    def lines(self, ink: Ink) -> list[str]:
        """Return the check as lines of text."""
        head = ink(_STYLES[self.verdict], self.verdict.ljust(8))
        lines = [f"{head}  {self.name:<15} {self.detail}"]
        return [*lines, f"{'':<8}  {'':<15} fix: {self.fix}"] if self.fix else lines

    def as_json(self) -> dict[str, Any]:
        """Return the check as a ``--json`` object."""
        return {**asdict(self), "fix": self.fix or None}


def check_data_dir(path: Path) -> Check:
    """Check that a data directory exists, is ours, and is closed to others."""
    name = "data directory"
    try:
        info = path.stat()
    except FileNotFoundError:
        return Check(name, "skipped", f"{path} does not exist; {hint('serve')} creates it")
    except OSError as error:
        fix = "a folder above it is closed to you: leave out --data-dir to use your own"
        return Check(name, "problem", f"{path}: {error.strerror}", fix)
    if not stat.S_ISDIR(info.st_mode):
        return Check(name, "problem", f"{path} is not a directory", "name another with --data-dir")
    if not os.access(path, os.R_OK | os.W_OK | os.X_OK):
        return Check(name, "problem", f"{path} cannot be used by you", _use_own(info.st_uid))
    if stat.S_IMODE(info.st_mode) & 0o077:
        mode = f"{stat.S_IMODE(info.st_mode):o}"
        return Check(name, "warning", f"{path} is open to others ({mode})", f"chmod 700 {path}")
    return Check(name, "ok", f"{path} is private")


def _use_own(owner: int) -> str:
    """Say what to do about a data directory that others own."""
    if owner == os.getuid():
        return "give yourself the right to read, write and enter it (chmod 700)"
    return (
        f"it is user {owner}'s: have them make a token, and name their host by --url and --token; "
        "or leave out --data-dir to use your own"
    )


def check_restore(folder: Path) -> Check | None:
    """Tell of a restore that was cut off while it moved files; None where there is none."""
    if not any(folder.glob(f"{UNFINISHED_RESTORE}*")):
        return None
    detail = "one was cut off while it put files in place"
    return Check("restore", "problem", detail, f"{hint('serve')} finishes it, and loses nothing")


def check_token_file(path: Path) -> Check:
    """Check that the owner's token can be read, and by nobody else."""
    name = "token"
    try:
        read_owner_token(path)
    except FileNotFoundError:
        fix = "restart the host, which creates one, or give one with --token"
        return Check(name, "problem", f"{path} does not exist", fix)
    except TokenError as error:
        return Check(name, "problem", str(error), f"chmod 600 {path}, or give one with --token")
    return Check(name, "ok", f"{path} can be read")


def check_store(path: Path, announced: int | None) -> Check:
    """Check that the store is whole, and in use by the announced host if there is one."""
    name = "store"
    if not path.exists():
        return Check(name, "skipped", f"{path} does not exist yet")
    if not _is_database(path):
        detail = f"{path} is damaged: it is not a database any more"
        fix = (
            f"put a backup back ({hint('restore', '--help')}), or move {path}* away to start empty"
        )
        return Check(name, "problem", detail, fix)
    holder = lock_holder(path)
    if holder is None and _is_locked(path):
        who = f"process {announced}" if announced is not None else "a host"
        detail = f"{path}.lock was deleted, though {who} uses the store"
        return Check(name, "warning", detail, "restart the host, which creates it again")
    if holder is None and announced is None:
        return Check(name, "ok", f"{path} is not in use")
    if holder is None:
        detail = f"{path} is not in use, though process {announced} is said to serve it"
        return Check(name, "problem", detail, f"start the host again: {hint('serve')}")
    if announced is None:
        detail = f"{path} is in use by process {holder}, which tells no address"
        fix = "it serves standard streams, or it is starting; else stop it and start it again"
        return Check(name, "warning", detail, fix)
    return Check(name, "ok", f"{path} is in use by process {holder}")


def check_content(path: Path) -> Check:
    """Check which version of the protocol the store's sessions are of; changes nothing."""
    # Slow to import, and needed by nothing else here.
    import sqlite3

    name = "sessions"
    if not path.exists() or not _is_database(path):
        return Check(name, "skipped", "there is no store to look into")
    try:
        schema, version, becoming, failed = _content_row(path)
    except sqlite3.Error as error:
        return Check(name, "skipped", f"the store cannot be looked into: {error}")
    unknown = [known for known in (version, becoming) if known and not _is_known(known)]
    if unknown:
        detail = f"they are of protocol {unknown[0]}, written by a newer agenthost"
        return Check(name, "problem", detail, "update agenthost; this one leaves them alone")
    if schema > KNOWN_SCHEMA:
        detail = f"their store is of schema version {schema}, written by a newer agenthost"
        return Check(name, "problem", detail, "update agenthost; this one leaves them alone")
    if becoming is not None:
        detail = f"bringing them up from protocol {version} to {becoming} is not finished"
        fix = f"a host that starts goes on with it; until then {path}.before-{becoming} is kept"
        return Check(name, "warning", detail, fix)
    if version is None or version != SUPPORTED_VERSIONS[0]:
        older = "an older agenthost" if version is None else f"protocol {version}"
        return Check(
            name,
            "ok",
            f"they are of {older}; the next start brings them up to {SUPPORTED_VERSIONS[0]}",
        )
    if failed:
        detail = f"{failed:,} rows of the store could not be brought up to protocol {version}"
        deep = hint("doctor", "--deep")
        fix = f"{deep} names them; {path}.before-{version} has them as they were"
        return Check(name, "warning", detail, fix)
    return Check(name, "ok", f"they are of protocol {version}", data=version)


def _is_known(version: str) -> bool:
    return version in SUPPORTED_VERSIONS


def _content_row(path: Path) -> tuple[int, str | None, str | None, int]:
    """Return a store's schema, version, the one it is on its way to, and how many rows lack it."""
    import sqlite3

    # A connection to a database in use must be an ordinary one, and any other must leave no files.
    how = "mode=ro" if path.with_name(f"{path.name}-wal").exists() else "mode=ro&immutable=1"
    where = f"file:{quote(str(path.resolve()))}?{how}"
    with closing(sqlite3.connect(where, uri=True)) as store:
        tables = {name for (name,) in store.execute("SELECT name FROM sqlite_master")}
        (schema,) = store.execute("PRAGMA user_version").fetchone()
        if "content" not in tables:
            return schema, None, None, 0
        version, becoming, failed = store.execute(
            "SELECT version, becoming, failed FROM content"
        ).fetchone()
        return schema, version, becoming, failed


def _is_locked(path: Path) -> bool:
    """Return whether a host has locked the database file itself, besides the lock file."""
    if sys.platform != "linux":
        return False
    try:
        with path.open("rb") as file:
            # struct flock: type, whence, start, length, process.
            asked = struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, _LOCK_BYTE, 1, 0)
            (found,) = struct.unpack_from("h", fcntl.fcntl(file, fcntl.F_GETLK, asked))
    except OSError:
        return False
    return bool(found != fcntl.F_UNLCK)


def _is_database(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(len(_SQLITE)) in (b"", _SQLITE)
    except OSError:
        # Whether it may be read is another question.
        return True


def lock_holder(path: Path) -> int | None:
    """Return the process that has a store open, or None."""
    try:
        descriptor = os.open(f"{path}.lock", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        written = os.pread(descriptor, 32, 0).decode(errors="replace").strip()
        holder = int(written) if written.isdecimal() else 0
        # Who is dead holds nothing. Only then is the lock tried, because whoever tries it could
        # keep a host from starting at this very moment.
        if not holder or not _is_alive(holder):
            return None
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return holder
    except OSError:
        return None
    finally:
        os.close(descriptor)
    return None


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


# An address.


@dataclass(frozen=True, slots=True)
class Address:
    """A host's URL split into scheme, name and port."""

    host: RunningHost
    parts: SplitResult
    name: str
    port: int
    # The certificates that were given to be trusted, instead of the system's.
    tls_ca: Path | None = None

    @classmethod
    def of(cls, host: RunningHost, tls_ca: Path | None = None) -> Address:
        """Split a host's URL; ValueError if it is not one."""
        parts = urlsplit(host.url)
        if parts.scheme not in _PORTS or not parts.hostname:
            raise ValueError("not the address of a host")
        return cls(host, parts, parts.hostname, parts.port or _PORTS[parts.scheme], tls_ca)

    @property
    def by_ssh(self) -> bool:
        """Whether one logs in there, and nothing needs to listen for us."""
        return self.parts.scheme == "ssh"

    @property
    def is_local(self) -> bool:
        """Whether it is this machine."""
        return self.name in _LOOPBACK


async def check_port(address: Address) -> Check:
    """Check that something listens at an address."""
    shown = f"{address.name}:{address.port}"
    start = time.perf_counter()
    try:
        async with asyncio.timeout(PATIENCE):
            _, writer = await asyncio.open_connection(address.name, address.port)
    except TimeoutError:
        fix = "is a firewall between here and there? is the address right?"
        return Check("port", "problem", f"{shown} does not answer", fix)
    except OSError as error:
        refused = isinstance(error, ConnectionRefusedError)
        why = "connection refused" if refused else error.strerror or str(error)
        fix = _why_refused(address) if refused else "is the name right? is there a network?"
        return Check("port", "problem", f"{shown} cannot be reached: {why}", fix)
    took = (time.perf_counter() - start) * 1000
    writer.close()
    return Check("port", "ok", f"{shown} answers ({took:.1f} ms)")


def _why_refused(address: Address) -> str:
    """Say what to do where nothing listens, here or on another machine."""
    if address.is_local:
        return f"start a host ({hint('serve')}), or correct --url"
    return (
        "is a host running there, on that port? by itself it listens on its own machine alone: "
        f"{hint('serve', '--host', '0.0.0.0')} there, or ssh:// from here, gets around that"
    )


@dataclass(frozen=True, slots=True)
class HealthPage:
    """The health page's answer, and the difference between the two clocks in seconds."""

    check: Check
    skew: float | None = None
    # Whether nothing at all was said, though somebody listens.
    is_silent: bool = False
    # What to do, where the way of speaking is what is wrong.
    advice: str = ""


def check_health(address: Address) -> HealthPage:
    """Request the health page over HTTP; blocks."""
    start = time.time()
    try:
        connection = _http(address)
    except CannotConnect as error:
        return HealthPage(Check("health", "problem", str(error), "put the file back"))
    try:
        connection.request("GET", "/healthz")
        response = connection.getresponse()
        body = one_line(response.read(200).decode(errors="replace"))
        date = response.headers.get("Date")
    except TimeoutError:
        return HealthPage(Check("health", "warning", "/healthz: no answer in time"), is_silent=True)
    except http.client.HTTPException:
        return HealthPage(
            Check("health", "warning", "/healthz: what answers does not speak HTTP"),
            advice=_PERHAPS_TLS,
        )
    except ssl.SSLCertVerificationError as error:
        return HealthPage(
            Check("health", "warning", f"/healthz: {error.verify_message}"), advice=_TRUSTING
        )
    except ssl.SSLError:
        return HealthPage(
            Check("health", "warning", "/healthz: what answers does not speak TLS"),
            advice="does it speak plain HTTP? then --url begins with ws://, not with wss://",
        )
    except OSError as error:
        return HealthPage(Check("health", "warning", f"/healthz: {one_line(str(error))}"))
    finally:
        connection.close()
    skew = _skew(date, (start + time.time()) / 2)
    match response.status:
        case 200:
            return HealthPage(Check("health", "ok", "the host says that it is well"), skew)
        case 503:
            fix = "look at the host's log and at its disk, then start it again"
            return HealthPage(Check("health", "problem", f"the host says: {body}", fix), skew)
        case 400 if address.parts.scheme != "wss":
            # So do hosts and proxies answer that speak TLS.
            check = Check("health", "warning", f"/healthz answers 400: {body}")
            return HealthPage(check, skew, advice=_PERHAPS_TLS)
    return HealthPage(Check("health", "skipped", f"/healthz answers {response.status}"), skew)


def _http(address: Address) -> http.client.HTTPConnection:
    if address.parts.scheme != "wss":
        return http.client.HTTPConnection(address.name, address.port, timeout=PATIENCE)
    tls = None
    if address.host.tls_cert is not None:
        tls = pinned_to(address.host.tls_cert)
    elif address.tls_ca is not None:
        tls = trusting(address.tls_ca)
    return http.client.HTTPSConnection(address.name, address.port, timeout=PATIENCE, context=tls)


def _skew(date: str | None, now: float) -> float | None:
    try:
        return None if date is None else parsedate_to_datetime(date).timestamp() - now
    except ValueError:
        return None
