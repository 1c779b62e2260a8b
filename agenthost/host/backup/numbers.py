"""Where a restored store goes on numbering, so that nobody takes new events for ones they saw.

A backup is older than what clients have seen: numbers above it were given out once, and the events
behind them are gone. Whoever comes back with such a number must be sent the states, and not what
happens to have that number now. A crash leaves the same behind, and the store knows what to do
about it: numbers up to its reservation may have been used, so they are skipped and remembered as a
gap. Restoring raises the reservation above everything that can have been given out.
"""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path

from agenthost.host.backup.contents import BackupError

AT_LEAST = 2**32
"""Numbers that are skipped in any case: years of a busy host, if the clock should be wrong."""

PER_SECOND = 2**20
"""Numbers that a host cannot give out in a second.

The reservation is at least the time in these, and so never the same for two restores of one backup:
clients of the first would otherwise be taken for those of the second.
"""

HIGHEST = 2**53 - 2**40
"""The highest reservation: clients count in JavaScript's numbers, and need room to go on."""


def last_reserved(store: Path) -> int:
    """Return the last number that a store may have given out; 0 if it cannot be read."""
    with contextlib.suppress(sqlite3.Error), contextlib.closing(_connect(store, "ro")) as found:
        return _reserved(found)
    return 0


def skip_seen_numbers(store: Path, now: float, *, above: int = 0) -> int:
    """Raise a store's reservation above all that clients can have seen; return the new one.

    Args:
        store: the restored store, which nobody has open.
        now: the time, in seconds since 1970.
        above: the last number of the store that was there before, if there was one.

    Raises:
        BackupError: the store's numbers cannot be read, or are used up.
    """
    try:
        with contextlib.closing(_connect(store, "rw")) as connection:
            through = max(_reserved(connection), above) + AT_LEAST
            through = max(through, int(now) * PER_SECOND)
            if through > HIGHEST:
                raise BackupError(f"the backup's numbers are used up ({through})")
            connection.execute("PRAGMA synchronous = FULL")
            change = "UPDATE sequence SET value = ? WHERE name = 'reserved'"
            connection.execute(change, (through,))
            return through
    except sqlite3.Error as error:
        raise BackupError(f"the store in the backup cannot be used: {error}") from error


def _reserved(connection: sqlite3.Connection) -> int:
    query = """
        SELECT max((SELECT max(value) FROM sequence), (SELECT coalesce(max(seq), 0) FROM log))
    """
    (value,) = connection.execute(query).fetchone()
    if not isinstance(value, int):
        raise sqlite3.DataError("it does not know its numbers")
    return value


def _connect(store: Path, mode: str) -> sqlite3.Connection:
    return sqlite3.connect(
        f"{store.absolute().as_uri()}?mode={mode}", uri=True, isolation_level=None
    )
