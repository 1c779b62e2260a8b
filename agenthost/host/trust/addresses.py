"""Reads addresses, ``Host`` headers and ``Origin`` headers; decides nothing (``gate`` does).

Everything here is text in, value out: no name is ever looked up.
"""

from __future__ import annotations

import ipaddress
import re

from msgspec import Struct

_AUTHORITY = re.compile(r"(?P<host>\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::(?P<port>[0-9]{1,5}))?")
_ORIGIN = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://(?P<rest>[^/?#@\s]+)")
_DEFAULT_PORTS = {"http": 80, "https": 443}


class Authority(Struct, frozen=True):
    """A host and a port, the host in one canonical spelling: no brackets, no capitals."""

    host: str
    port: int | None

    @staticmethod
    def of(host: str, port: int | None) -> Authority:
        """Build one from a host in any spelling."""
        address = _address(host)
        return Authority(_plain(host) if address is None else str(address), port)

    @staticmethod
    def parse(text: str) -> Authority | None:
        """Read ``host[:port]``, or return None when it is anything else."""
        match = _AUTHORITY.fullmatch(text)
        if match is None:
            return None
        return Authority.of(match["host"], None if match["port"] is None else int(match["port"]))

    def at_port(self, default: int | None) -> Authority:
        """Return the same host with the port filled in where none was named."""
        return self if self.port is not None else Authority(self.host, default)


class Origin(Struct, frozen=True):
    """Where a page came from."""

    scheme: str
    # As sent, lower-case: an opaque identifier for schemes other than http and https.
    rest: str

    @staticmethod
    def parse(text: str) -> Origin | None:
        """Read ``scheme://authority``, or return None for ``null`` and everything else."""
        match = _ORIGIN.fullmatch(text)
        return None if match is None else Origin(match["scheme"].lower(), match["rest"].lower())

    def __str__(self) -> str:
        return f"{self.scheme}://{self.rest}"

    @property
    def authority(self) -> Authority | None:
        """The host and port of a web page, with the scheme's default port; None for others."""
        default = _DEFAULT_PORTS.get(self.scheme)
        parsed = Authority.parse(self.rest) if default is not None else None
        return None if parsed is None else parsed.at_port(default)


def is_loopback(host: str) -> bool:
    """Tell whether a host reaches this machine alone; of all names, ``localhost`` does."""
    address = _address(host)
    return _plain(host) == "localhost" if address is None else address.is_loopback


def is_ip(host: str) -> bool:
    """Tell whether a host is an address rather than a name that DNS could point elsewhere."""
    return _address(host) is not None


def is_wildcard(host: str) -> bool:
    """Tell whether binding to this host means every address of the machine."""
    address = _address(host)
    return host in ("", "*") or (address is not None and address.is_unspecified)


def peer_group(peer: str) -> str:
    """Return under which key a peer's failures are counted.

    A single IPv6 customer holds a whole /64, so that is what one peer means there.
    """
    address = _address(peer)
    if isinstance(address, ipaddress.IPv6Address):
        return str(ipaddress.IPv6Network((address, 64), strict=False))
    return peer if address is None else str(address)


def _plain(name: str) -> str:
    return name.lower().removesuffix(".")


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        address = ipaddress.ip_address(host.partition("%")[0].strip("[]"))
    except ValueError:
        return None
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        return address.ipv4_mapped
    return address
