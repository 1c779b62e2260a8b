"""Named tokens of a whole realm: every node's book of them says what all the others' say.

Each node keeps its book as a single host does, and people edit any of them. What was made or
revoked there goes into the realm as a record, never with the secret, and from there to the others.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import orjson

from agenthost.errors import AgentHostError
from agenthost.host.store import DropRecord, PutRecord
from agenthost.tokens import BOOK_FILE, TokenBook, TokenEntry, TokenError
from agenthost.tokens.book import entry_from_json, entry_to_json

if TYPE_CHECKING:
    from agenthost.cluster.commits import RealmWrite
    from agenthost.cluster.copy import Applied, LocalCopy

TOKENS = "tokens"
"""The bucket of named tokens: a name in small letters -> the token's entry."""

# What the realm had when this node last looked, beside the book: what differs was edited here.
_COMMON_FILE = f"common-{BOOK_FILE}"
# Seconds between looks at the file, which the command line edits.
_LOOK_SECONDS = 0.3

log = logging.getLogger(__name__)

Entries = Mapping[str, TokenEntry]


class SharedTokens:
    """Brings a node's book of tokens and the realm's records together."""

    def __init__(
        self,
        copy: LocalCopy,
        data_dir: Path,
        append: Callable[[Sequence[RealmWrite]], Awaitable[None]],
    ) -> None:
        """``append`` adds records to the realm that need no owner, and returns once they are in."""
        self._copy = copy
        self._append = append
        self._book = TokenBook(data_dir / BOOK_FILE)
        self._common = TokenBook(data_dir / _COMMON_FILE)
        # Tokens that the realm has had: one that is not there any more was revoked.
        self._had: set[str] = set()
        self._news = asyncio.Event()
        # What the realm has is new to this node.
        self._news.set()
        # Why they are not shared, as it was last told.
        self._complaint = ""
        self._alone = asyncio.Lock()
        # Called when the book has changed, so that nobody stays who was let in by what it had.
        self.on_changed: Callable[[], Awaitable[None]] | None = None
        copy.on_commit(self._hear)

    def _hear(self, applied: Applied) -> None:
        for _, write in applied.writes:
            if isinstance(write, PutRecord | DropRecord) and write.bucket == TOKENS:
                if isinstance(write, PutRecord) and (entry := _read(write.value)) is not None:
                    self._had.add(entry.digest)
                self._news.set()

    async def keep(self) -> None:
        """Follow the realm and the file for as long as the node lives."""
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_LOOK_SECONDS):
                    await self._news.wait()
            await self.try_exchange()

    async def try_exchange(self) -> None:
        """Exchange what is new; where that cannot be, say so once and leave it to a later try."""
        try:
            if self._news.is_set() or await asyncio.to_thread(self._is_edited):
                await self.exchange()
        except (AgentHostError, TimeoutError, OSError) as error:
            if str(error) != self._complaint:
                log.error("named tokens are not shared for now: %s", error)
            self._complaint = str(error)
            await asyncio.sleep(_LOOK_SECONDS)
        else:
            self._complaint = ""

    async def exchange(self) -> None:
        """Tell the realm what was edited here, and take up what was edited elsewhere.

        Raises:
            TokenError: the book cannot be read or written.
            AgentHostError: the realm cannot be reached.
        """
        async with self._alone:
            await self._exchange()

    async def _exchange(self) -> None:
        writes = await self._merged()
        if writes:
            await self._append(writes)
            await self._merged()

    async def _merged(self) -> list[RealmWrite]:
        self._news.clear()
        await self._copy.reached(self._copy.position)
        stored = await self._copy.store.records(TOKENS)
        realm = {key: entry for key, value in stored.items() if (entry := _read(value)) is not None}
        writes, has_changed = await asyncio.to_thread(self._merge, realm)
        if has_changed and self.on_changed is not None:
            await self.on_changed()
        return writes

    def _is_edited(self) -> bool:
        return _by_name(self._book.list()) != _by_name(self._common.list())

    def _merge(self, realm: Entries) -> tuple[list[RealmWrite], bool]:
        """Bring the book up to date; return what the realm is to be told, and if that was news."""
        common = _by_name(self._common.list())
        self._had |= {entry.digest for entry in (*common.values(), *realm.values())}
        wanted: dict[str, TokenEntry] = {}

        def edit(entries: Sequence[TokenEntry]) -> Sequence[TokenEntry]:
            here = _by_name(entries)
            revoked = {key for key, entry in common.items() if here.get(key) != entry}
            kept = {k: e for k, e in realm.items() if k not in revoked or common[k] != e}
            made = {k: e for k, e in here.items() if e.digest not in self._had and k not in kept}
            wanted.update(kept | made)
            return sorted(wanted.values(), key=lambda entry: (entry.created, entry.name))

        has_changed = self._book.rewrite(edit)
        self._common.rewrite(lambda _: list(realm.values()))
        writes: list[RealmWrite] = [
            PutRecord(TOKENS, key, orjson.dumps(entry_to_json(entry)))
            for key, entry in wanted.items()
            if realm.get(key) != entry
        ]
        writes += [DropRecord(TOKENS, key) for key in realm if key not in wanted]
        return writes, has_changed


def _by_name(entries: Sequence[TokenEntry]) -> dict[str, TokenEntry]:
    return {entry.name.casefold(): entry for entry in entries}


def _read(value: bytes) -> TokenEntry | None:
    try:
        return entry_from_json(orjson.loads(value))
    except (ValueError, KeyError, TypeError, TokenError):
        log.error("a token of the realm cannot be read and lets nobody in")
        return None
