"""The short forms in which the SQLite store keeps states and times.

Owns both directions. A short form is marked by its first character; what has none is as an older
agenthost wrote it, or gains nothing by being shortened. Checksums are of the stored form, so that
a damaged row is found before anything is made of it.
"""

from __future__ import annotations

import zlib
from datetime import UTC, datetime
from functools import lru_cache

# A state that begins with one of these is not JSON, so no older row does.
DEFLATED, PLAIN = b"\x01", b"\x00"
# Below this there is nothing to gain. Above, it would hold up everybody's commits: the fastest
# level takes some five milliseconds for as much.
LEAST_DEFLATED, MOST_DEFLATED = 256, 512 * 1024
FASTEST = 1

# A time that begins with it is seconds since 1970 to the base of 36, then three digits.
SHORT = "~"
DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


def short_state(state: bytes) -> bytes:
    """Return the form in which a state is stored."""
    if LEAST_DEFLATED <= len(state) <= MOST_DEFLATED:
        deflated = zlib.compress(state, FASTEST)
        if len(deflated) < len(state):
            return DEFLATED + deflated
    return PLAIN + state if state.startswith((DEFLATED, PLAIN)) else state


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
