"""Tokens on disk: the owner's token file and the book of named tokens.

Open to the host and to the command line, which may not import each other. Knows files only; who may
do what with a role is decided in ``agenthost.host.trust``.
"""

from agenthost.tokens.book import BOOK_FILE, NewToken, Role, TokenBook, TokenEntry, check_name
from agenthost.tokens.files import TokenError, TokenFileError
from agenthost.tokens.owner import (
    OWNER_FILE,
    OWNER_NAME,
    check_secret,
    load_or_create_owner_token,
    new_secret,
    read_owner_token,
)

__all__ = [
    "BOOK_FILE",
    "OWNER_FILE",
    "OWNER_NAME",
    "NewToken",
    "Role",
    "TokenBook",
    "TokenEntry",
    "TokenError",
    "TokenFileError",
    "check_name",
    "check_secret",
    "load_or_create_owner_token",
    "new_secret",
    "read_owner_token",
]
