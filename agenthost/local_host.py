"""The host that runs on this machine: where it keeps its data, and how others find it.

``serve`` writes a file to its data directory when it listens and removes it when it stops; it names
the URL, the process, the certificate and the file that holds the token, never the token itself.
Open to the client and to the command line, both of which look for it.
"""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import stat
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from agenthost.errors import AgentHostError
from agenthost.tokens import TokenError, read_owner_token

DATA_DIR_VARIABLE = "AGENTHOST_DATA_DIR"
"""The environment variable that names the data directory."""

URL_VARIABLE = "AGENTHOST_URL"
"""The environment variable that names a host elsewhere."""

TOKEN_VARIABLE = "AGENTHOST_TOKEN"
"""The environment variable that holds the token for it."""

TLS_CA_VARIABLE = "AGENTHOST_TLS_CA"
"""The environment variable that names a file of certificates to trust, instead of the system's."""

HOST_FILE = "host.json"
"""Where a running host says how it is reached, in its data directory."""

# No sensible file of that kind is longer.
_MOST_FILE = 64 * 1024


class NoHost(AgentHostError):
    """No running host was found; the message names the place searched and the next step."""


class NoToken(NoHost):
    """The running host's token file cannot be used; the message says why."""


@dataclass(frozen=True, slots=True)
class RunningHost:
    """A host to connect to."""

    url: str
    token: str | None = None
    # The process, where it runs on this machine.
    pid: int | None = None
    # Where it listens, host and port, if it is known; the URL is the way to it from this machine.
    listening: str | None = None
    # The certificate by which it is known from this machine, if it speaks TLS.
    tls_cert: Path | None = None


def default_data_dir(
    environ: Mapping[str, str] | None = None, platform: str = sys.platform
) -> Path:
    """Return the user's data directory: from the variable, or the platform's default."""
    environ = os.environ if environ is None else environ
    if named := environ.get(DATA_DIR_VARIABLE):
        return Path(named).expanduser()
    if platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "agenthost"
    # The XDG specification has relative values ignored.
    shared = Path(environ.get("XDG_DATA_HOME", ""))
    base = shared if shared.is_absolute() else Path.home() / ".local" / "share"
    return base / "agenthost"


@contextmanager
def announce(
    data_dir: Path,
    url: str,
    token_file: Path | None,
    listening: str | None = None,
    tls_cert: Path | None = None,
) -> Iterator[None]:
    """Write the file by which others find this host, for the length of a block.

    ``url`` is how they reach it, ``listening`` the host and port that it was told to listen on,
    ``tls_cert`` the certificate that it shows.
    """
    path = data_dir / HOST_FILE
    told = {
        "url": url,
        "pid": os.getpid(),
        "tokenFile": str(token_file) if token_file else None,
        "listening": listening,
        "tlsCert": str(tls_cert.absolute()) if tls_cert else None,
    }
    scratch = path.with_suffix(f".{os.getpid()}")
    scratch.touch(mode=0o600)
    scratch.write_text(json.dumps(told))
    scratch.replace(path)
    try:
        yield
    finally:
        # A host started since has put its own there.
        with contextlib.suppress(OSError, ValueError, KeyError):
            if json.loads(path.read_text())["pid"] == os.getpid():
                path.unlink()


def serve_command(data_dir: Path) -> str:
    """Return the command line that starts a host of a data directory."""
    options = [] if data_dir == default_data_dir() else ["--data-dir", str(data_dir.absolute())]
    return shlex.join(["agenthost", "serve", *options])


def find_local_host(
    data_dir: Path | None = None,
    token: str | None = None,
    *,
    start_command: Callable[[Path], str] = serve_command,
    elsewhere: str = f"set ${URL_VARIABLE}",
) -> RunningHost:
    """Return the host of a data directory on this machine.

    Args:
        data_dir: the user's own by default.
        token: what to present instead of the owner's token.
        start_command: words the command that starts such a host.
        elsewhere: how to name a host that runs elsewhere, for the message.

    Raises:
        NoHost: none is running; NoToken if one is, and its token cannot be used.
    """
    folder = data_dir or default_data_dir()
    path = folder / HOST_FILE
    try:
        found, token_file, owner = _read(path)
    except FileNotFoundError:
        raise NoHost(
            f"no host is running for {folder}: start one with "
            f"`{start_command(folder)}`, or {elsewhere}"
        ) from None
    except (PermissionError, _NotOurs):
        raise NoHost(
            f"{folder} is another user's; for their host, have them make a token for you and "
            f"{elsewhere}"
        ) from None
    except NotADirectoryError:
        raise NoHost(f"{folder} is not a directory: name the one that a host uses") from None
    except OSError as error:
        raise NoHost(f"{path} cannot be read: {error.strerror or error}") from error
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise NoHost(
            f"{path} is damaged: start the host of {folder} again, which writes it, with "
            f"`{start_command(folder)}`"
        ) from error
    if not _alive(found.pid):
        raise NoHost(
            f"the host of {folder} crashed or was killed: start it again with "
            f"`{start_command(folder)}`"
        )
    if token is not None or token_file is None:
        return replace(found, token=token)
    return replace(found, token=_token(token_file, owner))


class _NotOurs(Exception):
    """Another user wrote the file, or could have."""


def _read(path: Path) -> tuple[RunningHost, Path | None, int]:
    """Return what a host says of itself, the file that holds its token, and whose host it is.

    Whoever wrote it chose where a token is sent, so nobody else may have been able to.
    """
    # O_NONBLOCK: a pipe would keep us waiting for its other end.
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    with open(descriptor, encoding="utf-8") as file:
        info = os.fstat(descriptor)
        user = os.geteuid()
        if user not in (0, info.st_uid) and info.st_uid != 0:
            raise _NotOurs
        if not stat.S_ISREG(info.st_mode) or info.st_mode & 0o022:
            raise ValueError("it is no plain file, or others may write to it")
        told = json.loads(file.read(_MOST_FILE))
    url = _text(told["url"])
    if url is None:
        raise TypeError("it has no url")
    found = RunningHost(
        url,
        pid=_process(told["pid"]),
        listening=_text(told.get("listening")),
        tls_cert=_path(told.get("tlsCert")),
    )
    return found, _path(told["tokenFile"]), info.st_uid


def _text(value: object) -> str | None:
    if value is not None and not (isinstance(value, str) and value.isprintable()):
        raise TypeError("it is no text")
    return value


def _path(value: object) -> Path | None:
    text = _text(value)
    return None if text is None else Path(text)


def _process(value: object) -> int | None:
    # Other numbers are groups of processes, or none.
    if value is not None and not (type(value) is int and 0 < value < 2**31):
        raise TypeError("its pid is none")
    return value


def _token(path: Path, owner: int) -> str:
    try:
        # Root may read everybody's, and must not be made to give one user's to another's host.
        return read_owner_token(path, owner=owner or None)
    except FileNotFoundError:
        raise NoToken(
            f"the host's token file {path} is gone: restart the host, or give --token"
        ) from None
    except TokenError as error:
        raise NoToken(f"the host's token cannot be used: {error}") from error


def _alive(pid: int | None) -> bool:
    if pid is None:
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
