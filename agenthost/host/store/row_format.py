"""How the SQLite store writes a row: short forms of states, records and times, and its checksum.

A short form is marked by its first character; what has none is as an older agenthost wrote it, or
gains nothing by being shortened.

Checksums are of the stored form, so that a bit that a disk got wrong is noticed before anything is
made of it: SQLite notices damage of its own structure and none of what is stored in it. CRC-32,
because this is against accidents and must cost next to nothing; whoever can write to the file can
write the checksum as well. Rows from before there were checksums have none.
"""

from __future__ import annotations

import zlib
from datetime import UTC, datetime
from functools import lru_cache
from typing import TypeAlias
from zlib import crc32

# A state that begins with one of these is not JSON, so no older one does.
DEFLATED, PLAIN = b"\x01", b"\x00"
# A record may be any bytes, keys among them, so its mark is one that none has by chance.
SHORT_RECORD = DEFLATED + b"record\x00\xff"
# Below this there is nothing to gain. Above, it would hold up everybody's commits: the fastest
# level takes some five milliseconds for as much.
LEAST_DEFLATED, MOST_DEFLATED = 256, 512 * 1024
FASTEST = 1

# A time that begins with it is seconds since 1970 to the base of 36, then three digits.
SHORT = "~"
DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
# SQLite keeps a number in four bytes only up to here.
MASK = 0x7FFF_FFFF

# Stands where a checksum would, at a row whose content could not be brought up to the version of
# the rest. No row has it, so such a row is never read as a sound one.
NOT_BROUGHT_UP = -1

Part: TypeAlias = str | bytes | int | None


def short_state(value: bytes) -> bytes:
    """Return the form in which a state is stored."""
    if LEAST_DEFLATED <= len(value) <= MOST_DEFLATED:
        deflated = zlib.compress(value, FASTEST)
        if len(deflated) < len(value):
            return DEFLATED + deflated
    return PLAIN + value if value.startswith((DEFLATED, PLAIN)) else value


def long_state(stored: bytes) -> bytes:
    """Return the state of its stored form.

    Raises:
        ValueError: it is not what ``short_state`` made.
    """
    if stored.startswith(DEFLATED):
        try:
            return zlib.decompress(memoryview(stored)[1:])
        except zlib.error as error:
            raise ValueError(str(error)) from error
    return stored[1:] if stored.startswith(PLAIN) else stored


def short_record(value: bytes) -> bytes:
    """Return the form in which the value of a record is stored."""
    short = short_state(value)
    return value if short is value else SHORT_RECORD + short


def long_record(stored: bytes) -> bytes:
    """Return the value of a record of its stored form.

    Raises:
        ValueError: it is not what ``short_record`` made.
    """
    if not stored.startswith(SHORT_RECORD):
        return stored
    return long_state(stored[len(SHORT_RECORD) :])


# Whatever happens within a millisecond shares its time.
@lru_cache(maxsize=16)
def short_time(now: str) -> str:
    """Return the form in which a time is stored; any text but the host's own is kept as it is."""
    fraction = now[20:23]
    if len(now) == 24 and now[19] == "." and now[23] == "Z" and fraction.isdecimal():
        second = _short_second(now[:19])
        if second is not None and fraction.isascii():
            return SHORT + second + fraction
    return SHORT + now if now.startswith(SHORT) else now


def long_time(stored: str) -> str:
    """Return the time of its stored form.

    Raises:
        ValueError: it is not what ``short_time`` made.
    """
    if not stored.startswith(SHORT):
        return stored
    if stored.startswith(SHORT, 1):
        return stored[1:]
    return f"{_long_second(stored[1:-3])}.{stored[-3:]}Z"


@lru_cache(maxsize=64)
def _short_second(text: str) -> str | None:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    second = int(moment.replace(tzinfo=UTC).timestamp())
    if moment.isoformat() != text or second <= 0:
        # The same moment in another spelling would come back in this one.
        return None
    digits = ""
    while second:
        second, digit = divmod(second, 36)
        digits = DIGITS[digit] + digits
    return digits


@lru_cache(maxsize=64)
def _long_second(digits: str) -> str:
    try:
        return datetime.fromtimestamp(int(digits, 36), UTC).isoformat()[:19]
    except (OverflowError, OSError) as error:
        raise ValueError(str(error)) from error


def entry_checksum(seq: int, now: str, action: bytes, origin: bytes | None) -> int:
    """Return the checksum of a log entry; each call of ``crc32`` counts here, so there is one."""
    total = crc32(action, seq + _of_time(now))
    return (total if origin is None else crc32(origin, total)) & MASK


@lru_cache(maxsize=16)
def _of_time(now: str) -> int:
    # Whatever happens within a millisecond shares its time. As ``_bytes``, which would be one call
    # more in every commit of a stream.
    return crc32(now.encode(errors="replace"))


def checksum(*parts: Part) -> int:
    """Return the checksum of a row."""
    total = 0
    for part in parts:
        if part is None:
            continue
        total = crc32(part if isinstance(part, bytes) else _bytes(str(part)), total)
    return total & MASK


def session_checksum(sort_key: str, uri: str, summary: bytes) -> int:
    """Return the ``checksum`` of a session's row in fewer calls: lists have many such rows."""
    return crc32(summary, crc32(_bytes(sort_key + uri))) & MASK


def is_intact(stored: object, *parts: Part) -> bool:
    """Say whether a row is as it was written, as far as anybody can tell."""
    return stored is None or stored == checksum(*parts)


def _bytes(text: str) -> bytes:
    # Text that is damaged has any form; what was stored has a UTF-8 one.
    return text.encode(errors="replace")
