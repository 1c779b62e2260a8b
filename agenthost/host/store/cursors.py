"""Catalogue cursors: a place in the catalogue's order, as opaque text.

A cursor names a place and not a session, so it outlives the session it was made from. It carries a
checksum against mangling, not a signature: a forged one gives access to nothing but another page.
"""

from __future__ import annotations

import base64
import binascii
import zlib

from agenthost.host.store.contract import BadCursor

# Layout: checksum of the rest, length of the sort key in bytes, sort key, session.
CHECKSUM_BYTES = 4
LENGTH_BYTES = 4


def encode_cursor(sort_key: str, session: str) -> str:
    """Return the cursor for the place right after this session."""
    key = sort_key.encode()
    body = len(key).to_bytes(LENGTH_BYTES, "big") + key + session.encode()
    return base64.urlsafe_b64encode(_checksum(body) + body).decode().rstrip("=")


def decode_cursor(cursor: str) -> tuple[str, str]:
    """Return the sort key and session after which a page starts.

    Raises:
        BadCursor: this text was never a cursor.
    """
    try:
        raw = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
        body = raw[CHECKSUM_BYTES:]
        start = LENGTH_BYTES + int.from_bytes(body[:LENGTH_BYTES], "big")
        sort_key, session = body[LENGTH_BYTES:start].decode(), body[start:].decode()
    except (binascii.Error, ValueError) as error:
        raise BadCursor("unknown cursor") from error
    # Comparing the whole spelling checks the checksum, the length and base64's spare bits at once.
    if encode_cursor(sort_key, session) != cursor:
        raise BadCursor("unknown cursor")
    return sort_key, session


def _checksum(body: bytes) -> bytes:
    return zlib.crc32(body).to_bytes(CHECKSUM_BYTES, "big")
