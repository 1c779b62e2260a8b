"""The data directory that ``make_old_data`` made, and what an older host showed of it."""

from __future__ import annotations

import gzip
import io
import sqlite3
import tarfile
from contextlib import closing
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import orjson

__all__ = ["MODEL", "STORE", "rows_of", "told", "unpacked"]

Json = dict[str, Any]

# The version of what is stored there.
MODEL = "0.7.0"
STORE = "agenthost.sqlite"
_PACKED = Path(__file__).parent / "old_stores" / f"model-{MODEL}"


def unpacked(directory: Path, *, is_young: bool = False) -> Path:
    """Put the files that the killed host left into a directory, and return the store's path.

    A host empties the trash of what is old; with ``is_young`` it was thrown away just now.
    """
    directory.mkdir(parents=True, exist_ok=True)
    packed = gzip.decompress(Path(f"{_PACKED}.tar.gz").read_bytes())
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        archive.extractall(directory, filter="data")
    path = directory / STORE
    if is_young:
        _keep_the_trash(path)
    return path


@cache
def told() -> Json:
    """Return what the older host told; nobody may change it."""
    found: Json = orjson.loads(gzip.decompress(Path(f"{_PACKED}.json.gz").read_bytes()))
    return found


def rows_of(path: Path) -> dict[str, list[Any]]:
    """Return everything that a store holds, table by table."""
    # One that only looks does not copy the write-ahead log into the database.
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as plain:
        tables = plain.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        return {
            name: sorted(plain.execute(f"SELECT * FROM {name}"), key=repr) for (name,) in tables
        }


def _keep_the_trash(path: Path) -> None:
    now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    with closing(sqlite3.connect(path)) as plain, plain:
        for key, value in plain.execute("SELECT key, value FROM record WHERE bucket = 'trash'"):
            entry = {**orjson.loads(value), "disposedAt": now}
            young = (
                "UPDATE record SET value = ?, checksum = NULL WHERE bucket = 'trash' AND key = ?"
            )
            plain.execute(young, (orjson.dumps(entry), key))
