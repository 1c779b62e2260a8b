"""Bases: whole copies in the realm's object store, from which a node goes on.

The log would grow for ever, and a new node would read all of it. So one node puts its file there
every now and then, and purges what lies well before. A base is never overwritten: it has a name of
its own, which says up to which message it goes.
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
import sqlite3
import uuid
from collections.abc import Iterator
from pathlib import Path

from agenthost.cluster.copy.intake import ABOUT, POSITION, STREAM
from agenthost.cluster.copy.source import CopyFailed, CopySource, LogState
from agenthost.cluster.copy.store import CopyStore
from agenthost.errors import AgentHostError
from agenthost.host.store import StoreError
from agenthost.host.store.files import check_file, connect_onlooker, sync_directory, translated

# The last messages that stay in the log, for nodes that were away for a while; fewer if so many
# have more bytes.
KEPT_MESSAGES, KEPT_BYTES = 200_000, 2 << 30
# And all that is not older than this, in seconds.
KEPT_SECONDS = 600.0
# A base is due when so many messages, or bytes, came since the last one.
BASE_EVERY, BASE_BYTES = 500_000, 1 << 30
# Bases that stay: the newest, and one that somebody may be reading.
KEPT_BASES = 2

_NAME = re.compile(r"base-(\d{16})-[0-9a-f]{32}")

log = logging.getLogger(__name__)


def position_of(name: str) -> int | None:
    """Return up to which message a base goes; ``None`` for the name of something else."""
    found = _NAME.fullmatch(name)
    return None if found is None else int(found[1])


async def names_by_age(source: CopySource) -> list[tuple[int, str]]:
    """Return the position and the name of every base, newest first."""
    placed = [(position_of(name), name) for name in await source.base_names()]
    return sorted(((at, name) for at, name in placed if at is not None), reverse=True)


async def put_base(source: CopySource, store: CopyStore, folder: Path) -> int:
    """Put all that is stored into the realm; return the message up to which it goes.

    Raises:
        AgentHostError: it could not be written or put there; what is there stays.
    """
    draft = folder / "base.new"
    with _only_for_now(draft):
        await store.copy_to(str(draft))
        position, _ = about(draft)
        await source.put_base(f"base-{position:016d}-{uuid.uuid4().hex}", draft)
    for _, name in (await names_by_age(source))[KEPT_BASES:]:
        await source.drop_base(name)
    return position


async def take_base(source: CopySource, path: Path, state: LogState) -> None:
    """Replace the copy at ``path``, which nobody has open, by the newest base.

    Raises:
        CopyFailed: there is none that the log goes on from.
    """
    draft = path.with_name("base.part")
    tried: set[str] = set()
    while True:
        # Each time anew: while one was fetched, another may have taken its place.
        bases = await names_by_age(source)
        leading = [each for each in bases if each[0] + 1 >= state.first and each[1] not in tried]
        if not leading:
            break
        position, name = leading[0]
        tried.add(name)
        with _only_for_now(draft):
            try:
                await source.fetch_base(name, draft)
                _check(draft, position, state)
            except AgentHostError as error:
                # It was dropped meanwhile, or is not whole.
                log.warning("the realm's %s cannot be used: %s", name, error)
                continue
            # What was there was closed cleanly and so has no write-ahead log, which would be
            # taken for the new file's.
            os.replace(draft, path)
            sync_directory(str(path.parent))
            log.info("took the realm's base up to message %s", position)
            return
    raise CopyFailed(
        f"the realm's log begins with message {state.first}, and of {len(bases)} bases none leads "
        "up to it: have another node of the realm make one, or restore a backup"
    )


def about(path: Path) -> tuple[int, str | None]:
    """Return the position of a copy that nobody writes to, and of which log it is."""
    query = "SELECT key, value FROM record WHERE bucket = ?"
    with translated(str(path)), contextlib.closing(connect_onlooker(str(path))) as connection:
        try:
            found = dict(connection.execute(query, (ABOUT,)).fetchall())
        except sqlite3.OperationalError as error:
            raise StoreError(f"{path} is no copy of a realm: {error}") from None
    identity = found.get(STREAM)
    return int(found.get(POSITION, b"0")), None if identity is None else identity.decode()


def _check(draft: Path, position: int, state: LogState) -> None:
    with translated(str(draft)):
        check_file(str(draft))
    if about(draft) != (position, state.identity):
        raise CopyFailed("it is not what its name says")


@contextlib.contextmanager
def _only_for_now(draft: Path) -> Iterator[None]:
    draft.unlink(missing_ok=True)
    try:
        yield
    finally:
        draft.unlink(missing_ok=True)
