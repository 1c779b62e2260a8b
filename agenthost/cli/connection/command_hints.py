"""Command lines to show to people: for the host that the present command is for, ready to paste.

``use_host`` notes once which host that is; whoever words a message says with ``hint`` what to run.
"""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import sys
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from agenthost.local_host import (
    DATA_DIR_VARIABLE,
    TLS_CA_VARIABLE,
    TOKEN_VARIABLE,
    URL_VARIABLE,
    default_data_dir,
)

# Commands about a data directory of the machine that they run on, and those about no host at all.
_LOCAL = frozenset({"serve", "token", "qr", "backup", "restore", "logs"})
_HOSTLESS = frozenset({"agents", "new-agent", "completion", "help"})


@dataclass(frozen=True, slots=True)
class _HostInUse:
    """What the options and variables of a command say about its host."""

    url: str | None = None
    data_dir: Path | None = None
    tls_ca: Path | None = None
    # Whether a token must be given again, which no message repeats.
    needs_token: bool = False


_USERS_OWN = _HostInUse()
_in_use: ContextVar[_HostInUse] = ContextVar("host in use", default=_USERS_OWN)


def use_host(args: argparse.Namespace) -> None:
    """Note which host a command is for, from its options; without any, the user's own."""
    url: str | None = getattr(args, "url", None)
    if url is None:
        use_data_dir(getattr(args, "data_dir", None))
        return
    token: str | None = getattr(args, "token", None)
    tls_ca: Path | None = getattr(args, "tls_ca", None)
    # What the variables of this shell say need not be repeated, since it is pasted there.
    _in_use.set(
        _HostInUse(
            url=url,
            tls_ca=None if tls_ca is None or _is_set(TLS_CA_VARIABLE, str(tls_ca)) else tls_ca,
            needs_token=token is not None and not _is_set(TOKEN_VARIABLE, token),
        )
    )


def use_data_dir(data_dir: Path | None) -> None:
    """Note that a command is for the host of a data directory of this machine."""
    _in_use.set(_HostInUse(data_dir=data_dir))


def hint(*words: str) -> str:
    """Return a command line for the host in use, in backquotes, to stand in a sentence."""
    return f"`{command(*words)}`"


def command(*words: str) -> str:
    """Return a command line for the host in use: the command and its words, and what names it."""
    host = _in_use.get()
    if words[0] in _HOSTLESS or words[-1] == "--help":
        return command_line(*words)
    if host.url is None:
        return command_line(*words, data_dir=host.data_dir or default_data_dir())
    if words[0] in _LOCAL:
        # To be run on the host's own machine, whose folders nobody knows here.
        return command_line(*words) if _is_here(host.url) else f"agenthost {shlex.join(words)}"
    if _is_set(URL_VARIABLE, host.url):
        return command_line(*words, tls_ca=host.tls_ca)
    return command_line(*words, url=host.url, needs_token=host.needs_token, tls_ca=host.tls_ca)


def command_line(
    *words: str,
    data_dir: Path | None = None,
    url: str | None = None,
    needs_token: bool = False,
    tls_ca: Path | None = None,
) -> str:
    """Return a command line that calls this program again for a host.

    Args:
        words: the command and what it is about.
        data_dir: where the host was found, or keeps its data.
        url: the host's address, if it was named.
        needs_token: whether a token must be given, which is not repeated.
        tls_ca: the certificates to trust, if they were named.
    """
    options: list[str] = []
    if url is not None:
        address, is_secret = _without_secrets(url)
        options = ["--url", address]
        options += ["--token", "TOKEN"] if needs_token or is_secret else []
    elif data_dir is not None and data_dir.expanduser().absolute() != _usual_data_dir():
        # Absolute, because the next terminal may be elsewhere, and without this one's variable.
        options = ["--data-dir", str(data_dir.expanduser().absolute())]
    if tls_ca is not None:
        options += ["--tls-ca", str(tls_ca.expanduser().absolute())]
    return f"{_this_command()} {shlex.join([*words, *options])}"


def _without_secrets(url: str) -> tuple[str, bool]:
    """Return an address without what may hold a token, and whether there was such a thing."""
    address = url.partition("#")[0].partition("?")[0].rstrip("/")
    try:
        password = urlsplit(address if "://" in address else f"ws://{address}").password
    except ValueError:
        password = None
    if password is not None:
        address = address.replace(f":{password}@", "@", 1)
    return address, address != url.rstrip("/")


def _is_here(url: str) -> bool:
    """Return whether an address is of this machine."""
    name = urlsplit(url if "://" in url else f"ws://{url}").hostname or ""
    return name in ("localhost", "::1") or name.startswith("127.")


def _is_set(variable: str, value: str) -> bool:
    return os.environ.get(variable) == value


def _usual_data_dir() -> Path:
    """Return the data directory used when neither option nor variable names one."""
    environ = {name: text for name, text in os.environ.items() if name != DATA_DIR_VARIABLE}
    return default_data_dir(environ)


def _this_command() -> str:
    """Return how to call this program from here: by name if the shell finds it, else by path."""
    called = Path(sys.argv[0])
    found = shutil.which(called.name)
    if called.name != "agenthost" or (found is not None and _is_same(Path(found), called)):
        return "agenthost"
    here = Path.cwd()
    called = called.absolute()
    if not called.is_relative_to(here):
        return shlex.quote(str(called))
    near = str(called.relative_to(here))
    # Without a slash the shell would look elsewhere.
    return shlex.quote(near if "/" in near else f"./{near}")


def _is_same(found: Path, called: Path) -> bool:
    try:
        return found.samefile(called)
    except OSError:
        return False
