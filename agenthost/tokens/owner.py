"""The owner's token file: created at the first start, reused ever after.

Knows the file and what a usable secret looks like. Who checks a presented secret against it:
``agenthost.host.trust.tokens``.
"""

from __future__ import annotations

import re
import secrets
from pathlib import Path

from agenthost.tokens.files import TokenFileError, create_private, make_private_dir, read_private

OWNER_FILE = "token"
"""The file's name inside the data directory."""

OWNER_NAME = "owner"
"""The name of whoever runs the host; no named token may take it."""

SECRET_BYTES = 32
"""256 random bits: beyond guessing, which is what allows a plain fast hash and no lock-outs."""

_USABLE = re.compile(r"[A-Za-z0-9._~+/=-]{22,512}")
"""What fits a header and a query unescaped; 22 characters of base64 hold 128 random bits."""


def new_secret() -> str:
    """Return a fresh random secret that never looks like a command-line option."""
    while True:
        secret = secrets.token_urlsafe(SECRET_BYTES)
        if secret[0].isalnum():
            return secret


def check_secret(secret: str) -> bool:
    """Return whether a text could serve as a token at all."""
    return _USABLE.fullmatch(secret) is not None


def read_owner_token(path: Path, owner: int | None = None) -> str:
    """Return the token in the file; FileNotFoundError when there is none.

    Raises TokenFileError when others can read the file, when it holds no usable token, or when it
    belongs to another user than ``owner``, if one is given.
    """
    data, _ = read_private(path, owner)
    text = data.decode("utf-8", "replace").strip()
    if not text:
        raise TokenFileError(f"{path} is empty; delete it to have a new token created")
    if not check_secret(text):
        raise TokenFileError(
            f"{path} does not hold a token (one line, 22 to 512 letters, digits or ._~+/=-); "
            "delete it to have a new one created"
        )
    return text


def load_or_create_owner_token(path: Path) -> str:
    """Return the token in the file, creating file and token when there is none.

    Of several processes that start at once, one creates the file and all return its token.
    """
    try:
        return read_owner_token(path)
    except FileNotFoundError:
        make_private_dir(path.parent)
    secret = new_secret()
    try:
        create_private(path, f"{secret}\n".encode())
    except FileExistsError:
        return read_owner_token(path)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise TokenFileError(f"cannot create {path}: {reason}") from error
    return secret
