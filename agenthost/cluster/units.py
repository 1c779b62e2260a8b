"""Units of ownership, each written by one node at a time: a session, or the realm as a whole.

A unit is named by a session's URI, or by one of the two words here, which are no URIs. One node at
a time owns a session or ``REALM`` and writes there; anybody writes to ``MISC``.
"""

from __future__ import annotations

import hashlib
import re
from urllib.parse import unquote_to_bytes

REALM = "@realm"
MISC = "@misc"

# NATS takes 4,096 bytes for a whole command line, and URIs may have 2,048 characters.
_LONGEST_TOKEN = 400
_HASHED = "~"
_OTHERS = re.compile(rb"[^A-Za-z0-9_-]")


def unit_token(unit: str) -> str:
    """Return a unit's token in subjects: readable, and without what NATS gives a meaning to."""
    raw = unit.encode()
    token = _OTHERS.sub(lambda found: b"=%02X" % found[0][0], raw).decode()
    if len(token) <= _LONGEST_TOKEN:
        return token
    return _HASHED + hashlib.sha256(raw).hexdigest()


def unit_of_token(token: str) -> str | None:
    """Return the unit that a token stands for; ``None`` if only the message itself can tell."""
    if token.startswith(_HASHED):
        return None
    return unquote_to_bytes(token.replace("=", "%")).decode(errors="replace")
