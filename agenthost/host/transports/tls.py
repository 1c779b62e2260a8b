"""The certificate that a host shows: from two files, and read again when they are renewed."""

from __future__ import annotations

import asyncio
import logging
import os
import ssl
from pathlib import Path

from agenthost.errors import AgentHostError

log = logging.getLogger(__name__)

RENEWAL_CHECK = 60.0
"""Seconds between looks at the files; whoever renews them does so days before they expire."""

# The size and time of both files; what a file that is gone has instead.
_Stamp = tuple[tuple[int, int, int] | None, ...]


class BadCertificate(AgentHostError):
    """The files of a certificate cannot be used; the message says why."""


class Certificate:
    """A certificate and its key, for every connection that begins from now on.

    Raises:
        BadCertificate: the files cannot be read, or do not belong together.
    """

    def __init__(self, certificate: Path, key: Path) -> None:
        self.certificate = certificate
        self._key = key
        # Before they are read: what is written meanwhile is found at the next look.
        self._stamp = self._look()
        self.context = self._load()

    def renew(self) -> bool:
        """Take up the files if they have changed; return whether.

        Those that cannot be used are told in the log, and what was there before goes on.
        """
        stamp = self._look()
        if stamp == self._stamp:
            return False
        self._stamp = stamp
        try:
            # Tried on a context of its own: a half-loaded one would fail every connection.
            self._load()
            self.context.load_cert_chain(self.certificate, self._key, _no_password)
        except (BadCertificate, OSError, ValueError) as error:
            log.error("the certificate from before is kept: %s", error)
            return False
        log.info("took up the renewed certificate %s", self.certificate)
        return True

    async def watch(self, seconds: float = RENEWAL_CHECK) -> None:
        """Look again and again whether the files have changed."""
        while True:
            await asyncio.sleep(seconds)
            self.renew()

    def _load(self) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        # The page and its WebSocket; HTTP/2 is not spoken here.
        context.set_alpn_protocols(["http/1.1"])
        try:
            context.load_cert_chain(self.certificate, self._key, _no_password)
        except ssl.SSLError as error:
            raise BadCertificate(
                f"{self.certificate} and {self._key} are no certificate and its key "
                f"({error.reason or 'not PEM'})"
            ) from error
        except ValueError as error:
            raise BadCertificate(f"{self._key}: {error}") from error
        except OSError as error:
            # The library does not say which of them it is.
            names = [str(path) for path in (self.certificate, self._key) if not _readable(path)]
            which = " and ".join(names) or str(self.certificate)
            raise BadCertificate(f"{which} cannot be read: {error.strerror}") from error
        return context

    def _look(self) -> _Stamp:
        return tuple(_stamp(path) for path in (self.certificate, self._key))


def _stamp(path: Path) -> tuple[int, int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def _readable(path: Path) -> bool:
    return os.access(path, os.R_OK)


def _no_password() -> str:
    """Refuse a key with a password, which would be asked for at a terminal that is not ours."""
    raise ValueError("the key must not have a password")
