"""What the address of a host may be, and how each kind is dialled.

The one place that tells them apart: ``ws://``, ``wss://``, ``http://``, ``https://``, a bare
``host:port``, ``ssh://``; and the host of this machine, which has no fixed address.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import NamedTuple

from agenthost.client.errors import CannotConnect, ClientError, NotAdmitted
from agenthost.client.link.supervisor import Dial
from agenthost.client.link.tls import pinned_to, trusting
from agenthost.client.link.transports import websocket, websocket_url
from agenthost.errors import AgentHostError
from agenthost.local_host import (
    TLS_CA_VARIABLE,
    TOKEN_VARIABLE,
    URL_VARIABLE,
    NoHost,
    find_local_host,
)
from agenthost.transport import Transport

_SSH = "ssh://"


class HostPlace(NamedTuple):
    """Where a host is at the moment, what it lets in, and the certificate that it is known by."""

    address: str
    token: str | None = None
    tls_cert: Path | None = None


FindHost = Callable[[], Awaitable[tuple[str, str | None] | HostPlace]]
"""Returns where the host is now, as address and token or more; raises when it cannot tell."""


def full_address(address: str) -> str:
    """Return an address with the scheme that it is dialled by: ``ws``, ``wss`` or ``ssh``.

    Raises:
        ValueError: it cannot be the address of a host.
    """
    if not is_ssh(address):
        return websocket_url(address)
    from agenthost.client.link.ssh import SshPlace

    return str(SshPlace.parse(address))


def is_ssh(address: str) -> bool:
    """Return whether a host is reached by logging in to its machine."""
    return address.startswith(_SSH)


def dial(
    address: str,
    token: str | None = None,
    *,
    tls_ca: Path | None = None,
    token_in_url: bool = False,
    max_message: int | None = None,
    may_ask: bool = True,
) -> Dial:
    """Return a function that connects to a host at an address of any kind.

    Args:
        address: see this module.
        token: what the host lets in; ``ssh://`` takes none.
        tls_ca: certificates to trust, instead of the system's.
        token_in_url: send the token as ``?tkn=`` instead of as a header.
        max_message: bytes; a host that sends more at once loses the connection.
        may_ask: whether the person at the terminal may be asked for a password.

    Raises:
        ValueError: it cannot be the address of a host, or a token or file does not go with it.
    """
    if not is_ssh(address):
        tls = None if tls_ca is None else lambda: trusting(tls_ca)
        return websocket(
            address, token, token_in_url=token_in_url, max_message=max_message, tls=tls
        )
    if token is not None or token_in_url:
        raise ValueError(
            "ssh:// takes no token: whoever may log in there is let in as the owner of the host"
        )
    # Needed by few.
    from agenthost.client.link.ssh import SshPlace, ssh

    return ssh(SshPlace.parse(address), may_ask=may_ask, max_message=max_message)


def endpoint(find: FindHost, *, token_in_url: bool = False, max_message: int | None = None) -> Dial:
    """Return a function that looks up the host at every attempt and connects to where it is.

    For a host that may come back on another port, or with another token. ``find`` raises
    CannotConnect, or any other error of this package, to be asked again later, and NotAdmitted to
    end it.
    """

    async def connect_there() -> Transport:
        place = await _found(find)
        try:
            return await dial_place(place, token_in_url=token_in_url, max_message=max_message)()
        except ValueError as error:
            raise CannotConnect(str(error)) from error
        except NotAdmitted as refusal:
            # Somebody else may answer at the address of a host that has just moved.
            if await _found(find) == place:
                raise
            raise CannotConnect(str(refusal)) from refusal

    return connect_there


def dial_place(
    place: HostPlace, *, token_in_url: bool = False, max_message: int | None = None
) -> Dial:
    """Return a function that connects to a host as it was found; nobody is asked for a password.

    Raises:
        ValueError: it was found at what cannot be the address of a host.
    """
    address, token, certificate = place
    if certificate is None:
        return dial(
            address, token, token_in_url=token_in_url, max_message=max_message, may_ask=False
        )
    return websocket(
        address,
        token,
        token_in_url=token_in_url,
        max_message=max_message,
        tls=lambda: pinned_to(certificate),
    )


async def _found(find: FindHost) -> HostPlace:
    try:
        return HostPlace(*await find())
    except (ClientError, NoHost):
        raise
    except (AgentHostError, OSError) as error:
        raise CannotConnect(str(error) or type(error).__name__) from error


def local_host(data_dir: Path | None = None, token: str | None = None) -> Dial:
    """Return a function that connects to the host of this machine, wherever it listens now.

    It raises NoHost while none is running.
    """

    async def find() -> HostPlace:
        found = find_local_host(data_dir, token)
        return HostPlace(found.url, found.token, found.tls_cert)

    return endpoint(find)


def usual_host(
    token: str | None = None, *, data_dir: Path | None = None, tls_ca: Path | None = None
) -> Dial:
    """Return a function that connects to the host that nobody named.

    That is the one of the environment, unless a data directory is given, or that of this machine.

    Raises:
        ValueError: the environment names something that cannot be the address of a host.
    """
    url = os.environ.get(URL_VARIABLE)
    if data_dir is not None or not url:
        return local_host(data_dir, token)
    if tls_ca is None and (named := os.environ.get(TLS_CA_VARIABLE)):
        tls_ca = Path(named)
    if token is None and not is_ssh(url):
        token = os.environ.get(TOKEN_VARIABLE) or None
    return dial(url, token, tls_ca=tls_ca)
