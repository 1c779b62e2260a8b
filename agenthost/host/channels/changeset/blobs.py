"""Contents of files as they were, under names that only this host can make.

A name says whose session and which content, and is signed: so nothing has to be remembered for it,
it holds after a restart, and nobody reads other contents of a repository by guessing. Its path is
the file's own, because editors show it, and take two contents with different paths for a renaming.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import mimetypes
import re
import secrets
from urllib.parse import quote, unquote

from msgspec import Struct

from agenthost.host.log.ledger import Ledger
from agenthost.host.store import PutRecord, Store

SCHEME = "git-blob:"
_NAME = re.compile(
    SCHEME + r"(/(?!/)[^?#]*)\?([\w-]+)\.([0-9a-f]{40,64})\.([0-9a-f]{20})", re.ASCII
)
_SIGNED = 20
# Where the key is kept.
_BUCKET, _KEY = "workspace", "blob-key"


class BlobName(Struct, frozen=True):
    """What the URI of a content says."""

    session: str
    blob: str
    # The file's own name.
    name: str


class BlobUris:
    """Makes and reads the URIs of contents."""

    def __init__(self) -> None:
        self._key = secrets.token_bytes(32)

    async def open(self, store: Store, ledger: Ledger) -> None:
        """Take up the key of the hosts before this one, or keep ours for those after it."""
        kept = await store.record(_BUCKET, _KEY)
        if kept is None:
            ledger.write(PutRecord(_BUCKET, _KEY, self._key))
        else:
            self._key = kept

    def mint(self, session: str, blob: str, path: str) -> str:
        """Return the URI of a content; ``path`` is where the file lies, absolute."""
        whose = base64.urlsafe_b64encode(session.encode()).decode().rstrip("=")
        shown = quote(path.lstrip("/").encode(errors="surrogateescape"))
        return f"{SCHEME}/{shown}?{whose}.{blob}.{self._signature(session, blob)}"

    def read(self, uri: str) -> BlobName | None:
        """Return what a URI says, or None if it was not made here."""
        found = _NAME.fullmatch(uri)
        if found is None:
            return None
        path, _, blob, signature = found.groups()
        session = session_named(uri)
        if session is None:
            return None
        if not hmac.compare_digest(signature, self._signature(session, blob)):
            return None
        return BlobName(session, blob, unquote(path.rpartition("/")[2]))

    def _signature(self, session: str, blob: str) -> str:
        # No name of a session has a line break.
        message = f"{session}\n{blob}".encode()
        return hmac.new(self._key, message, hashlib.sha256).hexdigest()[:_SIGNED]


def session_named(uri: str) -> str | None:
    """Return whose content a URI is said to name, be it made here or not."""
    found = _NAME.fullmatch(uri)
    if found is None:
        return None
    whose = found[2]
    try:
        return base64.urlsafe_b64decode(whose + "=" * (-len(whose) % 4)).decode()
    except (binascii.Error, UnicodeDecodeError):
        return None


def content_type_of(name: str, *, is_text: bool) -> str:
    """Return what a file is, from its name or else by whether it has lines."""
    guessed, encoding = mimetypes.guess_type(name)
    if guessed is not None and encoding is None:
        return guessed
    return "text/plain" if is_text else "application/octet-stream"
