"""Checksums of stored rows, so that a bit that a disk got wrong is noticed when it is read.

Owns what is summed up. SQLite notices damage of its own structure and none of what is stored in
it. CRC-32, because this is against accidents and must cost next to nothing; whoever can write to
the file can write the checksum as well. Rows from before there were checksums have none.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TypeAlias
from zlib import crc32

# SQLite keeps a number in four bytes only up to here.
MASK = 0x7FFF_FFFF

# Stands where a checksum would, at a row whose content could not be brought up to the version of
# the rest. No row has it, so such a row is never read as a sound one.
NOT_BROUGHT_UP = -1

Part: TypeAlias = str | bytes | int | None


def entry_checksum(seq: int, now: str, action: bytes, origin: bytes | None) -> int:
    """Return the checksum of a log entry; each call of ``crc32`` counts here, so there is one."""
    total = crc32(action, seq + _of_time(now))
    return (total if origin is None else crc32(origin, total)) & MASK


@lru_cache(maxsize=16)
def _of_time(now: str) -> int:
    # Whatever happens within a millisecond shares its time.
    return crc32(_bytes(now))


def checksum(*parts: Part) -> int:
    """Return the checksum of a row."""
    total = 0
    for part in parts:
        if part is None:
            continue
        total = crc32(part if isinstance(part, bytes) else _bytes(str(part)), total)
    return total & MASK


def is_intact(stored: object, *parts: Part) -> bool:
    """Say whether a row is as it was written, as far as anybody can tell."""
    return stored is None or stored == checksum(*parts)


def _bytes(text: str) -> bytes:
    # Text that is damaged has any form; what was stored has a UTF-8 one.
    return text.encode(errors="replace")
