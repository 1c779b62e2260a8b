"""The addresses of this machine: at which of them a host that listens can be reached."""

from __future__ import annotations

import ipaddress
import socket
import struct
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

# Addresses for documentation: nobody is there, and nothing is sent to find a way to them.
_SOMEWHERE = {socket.AF_INET: "192.0.2.1", socket.AF_INET6: "2001:db8::1"}
# Where one can listen on all addresses: what this machine calls itself then, and the family.
_EVERYWHERE = {
    "0.0.0.0": ("127.0.0.1", socket.AF_INET),
    "[::]": ("[::1]", socket.AF_INET6),
}
# Linux: what asks for an interface's flags and address, and the flags of one that carries data.
_GET_FLAGS, _GET_ADDRESS = 0x8913, 0x8915
_UP, _RUNNING = 0x1, 0x40
_IPV6_TABLE = Path("/proc/net/if_inet6")


def reachable_addresses(address: str) -> list[str]:
    """Return the addresses, with ports, at which a listening host can be reached.

    A host that listens on all addresses is reached from this machine by the loopback address,
    which comes first, and from others by those of its interfaces; first the one that leads out.
    """
    host, _, port = address.rpartition(":")
    if host not in _EVERYWHERE:
        return [address]
    here, family = _EVERYWHERE[host]
    outward = _outward(family)
    others = [outward] if outward is not None else []
    others += _usable(_interface_addresses(family))
    return [f"{name}:{port}" for name in dict.fromkeys([here, *others])]


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


def _usable(found: Iterable[str]) -> Iterator[str]:
    """Leave out what leads nowhere from another machine, or nowhere without an interface's name."""
    for text in found:
        address = ipaddress.ip_address(text)
        if address.is_loopback or address.is_link_local or address.is_unspecified:
            continue
        yield f"[{address}]" if address.version == 6 else str(address)


def _interface_addresses(family: socket.AddressFamily) -> list[str]:
    """Return the addresses of the interfaces that are up, as far as this system tells them."""
    if sys.platform != "linux":
        return []
    if family == socket.AF_INET6:
        return _ipv6_addresses()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        names = [name for _, name in socket.if_nameindex()]
        return [address for name in names if (address := _ipv4_address(asking, name)) is not None]


def _ipv4_address(asking: socket.socket, interface: str) -> str | None:
    import fcntl

    request = struct.pack("256s", interface.encode()[:15])
    try:
        (flags,) = struct.unpack_from("H", fcntl.ioctl(asking, _GET_FLAGS, request), 16)
        if not (flags & _UP and flags & _RUNNING):
            return None
        return socket.inet_ntoa(fcntl.ioctl(asking, _GET_ADDRESS, request)[20:24])
    except OSError:
        # It has none, or is gone since.
        return None


def _ipv6_addresses() -> list[str]:
    try:
        rows = [line.split() for line in _IPV6_TABLE.read_text().splitlines()]
    except OSError:
        return []
    return [str(ipaddress.IPv6Address(int(row[0], 16))) for row in rows if row]
