"""Who wants to be pushed what, for a whole realm: records that every node reads, and one key.

The leader makes the key, once, or brings that of the host that it was; subscriptions are added at
any node. All nodes watch the feed on behalf of those who are away, and the one that leads sends.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import logging
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import orjson

from agenthost.errors import AgentHostError, InternalError
from agenthost.host.push.book import PushBook, PushSubscription, subscription_from_json
from agenthost.host.push.keys import VapidKeys, new_keys
from agenthost.host.store import DropRecord, PutRecord
from agenthost.tokens import OWNER_NAME

if TYPE_CHECKING:
    from agenthost.cluster.commits import RealmWrite
    from agenthost.cluster.copy import Applied, LocalCopy

PUSHES = "pushes"
"""The bucket: the key, and one record for each browser."""

_KEY = "vapid"
# Seconds that a page waits for a key that the leader is about to make.
_KEY_SECONDS = 2.0

log = logging.getLogger(__name__)


class SharedPushes(PushBook):
    """The key and the subscriptions of a realm, as one node knows them."""

    def __init__(
        self,
        copy: LocalCopy,
        former: Path,
        append: Callable[[Sequence[RealmWrite]], Awaitable[None]],
    ) -> None:
        """``former`` is the file that a host alone keeps all of this in."""
        super().__init__(None)
        self._copy = copy
        self._append = append
        self._former = PushBook(former)
        self._news = asyncio.Event()
        self._has_keys = asyncio.Event()
        copy.on_commit(self._hear)

    def _hear(self, applied: Applied) -> None:
        for _, write in applied.writes:
            if isinstance(write, PutRecord | DropRecord) and write.bucket == PUSHES:
                self._news.set()

    async def keep(self) -> None:
        """Follow what the realm says, for as long as the node lives."""
        while True:
            await self.take_up()
            await self._news.wait()

    async def take_up(self) -> None:
        """Take up what the realm says now."""
        self._news.clear()
        await self._copy.reached(self._copy.position)
        subscriptions: list[tuple[float, PushSubscription]] = []
        for key, value in (await self._copy.store.records(PUSHES)).items():
            try:
                read = orjson.loads(value)
                if key == _KEY:
                    self._keys = VapidKeys(read["private"], read["public"])
                    self._has_keys.set()
                else:
                    subscriptions.append((read["at"], subscription_from_json(read["browser"])))
            except (ValueError, KeyError, TypeError):
                log.error("a browser of the realm's is pushed nothing: its record is damaged")
        subscriptions.sort(key=lambda each: each[0])
        self.subscriptions = tuple(each for _, each in subscriptions)

    async def make_key(self, write: Callable[..., Awaitable[None]]) -> None:
        """Have a key in the realm, as its leader; ``write`` writes what is the realm's own."""
        # A key that is replaced makes all browsers deaf.
        await self.take_up()
        if self._keys is not None:
            return
        self._former.open()
        keys = self._former.keys
        if keys is None:
            keys = await asyncio.to_thread(new_keys)
        brought = [_record(each) for each in self._former.subscriptions]
        try:
            await write(PutRecord(PUSHES, _KEY, orjson.dumps(asdict(keys))), *brought)
        except AgentHostError as error:
            log.warning("nothing is pushed until somebody else leads: %s", error)

    def open(self) -> None:
        """Do nothing: `keep` takes up what is kept."""

    async def public_key(self) -> str | None:
        """Return what browsers must know of the realm, once its leader has made it."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_KEY_SECONDS):
                await self._has_keys.wait()
        return None if self._keys is None else self._keys.public

    async def prune(self, counts: Callable[[PushSubscription], bool]) -> None:
        """Drop the subscriptions of named tokens that do not count; nodes may differ in others."""
        await super().prune(lambda each: each.name == OWNER_NAME or counts(each))

    async def _save(
        self, keys: VapidKeys | None, subscriptions: Iterable[PushSubscription]
    ) -> None:
        before, after = set(self.subscriptions), set(subscriptions)
        gone = {each.endpoint for each in before} - {each.endpoint for each in after}
        writes: list[RealmWrite] = [_record(each) for each in after - before]
        writes += [DropRecord(PUSHES, _name(endpoint)) for endpoint in gone]
        try:
            await self._append(writes)
            await self.take_up()
        except (AgentHostError, TimeoutError) as error:
            raise InternalError(f"the realm does not take this now: {error}") from error


def _record(subscription: PushSubscription) -> PutRecord:
    kept = {"at": time.time(), "browser": asdict(subscription)}
    return PutRecord(PUSHES, _name(subscription.endpoint), orjson.dumps(kept))


def _name(endpoint: str) -> str:
    return hashlib.sha256(endpoint.encode()).hexdigest()
