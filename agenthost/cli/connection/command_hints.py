"""Command lines and addresses to show to people, ready to copy."""

from __future__ import annotations

import os
import shlex
import shutil
import socket
import sys
from pathlib import Path
from urllib.parse import urlsplit

from agenthost.cli.data_dir import DATA_DIR_VARIABLE, default_data_dir

# Addresses for documentation: nobody is there, and nothing is sent to find a way to them.
_SOMEWHERE = {socket.AF_INET: "192.0.2.1", socket.AF_INET6: "2001:db8::1"}
# Where one can listen on all addresses: what this machine calls itself then, and the family.
_EVERYWHERE = {
    "0.0.0.0": ("127.0.0.1", socket.AF_INET),
    "[::]": ("[::1]", socket.AF_INET6),
}


def command_line(
    *words: str, data_dir: Path | None = None, url: str | None = None, token: str | None = None
) -> str:
    """Return a command line that calls this program again for the same host.

    Args:
        words: the command and what it is about.
        data_dir: where the host was found, or keeps its data.
        url: the host's address, if it was named.
        token: the token, if it was named; it is not repeated.
    """
    options: list[str] = []
    if url is not None:
        parts = urlsplit(url if "://" in url else f"ws://{url}")
        options = ["--url", url.partition("?")[0].rstrip("/")]
        if token is not None or parts.query:
            options += ["--token", "TOKEN"]
    elif data_dir is not None and data_dir.absolute() != _default_data_dir():
        # Absolute, because the next terminal may be elsewhere, and without this one's variable.
        options = ["--data-dir", str(data_dir.absolute())]
    return f"{_this_command()} {shlex.join([*words, *options])}"


def _default_data_dir() -> Path:
    """Return the data directory used when neither option nor variable names one."""
    environ = {name: text for name, text in os.environ.items() if name != DATA_DIR_VARIABLE}
    return default_data_dir(environ)


def _this_command() -> str:
    """Return how to call this program from here: by name if the shell finds it, else by path."""
    called = Path(sys.argv[0])
    found = shutil.which(called.name)
    if called.name != "agenthost" or (found is not None and Path(found).samefile(called)):
        return "agenthost"
    here = Path.cwd()
    called = called.absolute()
    return shlex.quote(str(called.relative_to(here) if called.is_relative_to(here) else called))


def reachable_addresses(address: str) -> list[str]:
    """Return the addresses, with ports, at which a listening host can be reached.

    A host that listens on all addresses is reached from this machine by the loopback address,
    which comes first, and from others by this machine's address on the network.
    """
    host, _, port = address.rpartition(":")
    if host not in _EVERYWHERE:
        return [address]
    here, family = _EVERYWHERE[host]
    outward = _outward(family)
    found = [here] if outward is None or outward == here else [here, outward]
    return [f"{name}:{port}" for name in found]


def _outward(family: socket.AddressFamily) -> str | None:
    """Return this machine's address on the network; None without one."""
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            # For datagrams this only looks up the route.
            probe.connect((_SOMEWHERE[family], 9))
            name = str(probe.getsockname()[0])
    except OSError:
        return None
    return f"[{name}]" if family == socket.AF_INET6 else name
