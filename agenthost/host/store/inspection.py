"""A thorough check of a store: reads every row and reports damage, without changing anything.

The thorough counterpart of what ``files`` checks at every start. Works beside a host that has the
store open, and on a file that no host would open. Blocks, for as long as reading the file takes.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing

from msgspec import Struct, field

from agenthost.host.store.contract import StoreError
from agenthost.host.store.files import check_file, connect_onlooker, translated
from agenthost.host.store.row_format import NOT_BROUGHT_UP, entry_checksum, is_intact

MOST_FINDINGS = 100
"""More of them are counted and not told one by one."""

# What to call a row, then what its checksum was made of, then that.
ROWS = {
    "snapshot": """
        SELECT 'the snapshot of ' || coalesce(uri, 'a channel that is gone'), kind, seq, state,
            checksum FROM snapshot LEFT JOIN channel ON id = channel
    """,
    "earlier_snapshot": """
        SELECT 'the earlier snapshot of ' || coalesce(uri, 'a channel that is gone'), kind, seq,
            state, checksum FROM earlier_snapshot LEFT JOIN channel ON id = channel
    """,
    "session": """
        SELECT 'the list entry of ' || uri, sort_key, uri, summary, checksum FROM session
    """,
    "blob": """
        SELECT 'the content ' || uri, uri, owner, content_type, data, checksum FROM blob
    """,
    "record": """
        SELECT 'the record ' || bucket || ' ' || key, bucket, key, value, checksum FROM record
    """,
}
LOG = """
    SELECT coalesce(uri, 'a channel that is gone'), seq, now, action, origin, checksum
    FROM log LEFT JOIN channel ON id = channel
"""
ORPHANS = """
    SELECT 'entries of a channel that is gone: ' || count(*) FROM log
    WHERE channel NOT IN (SELECT id FROM channel) HAVING count(*) > 0
    UNION ALL
    SELECT 'snapshots of a channel that is gone: ' || count(*) FROM snapshot
    WHERE channel NOT IN (SELECT id FROM channel) HAVING count(*) > 0
"""


class Inspection(Struct):
    """What was found in a store."""

    # Rows that were read, and those of them from before there were checksums.
    rows: int = 0
    unchecked: int = 0
    # What is wrong, in words; at most ``MOST_FINDINGS`` of ``damages``.
    findings: list[str] = field(default_factory=list)
    damages: int = 0

    def report(self, what: str) -> None:
        """Add something that is wrong."""
        self.damages += 1
        if len(self.findings) < MOST_FINDINGS:
            self.findings.append(what)


def inspect_store(path: str | os.PathLike[str]) -> Inspection:
    """Read a whole store and return what was found."""
    found = Inspection()
    text = os.path.realpath(path)
    try:
        with translated(text):
            check_file(text)
            with closing(connect_onlooker(text)) as connection:
                _inspect(connection, found)
    except StoreError as error:
        found.report(str(error))
    return found


def _inspect(connection: sqlite3.Connection, found: Inspection) -> None:
    # A text that is none any more must not end the reading; its checksum tells.
    connection.text_factory = lambda text: text.decode(errors="replace")
    has_checksums = "checksum" in [row[1] for row in connection.execute("PRAGMA table_info(log)")]
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
    _attempt(_structure(connection, found), "the file", found)
    for table, query in {"log": LOG, **ROWS}.items():
        if table not in tables:
            # It is made when a host of today opens the file.
            continue
        if not has_checksums:
            # It is given them when a host of today opens it.
            query = query.replace("checksum", "NULL")
        rows = connection.execute(query)
        _attempt(_entries(rows, found) if table == "log" else _rows(rows, found), table, found)


def _attempt(steps: Iterator[None], name: str, found: Inspection) -> None:
    """Go through one part; if it cannot be read to its end, the others still are."""
    try:
        for _ in steps:
            pass
    except sqlite3.Error as error:
        found.report(f"{name}: not readable to its end ({error})")


def _structure(connection: sqlite3.Connection, found: Inspection) -> Iterator[None]:
    for (result,) in connection.execute(f"PRAGMA integrity_check({MOST_FINDINGS})"):
        if result != "ok":
            found.report(result)
        yield
    for (orphans,) in connection.execute(ORPHANS):
        found.report(orphans)
        yield


def _entries(rows: sqlite3.Cursor, found: Inspection) -> Iterator[None]:
    for channel, seq, now, action, origin, stored in rows:
        try:
            intact = stored is None or stored == entry_checksum(seq, now, action, origin)
        except (TypeError, AttributeError):
            intact = False
        _count(found, stored, intact, f"entry {seq} of {channel}")
        yield


def _rows(rows: sqlite3.Cursor, found: Inspection) -> Iterator[None]:
    for name, *parts, stored in rows:
        _count(found, stored, is_intact(stored, *parts), str(name))
        yield


def _count(found: Inspection, stored: object, intact: bool, name: str) -> None:
    found.rows += 1
    found.unchecked += stored is None
    if stored == NOT_BROUGHT_UP:
        found.report(f"{name} is of an older version and could not be brought up")
    elif not intact:
        found.report(f"{name} is not as it was written")
