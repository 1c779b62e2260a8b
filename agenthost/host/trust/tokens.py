"""Turns a presented token into a principal: the owner's token first, then the named ones.

Knows no HTTP (``gate`` does) and no file format (``agenthost.tokens`` does).
"""

from __future__ import annotations

import hmac
import time
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from agenthost.host.trust.principals import Principal
from agenthost.tokens import (
    BOOK_FILE,
    OWNER_FILE,
    OWNER_NAME,
    Role,
    TokenBook,
    load_or_create_owner_token,
)
from agenthost.tokens.book import digest_of


class Authenticator(Protocol):
    """Turns tokens into principals for the gate; an embedder may bring accounts of its own."""

    def authenticate(self, secret: str, now: float) -> Principal | None:
        """Return whose token this is at ``now`` (Unix seconds), or None."""
        ...

    def still_valid(self, principal: Principal, now: float) -> bool:
        """Tell whether a principal let in earlier would be let in now with the same token."""
        ...


class HostTokens:
    """The owner's token and the book of named ones; it keeps digests only."""

    def __init__(self, owner_secret: str, book: TokenBook | None = None) -> None:
        self._owner = digest_of(owner_secret)
        self._book = book

    def __repr__(self) -> str:
        return f"HostTokens(book={self._book!r})"

    def authenticate(self, secret: str, now: float) -> Principal | None:
        """Return whose token this is, or None; the time taken does not tell how close it was."""
        is_owner = hmac.compare_digest(self._owner, digest_of(secret))
        # The book is asked in either case, so that timing does not tell the two apart.
        entry = self._book.find(secret, now) if self._book is not None else None
        if is_owner:
            return Principal(OWNER_NAME, Role.OWNER, self._owner)
        return None if entry is None else Principal(entry.name, entry.role, entry.digest)

    def still_valid(self, principal: Principal, now: float) -> bool:
        """Tell whether the token behind a live connection has been neither revoked nor outlived."""
        if principal.credential is None:
            return False
        if principal.credential == self._owner:
            return True
        return self._book is not None and self._book.holds(principal.credential, now)

    @property
    def is_readable(self) -> bool:
        """Whether the tokens can be read, so that one that does not count now never will again."""
        return self._book is None or self._book.is_readable


def admitted_names(data_dir: Path) -> Callable[[str], bool]:
    """Return what says whether somebody has a token: the owner, and who is in the book now."""
    book = TokenBook(data_dir / BOOK_FILE)
    return lambda name: name == OWNER_NAME or book.knows(name, time.time())


def open_tokens(data_dir: Path, token_file: Path | None = None) -> tuple[str, HostTokens]:
    """Return the owner's secret, for the URL that is printed once, and the host's tokens.

    Creates the owner's token at the first start; TokenFileError says what is wrong with the file.
    """
    secret = load_or_create_owner_token(token_file or data_dir / OWNER_FILE)
    return secret, HostTokens(secret, TokenBook(data_dir / BOOK_FILE))
