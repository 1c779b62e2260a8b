"""Listening sockets for a host name and one port.

Owns the rule that a name such as ``localhost`` is reached on all its addresses under the same
port, also when the port is to be picked. Does not accept anything:
``websocket_server`` does.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import socket

from agenthost.errors import AgentHostError

ACCEPTED_AT_ONCE = 16
"""Sockets accepted in a row, before those that are open have their turn."""

LISTEN_BACKLOG = 1024
"""Connections that the kernel keeps until they are accepted: a herd of clients after a restart."""

# How often to look for one port that is free on every address of a name.
_PORT_ATTEMPTS = 10

# The machine lacks this address or the whole family, as without IPv6; others may do.
_ABSENT = {errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT}


class CannotListen(AgentHostError):
    """The address cannot be listened on: in use, not ours, or unknown."""


def allow_descriptors(count: int) -> None:
    """Let this process have so many files open, where the system lets it decide by itself.

    Else the usual limit of 1024 is reached long before ours, and nobody gets in any more.
    """
    try:
        import resource
    except ImportError:  # not a POSIX system
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = count if hard == resource.RLIM_INFINITY else min(count, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


async def listen(host: str, port: int) -> list[socket.socket]:
    """Listen on every address of ``host`` at ``port``, or at the same free one for port 0.

    Raises:
        CannotListen: no address of that name can be bound.
    """
    loop = asyncio.get_running_loop()
    try:
        found = await loop.getaddrinfo(
            host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
    except OSError as error:
        raise CannotListen(f"{host}: {error.strerror or error}") from error
    addresses: list[tuple[int, tuple[object, ...]]] = list(
        dict.fromkeys((family, address) for family, _, _, _, address in found)
    )
    attempts = _PORT_ATTEMPTS if port == 0 else 1
    for attempt in range(1, attempts + 1):
        try:
            return _bind_all(addresses, port)
        except OSError as error:
            # A port that is free on the first address may be taken on the second.
            if attempt == attempts:
                raise CannotListen(f"{host} port {port}: {error.strerror or error}") from error
    raise AssertionError("the last attempt returns or raises")


def _bind_all(addresses: list[tuple[int, tuple[object, ...]]], port: int) -> list[socket.socket]:
    failure = OSError("the name has no address")
    with contextlib.ExitStack() as undo:
        bound: list[socket.socket] = []
        for family, address in addresses:
            try:
                sock = _bind(family, (address[0], port, *address[2:]))
            except OSError as error:
                if error.errno not in _ABSENT:
                    raise
                failure = error
                continue
            bound.append(undo.enter_context(sock))
            port = sock.getsockname()[1]
        if not bound:
            raise failure
        undo.pop_all()
        return bound


def _bind(family: int, address: tuple[object, ...]) -> socket.socket:
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            # IPv4 gets a socket of its own.
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        sock.bind(address)
        # At once: until it listens, the address may be bound by another process as well.
        sock.listen(LISTEN_BACKLOG)
        sock.setblocking(False)
    except OSError:
        sock.close()
        raise
    return sock
