"""Whom a client believes to be its host, where TLS is spoken."""

from __future__ import annotations

import ssl
from pathlib import Path

from agenthost.client.errors import CannotConnect


def trusting(certificates: Path) -> ssl.SSLContext:
    """Return what trusts the certificates of a file, and nobody else's, for the names they state.

    A host's own certificate will do, as well as that of who signed it.

    Raises:
        CannotConnect: the file cannot be used, at the moment at least.
    """
    try:
        context = ssl.create_default_context(cafile=str(certificates))
    except ssl.SSLError as error:
        raise CannotConnect(f"{certificates} holds no certificate") from error
    except OSError as error:
        raise CannotConnect(f"{certificates} cannot be read: {error.strerror}") from error
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    return context


def pinned_to(certificate: Path) -> ssl.SSLContext:
    """Return what trusts the certificate in a file of this machine's host, and no other.

    Its name is not looked at: it is made for how others reach the host, and from here that is a
    loopback address.

    Raises:
        CannotConnect: the file cannot be used, at the moment at least.
    """
    context = trusting(certificate)
    context.check_hostname = False
    return context
