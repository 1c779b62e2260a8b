"""The book of named tokens: ``tokens.json``, edited by the command line, read by a running host.

A token's secret is shown once and never kept: the book holds its SHA-256. A slow password hash
would add nothing, because the secrets are 256 random bits and no dictionary contains them; it would
only let strangers burn the host's time with wrong guesses.

Owns the file's format and its rules. What a role allows is ``host.trust.policy``'s matter.
"""

from __future__ import annotations

import enum
import hashlib
import hmac
import json
import logging
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from agenthost.tokens.files import (
    Signature,
    TokenError,
    TokenFileError,
    locked,
    make_private_dir,
    read_private,
    replace_private,
    signature_of,
)
from agenthost.tokens.owner import OWNER_NAME, new_secret

BOOK_FILE = "tokens.json"
"""The file's name inside the data directory."""

BOOK_FORMAT = 1
"""Written into the file, so that a later format is recognised instead of misread."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}")
_DIGEST = re.compile(r"[0-9a-f]{64}")
log = logging.getLogger(__name__)


class Role(enum.Enum):
    """The role of a token: what its holder may do (see ``host/trust/policy``)."""

    OWNER = "owner"
    OPERATOR = "operator"
    VIEWER = "viewer"


@dataclass(frozen=True, slots=True)
class TokenEntry:
    """One named token as the book keeps it: everything but the secret."""

    name: str
    role: Role
    created: datetime
    expires: datetime | None
    # Hex SHA-256 of the secret. Not a secret, but of no use to a reader either.
    digest: str = field(repr=False)

    def expired(self, now: float) -> bool:
        """Return whether the token no longer counts at ``now`` (Unix seconds)."""
        return self.expires is not None and self.expires.timestamp() <= now


@dataclass(frozen=True, slots=True)
class NewToken:
    """A token just created: the only moment at which its secret is known."""

    entry: TokenEntry
    secret: str = field(repr=False)


def check_name(name: str) -> str:
    """Return the name if a token may bear it; raise TokenError otherwise."""
    if not _NAME.fullmatch(name):
        raise TokenError(
            f"{name[:64]!r} cannot name a token: use 1 to 64 letters, digits or . _ @ -, "
            "starting with a letter or digit"
        )
    if name.casefold() == OWNER_NAME:
        raise TokenError(f"the name {name!r} is reserved for whoever runs the host")
    return name


def digest_of(secret: str) -> str:
    """Return the hex SHA-256 under which a secret is kept and compared."""
    # A lone surrogate from a sloppy header must be a wrong token, not an exception.
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()


class TokenBook:
    """The named tokens of one data directory, current whenever they are asked for."""

    def __init__(self, path: Path) -> None:
        self._path = path
        # The entries as last read; empty while the file is absent or unusable.
        self._entries: tuple[TokenEntry, ...] = ()
        # Which version of the file `_entries` came from; None while there is no file.
        self._read: Signature | None = None
        # The last complaint logged, so that a damaged file is reported once per change.
        self._complaint: tuple[Signature | None, str] | None = None

    def __repr__(self) -> str:
        return f"TokenBook({str(self._path)!r})"

    def create(self, name: str, role: Role, *, expires: datetime | None, now: float) -> NewToken:
        """Add a token; names are unique whatever their case, expired ones included."""
        check_name(name)
        if expires is not None and expires.timestamp() <= now:
            raise TokenError("the expiry lies in the past")
        make_private_dir(self._path.parent)
        with locked(self._path):
            entries = self._load()
            if any(entry.name.casefold() == name.casefold() for entry in entries):
                raise TokenError(f"a token named {name!r} exists already; revoke it first")
            secret = new_secret()
            created = datetime.fromtimestamp(int(now), UTC)
            entry = TokenEntry(name, role, created, expires, digest_of(secret))
            self._save((*entries, entry))
        return NewToken(entry, secret)

    def list(self) -> Sequence[TokenEntry]:
        """Return all tokens, expired ones too, in the order of their creation."""
        return self._load()

    def revoke(self, name: str) -> TokenEntry:
        """Remove the token of that name; raise TokenError when there is none."""
        if signature_of(self._path) is None:
            raise TokenError(f"there is no token named {name[:64]!r}")
        with locked(self._path):
            entries = self._load()
            gone = [entry for entry in entries if entry.name.casefold() == name.casefold()]
            if not gone:
                raise TokenError(f"there is no token named {name[:64]!r}")
            self._save(tuple(entry for entry in entries if entry not in gone))
        return gone[0]

    def rewrite(self, edit: Callable[[Sequence[TokenEntry]], Sequence[TokenEntry]]) -> bool:
        """Keep what ``edit`` makes of all tokens; say whether that is anything else than before."""
        make_private_dir(self._path.parent)
        with locked(self._path):
            entries = self._load()
            edited = tuple(edit(entries))
            if edited != entries:
                self._save(edited)
        return edited != entries

    def find(self, secret: str, now: float) -> TokenEntry | None:
        """Return the entry of a presented secret, or None when it is unknown or has expired.

        Every entry is compared in full, so the time taken says nothing about a near miss. A
        damaged file is logged and matches nothing; it is never repaired or replaced here.
        """
        presented = digest_of(secret)
        found: TokenEntry | None = None
        for entry in self._current():
            if hmac.compare_digest(entry.digest, presented):
                found = entry
        return None if found is None or found.expired(now) else found

    def holds(self, digest: str, now: float) -> bool:
        """Return whether a token seen before is still in the book and has not expired."""
        entries = self._current()
        return any(entry.digest == digest and not entry.expired(now) for entry in entries)

    def knows(self, name: str, now: float) -> bool:
        """Return whether somebody of this name has a token that has not expired."""
        return any(entry.name == name and not entry.expired(now) for entry in self._current())

    @property
    def is_readable(self) -> bool:
        """Whether what the book says now is what is in it, not that it cannot be read."""
        self._current()
        return self._complaint is None

    def _current(self) -> tuple[TokenEntry, ...]:
        signature: Signature | None = None
        try:
            signature = signature_of(self._path)
            # The complaint's signature matters too: a damaged file is not parsed at every guess.
            if signature != self._read and (
                self._complaint is None or signature != self._complaint[0]
            ):
                self._load()
                self._complaint = None
        except TokenFileError as error:
            self._entries, self._read = (), None
            self._complain(signature, str(error))
        return self._entries

    def _complain(self, signature: Signature | None, text: str) -> None:
        if self._complaint != (signature, text):
            self._complaint = (signature, text)
            log.error("named tokens are refused: %s", text)

    def _load(self) -> tuple[TokenEntry, ...]:
        try:
            data, signature = read_private(self._path)
        except FileNotFoundError:
            self._entries, self._read = (), None
            return ()
        entries = _decode(data, self._path)
        self._entries, self._read = entries, signature
        return entries

    def _save(self, entries: Sequence[TokenEntry]) -> None:
        replace_private(self._path, _encode(entries))


def _encode(entries: Sequence[TokenEntry]) -> bytes:
    tokens = [entry_to_json(entry) for entry in entries]
    return (json.dumps({"format": BOOK_FORMAT, "tokens": tokens}, indent=2) + "\n").encode()


def entry_to_json(entry: TokenEntry) -> dict[str, str]:
    """Return a token as it is kept."""
    record = {
        "name": entry.name,
        "role": entry.role.value,
        "created": entry.created.isoformat(),
        "sha256": entry.digest,
    }
    if entry.expires is not None:
        record["expires"] = entry.expires.isoformat()
    return record


def _decode(data: bytes, path: Path) -> tuple[TokenEntry, ...]:
    # One bad entry condemns the file: guessing which of the others were meant helps nobody.
    try:
        document = json.loads(data)
        if document["format"] != BOOK_FORMAT:
            raise TokenFileError(f"{path} was written by another version of agenthost")
        entries = tuple(entry_from_json(record) for record in document["tokens"])
    except (ValueError, KeyError, TypeError, RecursionError, TokenError) as error:
        if isinstance(error, TokenFileError):
            raise
        # Neither the cause nor its text: they could quote what the file holds.
        raise TokenFileError(
            f"{path} is damaged; restore it, or move it away and create the tokens anew"
        ) from None
    if len({entry.name.casefold() for entry in entries}) != len(entries):
        raise TokenFileError(f"{path} is damaged: two tokens share a name")
    return entries


def entry_from_json(record: Any) -> TokenEntry:
    """Read a token; raises ValueError, KeyError, TypeError or TokenError if it is none."""
    digest = record["sha256"]
    if not isinstance(digest, str) or not _DIGEST.fullmatch(digest):
        raise ValueError("not a digest")
    expires = record.get("expires")
    return TokenEntry(
        name=check_name(record["name"]),
        role=Role(record["role"]),
        created=_moment(record["created"]),
        expires=None if expires is None else _moment(expires),
        digest=digest,
    )


def _moment(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError("a time without its zone")
    return moment
