"""Finding the host that runs on this machine, by the file it writes to its data directory.

``serve`` writes it when it listens and removes it when it stops; it names the URL, the process and
the file that holds the token, never the token itself.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from agenthost.cli.connection.command_hints import command_line
from agenthost.cli.data_dir import default_data_dir
from agenthost.errors import AgentHostError
from agenthost.tokens import TokenError, read_owner_token

HOST_FILE = "host.json"
# A page's address, as it is printed and copied, to the WebSocket's.
_SCHEMES = {"http": "ws", "https": "wss"}


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


@contextmanager
def announce(
    data_dir: Path, url: str, token_file: Path | None, listening: str | None = None
) -> Iterator[None]:
    """Write the file by which other commands find this host, for the length of a block.

    ``url`` is how they reach it, ``listening`` the host and port that it was told to listen on.
    """
    path = data_dir / HOST_FILE
    told = {"url": url, "pid": os.getpid(), "tokenFile": str(token_file) if token_file else None}
    told["listening"] = listening
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


def find_host(
    url: str | None = None, token: str | None = None, data_dir: Path | None = None
) -> RunningHost:
    """Return where to connect: the given URL, or the host of a data directory on this machine."""
    if url is not None:
        return RunningHost(_websocket(url), token)
    folder = data_dir or default_data_dir()
    path = folder / HOST_FILE
    try:
        told = json.loads(path.read_text())
        found = RunningHost(told["url"], token, told["pid"], told.get("listening"))
        token_file = told["tokenFile"]
    except FileNotFoundError:
        raise NoHost(
            f"no host is running for {folder}: start one with "
            f"`{command_line('serve', data_dir=folder)}`, or name one with --url"
        ) from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise NoHost(f"{path} cannot be read: {error}") from error
    if not _alive(found.pid):
        raise NoHost(
            f"the host of {folder} crashed or was killed: start it again with "
            f"`{command_line('serve', data_dir=folder)}`"
        )
    if token is None and token_file is not None:
        try:
            return replace(found, token=read_owner_token(Path(token_file)))
        except FileNotFoundError:
            raise NoToken(
                f"the host's token file {token_file} is gone: restart the host, or give --token"
            ) from None
        except TokenError as error:
            raise NoToken(f"the host's token cannot be used: {error}") from error
    return found


def _websocket(url: str) -> str:
    """Return a WebSocket URL for an address without a scheme or with http."""
    if "://" not in url:
        return f"ws://{url}"
    scheme, _, rest = url.partition("://")
    return f"{_SCHEMES.get(scheme, scheme)}://{rest}"


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
